"""The guard's second look: what looks wrong is translated again in other ways; what looks less wrong then is taken.

First without the items that got lost, which are put back; in lower case, if the line shouts; as a copy, if it has no
letters to translate; then without repeated n-grams, in a beam; then in shorter spans. What looks wrong after all that
is marked. That the model is unsure is no reason to try the last two: they find what is less probable still.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from nmt.config import MOST_HYPOTHESES, SearchConfig
from nmt.text.items import recase
from nmt.text.normalise import tidy
from nmt.text.restore import Lifted, lift, relink, restore
from nmt.text.suspicions import Flag, prose, suspicions
from nmt.translation.request import Request, Translation

# The beam of second attempts, at least; and the n-grams that they don't repeat, at most.
BEAM, NGRAM = 5, 3

Recase = Callable[[str], str]


class Translates(Protocol):
    """What `nmt.translation.translator.Translator` does."""

    def attempt(
        self, requests: Sequence[Request], decoding: SearchConfig, *, halved: bool = False
    ) -> list[list[Translation]]: ...

    def align(self, translation: Translation) -> list[tuple[int, int]]: ...

    def meets(self, request: Request, text: str) -> bool: ...


def repair(
    translator: Translates, decoding: SearchConfig, requests: Sequence[Request], found: list[list[Translation]]
) -> list[list[Translation]]:
    """The n-best lists that were found first, or better ones. Each line's depends on that line alone."""
    lines = [
        Line(translator, request, answers, decoding.least_confidence)
        for request, answers in zip(requests, found, strict=True)
    ]
    n_best = min(decoding.n_best, MOST_HYPOTHESES)
    strict = replace(
        decoding,
        beam_size=max(BEAM, decoding.beam_size, n_best),
        n_best=n_best,
        beam_groups=1,
        samples=0,
        mbr="none",
        no_repeat_ngram=min(NGRAM, decoding.no_repeat_ngram or NGRAM),
        min_length=max(1, decoding.min_length),
        shortlist=0,
    )

    def try_again(
        name: str, chosen: list[Line], settings: SearchConfig, before: Recase = str, after: Recase = str
    ) -> None:
        if chosen:
            requests = [replace(line.request, text=recase(line.bare, before)) for line in chosen]
            again = translator.attempt(requests, settings, halved=name == "shorter spans")
            for line, answers in zip(chosen, again, strict=True):
                recased = [replace(answer, text=recase(answer.text, after)) for answer in answers]
                line.consider([line.put_back(answer) for answer in recased], name)

    try_again("items", [line for line in lines if line.items], decoding)
    try_again("lower case", [line for line in lines if line.flags and line.shouts], decoding, str.lower, str.upper)
    for line in lines:
        if "invented" in line.flags and not line.request.demanding:
            line.consider([Translation(line.text, 0.0, ())], "copy")
    try_again("no repeats", [line for line in lines if line.is_wrong], strict)
    try_again("shorter spans", [line for line in lines if line.is_wrong], strict)
    return [line.marked() for line in lines]


class Line:
    """A line, its best translations so far, and what looks wrong with the first of them."""

    def __init__(
        self, translator: Translates, request: Request, answers: list[Translation], least_confidence: float
    ) -> None:
        self.translator, self.request, self.answers = translator, request, answers
        self.least_confidence = least_confidence
        self.text = tidy(request.text)[0]
        self.flags = self.suspicions(answers)
        self.bare, self.items = lift(self.text) if "items" in self.flags else (self.text, list[Lifted]())

    def suspicions(self, answers: list[Translation]) -> list[Flag]:
        best = answers[0]
        flags = suspicions(self.text, best.text, finished=best.finished, sure=best.confidence >= self.least_confidence)
        broken = self.text and self.request.demanding and not self.translator.meets(self.request, best.text)
        return [*flags, "demands"] if broken else flags

    @property
    def is_wrong(self) -> bool:
        return any(flag != "unsure" for flag in self.flags)

    @property
    def shouts(self) -> bool:
        """Whether it is in capitals, and so may its translation be."""
        text = prose(self.text)
        return text.upper() == text != text.lower() and len(text.split()) > 1 and not self.request.demanding

    def put_back(self, answer: Translation) -> Translation:
        """The translation of the line without its items, with them."""
        if not self.items:
            return answer
        links = self.translator.align(answer)
        text = restore(answer.text, self.items, links, len(self.bare.split()))
        return replace(answer, text=text, links=tuple(relink(links, (self.text, self.bare), (text, answer.text))))

    def consider(self, answers: list[Translation], name: str) -> None:
        """Take other translations if less looks wrong with them."""
        flags = self.suspicions(answers)
        if gravity(flags) < gravity(self.flags):
            self.flags, self.answers = flags, [replace(answer, fallback=name) for answer in answers]

    def marked(self) -> list[Translation]:
        return [replace(answer, flags=tuple(self.flags)) for answer in self.answers] if self.flags else self.answers


def gravity(flags: list[Flag]) -> tuple[int, bool]:
    """Low is good. What is wrong to the eye counts first."""
    return len(flags) - ("unsure" in flags), "unsure" in flags
