"""Terms as hints: a line flows in; the line with the translation of each term instead of its words flows out.

For models that have learned hints (`data.hints`). A hint tells the model where a term belongs, and which word to take;
the model may give it another form. Terms of `must` are hints too, so that the search finds them in their place.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nmt.config import SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.fields import require
from nmt.reading.loop import Context, Taken
from nmt.reading.reading import Reading
from nmt.reading.request import Term
from nmt.text.edits import Edit
from nmt.text.scripts import Phrase, phrase_text
from nmt.vocabulary import HINT, HINT_END, HINTS


def knows_hints(tokenizer: Tokenizer) -> bool:
    """Whether a model with this tokenizer has learned hints."""
    return all(map(tokenizer.knows, HINTS))


def check_terms(search: SearchConfig, tokenizer: Tokenizer) -> None:
    """Raise ValueError if terms must be shown as hints to a model that has learned none."""
    problem = "search.terms is hint, but the model has learned no hints"
    advice = "take must, or train a model with data.hints 0.3"
    require(search.terms == "must" or knows_hints(tokenizer), f"{problem}: {advice}")


def hints(reading: Reading, context: Context) -> Taken | None:
    """The line with hints for the terms of which the words are known. Its terms name these in the place of their words,
    so that each is found in the span that has it."""
    constraints = reading.constraints
    if not (constraints.must or constraints.hints) or not knows_hints(context.tokenizer):
        return None
    edits = sorted(places_of((*constraints.must, *constraints.hints), reading.text))
    if not edits or "\t" in reading.text or any(mark in reading.text for mark in HINTS):
        return None
    shown = reading.edited(edits)
    must = [replace(term, source=hint_of(term)) if hint_of(term) in shown.text else term for term in constraints.must]
    return Taken((replace(shown, constraints=replace(constraints, must=tuple(must), hints=())),))


def hint_of(term: Term) -> str:
    return f"{HINT} {phrase_text(term.targets[0])} {HINT_END}"


def places_of(terms: Sequence[Term], line: str) -> Iterator[Edit]:
    """Start and end of the words of each term, wherever they occur, and its hint. Of terms that overlap, the first
    counts."""
    taken = [False] * len(line)
    for term in terms:
        words = phrase_text(term.source)
        for start, end in Phrase.parse(words).find(line) if words and phrase_text(term.targets[0]) else ():
            if not any(taken[start:end]):
                taken[start:end] = [True] * (end - start)
                yield start, end, hint_of(term)
