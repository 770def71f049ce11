"""A model that is pretended: it writes the words that it reads, in any order, and knows which word is whose."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from nmt.config import SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.hypothesis import Hypothesis
from nmt.reading.lines import cut_text, mark_up
from nmt.reading.loop import Context, Limits, Link, Reading, Step, Token, force, translate
from nmt.reading.request import Lists, Part, Request, Translation
from nmt.translation.alignment import number_of
from tests.tiny import SHORT

LIMITS = Limits(1000, 1000)
SURE = Hypothesis([5], -1.0, -1.0, [-0.5, -0.5], finished=True)


def linked(translation: Translation, source: Sequence[Token], target: Sequence[Token]) -> list[Link]:
    """The alignment, by the places of pretended parts: of each character that was written, and where it comes from."""
    starts, target_starts = ([place for place, _ in tokens] for tokens in (source, target))
    written = [zip(part.written, part.source_places, part.target_places, strict=True) for part in translation.parts]
    pairs = {(i, j) for part in written for character, i, j in part if character != " "}
    found = {(number_of(starts, i), number_of(target_starts, j)) for i, j in pairs if starts and target_starts}
    return sorted((i, j) for i, j in found if source[i][1] == target[j][1])


def context_of(tokenizer: Tokenizer, search: SearchConfig = SHORT, **changes: Any) -> Context:
    return replace(Context(tokenizer, search, LIMITS, linked), **changes)


class Pretended:
    """`order`: which words of n are written; `change`: what becomes of each."""

    def __init__(self, *answers: Callable[[str], str], order: Callable[[int], Sequence[int]] = range) -> None:
        self.answers, self.order, self.asked = answers or (str,), order, list[str]()

    def __call__(self, leaves: Sequence[Reading]) -> Lists:
        self.asked += [leaf.text for leaf in leaves]
        return [[self.answer(leaf, change) for change in self.answers] for leaf in leaves]

    def answer(self, leaf: Reading, change: Callable[[str], str]) -> Translation:
        words = list(re.finditer(r"[^ ]+| (?= )", leaf.text))
        if self.order is range:
            written, origins = change(leaf.text), [*range(len(leaf.text))]
        else:
            new = [(words[i].start(), change(words[i][0])) for i in self.order(len(words)) if i < len(words)]
            written = " ".join(word for _, word in new)
            origins = [start + k for start, word in new for k in range(len(word) + 1)]
        places = leaf.places
        source = [places[min(origins[k] if k < len(origins) else k, len(leaf.text))] for k in range(len(written))]
        part = Part((5,), SURE, leaf.text, written, tuple(source), range(len(written)))
        return Translation(written, -1.0, (part,) if written else ())


def text_of(
    line: str | Request, steps: Sequence[Step], context: Context, model: Pretended | None = None
) -> Translation:
    """The best translation of a line, or of a text of several, or in mark-up."""
    reading = Reading.of(line if isinstance(line, Request) else Request(line))
    inner = lambda lines: translate(lines, steps, context, model or Pretended())  # noqa: E731
    ((best, *_),) = translate([reading], (mark_up, cut_text), context, inner)
    return best


def asked_of(line: str, translation: str, steps: Sequence[Step], context: Context) -> list[str]:
    """What the model is asked to score for a given translation."""
    asked = list[str]()

    def scores(pairs: Sequence[tuple[Reading, str]]) -> list[Translation | None]:
        asked.extend(text for _, text in pairs)
        return [Translation(text, -1.0, ()) for _, text in pairs]

    inner = lambda lines: force(lines, steps, context, scores)  # noqa: E731
    force([(Reading.of(Request(line)), translation)], (mark_up, cut_text), context, inner)
    return asked
