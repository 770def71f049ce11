"""What runs a translator: ids of sources flow in; hypotheses, log-probabilities and attention flow out.

There are two engines: PyTorch's (`nmt.decode.pytorch`) and CTranslate2's (`nmt.decode.ctranslate2`). Ids are without
BOS and EOS. Each call is about one batch; what cuts batches stands outside.

Shapes: B sequences, P pieces, T target pieces, S source pieces, V target vocabulary.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from nmt.config import SearchConfig
from nmt.decode.hypothesis import AllConstraints, Hypothesis
from nmt.decode.shortlist import Shortlist
from nmt.decode.stop import Stop
from nmt.model.contract import GenerativeModel, Limited

Ids = Sequence[int]
IdPair = tuple[Ids, Ids]
"""A source and a target."""


class Engine(Limited, Protocol):
    """A translator of ids. Calls leave no state in it: threads may share it.

    Limits (`longest_source`, `longest_target`) are those of a search.
    """

    @property
    def models(self) -> Sequence[GenerativeModel]:
        """The model, or those of an ensemble; empty if they are not PyTorch's."""

    @property
    def device(self) -> torch.device: ...

    @property
    def precision(self) -> str: ...

    @property
    def shortlist(self) -> Shortlist | None: ...

    @property
    def takes_phrases(self) -> bool:
        """Whether constraints may have more than a prefix of fixed pieces."""

    @property
    def leaves_python(self) -> bool:
        """Whether its searches run outside of Python's interpreter, which does other work meanwhile."""

    def begun(self, source: Ids, target: Ids) -> "Engine":
        """This engine with pieces before each source and each target, such as codes of languages, which callers don't
        see. They replace those that it has."""

    def check(self, search: SearchConfig) -> None:
        """Raise ValueError for the first setting that it can't follow."""

    def search(
        self, sources: Sequence[Ids], options: SearchConfig, constraints: AllConstraints = (), stop: Stop | None = None
    ) -> list[list[Hypothesis]]:
        """The `options.n_best` best hypotheses of each source, best first and all different; or `options.samples`
        samples, in the order drawn. `constraints`: one for each source, or none.

        A source has fewer hypotheses if its constraints leave fewer. If the time of `stop` is up, a search ends with
        what it has: PyTorch's hypotheses end where they are, CTranslate2's batches that aren't finished are UNSEARCHED,
        and so is what hadn't begun. Raises ValueError if logits are not numbers, or constraints need more positions
        than there are; Stopped as `stop` says.
        """

    def rest(
        self, sources: Sequence[Ids], options: SearchConfig, starts: AllConstraints, stop: Stop | None = None
    ) -> list[list[Hypothesis]]:
        """As `search`, of the best translation of each source that begins with the `prefix` of its constraints, which
        has what is asked for. CTranslate2 ranks such translations by what follows the prefix."""

    def log_probs_of(self, pairs: Sequence[IdPair], pieces: Sequence[Ids]) -> list[Tensor]:
        """For each pair the log-probabilities (P, T + 1) of P pieces at each place of the target. ValueError if the
        engine can't tell."""

    def score(self, pairs: Sequence[IdPair], stop: Stop | None = None) -> list[list[float]]:
        """The log-probability of each piece of given targets, and of EOS. For pairs that fit (see `fits`). Raises as
        `search`, and Late if the time of `stop` is up."""

    def attention(self, pairs: Sequence[IdPair]) -> list[Tensor]:
        """Of each pair the attention weights (T, S), float32 on the CPU, from the steps that write the target to the
        source: the mean of all heads of the last layer, of the first model of an ensemble. EOS has no row and no
        column. For pairs that fit."""

    def next_log_probs(self, source: Ids, targets: Sequence[Ids]) -> Tensor:
        """The log-probabilities (B, V), float32, of the piece after each of these beginnings of targets. ValueError if
        the engine can't tell."""


def fits(engine: Limited, source: Ids, target: Ids) -> bool:
    """Whether an engine can score this pair."""
    limits = engine.longest_source, engine.longest_target(len(source))
    return all(most is None or len(ids) <= most for ids, most in zip((source, target), limits, strict=True))
