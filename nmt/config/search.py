"""Settings of beam search and sampling."""

from dataclasses import dataclass
from typing import Annotated, Literal

from nmt.fields import Count, Probability, Range, Size, check_bounds, require

DecodingPrecision = Literal["auto", "fp32", "bf16", "int8"]
Backend = Literal["auto", "pytorch", "ctranslate2"]  # what runs a translator

MAX_HYPOTHESES = 200  # largest beam size


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """Beam search and sampling, in evaluation and as the settings that the model keeps. To add a search option, add a
    field here: the commands that translate then have an option for it. Apply it in `nmt.decode` (beam search: a `Rule`
    in rules.py; sampling: sampling.py)."""

    beam_size: Annotated[int, Range(1, MAX_HYPOTHESES)] = 5
    """Number of hypotheses that beam search keeps at each step; 1 is greedy search."""

    length_penalty: Annotated[float, Range(0, 10)] = 1.0
    """Exponent of the length by which a hypothesis's log-probability is divided; 0 switches the division off. Higher
    values favour longer translations."""

    length_norm: Literal["average", "gnmt"] = "average"
    """Length that length_penalty applies to: average (number of pieces, with EOS) or gnmt ((5 + pieces) / 6; Wu et al.
    2016, equation 14)."""

    min_length: Annotated[int, Range(0, 1000)] = 0
    """Minimum number of pieces in the translation of a sentence, without EOS."""

    max_length: Count = 0
    """Maximum number of pieces in the translation of a sentence, without EOS; 0 leaves the limit to
    max_length_ratio."""

    max_length_ratio: Annotated[float, Range(0.01, 100)] = 2.0
    """Maximum length of a translation in pieces, as a multiple of the source's length; 10 pieces are added."""

    no_repeat_ngram: Count = 0
    """Length of n-grams of pieces that may not occur twice in a translation; 0 allows all. 3 or more stops loops."""

    repetition_penalty: Annotated[float, Range(1, 100)] = 1.0
    """Factor for the log-probability of pieces that the hypothesis already has (Keskar et al. 2019); 1 changes
    nothing."""

    allow_unk: bool = False
    """Whether translations may have the piece <unk>, which is left out of their text. Some models of other libraries
    have learned to write it; models with byte fallback don't need it."""

    samples: Annotated[int, Range(0, 1000)] = 0
    """Number of translations to sample for each sentence, instead of beam search; 0 takes beam search. Penalties and
    constraints are for beam search only."""

    temperature: Annotated[float, Range(0.001, 1000)] = 1.0
    """Temperature of sampling, by which the logits are divided; below 1, probable pieces become more probable."""

    top_k: Count = 0
    """Number of most probable pieces to sample from at each step; 0 samples from all pieces."""

    top_p: Annotated[float, Range(0, 1, open="least")] = 1.0
    """Sampling takes only the most probable pieces that together have this probability (Holtzman et al. 2020)."""

    min_p: Probability = 0.0
    """Sampling takes only pieces with at least this fraction of the highest probability (min-p, Nguyen et al. 2024)."""

    seed: int = 1
    """Seed of random sampling. A sentence's samples depend on the seed and on the sentence, not on the batch."""

    split_above: Count = 0
    """Number of pieces above which a line is translated sentence by sentence; 0 does so with lines of more pieces or
    sentences than training sources had. 1 cuts all lines, and 10000 hardly any. Models skip sentences in lines that are
    unlike all training sources."""

    span_pieces: Size = 200
    """Maximum number of source pieces that the model reads at once; a longer sentence is cut at spaces."""

    guard: bool = True
    """Whether translations that look wrong (loops, copies, lost tags …) are retried with other settings, and flagged if
    they stay so."""

    n_best: Size = 1
    """Number of translations for each line: hypotheses, best first, or samples, in the order they were drawn. At most
    beam_size, or samples."""

    batch_size: Annotated[int, Range(1, 10_000)] = 64
    """Number of sentences that are translated together."""

    def __post_init__(self) -> None:
        check_bounds("search", self)
        require(
            not 0 < self.max_length < self.min_length,
            f"search.min_length is {self.min_length}: it can't be above search.max_length, {self.max_length}",
        )
        kind, choices = ("samples", self.samples) if self.samples else ("beam_size", self.beam_size)
        problem = f"search.n_best is {self.n_best}: it must be from 1 to search.{kind}, {choices}"
        require(self.n_best <= choices, problem)
