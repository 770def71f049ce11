"""JSON, as for user interfaces (also ARB): string values are units; keys, numbers and all else stay.

The texts of keys that begin with @ are about texts (ARB), not for readers. With columns, only the values of keys with
these names are units.
"""

import json
import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from nmt.documents.base import Document, Options, Slot, Text, decode, text_document, text_unit
from nmt.documents.plurals import has_text, new_keys, new_member, with_forms
from nmt.fields import require

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


def read(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding)
    write = partial(json.dumps, ensure_ascii=source.text.isascii() and "\\u" in source.text)
    root = parse(source.text)
    locale = root.members.get("@@locale") if options.target else None  # of ARB
    changes = [(locale.start, locale.end, json.dumps(options.target.replace("-", "_")))] if locale else []
    found = strings(root)
    missing = ",".join(name for name in options.columns if found and all(node.key != name for node in found))
    names = ", ".join([*dict.fromkeys(node.key for node in found)][:20])
    require(not missing, f"--columns {missing}: no text has this key; there are {names}")
    chosen = [node for node in found if not options.columns or node.key in options.columns]
    texts = [node for node in chosen if has_text(node.text or "")]
    slots = [Slot(node.start, node.end, text_unit(node.text or "", source.place(node.start)), write) for node in texts]
    slots += more_forms(source, nodes_of(root), {id(node) for node in texts}, options.target, write)
    return with_forms(text_document(source, slots, changes), options)


def more_forms(
    source: Text, nodes: Sequence[Node], read: Container[int], language: str, write: Callable[[str], str]
) -> Iterator[Slot]:
    """The plural forms that the target language has more than an object, before its form for other numbers. `read`: the
    identities of the nodes that are translated."""
    for node in nodes:
        texts = {key: member.text or "" for key, member in node.members.items() if id(member) in read}
        for key, name, form in new_keys(texts, node.members, language):
            start = node.members[key].key_start
            before = source.text[max(0, start - BLANKS) : start]
            after = f",{before[len(before.rstrip()) :] or ' '}"
            unit = text_unit(form.text, f"{source.place(start)}, {name.rpartition('_')[2]}")
            yield Slot(start, start, unit, partial(new_member, f"{write(name)}: ", form, after, write))


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
