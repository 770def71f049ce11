"""Translation of text with mark-up: its segments, also those inside tags, are translated as lines of their own, and
their tags put back.

Tags go where the word alignment says or, with a model that has learned to copy placeholders, where the model puts
them. If a pair of tags would lose all its words, the tags of its segment keep their order and go to the same part of
the translation as in the source: then the translation is flagged "items".
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from nmt.config import SearchConfig
from nmt.text.items import NO_OWN
from nmt.text.marking import mark
from nmt.text.markup import Document, Mode, Segment, is_markup, parse, parse_inner
from nmt.text.own_items import OwnItems
from nmt.text.placing import in_proportion
from nmt.text.restore import Restored, restore
from nmt.text.tokens import tokenize, word_links, word_starts
from nmt.translation.alignment import Aligner
from nmt.translation.placeholders import translate_marked
from nmt.translation.request import Request, Translation, combined, ranks
from nmt.translation.spans import share

Links = list[tuple[int, int]]


class Translates(Protocol):
    """The part of `nmt.translation.translator.Translator` that is needed here."""

    aligner: Aligner
    has_placeholders: bool

    def translate_n_best(
        self, lines: Sequence[str | Request], search: SearchConfig | None = None
    ) -> list[list[Translation]]: ...


def translate_markup(
    translator: Translates, requests: Sequence[Request], search: SearchConfig | None = None, mode: Mode = "auto"
) -> list[list[Translation]]:
    """As `Translator.translate_n_best`, for requests whose text may have mark-up (see `nmt.text.markup.is_markup`)."""
    sources = [read(request, mode) for request in requests]
    parts = [split(request, source) if source else [request] for request, source in zip(requests, sources, strict=True)]
    segments = [segment for source in sources for segment in (source.segments if source else [None])]
    found = iter(translate_segments(translator, [part for some in parts for part in some], segments, search))
    n_best: list[list[Translation]] = []
    for request, source, part in zip(requests, sources, parts, strict=True):
        lists = [next(found) for _ in part]
        n_best.append(join(translator.aligner, request.own, source, lists) if source else lists[0])
    return n_best


def translate_segments(
    translator: Translates, asked: Sequence[Request], segments: Sequence[Segment | None], search: SearchConfig | None
) -> list[list[Translation]]:
    """The n-best lists of segments (None: of plain texts), with placeholders for tags if the model knows them."""

    def translate(requests: Sequence[Request]) -> list[list[Translation]]:
        return translator.translate_n_best(requests, search)

    if not translator.has_placeholders:
        return translate(asked)
    pairs = zip(segments, asked, strict=True)
    marked = [mark(segment.flat, request.own) if segment else None for segment, request in pairs]
    return translate_marked(asked, marked, translate, whole_lists=bool(search and search.samples))


@dataclass(frozen=True)
class Source:
    """A text with mark-up."""

    outer: Document
    inner: Document
    """The same text; its segments are inside the tags (`nmt.text.markup.parse_inner`)."""

    @property
    def text(self) -> str:
        return self.outer.join([segment.raw for segment in self.outer.segments])

    @property
    def segments(self) -> list[Segment]:
        return [*self.outer.segments, *self.inner.segments]

    @property
    def lines(self) -> list[str]:
        """The lines to translate."""
        return [segment.lifted.text for segment in self.segments]


def read(request: Request, mode: Mode) -> Source | None:
    """The mark-up that a request's text is; None if the text is read as plain text."""
    if not is_markup(request.text, mode):
        return None
    text = clean(request.text)
    return Source(parse(text, request.own), parse_inner(text, request.own))


def clean(text: str) -> str:
    """The text without what isn't Unicode, and without the carriage return of a line of a file."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text).removesuffix("\r")


def split(request: Request, source: Source) -> list[Request]:
    """A request for each segment: the first gets the prefix, and the one with the words of a term gets the term."""
    shared = share(request.constraints, source.lines)
    return [Request(text, constraints, request.own) for text, constraints in zip(source.lines, shared, strict=True)]


def join(aligner: Aligner, own: OwnItems, source: Source, lists: Sequence[Sequence[Translation]]) -> list[Translation]:
    """The translations of a text, from those of its segments; if a segment has fewer, its last one is repeated."""
    if not lists:
        text = source.text
        return [Translation(text, 0.0, (), links=tuple((n, n) for n in range(len(text.split(" ")))))]
    return [join_one(aligner, own, source, chosen) for chosen in ranks(lists)]


def join_one(aligner: Aligner, own: OwnItems, source: Source, chosen: Sequence[Translation]) -> Translation:
    """The translation of a text: its tags first, with what is inside them, then the segments between the tags."""
    n_outer = len(source.outer.segments)
    inside = [
        put_back(aligner, segment, one, own).text
        for segment, one in zip(source.inner.segments, chosen[n_outer:], strict=True)
    ]
    outer = parse(source.inner.join(inside), own) if inside else source.outer
    is_same = [s.lifted.text for s in outer.segments] == [s.lifted.text for s in source.outer.segments]
    if not is_same:  # a translation has become too long for an attribute
        outer, inside = source.outer, [segment.raw for segment in source.inner.segments]
    restored = [put_back(aligner, s, one, own) for s, one in zip(outer.segments, chosen, strict=False)]
    written = outer.join([one.text for one in restored])
    links, end = Links(), 0
    for kept, segment, one in zip(outer.kept, outer.segments, restored, strict=False):
        end += len(kept)
        links += [(segment.start + i, end + j) for i, j in one.links]
        end += len(one.text)
    is_whole = [is_same and one.is_whole for one in restored] or [is_same]
    marked = [replace(chosen[0], flags=(*chosen[0].flags, "items")), *chosen[1:]] if not all(is_whole) else chosen
    links = list(zip(source.inner.places(inside, [i for i, _ in links]), [j for _, j in links], strict=True))
    return combined(written, marked, tuple(word_links(links, source.text, written)))


def put_back(aligner: Aligner, segment: Segment, translation: Translation, own: OwnItems = NO_OWN) -> Restored:
    """The translation of a segment with the tags and entities put back."""
    lifted = segment.lifted
    moved = translation.moved
    marked = mark(segment.flat, own) if moved and moved.line == segment.raw else None
    unmarked = marked.restore(moved.target, segment.spell) if marked and moved else None
    if unmarked:
        starts, ends = word_starts(segment.raw), word_starts(unmarked.text)
        places = [(starts[i], ends[j]) for i, j in aligner.align(translation) if i < len(starts) and j < len(ends)]
        return Restored(segment.finish(unmarked.text), places, is_whole=True)
    if translation.text == lifted.text:
        return Restored(segment.raw, [(place, place) for place in lifted.places], is_whole=True)
    tokens = tokenize(translation.text, own=own)
    links = aligner.align_tokens(translation, (lifted.text, lifted.tokens), (translation.text, tokens))
    restored = restore(translation.text, lifted, links, own, segment.spell)
    if not restored.is_whole:
        in_order = in_proportion(len(lifted.tokens), len(tokens))
        restored = replace(restore(translation.text, lifted, in_order, own, segment.spell), is_whole=False)
    return replace(restored, text=segment.finish(restored.text))
