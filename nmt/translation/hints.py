"""Terms as hints: a line flows in; the line with the translation of each term instead of its words flows out.

For models that have learned hints (`data.hints`). A hint tells the model where a term belongs, and which word to take;
the model may give it another form. Terms of `must` are hints too, so that the search finds them in their place.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nmt.config import SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.fields import require
from nmt.text.normalise import tidy
from nmt.text.scripts import Phrase, phrase_text
from nmt.translation.request import Moved, Request, Term, Translation
from nmt.vocabulary import HINT, HINT_END, HINTS


@dataclass(frozen=True)
class Hinted:
    """A line with hints."""

    line: str
    text: str
    places: list[int]
    """Where each character of `text` begins in the line; those of a hint begin where its words do."""

    def of_line(self, translation: Translation) -> Translation:
        """A translation of `text` as one of the line: its alignment counts the words of the line."""
        own = translation.text
        return replace(translation, moved=Moved(self.line, self.text, self.places, own, own, range(len(own))))


def knows_hints(tokenizer: Tokenizer) -> bool:
    """Whether a model with this tokenizer has learned hints."""
    return all(map(tokenizer.knows, HINTS))


def check_terms(search: SearchConfig, tokenizer: Tokenizer) -> None:
    """Raise ValueError if terms must be shown as hints to a model that has learned none."""
    problem = "search.terms is hint, but the model has learned no hints"
    advice = "take must, or train a model with data.hints 0.3"
    require(search.terms == "must" or knows_hints(tokenizer), f"{problem}: {advice}")


def give_hints(requests: Sequence[Request], tokenizer: Tokenizer) -> tuple[list[Request], list[Hinted | None]]:
    """The requests as the model reads them, with hints for the terms of which the words are known; and the line with
    hints of each (None without)."""
    if not any(request.constraints for request in requests) or not knows_hints(tokenizer):
        return list(requests), [None] * len(requests)
    lines = [hinted(request) if request.constraints else None for request in requests]
    return [as_read(request, line) for request, line in zip(requests, lines, strict=True)], lines


def without_hints(n_best: Sequence[list[Translation]], lines: Sequence[Hinted | None]) -> list[list[Translation]]:
    """The translations of lines with hints as those of the lines."""
    pairs = zip(n_best, lines, strict=True)
    return [[line.of_line(one) for one in translations] if line else translations for translations, line in pairs]


def as_read(request: Request, line: Hinted | None) -> Request:
    """The request with the line that has hints. Its terms name these in the place of their words, so that each is found
    in the span that has it."""
    constraints = replace(request.constraints, hints=())
    if line is None:
        return replace(request, constraints=constraints)
    shown = [replace(term, source=hint) if (hint := hint_of(term)) in line.text else term for term in constraints.must]
    return replace(request, text=line.text, constraints=replace(constraints, must=tuple(shown)))


def hint_of(term: Term) -> str:
    return f"{HINT} {phrase_text(term.targets[0])} {HINT_END}"


def hinted(request: Request) -> Hinted | None:
    line = tidy(request.text)[0]
    found = sorted(places_of((*request.constraints.must, *request.constraints.hints), line))
    if not found or "\t" in request.text or any(mark in line for mark in HINTS):
        return None
    text, places, position = "", list[int](), 0
    for start, end, hint in found:
        text += line[position:start] + hint
        places += [*range(position, start), *[start] * len(hint)]
        position = end
    return Hinted(line, text + line[position:], [*places, *range(position, len(line))])


def places_of(terms: Sequence[Term], line: str) -> Iterator[tuple[int, int, str]]:
    """Start and end of the words of each term, wherever they occur, and its hint. Of terms that overlap, the first
    counts."""
    taken = [False] * len(line)
    for term in terms:
        words = phrase_text(term.source)
        for start, end in Phrase.parse(words).find(line) if words and phrase_text(term.targets[0]) else ():
            if not any(taken[start:end]):
                taken[start:end] = [True] * (end - start)
                yield start, end, hint_of(term)
