"""A step that cuts mark-up into segments (`nmt.text.markup`), and puts their translations between the tags.

Segments between tags come first, then those inside tags: attributes that readers see, and CDATA.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nmt.reading.loop import Context, Taken
from nmt.reading.reading import Reading
from nmt.reading.request import Part, Translation, join, shifted
from nmt.reading.share import share
from nmt.text.edits import Edit, shifts
from nmt.text.markup import Document, is_markup, parse, parse_inner


@dataclass(frozen=True)
class Segments(Taken):
    """The segments of a text with mark-up."""

    outer: Document
    inner: Document
    text: str

    def back(self, lists: Sequence[list[Translation]]) -> list[Translation]:
        if lists:
            return super().back(lists)
        words = tuple((word.start(), word.start()) for word in re.finditer(r"\S+", self.text))
        return [Translation(self.text, 0.0, (), links=words)]

    def put_back(self, chosen: Sequence[Translation]) -> Translation:
        between, inside = chosen[: len(self.outer.segments)], chosen[len(self.outer.segments) :]
        pieces: list[str | Translation] = [self.outer.kept[0]]
        for kept, translation in zip(self.outer.kept[1:], between, strict=True):
            pieces += [translation, kept]
        whole = join(pieces)
        return self.with_inside(whole, inside, join(chosen)) if inside else whole

    def with_inside(self, whole: Translation, inside: Sequence[Translation], all_parts: Translation) -> Translation:
        """The translation with those of attributes and CDATA in the tags, wherever these stand now."""
        new = {segment.raw: translation for segment, translation in zip(self.inner.segments, inside, strict=True)}
        found = [segment for segment in parse_inner(whole.text).segments if segment.raw in new]
        edits: list[Edit] = [(s.start, s.start + len(s.raw), new[s.raw].text) for s in found]
        edited, parts = whole.edited(edits), list[Part]()
        if len(parse_inner(edited.text).segments) < len(found):  # a translation is too long for an attribute
            edited = whole.flagged("items")
        else:
            place, starts = shifts(edits), defaultdict[str, list[int]](list)
            for segment in reversed(found):
                starts[segment.raw].append(segment.start)
            for segment, translation in zip(self.inner.segments, inside, strict=True):
                start = place(starts[segment.raw].pop()) if starts[segment.raw] else 0
                parts += [replace(part, target_places=shifted(part.target_places, start)) for part in translation.parts]
        parts = [*edited.parts, *parts]
        return replace(edited, score=all_parts.score, parts=tuple(parts), fallback=all_parts.fallback).flagged(
            *all_parts.flags
        )

    def targets(self, text: str) -> Iterator[tuple[str, ...]]:
        found = [segment.raw for document in (parse(text), parse_inner(text)) for segment in document.segments]
        if len(found) == len(self.readings):
            yield tuple(found)


def mark_up(reading: Reading, context: Context) -> Segments | None:
    """The segments of a text that is mark-up (see `nmt.text.markup.is_markup`)."""
    if not is_markup(reading.text, context.mode):
        return None
    text = re.sub("[\ud800-\udfff]", "\ufffd", reading.text).removesuffix("\r")
    outer, inner = parse(text, reading.own), parse_inner(text, reading.own)
    segments = [*outer.segments, *inner.segments]
    whole = replace(reading, text=text, places=reading.places[: len(text) + 1])
    shared = share(reading.constraints, [segment.lifted.text for segment in segments])
    parts = [
        replace(whole.part(segment.start, segment.start + len(segment.raw), constraints), segment=segment)
        for segment, constraints in zip(segments, shared, strict=True)
    ]
    return Segments(tuple(parts), outer, inner, text)
