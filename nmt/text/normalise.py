"""Normalisation of every line that is read, the same in training and in translation.

These rules don't depend on a vocabulary; `nmt.text.characters` has those that do. First come REPLACEMENTS, then
Unicode's form NFC; at last, blanks at both ends are removed. Blanks between words stay: SentencePiece reads a run of
spaces as one.
"""

import re
import unicodedata

INVALID = "invalid UTF-8 made U+FFFD"
BREAK = re.compile("(\r\n|[\t\n\x0b\x0c\r\x85\u2028\u2029])")  # between lines, and between cells

# Thai, Lao, Tibetan and Burmese; Khmer; Tai Le, New Tai Lue and Khmer symbols; Tai Tham; Balinese; Javanese; more
# Burmese. Zero-width spaces separate words there.
SOUTH_EAST_ASIAN = r"\u0e00-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u1b00-\u1b7f\ua980-\ua9ff\uaa60-\uaa7f"
INVISIBLE = rf"[\xad\u2060\ufeff]|\u200b(?<![{SOUTH_EAST_ASIAN}]\u200b)(?![{SOUTH_EAST_ASIAN}])"
ODD = re.compile("[\x00-\x1f\x7f-\x9f\xad\u200b\u2028\u2029\u2060\ud800-\udfff\ufeff]")
REPLACEMENTS = (
    (re.compile(r"\r\Z"), "", "carriage return at the end removed"),
    (re.compile("[\ud800-\udfff]"), "\ufffd", INVALID),
    (re.compile(INVISIBLE), "", "soft hyphens and zero-width characters removed"),
    (re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]"), "", "control characters removed"),
    (re.compile("[\t\n\x0b\x0c\r\x1c-\x1f\x85\u2028\u2029]"), " ", "tabs and separators made spaces"),
)


def one_line(text: str) -> str:
    """The text without line breaks, tabs and other control characters. Parts of a text can be given one by one."""
    for pattern, replacement, _ in REPLACEMENTS[3:]:
        text = pattern.sub(replacement, text)
    return text


def require_string(text: object) -> None:
    if not isinstance(text, str):
        raise TypeError(f"{str(text)[:40]!r} is of type {type(text).__name__}, but a text must be a string (str)")


def tidy(text: str, causes: list[str] | None = None) -> str:
    """The normalised text, which was decoded with `surrogateescape`. The names of the rules that changed it are added
    to `causes`."""
    require_string(text)
    if text.isascii() and text.isprintable() and text[:1] != " " != text[-1:]:
        return text
    causes = [] if causes is None else causes
    if ODD.search(text):
        for pattern, replacement, cause in REPLACEMENTS:
            text, count = pattern.subn(replacement, text)
            if count:
                causes.append(cause)
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
        causes.append("composed to NFC")
    if text != text.strip():
        causes.append("blanks at the ends removed")
    return text.strip()


def with_blanks(source: str, translation: str) -> str:
    """The translation with the blanks and line breaks at both ends of its source."""
    start, end = len(source) - len(source.lstrip()), len(source.rstrip())
    return source[:start] + translation.strip() + source[max(start, end) :]
