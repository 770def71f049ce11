"""YAML, as for user interfaces: string values are units; keys, comments, anchors, other values and all layout stay.

An answer is written in the style of its source: plain, quoted or as a block; in double quotes where the style can't
have it. With columns, only the values of keys with these names are units.
"""

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import yaml

from nmt.documents.base import Document, Options, Slot, decode, has_words, paired, text_document, text_unit
from nmt.documents.plurals import Leaf, new_keys
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


class Value(NamedTuple):
    """A value that is no collection."""

    event: yaml.ScalarEvent
    key: str
    """Its key, or that of the list that it is in."""
    in_flow: bool
    """Whether it is in brackets."""
    key_event: yaml.ScalarEvent | None
    """Of a value in a mapping."""
    mapping: int
    """Where the collection around begins."""


def read(data: bytes, options: Options) -> Document:
    source, roots = decode(data, options.encoding), list[yaml.ScalarEvent]()
    slots = slots_of(source.text, options, roots)
    return text_document(source, slots, [*root_edits(roots, options)] if len(roots) == 1 else ())


def slots_of(source: str, options: Options, roots: list[yaml.ScalarEvent]) -> list[Slot]:
    """The slots of a text; ValueError if it isn't YAML. `roots` gets the keys of the outermost mapping."""
    slots, mappings, translated = list[Slot](), dict[int, dict[str, Value]](), set[int]()
    try:
        for value in scalars(source, roots):
            event, key, in_flow, key_event, mapping = value
            text = paired(event.value.rstrip("\n") if event.style in ("|", ">") else event.value)
            if is_string(event) and has_words(text) and (not options.columns or key in options.columns):
                start, end = event.start_mark.index, event.end_mark.index
                match = PROPERTIES.match(source, start, end)
                start = match.end() if match else start
                write = partial(written, event, in_flow, source[start:end])
                slots.append(Slot(start, end, text_unit(text, f"line {event.start_mark.line + 1}"), write))
                translated.add(event.start_mark.index)
            if key_event:
                mappings.setdefault(mapping, {})[key] = value
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1} is" if mark else "the file is"
        raise ValueError(f"{place} not valid YAML: {getattr(error, 'problem', None) or 'wrong characters'}") from None
    for values in mappings.values():
        slots += more_forms(source, values, translated, options.target)
    return slots


def more_forms(text: str, values: Mapping[str, Value], translated: Container[int], language: str) -> Iterator[Slot]:
    """The plural forms that the target language has more than a mapping, before its form for other numbers.
    `translated`: where the values that are units begin."""
    read = {key: value.event for key, value in values.items() if value.event.start_mark.index in translated}
    texts = {key: paired(event.value.rstrip("\n")) for key, event in read.items()}
    for key, name, form in new_keys(texts, values, language):
        in_flow, key_event = values[key].in_flow, values[key].key_event
        assert key_event
        start, column = key_event.start_mark.index, key_event.start_mark.column
        around = text[max(0, start - DEEPEST) : start + DEEPEST]
        is_alone = in_flow and start == values[key].mapping
        if is_alone or re.search(r"\?\s+\Z", around[: min(start, DEEPEST)]):
            continue  # [KEY: TEXT], ? KEY
        after = ", " if in_flow else ("\r\n" if "\r\n" in around else "\n") + column * " "
        head = f"{json.dumps(name) if key_event.style else name}: "
        place = f"line {key_event.start_mark.line + 1}, {name.rpartition('_')[2]}"
        yield Slot(start, start, text_unit(form.text, place), partial(new_form, head, read[key], in_flow, form, after))


def new_form(head: str, other: yaml.ScalarEvent, in_flow: bool, form: Leaf, after: str, text: str) -> str:
    return f"{head}{written(other, in_flow, '', form.write(text))}{after}"


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


@dataclass
class Around:
    """A collection that is being read."""

    is_mapping: bool
    in_flow: bool
    start: int
    key: str | None
    """The last one; None: a key comes next. Of a list, the key that it is in."""
    key_event: yaml.ScalarEvent | None = None


def scalars(text: str, roots: list[yaml.ScalarEvent]) -> Iterator[Value]:
    """The values that aren't collections. `roots` gets the keys of the outermost mapping."""
    opened = [Around(False, False, 0, "")]
    for event in yaml.parse(text, Loader=Loader):
        around = opened[-1]
        if isinstance(event, yaml.CollectionEndEvent):
            opened.pop()
        elif isinstance(event, yaml.ScalarEvent) and around.key is None:
            around.key, around.key_event = event.value, event
            roots += [event] if len(opened) == 2 else []
        elif isinstance(event, yaml.NodeEvent):
            key, key_event = around.key or "", around.key_event
            if around.is_mapping:
                around.key, around.key_event = ("" if around.key is None else None), None
            if isinstance(event, yaml.ScalarEvent):
                yield Value(event, key, around.in_flow, key_event, around.start)
            elif isinstance(event, yaml.CollectionStartEvent):
                start = event.start_mark
                require(len(opened) <= DEEPEST, f"line {start.line + 1}: nested deeper than {DEEPEST}")
                is_mapping = isinstance(event, yaml.MappingStartEvent)
                opened.append(Around(is_mapping, bool(event.flow_style), start.index, None if is_mapping else key))


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
    return quoted + (raw[len(raw.rstrip("\r\n\x85\u2028\u2029")) :] if block else "")
