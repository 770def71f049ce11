"""nmt: parallel text in, a trained and measured translator out."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt.translation.language_model import LanguageModel
    from nmt.translation.pipeline import pipeline
    from nmt.translation.translator import Translator

__version__ = "0.2.0"
__all__ = ["LanguageModel", "Translator", "__version__", "pipeline"]


def __getattr__(name: str) -> Any:
    """Load a class or a function when it is first asked for: `import nmt` itself must not pay for torch."""
    if name == "LanguageModel":
        from nmt.translation.language_model import LanguageModel

        return LanguageModel
    if name == "Translator":
        from nmt.translation.translator import Translator

        return Translator
    if name == "pipeline":
        from nmt.translation.pipeline import pipeline

        return pipeline
    raise AttributeError(f"module 'nmt' has no attribute {name!r}")
