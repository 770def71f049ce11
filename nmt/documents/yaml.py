"""YAML, as for user interfaces: string values are units; keys, comments, anchors, other values and all layout stay.

An answer is written in the style of its source: plain, quoted or as a block; in double quotes where the style can't
have it. With columns, only the values of keys with these names are units.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial

import yaml

from nmt.documents.base import Document, Options, Slot, decode, has_words, text_document, text_unit
from nmt.fields import require
from nmt.text.edits import Edit

DEEPEST = 100
PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")  # anchor and tag
PLAIN = re.compile(r"[^\W\d_](?:[^\s:#,\[\]{}]|[ ](?![#\s])|:(?!\s|\Z)|(?<!\s)#)*")
PLAIN_IN_FLOW = re.compile(r"[^\W\d_](?:[^\s:#,\[\]{}?\"']|[ ](?![#\s]))*")
ODD = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[\u2028\u2029]")
BLOCK = re.compile(r"[|>][^\r\n]*(?:\r\n?|\n)(?:[ \t]*(?:\r\n?|\n))*( *)")
RESOLVER = yaml.SafeLoader("")


class Loader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
    """Reads Ruby's symbols in brackets too, [:year, :month], as Rails writes them and its own parser reads them."""

    def check_plain(self) -> bool:
        return super().check_plain() or self.is_symbol()

    def check_value(self) -> bool:
        return super().check_value() and not self.is_symbol()

    def is_symbol(self) -> bool:
        is_key = self.flow_level in self.possible_simple_keys  # of which the colon would be
        return bool(self.flow_level) and not is_key and self.peek() == ":" and self.peek(1).isalpha()


def read(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding)
    slots, roots = list[Slot](), list[yaml.ScalarEvent]()
    try:
        for event, key, in_flow in scalars(source.text, roots):
            value = event.value.rstrip("\n") if event.style in ("|", ">") else event.value
            if is_string(event) and has_words(value) and (not options.columns or key in options.columns):
                start, end = event.start_mark.index, event.end_mark.index
                match = PROPERTIES.match(source.text, start, end)
                start = match.end() if match else start
                write = partial(written, event, in_flow, source.text[start:end])
                slots.append(Slot(start, end, text_unit(value, f"line {event.start_mark.line + 1}"), write))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1} is" if mark else "the file is"
        raise ValueError(f"{place} not valid YAML: {getattr(error, 'problem', None) or 'wrong characters'}") from None
    return text_document(source, slots, [*root_edits(roots, options)] if len(roots) == 1 else ())


def root_edits(roots: Sequence[yaml.ScalarEvent], options: Options) -> Iterator[Edit]:
    """The only key of a file that is its language, as those of Rails are, becomes the target language."""
    (root,), source, target = roots, options.source.replace("_", "-").lower(), options.target
    if source and target and root.value.replace("_", "-").lower() in (source, source.partition("-")[0]):
        is_string = RESOLVER.resolve(yaml.ScalarNode, target, (True, False)).endswith(":str")  # no is a truth value
        quote = root.style or ("" if is_string else '"')
        yield root.start_mark.index, root.end_mark.index, f"{quote}{target}{quote}"


def is_string(event: yaml.ScalarEvent) -> bool:
    if event.tag not in (None, "!", "tag:yaml.org,2002:str"):
        return False
    return not event.implicit[0] or RESOLVER.resolve(yaml.ScalarNode, event.value, (True, False)).endswith(":str")


def scalars(text: str, roots: list[yaml.ScalarEvent]) -> Iterator[tuple[yaml.ScalarEvent, str, bool]]:
    """The values that aren't collections, with their keys, and whether they are in brackets. `roots` gets the keys of
    the outermost mapping."""
    # Of each collection around: whether it is a mapping, whether it is written in brackets, the last key.
    opened: list[tuple[bool, bool, str | None]] = []
    for event in yaml.parse(text, Loader=Loader):
        is_mapping, in_flow, key = opened[-1] if opened else (False, False, "")
        if isinstance(event, yaml.CollectionEndEvent):
            opened.pop()
        elif isinstance(event, yaml.ScalarEvent) and is_mapping and key is None:
            opened[-1] = is_mapping, in_flow, event.value
            roots += [event] if len(opened) == 1 else []
        elif isinstance(event, yaml.NodeEvent):
            if is_mapping:
                opened[-1] = is_mapping, in_flow, "" if key is None else None
            if isinstance(event, yaml.ScalarEvent):
                yield event, key or "", in_flow
            elif isinstance(event, yaml.CollectionStartEvent):
                require(len(opened) < DEEPEST, f"line {event.start_mark.line + 1}: nested deeper than {DEEPEST}")
                is_mapping = isinstance(event, yaml.MappingStartEvent)
                opened.append((is_mapping, bool(event.flow_style), None if is_mapping else key or ""))


def written(event: yaml.ScalarEvent, in_flow: bool, raw: str, text: str) -> str:
    """A text in the style of its source."""
    style, block = event.style, BLOCK.match(raw)
    text = text.rstrip("\n") if block else text
    has_indent = re.match(r"[|>][+-]?[1-9]", raw)
    if block and not has_indent and not ODD.search(text) and not re.search(r"^[ \t]|[ \t]$", text, re.MULTILINE):
        newline = "\r\n" if "\r\n" in raw else "\n"
        lines = text.split("\n") if style == "|" else re.sub("\n+", "\\g<0>\n", text).split("\n")
        tail = raw[len(raw.rstrip()) :]
        body = newline.join(f"{block[1]}{line}" if line else "" for line in lines)
        return f"{raw[: block.end() - len(block[1])]}{body}{tail}"
    is_odd = ODD.search(text) or "\n" in text or "\t" in text
    plain = PLAIN_IN_FLOW if in_flow else PLAIN
    is_plain = style is None and not is_odd and text == text.strip() and plain.fullmatch(text)
    if is_plain and RESOLVER.resolve(yaml.ScalarNode, text, (True, False)).endswith(":str"):
        return text
    if style == "'" and not is_odd:
        return "'{}'".format(text.replace("'", "''"))
    if block:
        text += event.value[len(event.value.rstrip("\n")) :]
    quoted = ODD.sub(
        lambda odd: f"\\U{ord(odd[0]):08x}" if odd[0] > "\uffff" else f"\\u{ord(odd[0]):04x}",
        json.dumps(text, ensure_ascii=False),
    )
    return quoted + (raw[len(raw.rstrip("\r\n")) :] if block else "")
