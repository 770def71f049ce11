"""Characters without a piece: a line flows in; the line in characters that the vocabulary has flows out.

A character without a piece is spelled in bytes, or is unk, and both mostly ruin the translation of its line. A
character with a piece stays as it is, and so do items (addresses, tags, placeholders, emoji). Any other character is
replaced by the nearest form of which every character has a piece, by the first of the rules in `replaced`, `in_context`
and `find_form` that finds one (docs/characters.md); without such a form it stays.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from nmt.text.items import outside_items, prose
from nmt.text.scripts import ONE_CASE
from nmt.text.user_items import NO_USER_ITEMS, UserItems

INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u0640\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffc"
    "\U000e0000-\U000e0fff]"
)
IN_WORD = r"[^\s\d!-/:-@\[-`{-~«»…°\u2010-\u2015]"  # or a mark of one
NO_BREAK = re.compile(rf"(?<={IN_WORD})[\u00a0\u202f](?={IN_WORD})")
JOINERS = "\u200c\u200d"
# Arabic, Syriac, N'Ko and others; the scripts of India; Burmese; Khmer and Mongolian.
NOT_ASCII = re.compile(r"[^\0-\x7f]")
USES_JOINERS = re.compile("[\u0600-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefe]")
VOICED = "\uff9e\uff9f"  # half-width marks of kana, which join the letter before them
SIMILAR = {
    **dict.fromkeys("„‟«❝〝《「『", "\"“”„«»'"),
    **dict.fromkeys("“”»″ˮ❞〞〟》」』", "\"”“„»«'"),
    **dict.fromkeys("’‘‚‛‹›ʼʻ′`´", "'’‘"),
    "'": "’‘",
    '"': "”“„»«'",
    **dict.fromkeys("‐‑⁃−", "-–"),
    **dict.fromkeys("–‒", "–-—"),
    **dict.fromkeys("—―﹘⸺", "—–-"),
    "-": "‐‑–",
    **dict(zip("şŞţŢșȘțȚ", "șȘțȚşŞţŢ", strict=True)),
    **dict.fromkeys("。｡।۔", "."),
    **dict.fromkeys("、､،", ","),
    "؟": "?",
    "؛": ";",
    **dict.fromkeys("⁄∕", "/"),
    "×": "x",
    **dict(zip("łŁøØđĐħĦŧŦıɨ", "lLoOdDhHtTii", strict=True)),
    **dict(zip("یيکك", "يیكک", strict=True)),
}
WORDY = {"ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE"}
AFTER_DIGIT = ("<super>", "<sub>", "<fraction>")


class Characters:
    """The characters of a vocabulary, and the nearest forms of others."""

    def __init__(self, known: Iterable[str]) -> None:
        """`known`: the characters that have pieces of their own."""
        self.known = {" ", *known}
        self.forms: dict[str, str | None] = {}

    def nearest(self, text: str, user_items: UserItems = NO_USER_ITEMS) -> str:
        """The tidied text in characters that are known, as far as possible, and still tidied. Takes linear time.

        A no-break blank between letters, as pages of the web and word processors have it, is a blank: a model that has
        seen few of them would take the two words for one.
        """
        text = NO_BREAK.sub(" ", text) if "\u00a0" in text or "\u202f" in text else text
        if self.known.issuperset(text):
            return text
        return outside_items(text, self.replaced, user_items, numbers=True).strip()

    def lacks(self, text: str, user_items: UserItems = NO_USER_ITEMS) -> bool:
        """Whether a readable text has letters, and outside of its items characters without a piece."""
        if self.known.issuperset(text):
            return False
        rest = re.sub(r"\s", "", prose(text, user_items))
        return not self.known.issuperset(rest) and any(map(str.isalpha, rest))

    def replaced(self, text: str) -> str:
        visible = INVISIBLE.sub(lambda match: match[0] if match[0] in self.known else "", text)
        if "\u0329" not in self.known:  # a line below, as some write the dot below of Yorùbá
            visible = visible.replace("\u0329", "\u0323")
        result: list[str] = []
        before = ""
        for character in unicodedata.normalize("NFC", visible):
            form = character if character in self.known else self.in_context(character, before)
            if character in VOICED and form == character:
                joined = unicodedata.normalize("NFKC", before + character)
                form, result[-1:] = ("", [joined]) if joined in self.known else (form, result[-1:])
            result.append(form)
            before = form[-1:] or before
        return "".join(result)

    def in_context(self, character: str, before: str) -> str:
        """What replaces a character that isn't known, after the character `before` (empty at the start)."""
        if character in JOINERS:
            return character if USES_JOINERS.match(before) else ""
        category = unicodedata.category(character)
        if category[0] == "M":
            bare = before in ("", " ") or (category != "Mc" and before in self.known)
            return "" if bare else character
        if before.isdigit() and unicodedata.decomposition(character).startswith(AFTER_DIGIT):
            return character  # 10² must not become 102
        if character not in self.forms:
            self.forms[character] = self.find_form(character)
        return self.forms[character] or character

    def find_form(self, character: str) -> str | None:
        """The nearest form whose characters are known; None if there is none."""
        if unicodedata.category(character) == "Zs":
            return " "
        for similar in (*SIMILAR.get(character, ""), WORDY.get(character, "")):
            if similar and self.known.issuperset(similar):
                return similar
        digit = unicodedata.decimal(character, None)
        if digit is not None and not character.isascii():
            return self.spelled(str(digit))
        compatible = unicodedata.normalize("NFKC", character)
        if compatible != character:
            return None if " " in compatible else self.spelled(compatible)
        parts = unicodedata.normalize("NFD", character)
        if unicodedata.category(parts[0]) in ("Lu", "Ll") and all(map(unicodedata.combining, parts[1:])):
            if parts != character:
                return self.spelled(parts[0])
            if ONE_CASE.match(character) and character.swapcase() in self.known:
                return character.swapcase()
        return None

    def spelled(self, text: str) -> str | None:
        """The text in known characters, each replaced if need be; None if one has no form."""
        if self.known.issuperset(text):
            return text
        forms = [c if c in self.known else self.find_form(c) for c in text]
        return None if None in forms else "".join(filter(None, forms))


def unaccented(text: str) -> str:
    """The text without accents, and without the vowel marks of Hebrew and Arabic. Marks that make another letter stay:
    those of kana, India and Thai, and of й, ў and ї."""
    composed = unicodedata.normalize("NFC", text)
    return unicodedata.normalize("NFC", NOT_ASCII.sub(lambda character: without_accent(character[0]), composed))


@lru_cache(maxsize=4096)
def without_accent(character: str) -> str:
    if character in "йўїЙЎЇ":
        return character
    # Unicode's class of each combining mark.
    classes = ((c, unicodedata.combining(c)) for c in unicodedata.normalize("NFD", character))
    return "".join(c for c, kind in classes if kind < 10 or 36 < kind < 200)


def is_unaccented(text: str) -> bool:
    return text.isascii() or unaccented(text) == text
