"""nmt: parallel text in, a trained and measured translator out."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt.translation.translator import Translator

__version__ = "0.2.0"
__all__ = ["Translator", "__version__"]


def __getattr__(name: str) -> Any:
    """Load `nmt.Translator` when it is first asked for: `import nmt` itself must not pay for torch."""
    if name == "Translator":
        from nmt.translation.translator import Translator

        return Translator
    raise AttributeError(f"module 'nmt' has no attribute {name!r}")
