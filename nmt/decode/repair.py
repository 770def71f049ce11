"""The guard's second look: what looks wrong is translated again in other ways; what looks less wrong then is taken.

First without the items that got lost, which are put back; then without repeated n-grams, in a beam; then in shorter
spans. What looks wrong after all that is marked.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from nmt.config import DecodingConfig
from nmt.data.cleaning import tidy
from nmt.decode.guard import suspicions
from nmt.decode.restore import Lifted, lift, relink, restore
from nmt.decode.translation import Request, Translation

# The beam of second attempts, at least; and the n-grams that they don't repeat, at most.
BEAM, NGRAM = 5, 3

Align = Callable[[Translation], list[tuple[int, int]]]


class Attempt(Protocol):
    """`Translator.attempt`."""

    def __call__(self, requests: Sequence[Request], decoding: DecodingConfig, *,
                 halved: bool = False) -> list[list[Translation]]: ...


def repair(attempt: Attempt, align: Align, decoding: DecodingConfig, requests: Sequence[Request],
           found: list[list[Translation]]) -> list[list[Translation]]:
    """The n-best lists that were found first, or better ones. Each line's depends on that line alone."""
    texts = [tidy(request.text)[0] for request in requests]
    found = list(found)
    flags = [suspicions(text, answers[0].text, finished=answers[0].finished)
             for text, answers in zip(texts, found, strict=True)]
    loses = ["items" in wrong for wrong in flags]
    strict = replace(decoding, beam_size=max(BEAM, decoding.beam_size, decoding.n_best), beam_groups=1, samples=0,
                     mbr="none", no_repeat_ngram=min(NGRAM, decoding.no_repeat_ngram or NGRAM),
                     min_length=max(1, decoding.min_length), shortlist=0)
    for name, settings in (("items", decoding), ("no repeats", strict), ("shorter spans", strict)):
        wrong = [i for i in range(len(found)) if flags[i] and (name != "items" or loses[i])]
        if not wrong:
            continue
        lifted = [lift(texts[i]) if loses[i] else (texts[i], []) for i in wrong]
        again = attempt([replace(requests[i], text=text) for i, (text, _) in zip(wrong, lifted, strict=True)],
                        settings, halved=name == "shorter spans")
        for i, (bare, items), answers in zip(wrong, lifted, again, strict=True):
            if items:
                answers = [put_back(texts[i], bare, items, answer, align(answer)) for answer in answers]
            still = suspicions(texts[i], answers[0].text, finished=answers[0].finished)
            if len(still) < len(flags[i]):
                flags[i], found[i] = still, [replace(answer, fallback=name) for answer in answers]
    return [[replace(answer, flags=tuple(wrong)) for answer in answers] if wrong else answers
            for answers, wrong in zip(found, flags, strict=True)]


def put_back(line: str, bare: str, items: Sequence[Lifted], answer: Translation,
             links: list[tuple[int, int]]) -> Translation:
    """The translation of a line without its items, with them."""
    text = restore(answer.text, items, links, len(bare.split()))
    return replace(answer, text=text, links=tuple(relink(links, (line, bare), (text, answer.text))))
