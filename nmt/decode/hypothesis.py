"""Hypotheses, compiled constraints, length normalisation and length limits, for all kinds of search."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, inf

from torch import Tensor

from nmt.config import SearchConfig
from nmt.decode.phrases import Automaton
from nmt.decode.surfaces import UnfinishedWord
from nmt.fields import require
from nmt.vocabulary import BOS, PAD, UNK

FORBIDDEN_IDS = (UNK, BOS, PAD)  # never written; byte fallback spells every character without <unk>
DETOUR = 6  # pieces that a hypothesis may need before a phrase, to complete a character and to end a word
LEAST = -1000.0  # the log-probability of what was not searched: JSON has no -inf
BAD_LOGITS = "the model's logits are not numbers: its weights are damaged, or its training diverged"


@dataclass(frozen=True)
class CompiledConstraints:
    """The constraints on one sentence's translation, in ids."""

    prefix: tuple[int, ...] = ()  # pieces that the translation begins with
    phrases: Automaton | None = None  # accepts translations with all required phrases and no forbidden phrase
    word: UnfinishedWord | None = None  # the end of the prefix, if other pieces may spell it
    # The pieces of each required phrase of `phrases` that can follow any word; empty: it has none.
    spelled: tuple[tuple[int, ...], ...] = ()

    @property
    def fixed(self) -> tuple[int, ...]:
        """The pieces of the prefix before `word`."""
        return self.prefix[: self.word.n_before] if self.word else self.prefix

    @property
    def n_required(self) -> int:
        """A number of pieces that is enough for all required phrases."""
        if self.phrases is None or self.phrases.may_end(self.phrases.start):
            return 0
        return int(self.phrases.distance(self.phrases.start)) + DETOUR


def forbidden_ids(options: SearchConfig) -> tuple[int, ...]:
    return tuple(i for i in FORBIDDEN_IDS if i != UNK or not options.allow_unk)


NO_CONSTRAINTS = CompiledConstraints()
AllConstraints = Sequence[CompiledConstraints]  # one for each sentence of a batch


@dataclass(frozen=True)
class Hypothesis:
    """A translation in ids."""

    ids: list[int]  # without BOS and EOS
    score: float  # for ranking: log_prob / length_divisor(length with EOS)
    log_prob: float  # natural logarithm of the probability that the model gives to the ids and EOS
    token_log_probs: Sequence[float]  # the summands of log_prob: one for each id, and the last for EOS
    finished: bool  # False: it has reached the length limit, or its time was up, and then only EOS was allowed

    @classmethod
    def of(cls, ids: Sequence[int], log_probs: list[float], options: SearchConfig, limit: float = inf) -> "Hypothesis":
        """`log_probs`: of the ids and of EOS; `limit`: the most ids."""
        log_prob = fsum(log_probs)
        score = log_prob / float(length_divisor(len(log_probs), options))
        return cls(list(ids), score, log_prob, log_probs, finished=len(ids) < limit)


UNSEARCHED = Hypothesis([], LEAST, LEAST, [LEAST], finished=False)  # the time was up before the search began


def length_divisor(length: int | Tensor, options: SearchConfig) -> float | Tensor:
    """Return the divisor of log-probabilities for ranking, which never falls as `length`, with EOS, grows.

    length ** length_penalty, or ((5 + length) / 6) ** length_penalty for "gnmt" (Wu et al. 2016, equation 14).
    """
    return (length if options.length_norm == "average" else (5 + length) / 6) ** options.length_penalty


def longest_output(
    n_source: int, options: SearchConfig, room: int | None, constraints: CompiledConstraints = NO_CONSTRAINTS
) -> int:
    """Return the most pieces that a translation may have, EOS not counted.

    max(min(max_length_ratio * n_source + 10, max_length), min_length) + what is enough for the constraints, but at most
    `room`, which the model has (None: no limit); ValueError if the constraints need more. (fairseq's `--max-len-a` and
    `--max-len-b`, Ott et al. 2019, with bounds.)
    """
    limit, needed = int(options.max_length_ratio * n_source) + 10, len(constraints.prefix) + constraints.n_required
    limit = max(min(limit, options.max_length or limit), options.min_length) + needed
    if room is None:
        return limit
    require(needed <= room, f"the constraints need {needed} pieces: the model's limit is {room}")
    return min(limit, room)
