"""JSON, as for user interfaces (also ARB), and string catalogues of Xcode (.xcstrings).

JSON: string values are units; keys, numbers and all else stay. The texts of keys that begin with @ are about texts
(ARB), not for readers. With columns, only the values of keys with these names are units. Catalogues: texts without a
translation into the target language get one, which is a copy of the source language's entry with its variations
(plurals, devices). Its state is translated, or needs_review if something looks wrong. Keys, comments and texts with
"shouldTranslate": false stay.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from nmt.documents.base import Answer, Document, Options, Slot, Text, decode, has_words, text_document, text_unit
from nmt.documents.plurals import has_text, new_keys, new_member, with_forms
from nmt.fields import require
from nmt.text.edits import Edit, apply
from nmt.text.languages import short_code
from nmt.text.normalise import with_blanks

BLANKS = 200  # at most so many of the blanks before a key are written again
NEWLINE, LONGEST = re.compile("[\r\n]"), 1_000  # characters of a line whose indent is looked for
TOKEN = re.compile(r'[{}\[\]]|"(?:[^"\\]|\\.)*+"|[^\s{}\[\]:,"]++')


@dataclass
class Node:
    """A value of a JSON text and where it stands."""

    start: int
    end: int = 0
    key: str = ""
    """The key of the value, or of the array that it is in."""
    key_start: int = 0
    """Where the key is written."""
    text: str | None = None
    """Of a string."""
    members: dict[str, "Node"] = field(default_factory=dict)
    """Of an object, by their keys; of an array, by their numbers."""


def read_json(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding)
    write = partial(json.dumps, ensure_ascii=source.text.isascii() and "\\u" in source.text)
    root = parse(source.text)
    locale = root.members.get("@@locale") if options.target else None  # of ARB
    changes = [(locale.start, locale.end, json.dumps(options.target.replace("-", "_")))] if locale else []
    found = strings(root)
    options.require_keys(node.key for node in found)
    chosen = [node for node in found if options.wants(node.key)]
    texts = [node for node in chosen if has_text(node.text or "")]
    slots = [Slot(node.start, node.end, text_unit(node.text or "", source.place(node.start)), write) for node in texts]
    read = {id(node) for node in texts}
    for node in nodes_of(root):  # the plural forms that the target language has more, before that for other numbers
        known = {key: member.text or "" for key, member in node.members.items() if id(member) in read}
        for key, name, form in new_keys(known, node.members, options.target):
            start = node.members[key].key_start
            before = source.text[max(0, start - BLANKS) : start]
            after = f",{before[len(before.rstrip()) :] or ' '}"
            unit = text_unit(form.text, f"{source.place(start)}, {name.rpartition('_')[2]}")
            slots.append(Slot(start, start, unit, partial(new_member, f"{write(name)}: ", form, after, write)))
    return with_forms(text_document(source, slots, changes), options)


def parse(text: str) -> Node:
    """The value of a JSON text; ValueError, with its line, if it isn't JSON."""
    try:
        json.loads(text, parse_int=str)  # a number may have any length
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno} is not valid JSON: {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise ValueError("the JSON is nested too deep") from None
    root = Node(0)
    opened, key, key_start = [root], "", 0
    for match in TOKEN.finditer(text):
        token, (start, end), parent = match[0], match.span(), opened[-1]
        if token in ("}", "]"):
            opened.pop().end = end
            key = ""
        elif token[0] == '"' and text[parent.start] == "{" and len(opened) > 1 and not key:
            key, key_start = token, start
        else:
            name = json.loads(key) if key else parent.key
            node = Node(start, end, name, key_start, json.loads(token) if token[0] == '"' else None)
            parent.members[name if key else str(len(parent.members))] = node
            key = ""
            if token in "{[":
                opened.append(node)
    [value] = root.members.values()
    return value


def nodes_of(root: Node) -> list[Node]:
    """All values but those about other texts; of keys that are there twice, the last."""
    found, waiting = list[Node](), [root]
    while waiting:
        found.append(waiting.pop())
        waiting += (member for key, member in found[-1].members.items() if not key.startswith("@"))
    return found


def strings(root: Node) -> list[Node]:
    """The strings, in their order, without those about other texts."""
    return sorted((node for node in nodes_of(root) if node.text is not None), key=lambda node: node.start)


@dataclass(frozen=True)
class Entry:
    node: Node
    source: Node | None
    """Its localization in the source language; None if the key is the text."""
    values: list[Node]
    """The texts in that localization."""
    texts: list[str]


def read_xcstrings(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding)
    root = parse(source.text)
    require("strings" in root.members and "sourceLanguage" in root.members, "this is no string catalogue of Xcode")
    language = root.members["sourceLanguage"].text or ""
    require(bool(options.target), "an .xcstrings file needs the language to translate to: --target CODE")
    is_right = not options.source or short_code(language) == short_code(options.source)
    wrong = f"the source language of the file is {language}, but the model translates from {options.source}"
    require(is_right, wrong)
    entries = list[Entry]()
    for key, node in root.members["strings"].members.items():
        localizations, wanted = node.members.get("localizations"), node.members.get("shouldTranslate")
        known = localizations.members if localizations else {}
        is_object = all(source.text[value.start] == "{" for value in (node, localizations or node))
        is_off = wanted and source.text[wanted.start : wanted.end] == "false"
        if is_object and not is_off and (options.target not in known or options.all_entries):
            original = known.get(language)
            values = [value for value in strings(original) if value.key == "value"] if original else []
            texts = [value.text or "" for value in values] or [key]
            entries += [Entry(node, original if values else None, values, texts)] if any(map(has_words, texts)) else []
    units = [text_unit(text, source.place(entry.node.start)) for entry in entries for text in entry.texts]
    notes = list[str]()

    def write(answers: Sequence[Answer]) -> bytes:
        rest, edits = iter(answers), list[Edit]()
        for entry in entries:
            chosen = [next(rest) for _ in entry.texts]
            if [answer.text for answer in chosen] != entry.texts and all(answer.text.strip() for answer in chosen):
                edits += entry_edits(source, entry, chosen, options.target)
        return source.edited(edits, notes)

    return Document(data, units, write, notes)


def entry_edits(source: Text, entry: Entry, answers: Sequence[Answer], target: str) -> Iterator[Edit]:
    """Put the translations beside the localization of the source language, or make it the first one."""
    localizations = entry.node.members.get("localizations")
    known = localizations.members.get(target) if localizations else None
    outer = localizations or entry.node
    unit = indent(source.text, outer.start) + "  "
    new = localization(source.text, entry, answers, unit)
    if known:
        yield known.start, known.end, new
        return
    member_text = f"{unit}{json.dumps(target)} : {new}"
    if localizations is None:
        inner = member_text.replace("\n", "\n  ")
        member_text = f'{unit}"localizations" : {{\n  {inner}\n{unit}}}'
    inside = source.text[outer.start + 1 : outer.end - 1]
    comma = "," if inside.strip() else ""
    yield outer.start + 1, outer.start + 1, f"\n{member_text}{comma}"
    if not comma:
        yield outer.end - 1, outer.end - 1, f"\n{indent(source.text, outer.start)}" if "\n" not in inside else ""


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
    edits = sorted((first - start, last - start, new) for first, last, new in edits)
    return apply(text[start : entry.source.end], edits)


def indent(text: str, place: int) -> str:
    """The blanks at the start of the line of a place, at most 100."""
    line = NEWLINE.split(text[max(0, place - LONGEST) : place])[-1]
    return line[: len(line) - len(line.lstrip(" \t"))][:100]
