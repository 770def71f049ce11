"""Compilation of constraints: texts flow in; prefix ids and an automaton over pieces flow out, for beam search."""

from collections import deque
from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from weakref import WeakValueDictionary

from nmt.config import SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.byte_automaton import DEAD
from nmt.decode.engine import Engine
from nmt.decode.hypothesis import CompiledConstraints, longest_output
from nmt.decode.phrases import Automaton
from nmt.decode.surfaces import Surfaces, UnfinishedWord, surface
from nmt.fields import require
from nmt.reading.request import Constraints
from nmt.text.normalise import tidy
from nmt.text.scripts import UNSPACED_CHARACTER, Phrase, is_letter
from nmt.vocabulary import SPACE, UNK

# Maximum number of pieces for the constraints of a sentence: its length limit rises by this number.
MAX_PIECES = 500
NEWEST = 8  # automata that stay in memory although nothing uses them


class Automata:
    """The automata of a target vocabulary, each made once as long as it is in use. Threads may share them."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer, self.lock = tokenizer, Lock()
        self.used = WeakValueDictionary[tuple[tuple[tuple[str, ...], ...], tuple[str, ...]], Automaton]()
        self.newest: deque[Automaton] = deque(maxlen=NEWEST)

    @cached_property
    def surfaces(self) -> Surfaces:
        return Surfaces(self.tokenizer.target_pieces(range(self.tokenizer.tgt_vocab_size)))

    def find(self, constraints: Constraints) -> Automaton | None:
        """The automaton of the phrases of constraints; None: there are none. ValueError as for `Automaton`."""
        if not constraints.must and not constraints.must_not:
            return None
        phrases = tuple(term.targets for term in constraints.must), constraints.must_not
        with self.lock:
            if (found := self.used.get(phrases)) is None:
                found = self.used[phrases] = Automaton(self.surfaces, *phrases)
            if not self.newest or self.newest[-1] is not found:
                self.newest.append(found)
        return found


class ConstraintCompiler:
    """Compiles constraints for the target vocabulary of a tokenizer."""

    def __init__(self, tokenizer: Tokenizer, engine: Engine, automata: Automata) -> None:
        self.tokenizer, self.engine, self.automata = tokenizer, engine, automata

    def compile(self, constraints: Constraints, n_source: int, search: SearchConfig) -> CompiledConstraints:
        """Compile the constraints of a source of `n_source` pieces; ValueError, for the user, if they can't be met."""
        require(not search.samples, "prefixes and phrases need beam search: they don't go with search.samples")
        possible = self.engine.takes_phrases or not (constraints.must or constraints.must_not)
        require(possible, "CTranslate2 can't follow phrases of must and must_not, only a prefix")
        prefix = tuple(self.tokenizer.encode_target([tidy(constraints.prefix)])[0])
        require(UNK not in prefix, "the prefix has characters that the vocabulary has no pieces for")
        phrases = self.automata.find(constraints)
        ended = constraints.prefix[-1:].isspace()
        word = self.unfinished_word(prefix, ended=ended) if self.engine.takes_phrases else None
        compiled = CompiledConstraints(prefix, phrases, word, self.spelled(phrases) if phrases else ())
        n = len(prefix) + compiled.n_required
        require(n <= MAX_PIECES, f"the constraints need {n} pieces: at most {MAX_PIECES} are possible")
        if phrases:
            state, problem = phrases.start, "the prefix contains a phrase of must_not"
            for piece in prefix:
                state = int(phrases.row(state)[piece])
                require(state != DEAD, f"{problem}, or allows no end without one")
            # A prefix may end inside a word, but a whole word that is forbidden is no beginning of another.
            require(not any(occurs(p, tidy(constraints.prefix)) for p in constraints.must_not), problem)
        longest_output(n_source, search, self.engine.longest_target(n_source), compiled)
        return compiled

    def spelled(self, phrases: Automaton) -> tuple[tuple[int, ...], ...]:
        surfaces, found = self.automata.surfaces.surfaces, list[tuple[int, ...]]()
        encoded = self.tokenizer.encode_target([phrase.text for phrase in phrases.required])
        for phrase, ids in zip(phrases.required, encoded, strict=True):
            is_usual = follows_blank(phrase) and b"".join(surfaces[i] for i in ids) == b" " + phrase.utf8
            found.append(tuple(ids) if is_usual else ())
        return tuple(found)

    def unfinished_word(self, prefix: Sequence[int], *, ended: bool) -> UnfinishedWord | None:
        """The last word of a prefix, if it ends with a letter: the translation may need a longer word there; or if a
        blank has `ended` it: then another word must follow, or the end."""
        pieces = self.tokenizer.target_pieces(prefix)
        n_before = max((i for i, piece in enumerate(pieces) if SPACE in piece), default=0)
        text = b"".join(map(surface, pieces[n_before:]))
        is_open = text and (ended or is_letter(text.decode(errors="replace")[-1]))
        return UnfinishedWord(self.automata.surfaces, n_before, text, ended=ended) if is_open else None

    def problem(self, constraints: Constraints, search: SearchConfig) -> str:
        """The reason, for the user, if constraints can't be met; empty if they can."""
        try:
            if constraints:
                self.compile(constraints, 0, search)
        except ValueError as error:
            return str(error)
        return ""

    def are_met(self, constraints: Constraints, text: str) -> bool:
        """Whether a whole translation (joined from spans, with its items put back) meets the constraints."""
        texts = [" ".join(written.split()) for written in (text, tidy(constraints.prefix))]
        met = all(any(occurs(target, text) for target in term.targets) for term in constraints.must)
        return met and texts[0].startswith(texts[1]) and not any(occurs(p, text) for p in constraints.must_not)


def follows_blank(phrase: Phrase) -> bool:
    """Whether a phrase is written after a blank: one that begins with a letter, or with a sign, as ".NET"."""
    begins_inside = phrase.written.lstrip().startswith("*") or UNSPACED_CHARACTER.match(phrase.text)
    return phrase.left or (not begins_inside and any(map(is_letter, phrase.text)))


def occurs(written: str, text: str) -> bool:
    return any(Phrase.parse(written).find(text))
