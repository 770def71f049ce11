"""String catalogues of Xcode, .xcstrings: texts without a translation into the target language get one.

A translation is a copy of the source language's entry with its variations (plurals, devices). Its state is translated,
or needs_review if something looks wrong. Keys, comments and texts with "shouldTranslate": false stay.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nmt.documents.base import Answer, Document, Options, decode, has_words, splice, text_unit
from nmt.documents.json import Node, parse, strings
from nmt.fields import require
from nmt.text.edits import Edit
from nmt.text.languages import short_code
from nmt.text.normalise import with_blanks


@dataclass(frozen=True)
class Entry:
    node: Node
    source: Node | None
    """Its localization in the source language; None if the key is the text."""
    values: list[Node]
    """The texts in that localization."""
    texts: list[str]


def read(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding)
    root = parse(source.text)
    require("strings" in root.members and "sourceLanguage" in root.members, "this is no string catalogue of Xcode")
    language = root.members["sourceLanguage"].text or ""
    require(bool(options.target), "an .xcstrings file needs the language to translate to: --target CODE")
    is_right = not options.source or short_code(language) == short_code(options.source)
    wrong = f"the source language of the file is {language}, but the model translates from {options.source}"
    require(is_right, wrong)
    members = root.members["strings"].members
    found = (read_entry(source.text, key, node, language, options) for key, node in members.items())
    entries = [entry for entry in found if entry]
    units = [text_unit(text, source.place(entry.node.start)) for entry in entries for text in entry.texts]
    notes = list[str]()

    def write(answers: Sequence[Answer]) -> bytes:
        rest, edits = iter(answers), list[Edit]()
        for entry in entries:
            chosen = [next(rest) for _ in entry.texts]
            if [answer.text for answer in chosen] != entry.texts and all(answer.text.strip() for answer in chosen):
                edits += entry_edits(source.text, entry, chosen, options.target)
        return source.edited(edits, notes)

    return Document(data, units, write, notes)


def read_entry(text: str, key: str, node: Node, language: str, options: Options) -> Entry | None:
    """The entry of a key; None if it isn't translated, or has a translation."""
    localizations, wanted = node.members.get("localizations"), node.members.get("shouldTranslate")
    known = localizations.members if localizations else {}
    is_object = all(text[value.start] == "{" for value in (node, localizations or node))
    is_off = wanted and text[wanted.start : wanted.end] == "false"
    if not is_object or is_off or (options.target in known and not options.all_entries):
        return None
    localization = known.get(language)
    values = [value for value in strings(localization) if value.key == "value"] if localization else []
    texts = [value.text or "" for value in values] or [key]
    return Entry(node, localization if values else None, values, texts) if any(map(has_words, texts)) else None


def entry_edits(text: str, entry: Entry, answers: Sequence[Answer], target: str) -> Iterator[Edit]:
    """Put the translations beside the localization of the source language, or make it the first one."""
    localizations = entry.node.members.get("localizations")
    known = localizations.members.get(target) if localizations else None
    outer = localizations or entry.node
    unit = indent(text, outer.start) + "  "
    new = localization(text, entry, answers, unit)
    if known:
        yield known.start, known.end, new
        return
    member_text = f"{unit}{json.dumps(target)} : {new}"
    if localizations is None:
        inner = member_text.replace("\n", "\n  ")
        member_text = f'{unit}"localizations" : {{\n  {inner}\n{unit}}}'
    inside = text[outer.start + 1 : outer.end - 1]
    comma = "," if inside.strip() else ""
    yield outer.start + 1, outer.start + 1, f"\n{member_text}{comma}"
    if not comma:
        yield outer.end - 1, outer.end - 1, f"\n{indent(text, outer.start)}" if "\n" not in inside else ""


def localization(text: str, entry: Entry, answers: Sequence[Answer], unit: str) -> str:
    """The translations as an object of JSON, indented by `unit`."""
    state = "needs_review" if any(answer.flags for answer in answers) else "translated"
    pairs = zip(entry.texts, answers, strict=True)
    written = [json.dumps(with_blanks(source, answer.text), ensure_ascii=False) for source, answer in pairs]
    if not entry.source:
        lines = ["{", '  "stringUnit" : {', f'    "state" : "{state}",', f'    "value" : {written[0]}', "  }", "}"]
        return f"\n{unit}".join(lines)
    states = [node for node in strings(entry.source) if node.key == "state"]
    edits = [(node.start, node.end, new) for node, new in zip(entry.values, written, strict=True)]
    edits += [(node.start, node.end, f'"{state}"') for node in states]
    start = entry.source.start
    return splice(text[start : entry.source.end], [(first - start, last - start, new) for first, last, new in edits])


def indent(text: str, place: int) -> str:
    """The blanks at the start of the line of a place."""
    match = re.compile(r"[ \t]*").match(text, text.rfind("\n", 0, place) + 1)
    return match[0] if match else ""
