"""The data of training: sentence pairs as text in, ids of pieces out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

import torch
from torch import Tensor

from nmt.config import Config, DataConfig
from nmt.data.batches import Pairs, Sequences, epoch_batches
from nmt.data.cleaning import Pair
from nmt.data.mixing import Mixture, WeightedPairs, mixture_of
from nmt.data.sections import Section, weighted
from nmt.data.store.facts import FACTS, MEASURED_SOURCES, final_mark, learn_words, usual_sentences
from nmt.data.store.prepared import Prepared
from nmt.data.store.record import read_json
from nmt.data.tokenizer import Tokenizer, encode_pairs, load_words
from nmt.training.objectives import Objective, make_objective, validation_objective
from nmt.translation.model_folder import Facts


@dataclass(frozen=True)
class TrainingData:
    """Encoded training and validation pairs, and the validation text, for BLEU."""

    tokenizer: Tokenizer
    train: Pairs
    validation: Pairs
    validation_text: list[Pair]
    facts: Facts
    """What the sources of `train` tell a translator."""
    objective: Objective = field(default_factory=Objective)
    """Makes batches of `train`."""
    validated: Objective = field(default_factory=Objective)
    """Makes batches of `validation`."""
    corpus_N: Tensor | None = None
    """Number of the portion of each pair of `train` (int64), see `nmt.data.sections`; None if it isn't known."""
    weight_N: Tensor | None = None
    """Weight of each pair of `train` (fp32); None if they have none."""
    portions: Sequence[Section] = ()
    """Those of `train`, if they are known."""
    val_sets: Sequence[Section] = ()
    """The sets of validation pairs that follow one another, if there are several."""
    mixture: Mixture | WeightedPairs | None = None
    """How the portions are mixed; None: each epoch takes each pair once."""
    stages: Sequence[tuple[int, Mixture | WeightedPairs | None]] = ()
    """How they are mixed after later steps, with these."""
    commits: Mapping[str, str] = field(default_factory=dict)
    """The commit of each data set of the hub whose text this is."""

    @classmethod
    def load(cls, prepared: Prepared, data: DataConfig | None = None) -> "TrainingData":
        """The data of a prepared run folder: ids and facts are read, and only the validation text is encoded.

        `data`: has the weights of the corpora; None: each pair is seen once in an epoch.
        """
        if not prepared.store:
            return cls.encode(prepared.tokenizer, prepared.train, prepared.val)
        folder = prepared.folder / "data"
        tokenizer = prepared.tokenizer.with_words(load_words(folder))
        train, corpus_N, weight_N = prepared.encoded()
        facts = Facts(**{name: n for name, n in read_json(folder / FACTS, prepared.folder).items() if n})
        sets = prepared.val_sets
        starts = [tokenizer.for_corpus(one.source, one.target).starts() for one in sets]  # without tags of corpora
        starts_of_val = [start for start, one in zip(starts, sets, strict=True) for _ in range(one.rows)]
        validation = encode_pairs(tokenizer, prepared.val, starts_of_val)
        whole = cls(tokenizer, train, validation, prepared.val, facts, corpus_N=corpus_N, weight_N=weight_N)
        portions = weighted(prepared.sections, data) if data else ()
        return replace(whole, portions=portions, val_sets=sets, commits=prepared.commits)

    @classmethod
    def encode(cls, tokenizer: Tokenizer, train: Sequence[Pair], validation: list[Pair]) -> "TrainingData":
        encoded = encode_pairs(tokenizer, train)
        facts = source_facts(tokenizer, encoded.source)
        tokenizer = tokenizer.with_words(learn_words(tokenizer, train))
        return cls(tokenizer, encoded, encode_pairs(tokenizer, validation), validation, facts)

    def as_read(self, config: Config) -> "TrainingData":
        """The data as a model reads them that learns `training.objective`."""
        learned, validated = (make(config, self.tokenizer) for make in (make_objective, validation_objective))
        train, validation = learned.pairs(self.train), validated.pairs(self.validation)
        read = replace(self, train=train, validation=validation, objective=learned, validated=validated)
        if self.corpus_N is None or len(self.portions) < (2 if self.weight_N is None else 1):
            return read
        portions, mixtures = self.portions, list[Mixture | WeightedPairs | None]()
        for weights in ({}, *(stage.weights for stage in config.training.stages)):
            portions = [replace(p, weight=weights.get(p.corpus, p.weight)) for p in portions]
            mixtures.append(mixture_of(self.corpus_N, portions, config.temperature, self.weight_N))
        steps = (stage.step for stage in config.training.stages)
        return replace(read, mixture=mixtures[0], stages=list(zip(steps, mixtures[1:], strict=True)))

    def after(self, step: int) -> "TrainingData":
        """The data of the steps after this one: mixed as the stage that they are in says."""
        mixtures = [self.mixture, *(mixture for first, mixture in self.stages if first <= step)]
        return replace(self, mixture=mixtures[-1])

    @property
    def told(self) -> list[tuple[Tokenizer, range]]:
        """For each validation set the tokenizer, which is told its languages, and the pairs."""
        if not self.val_sets:
            return [(self.tokenizer, range(len(self.validation_text)))]
        ends = accumulate(one.rows for one in self.val_sets)
        rows = (range(end - one.rows, end) for one, end in zip(self.val_sets, ends, strict=True))
        tokenizers = (self.tokenizer.for_corpus(one.source, one.target) for one in self.val_sets)
        return list(zip(tokenizers, rows, strict=True))

    def batches(
        self, lengths: Sequence[Tensor], budget: int, seed: int, epoch: int, first: int
    ) -> Iterator[tuple[int, Tensor]]:
        """The batches of an epoch; see `epoch_batches`."""
        stored = not self.train.target.in_memory
        if not self.mixture:
            yield from epoch_batches(lengths, budget, seed, epoch, first, windows=stored)
            return
        index_N = self.mixture.pairs(seed, epoch)
        taken = [lengths_N[index_N] for lengths_N in lengths]
        for number, index_B in epoch_batches(taken, budget, seed, epoch, first, windows=stored):
            yield number, index_N[index_B]


def source_facts(tokenizer: Tokenizer, source: Sequences) -> Facts:
    """How long the training sources are, in pieces and sentences; the defaults if there are no sources."""
    if not source.lengths_N.max():
        return Facts()
    chosen = torch.linspace(0, len(source) - 1, min(len(source), MEASURED_SOURCES)).long()
    texts = tokenizer.decode_source(source.rows(chosen))
    longest = int(source.lengths_N.max())
    return Facts(longest_source=longest, usual_sentences=usual_sentences(texts), final_mark=final_mark(texts))
