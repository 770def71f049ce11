"""Text made uniform: any line flows in, a tidy one flows out.

The rules of text (`tidy`), for every line that is read, in training and at translation alike:

- a byte that isn't UTF-8, or a lone surrogate (which JSON can spell), becomes U+FFFD;
- a CR at the end of the line goes;
- what parts words becomes a space: tab, LF, vertical tab, form feed, CR, U+001C to U+001F, U+0085, U+2028, U+2029;
- other control characters (Unicode's Cc, NUL among them) are removed;
- text is composed to Unicode's form NFC;
- blanks at both ends go. Blanks between words stay: SentencePiece reads a run of spaces as one.
"""

import re
import unicodedata
from collections.abc import Sequence

INVALID = "invalid UTF-8 made U+FFFD"

_SURROGATE = re.compile("[\ud800-\udfff]")
_SEPARATOR = re.compile("[\t\n\x0b\x0c\r\x1c-\x1f\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def tidy(text: str) -> tuple[str, Sequence[str]]:
    """The text by the rules above, and the names of the rules that changed it.

    Bytes that aren't UTF-8 are expected as Python's `surrogateescape` hands them over.
    """
    if text.isascii() and text.isprintable() and text[:1] != " " != text[-1:]:
        return text, ()
    causes: list[str] = []
    if _ODD.search(text):
        text = _without_odd_characters(text, causes)
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
        causes.append("composed to NFC")
    stripped = text.strip()
    if stripped != text:
        causes.append("blanks at the ends removed")
    return stripped, causes


def _without_odd_characters(text: str, causes: list[str]) -> str:
    if text.endswith("\r"):
        text = text[:-1]
        causes.append("carriage return at the end removed")
    for pattern, substitute, cause in (
        (_SURROGATE, "\ufffd", INVALID),
        (_CONTROL, "", "control characters removed"),
        (_SEPARATOR, " ", "tabs and separators made spaces"),
    ):
        text, count = pattern.subn(substitute, text)
        if count:
            causes.append(cause)
    return text
