"""Plural forms: messages with forms flow in; a text for each form flows out, and the message in the target language.

The classes of languages ("one", "few" …) are those of CLDR, by the package babel. A class is translated with a number of
it in place of the sign for the number: "# Hunde" as "3 Hunde", for Polish "few". Sources: Unicode CLDR, "Language Plural
Rules"; ICU, "Formatting Messages".
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from nmt.documents.base import Answer, Document, Unit, has_words
from nmt.extras import package
from nmt.fields import require

CLASSES = ("zero", "one", "two", "few", "many", "other")
MOST = 40  # texts of a message
HEAD = re.compile(r"\{\s*+([\w.]++)\s*+,\s*+(plural|selectordinal|select)\s*+,\s*+(offset:\d++\s*+)?")
KEY = re.compile(r"\s*+(=\d++|[\w-]++)\s*+\{")
SIGN = re.compile(r"[{}#']")


@cache
def numbers(language: str, ordinal: bool = False) -> dict[str, int]:
    """A number for each class of the language, the smallest one but 0 and 1 that has it, if one has."""
    babel = package("babel", "documents")
    try:
        locale = babel.Locale.parse(language.replace("-", "_"))
    except (ValueError, babel.UnknownLocaleError):
        return {"one": 1, "other": 2}
    rule = locale.ordinal_form if ordinal else locale.plural_form
    found = {rule(number): number for number in range(200, -1, -1)}
    found |= {rule(number): number for number in range(100, 1, -1)}
    return {name: found[name] for name in CLASSES if name in found} | {"other": found.get("other", 2)}


@dataclass(frozen=True)
class Message:
    """A message of ICU with one choice at its outside: texts around a choice are a part of each form."""

    head: str
    """What stands before the forms: "{count, plural, "."""
    kind: str
    forms: dict[str, "str | Message"]


def parse(text: str) -> "Message | None":
    """The choice in a message; None if there is none, or too many forms."""
    depth, position, quoted = 0, 0, False
    while sign := SIGN.search(text, position):
        position = sign.end()
        if sign[0] == "'":
            quoted = not quoted and text[position : position + 1] in ("{", "}", "#") and bool(text[position : position + 1])
        elif quoted or sign[0] == "#":
            continue
        elif sign[0] == "}":
            depth -= 1
        elif depth == 0 and (head := HEAD.match(text, sign.start())):
            return choice(text, sign.start(), head)
        else:
            depth += 1
    return None


def choice(text: str, start: int, head: re.Match[str]) -> Message | None:
    position, forms = head.end(), dict[str, str | Message]()
    while key := KEY.match(text, position):
        end = closing(text, key.end())
        if end < 0:
            return None
        forms[key[1]] = text[key.end() : end]
        position = end + 1
    rest = re.compile(r"\s*+\}").match(text, position)
    if not rest or "other" not in forms:
        return None
    whole = {name: f"{text[:start]}{form}{text[rest.end() :]}" for name, form in forms.items()}
    inner = {name: parse(form) or form for name, form in whole.items()} if text.count(",") < MOST else whole
    return Message(head[0], head[2], dict(inner))


def closing(text: str, position: int) -> int:
    """Where the brace that is open ends; -1 if nowhere."""
    depth = 1
    while sign := SIGN.search(text, position):
        depth += (sign[0] == "{") - (sign[0] == "}")
        position = sign.end()
        if not depth:
            return sign.start()
    return -1
