"""Constraints of a text are shared among its parts: each term goes to the part with the words that it translates."""

from collections.abc import Sequence
from dataclasses import replace

from nmt.reading.request import Constraints, Term
from nmt.text.scripts import Phrase, phrase_text


def share(constraints: Constraints, texts: Sequence[str]) -> list[Constraints]:
    """The constraints of each part of a text. The prefix goes to the first part that is not blank, and each term to the
    part with the words that it translates, else to the same as the prefix. Hints go to all: they need their words."""
    if not constraints:
        return [constraints] * len(texts)
    first = next((i for i, text in enumerate(texts) if text), 0)
    must: list[list[Term]] = [[] for _ in texts]
    for term in constraints.must if texts else ():
        must[first + place_of(term.source, texts[first:])].append(term)
    return [
        Constraints(constraints.prefix if i == first else "", tuple(terms), constraints.must_not, constraints.hints)
        for i, terms in enumerate(must)
    ]


def place_of(phrase: str, texts: Sequence[str]) -> int:
    """The index of the first text with the phrase, preferably as whole words; 0 if none has it. Case is ignored."""
    if not phrase_text(phrase):
        return 0
    words = Phrase.parse(phrase, any_case=True)
    forms = (words, replace(words, left=False, right=False))
    return next((i for form in forms for i, text in enumerate(texts) if any(form.find(text))), 0)
