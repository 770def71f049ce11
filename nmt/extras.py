"""Packages that the core install lacks: imported when they are needed, with an error that says how to get them."""

import importlib
from typing import Any


def package(name: str, extra: str) -> Any:
    """The package of this name. Raises ValueError, which names the extra of nmt, if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        problem = f"this needs the package {name.split('.')[0]}, which can't be imported ({error})"
        raise ValueError(f"{problem}: in nmt's folder, pip install --editable '.[{extra}]'") from error
