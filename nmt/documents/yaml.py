"""YAML, as for user interfaces: string values are units; keys, comments, anchors, other values and all layout stay.

An answer is written in the style of its source: plain, quoted or as a block; in double quotes where the style can't
have it. With columns, only the values of keys with these names are units.
"""

import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import yaml

from nmt.documents.base import Document, Options, Slot, decode, has_words, paired, text_document, text_unit
from nmt.documents.plurals import new_keys, new_member
from nmt.fields import require
from nmt.text.edits import Edit
from nmt.text.languages import same_language

DEEPEST = 100
PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")  # anchor and tag
PLAIN = re.compile(r"[^\W\d_](?:[^\s:#,\[\]{}]|[ ](?![#\s])|:(?!\s|\Z)|(?<!\s)#)*")
PLAIN_IN_FLOW = re.compile(r"[^\W\d_](?:[^\s:#,\[\]{}?\"']|[ ](?![#\s]))*")
ODD = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[\u2028\u2029]")
BLOCK = re.compile(r"[|>][^\r\n]*(?:\r\n?|\n)(?:[ \t]*(?:\r\n?|\n))*( *)")
RESOLVER = yaml.SafeLoader("")
TEXT = "tag:yaml.org,2002:str"


class Loader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
    """Reads Ruby's symbols in brackets too, [:year, :month], as Rails writes them and its own parser reads them."""

    def check_plain(self) -> bool:
        return super().check_plain() or self.is_symbol()

    def check_value(self) -> bool:
        return super().check_value() and not self.is_symbol()

    def is_symbol(self) -> bool:
        is_key = self.flow_level in self.possible_simple_keys  # of which the colon would be
        return bool(self.flow_level) and not is_key and self.peek() == ":" and self.peek(1).isalpha()


class Value(NamedTuple):
    """A value, which may be a collection."""

    event: yaml.NodeEvent
    key: str
    """Its key, or that of the list that it is in."""
    key_event: Any
    """Of a value in a mapping; None if its key is a collection."""
    around: yaml.CollectionStartEvent
    depth: int
    """How many collections are around it."""


def read(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding)
    values = parse(source.text)
    options.require_keys(value.key for value in values if text_of(value.event))
    roots = [value.key_event for value in values if value.depth == 1 and value.key_event]
    changes = [*root_edits(roots[0], options)] if len(roots) == 1 else ()
    return text_document(source, slots_of(source.text, values, options), changes)


def parse(text: str) -> list[Value]:
    """The values of a text; ValueError if it isn't YAML."""
    try:
        events = yaml.parse(text, Loader)
        nodes = (event for event in events if isinstance(event, (yaml.NodeEvent, yaml.CollectionEndEvent)))
        return [*values_of(nodes, yaml.SequenceStartEvent(None, None, True), "", 0)]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1} is" if mark else "the file is"
        raise ValueError(f"{place} not valid YAML: {getattr(error, 'problem', None) or 'wrong characters'}") from None


def values_of(events: Iterator[yaml.Event], around: yaml.CollectionStartEvent, key: str, depth: int) -> Iterator[Value]:
    """The values in a collection, and in those in it, up to its end. `key`: of the collection."""
    for event in events:
        require(depth <= DEEPEST, f"line {event.start_mark.line + 1}: nested deeper than {DEEPEST}")
        key_event = None
        if isinstance(event, yaml.CollectionEndEvent):
            return
        if isinstance(around, yaml.MappingStartEvent):
            is_text = isinstance(event, yaml.ScalarEvent)
            key, key_event = (event.value, event) if is_text else ("", None)
            if isinstance(event, yaml.CollectionStartEvent):
                deque(values_of(events, event, "", depth + 1), 0)  # keys stay
            event = next(events)
        yield Value(event, key, key_event, around, depth)
        if isinstance(event, yaml.CollectionStartEvent):
            yield from values_of(events, event, key, depth + 1)


