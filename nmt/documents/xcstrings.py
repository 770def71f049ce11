"""String catalogues of Xcode, .xcstrings: texts without a translation into the target language get one.

A translation is a copy of the source language's entry with its variations (plurals, devices). Its state is translated,
or needs_review if something looks wrong. Keys, comments and texts with "shouldTranslate": false stay.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nmt.documents.base import Answer, Document, Options, Text, Unit, decode, has_words, splice, text_unit
from nmt.documents.json import Node, parse, strings
from nmt.fields import require


@dataclass(frozen=True)
class Entry:
    node: Node
    key: str
    source: Node | None
    """Its localization in the source language; None if the key is the text."""
    values: list[Node]
    """The texts in that localization."""
    line: int


def read(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding)
    (root,) = parse(source.text).members.values()
    require("strings" in root.members and "sourceLanguage" in root.members, "this is no string catalogue of Xcode")
    language, known = root.members["sourceLanguage"].text or "", root.members["strings"]
    require(bool(options.target), "an .xcstrings file needs the language to translate to: --target CODE")
    require(
        not options.source or language.split("-")[0] == options.source.split("-")[0], wrong(language, options.source)
    )
    entries, line, position = list[Entry](), 1, 0
    for key, node in known.members.items():
        line += source.text.count("\n", position, node.start)
        position = node.start
        localizations = node.members.get("localizations", node)
        if any(source.text[one.start] != "{" for one in (node, localizations)) or is_off(
            source.text, node.members.get("shouldTranslate")
        ):
            continue
        localization = localizations.members.get(language) if localizations is not node else None
        if options.target not in localizations.members or options.all_entries:
            values = [one for one in strings(localization) if one.key == "value"] if localization else []
            if any(has_words(one.text or "") for one in values) or (not values and has_words(key)):
                entries.append(Entry(node, key, localization if values else None, values, line))
    return Catalogue(source, entries, options.target)


def wrong(language: str, wanted: str) -> str:
    return f"the source language of the file is {language}, but the model translates from {wanted}"


def is_off(text: str, node: Node | None) -> bool:
    return node is not None and text[node.start : node.end] == "false"


@dataclass(frozen=True)
class Catalogue:
    source: Text
    entries: Sequence[Entry]
    target: str
    notes: tuple[str, ...] = ()

    @property
    def units(self) -> list[Unit]:
        return [
            text_unit(text, f"line {entry.line}")
            for entry in self.entries
            for text in ([one.text or "" for one in entry.values] or [entry.key])
        ]

    def join(self, answers: Sequence[Answer]) -> bytes:
        rest, edits = iter(answers), list[tuple[int, int, str]]()
        for entry in self.entries:
            texts = [one.text or "" for one in entry.values] or [entry.key]
            some = [next(rest) for _ in texts]
            is_new = any(answer.text != text for text, answer in zip(texts, some, strict=True))
            if is_new and all(answer.text.strip() for answer in some):
                edits += self.edits(entry, some)
        return self.source.encode(splice(self.source.text, edits))

    def edits(self, entry: Entry, answers: Sequence[Answer]) -> Iterator[tuple[int, int, str]]:
        """Put the translations beside the localization of the source language, or make it the first one."""
        text, localizations = self.source.text, entry.node.members.get("localizations")
        state = "needs_review" if any(answer.flags for answer in answers) else "translated"
        known = localizations.members.get(self.target) if localizations else None
        outer = localizations or entry.node
        unit = indent(text, outer.start) + "  "
        localization = self.localization(entry, answers, state, unit)
        if known:
            yield known.start, known.end, localization
            return
        member_text = f"{unit}{json.dumps(self.target)} : {localization}"
        if localizations is None:
            inner = member_text.replace("\n", "\n  ")
            member_text = f'{unit}"localizations" : {{\n  {inner}\n{unit}}}'
        inside = text[outer.start + 1 : outer.end - 1]
        comma = "," if inside.strip() else ""
        yield outer.start + 1, outer.start + 1, f"\n{member_text}{comma}"
        if not comma:
            yield outer.end - 1, outer.end - 1, f"\n{indent(text, outer.start)}" if "\n" not in inside else ""

    def localization(self, entry: Entry, answers: Sequence[Answer], state: str, unit: str) -> str:
        if not entry.source:
            value = json.dumps(answers[0].text, ensure_ascii=False)
            lines = ["{", '  "stringUnit" : {', f'    "state" : "{state}",', f'    "value" : {value}', "  }", "}"]
            return f"\n{unit}".join(lines)
        start = entry.source.start
        raw = self.source.text[start : entry.source.end]
        pairs = zip(entry.values, answers, strict=True)
        edits = [(n.start - start, n.end - start, json.dumps(a.text, ensure_ascii=False)) for n, a in pairs]
        edits += [(n.start - start, n.end - start, f'"{state}"') for n in strings(entry.source) if n.key == "state"]
        return splice(raw, edits)


def indent(text: str, place: int) -> str:
    """The blanks at the start of the line of a place."""
    match = re.compile(r"[ \t]*").match(text, text.rfind("\n", 0, place) + 1)
    return match[0] if match else ""
