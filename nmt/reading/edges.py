"""A step that takes the marks around the text of a line off (see `nmt.text.edges`), and puts them around its
translation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nmt.reading.loop import Context, Taken
from nmt.reading.reading import Reading
from nmt.reading.request import Constraints, Translation, join
from nmt.text.edges import LAST_MARKS, Edges, take_off
from nmt.text.edits import Edit

STOPS = (".", "?", "!", "")  # what a model may have written at the end of a text whose last mark is replaced


@dataclass(frozen=True)
class Inside(Taken):
    """The text between the edges of a line."""

    edges: Edges

    def put_back(self, chosen: Sequence[Translation]) -> Translation:
        translation, edits = chosen[0], list[Edit]()
        if self.edges.stop is not None and translation.text:
            found, end = LAST_MARKS.search(translation.text), len(translation.text)
            edits = [(found.start() if found else end, end, self.edges.stop)]
        return join([self.edges.lead, translation.edited(edits), self.edges.trail])

    def targets(self, text: str) -> Iterator[tuple[str, ...]]:
        lead, stop, trail = self.edges.lead, self.edges.stop or "", self.edges.trail
        if not (text.startswith(lead) and text.endswith(stop + trail)) or len(text) < len(lead + stop + trail):
            return
        core = text[len(lead) : len(text) - len(stop + trail)]
        for mark in STOPS if self.edges.stop is not None else ("",):
            yield (core + mark,)


def inside(reading: Reading, context: Context) -> Inside | None:
    """The text without the marks around it."""
    knows, text = context.tokenizer.knows, reading.text
    edges = take_off(text, knows, context.quotes, reading.own, context.final_mark)
    if not edges or "\t" in text or breaks(edges, reading.constraints):
        return None
    end = edges.start + len(edges.text) if edges.stop is None else edges.end
    part = reading.part(edges.start, end, without_edges(reading.constraints, edges))
    if part.text != edges.text:
        n = common(part.text, edges.text)
        part = part.edited([(n, len(part.text), edges.text[n:])])
    return Inside((part,), edges)


def breaks(edges: Edges, constraints: Constraints) -> bool:
    """Whether a translation with these edges breaks constraints."""
    around = edges.lead + "\n" + (edges.stop or "") + edges.trail
    if any(phrase in around for phrase in constraints.must_not):
        return True
    shorter, longer = sorted((constraints.prefix, edges.lead), key=len)
    return bool(constraints.prefix) and not longer.startswith(shorter)


def without_edges(constraints: Constraints, edges: Edges) -> Constraints:
    """The constraints of the text inside: without the beginning of the prefix, and terms that the edges meet."""
    around = edges.lead + "\n" + (edges.stop or "") + edges.trail
    must = tuple(term for term in constraints.must if not any(target in around for target in term.targets))
    prefix = constraints.prefix[len(edges.lead) :]
    return replace(constraints, prefix=prefix, must=must) if constraints else constraints


def common(first: str, second: str) -> int:
    """The length of the common beginning of two texts."""
    pairs = zip(first, second, strict=False)
    return next((n for n, (left, right) in enumerate(pairs) if left != right), min(len(first), len(second)))
