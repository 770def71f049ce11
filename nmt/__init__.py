"""nmt: parallel text in, a trained and measured translator out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nmt.version import __version__

if TYPE_CHECKING:
    from nmt.reading.request import Constraints, Request, Term
    from nmt.translation.language_model import LanguageModel
    from nmt.translation.pipeline import pipeline
    from nmt.translation.translator import Translator

__all__ = ["Constraints", "LanguageModel", "Request", "Term", "Translator", "__version__", "pipeline"]

PLACES = {
    "LanguageModel": "nmt.translation.language_model",
    "Translator": "nmt.translation.translator",
    "pipeline": "nmt.translation.pipeline",
    **dict.fromkeys(("Constraints", "Request", "Term"), "nmt.reading.request"),
}


def __getattr__(name: str) -> Any:
    """Load a class or a function when it is first asked for: `import nmt` itself must not pay for torch."""
    if name in PLACES:
        return getattr(import_module(PLACES[name]), name)
    raise AttributeError(f"module 'nmt' has no attribute {name!r}")
