"""A finished pair of sentences, and the two ways of finishing one: from ready words, or from a `Clause`.

In flow words and clauses, out flow `Sentence` objects: a capital letter, a final mark, the combinations they use.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from nmt.data.phrasebook import clauses
from nmt.data.phrasebook.clauses import Clause


@dataclass(frozen=True)
class Sentence:
    """A German sentence, its English, and the pairs of content words that it brings together."""

    german: str
    english: str
    combinations: tuple[str, ...] = ()


Pattern = Callable[[Random], Sentence]
"""A way to make sentences: it draws its words with the generator that it is given."""


def finish(german: str, english: str, combinations: tuple[str, ...] = (), mark: str = ".") -> Sentence:
    """Gives both sides their capital letter and their final mark."""
    return Sentence(capitalised(german) + mark, capitalised(english) + mark, combinations)


def stated(clause: Clause, rng: Random | None = None) -> Sentence:
    """The clause as a statement; given a generator, every second one begins with its time in both languages."""
    if rng and clause.time and rng.random() < 0.5:
        return finish(clauses.fronted(clause), clauses.fronted_statement(clause), clause.combinations)
    return finish(clauses.straight(clause), clauses.statement(clause), clause.combinations)


def asked(clause: Clause, opening: tuple[str, str] = ("", ""), called: tuple[str, str] = ("", "")) -> Sentence:
    """The clause as a question, after a question word if one is given; `called` is the name that opens it."""
    german = called[0] + clauses.inverted(clause, opening[0])
    return finish(german, called[1] + clauses.question(clause, opening[1]), clause.combinations, "?")


def capitalised(words: str) -> str:
    return words[0].upper() + words[1:]
