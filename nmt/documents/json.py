"""JSON, as for user interfaces (also ARB): string values are units; keys, numbers and all else stay.

The texts of keys that begin with @ are about texts (ARB), not for readers. With columns, only the values of keys with
these names are units.
"""

import json
import re
from dataclasses import dataclass, field
from functools import partial

from nmt.documents.base import Document, Options, Slot, decode, text_document, text_unit
from nmt.documents.plurals import has_text, with_forms
from nmt.fields import require

TOKEN = re.compile(r'[{}\[\]]|"(?:[^"\\]|\\.)*+"|[^\s{}\[\]:,"]++')


@dataclass
class Node:
    """A value of a JSON text and where it stands."""

    start: int
    end: int = 0
    key: str = ""
    """The key of the value, or of the array that it is in."""
    text: str | None = None
    """Of a string."""
    members: dict[str, "Node"] = field(default_factory=dict)
    """Of an object, by their keys; of an array, by their numbers."""


def read(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding)
    write = partial(json.dumps, ensure_ascii=source.text.isascii() and "\\u" in source.text)
    root = parse(source.text)
    locale = next(iter(root.members.values())).members.get("@@locale") if options.target else None  # of ARB
    changes = [(locale.start, locale.end, json.dumps(options.target.replace("-", "_")))] if locale else []
    found = strings(root)
    missing = ",".join(name for name in options.columns if found and all(node.key != name for node in found))
    names = ", ".join([*dict.fromkeys(node.key for node in found)][:20])
    require(not missing, f"--columns {missing}: no text has this key; there are {names}")
    slots = list[Slot]()
    for node in found:
        if node.text and has_text(node.text) and (not options.columns or node.key in options.columns):
            slots.append(Slot(node.start, node.end, text_unit(node.text, source.place(node.start)), write))
    return with_forms(text_document(source, slots, changes), options)


def parse(text: str) -> Node:
    """The values of a JSON text; ValueError, with its line, if it isn't JSON."""
    try:
        json.loads(text, parse_int=str)  # a number may have any length
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno} is not valid JSON: {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise ValueError("the JSON is nested too deep") from None
    root = Node(0)
    opened, key = [root], ""
    for match in TOKEN.finditer(text):
        token, (start, end), parent = match[0], match.span(), opened[-1]
        if token in ("}", "]"):
            opened.pop().end = end
            key = ""
        elif token[0] == '"' and text[parent.start] == "{" and len(opened) > 1 and not key:
            key = token
        else:
            name = json.loads(key) if key else parent.key
            node = Node(start, end, name, json.loads(token) if token[0] == '"' else None)
            parent.members[name if key else str(len(parent.members))] = node
            key = ""
            if token in "{[":
                opened.append(node)
    return root


def strings(root: Node) -> list[Node]:
    """The strings, without those about other texts; of keys that are there twice, the last."""
    found, waiting = list[Node](), [root]
    while waiting:
        node = waiting.pop()
        found += [node] if node.text is not None else []
        waiting += (member for key, member in node.members.items() if not key.startswith("@"))
    return sorted(found, key=lambda node: node.start)
