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
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from nmt.documents.base import Answer, Document, Options, Slot, decode, has_words, text_document, text_unit
from nmt.documents.plurals import has_text, new_keys, new_member, with_forms
from nmt.fields import require
from nmt.text.edits import Edit
from nmt.text.languages import short_code
from nmt.text.normalise import with_blanks

DEEPEST = 100  # objects and arrays around a value: entries of a string catalogue are written anew, with indents
BLANKS = 200  # at most so many of the blanks before a key are written again
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
    nodes = nodes_of(root)
    found = sorted((node for node in nodes if node.text is not None), key=lambda node: node.start)
    options.require_keys(node.key for node in found)
    chosen = [node for node in found if options.wants(node.key)]
    texts = [node for node in chosen if has_text(node.text or "")]
    slots = [Slot(node.start, node.end, text_unit(node.text or "", source.place(node.start)), write) for node in texts]
    read = {id(node) for node in texts}
    for node in nodes:  # the plural forms that the target language has more, before that for other numbers
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
                require(len(opened) <= DEEPEST + 1, f"the JSON is nested deeper than {DEEPEST}")
    [value] = root.members.values()
    return value


def nodes_of(root: Node) -> list[Node]:
    """All values but those about other texts; of keys that are there twice, the last."""
    found, waiting = list[Node](), [root]
    while waiting:
        found.append(waiting.pop())
        waiting += (member for key, member in found[-1].members.items() if not key.startswith("@"))
    return found


@dataclass(frozen=True)
class Entry:
    node: Node
    value: dict[str, Any]
    model: dict[str, Any]
    """The localization in the source language, of which the new one is a copy."""
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
        value = json.loads(source.text[node.start : node.end])
        known = value.get("localizations", {}) if isinstance(value, dict) else None
        if not isinstance(known, dict) or value.get("shouldTranslate") is False:
            continue
        source_entry = known.get(language)
        model: Any = source_entry if any(string_units(source_entry)) else {"stringUnit": {"state": "new", "value": key}}
        texts = [unit["value"] for unit in string_units(model)]
        if any(map(has_words, texts)) and (options.target not in known or options.all_entries):
            entries.append(Entry(node, value, model, texts))
    units = [text_unit(text, source.place(entry.node.start)) for entry in entries for text in entry.texts]
    notes = list[str]()

    def write(answers: Sequence[Answer]) -> bytes:
        rest, edits = iter(answers), list[Edit]()
        for entry in entries:
            chosen = [next(rest) for _ in entry.texts]
            if [answer.text for answer in chosen] != entry.texts and all(answer.text.strip() for answer in chosen):
                edits.append((entry.node.start, entry.node.end, with_localization(entry, chosen, options.target)))
        return source.edited(edits, notes)

    return Document(data, units, write, notes)


def string_units(localization: Any) -> Iterator[dict[str, Any]]:
    """The objects with a text in a localization, in order."""
    if isinstance(localization, dict):
        if isinstance(localization.get("value"), str):
            yield localization
        for part in localization.values():
            yield from string_units(part)


def with_localization(entry: Entry, answers: Sequence[Answer], target: str) -> str:
    """An entry with its translations, as Xcode writes it."""
    new = deepcopy(entry.model)
    state = "needs_review" if any(answer.flags for answer in answers) else "translated"
    for unit, text, answer in zip(string_units(new), entry.texts, answers, strict=True):
        unit |= {"state": state, "value": with_blanks(text, answer.text)}
    value = entry.value | {"localizations": entry.value.get("localizations", {}) | {target: new}}
    return json.dumps(value, ensure_ascii=False, indent=2, separators=(",", " : ")).replace("\n", "\n    ")