def slots_of(source: str, values: Sequence[Value], options: Options) -> list[Slot]:
    slots, mappings, texts = list[Slot](), dict[int, dict[str, Value]](), dict[int, dict[str, str]]()
    for value in values:
        event, text = value.event, text_of(value.event)
        if has_words(text) and options.wants(value.key):
            start, end = event.start_mark.index, event.end_mark.index
            match = PROPERTIES.match(source, start, end)
            start = match.end() if match else start
            unit = text_unit(text, f"line {event.start_mark.line + 1}")
            slots.append(Slot(start, end, unit, partial(written, value, source[start:end])))
            texts.setdefault(id(value.around), {})[value.key] = text.rstrip("\n")
        if value.key_event and isinstance(event, yaml.ScalarEvent):
            mappings.setdefault(id(value.around), {})[value.key] = value
    for mapping, siblings in mappings.items():  # the plural forms that the target language has more, before others
        for key, name, form in new_keys(texts.get(mapping, {}), siblings, options.target):
            value, mark = siblings[key], siblings[key].key_event.start_mark
            near = source[max(0, mark.index - DEEPEST) : mark.index + DEEPEST]
            is_alone = value.around.flow_style and mark.index == value.around.start_mark.index
            if is_alone or re.search(r"\?\s+\Z", near[: min(mark.index, DEEPEST)]):
                continue  # [KEY: TEXT], ? KEY
            after = ", " if value.around.flow_style else ("\r\n" if "\r\n" in near else "\n") + mark.column * " "
            head = f"{json.dumps(name) if value.key_event.style else name}: "
            unit = text_unit(form.text, f"line {mark.line + 1}, {name.rpartition('_')[2]}")
            write = partial(new_member, head, form, after, partial(written, value, ""))
            slots.append(Slot(mark.index, mark.index, unit, write))
    return slots


def text_of(event: yaml.NodeEvent) -> str:
    """The text of a string; empty for all other values."""
    is_tagged = not isinstance(event, yaml.ScalarEvent) or event.tag not in (None, "!", TEXT)
    if is_tagged or (event.implicit[0] and RESOLVER.resolve(yaml.ScalarNode, event.value, (True, False)) != TEXT):
        return ""
    return paired(event.value.rstrip("\n") if event.style in ("|", ">") else event.value)


def root_edits(root: yaml.ScalarEvent, options: Options) -> Iterator[Edit]:
    """The only key of a file that is its language, as those of Rails are, becomes the target language."""
    target = options.target
    if options.source and target and same_language(root.value, options.source):
        is_text = RESOLVER.resolve(yaml.ScalarNode, target, (True, False)) == TEXT  # no is a truth value
        quote = root.style or ("" if is_text else '"')
        yield root.start_mark.index, root.end_mark.index, f"{quote}{target}{quote}"


def written(value: Value, raw: str, text: str) -> str:
    """A text in the style of its source. `raw`: how the value is written now."""
    style, block = value.event.style, BLOCK.match(raw)
    text = text.rstrip("\n") if block else text
    has_indent = re.match(r"[|>][+-]?[1-9]", raw)
    if block and not has_indent and not ODD.search(text) and not re.search(r"^[ \t]|[ \t]$", text, re.MULTILINE):
        newline = "\r\n" if "\r\n" in raw else "\n"
        lines = text.split("\n") if style == "|" else re.sub("\n+", "\\g<0>\n", text).split("\n")
        tail = raw[len(raw.rstrip()) :]
        body = newline.join(f"{block[1]}{line}" if line else "" for line in lines)
        return f"{raw[: block.end() - len(block[1])]}{body}{tail}"
    is_odd = ODD.search(text) or "\n" in text or "\t" in text
    plain = PLAIN_IN_FLOW if value.around.flow_style else PLAIN
    is_plain = style is None and not is_odd and text == text.strip() and plain.fullmatch(text)
    if is_plain and RESOLVER.resolve(yaml.ScalarNode, text, (True, False)) == TEXT:
        return text
    if style == "'" and not is_odd:
        return "'{}'".format(text.replace("'", "''"))
    if block:
        text += value.event.value[len(value.event.value.rstrip("\n")) :]
    quoted = ODD.sub(
        lambda odd: f"\\U{ord(odd[0]):08x}" if odd[0] > "\uffff" else f"\\u{ord(odd[0]):04x}",
        json.dumps(text, ensure_ascii=False),
    )
    return quoted + (raw[len(raw.rstrip("\r\n\x85\u2028\u2029")) :] if block else "")
