"""Cleaning: training pairs flow in; those that are kept flow out, with a ledger of the others."""

from nmt.data.cleaning.cleaner import (
    EXAMPLES,
    SHOWN,
    Cleaner,
    Examples,
    Ledger,
    Pair,
    gathered,
    ledger_table,
    require_pairs,
)

__all__ = ["EXAMPLES", "SHOWN", "Cleaner", "Examples", "Ledger", "Pair", "gathered", "ledger_table", "require_pairs"]
