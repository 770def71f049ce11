"""Cleaning: training pairs flow in; those that are kept flow out, with a ledger of the others."""
