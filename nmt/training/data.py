"""The data of training: sentence pairs as text in, ids of pieces out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

import torch
from torch import Tensor

from nmt.config import Config, DataConfig
from nmt.data.batches import Pairs, Sequences
from nmt.data.cleaning import Pair
from nmt.data.mixing import Mixture, WeightedPairs, mixture_of
from nmt.data.sections import Section, weighted
from nmt.data.store.facts import FACTS, MEASURED_SOURCES, final_mark, learn_words, usual_sentences
from nmt.data.store.prepared import Prepared
from nmt.data.store.record import read_json
from nmt.data.stored import StoredPairs
from nmt.data.tokenizer import Tokenizer, encode_pairs, load_words
from nmt.model.contract import Model
from nmt.training.objectives import Objective, make_objective
from nmt.translation.model_folder import Facts


@dataclass(frozen=True)
class TrainingData:
    """Encoded training and validation pairs, and the validation text, for BLEU."""

    tokenizer: Tokenizer
    train: Pairs | StoredPairs
    validation: Pairs
    validation_text: list[Pair]
    facts: Facts
    """What the sources of `train` tell a translator."""
    objective: Objective = field(default_factory=Objective)
    """Makes batches."""
    portions: Sequence[Section] = ()
    """Those of `train`, if they are known."""
    stored: bool = False
    """Whether `train` comes from a store, so that an epoch is planned in windows."""
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
        train = prepared.encoded()
        facts = Facts(**{name: n for name, n in read_json(folder / FACTS, prepared.folder).items() if n})
        sets = prepared.val_sets
        starts = [tokenizer.for_corpus(one.source, one.target).starts() for one in sets]  # without tags of corpora
        starts_of_val = [start for start, one in zip(starts, sets, strict=True) for _ in range(one.rows)]
        validation = encode_pairs(tokenizer, prepared.val, starts_of_val)
        portions = weighted(prepared.sections, data) if data else ()
        whole = cls(tokenizer, train, validation, prepared.val, facts, portions=portions, stored=True)
        return replace(whole, val_sets=sets, commits=prepared.commits)

    @classmethod
    def encode(cls, tokenizer: Tokenizer, train: Sequence[Pair], validation: list[Pair]) -> "TrainingData":
        encoded = encode_pairs(tokenizer, train)
        facts = source_facts(tokenizer, encoded.source)
        tokenizer = tokenizer.with_words(learn_words(tokenizer, train))
        return cls(tokenizer, encoded, encode_pairs(tokenizer, validation), validation, facts)

    def as_read(self, config: Config) -> "TrainingData":
        """The data for a model that learns `training.objective`: validation pairs as it reads them, and mixtures."""
        objective = make_objective(config, self.tokenizer)
        read = replace(self, validation=objective.pairs(self.validation), objective=objective)
        columns = next(self.train.columns())
        if columns.portion_N is None or len(self.portions) < (2 if columns.weight_N is None else 1):
            return read
        usual = 5.0 if len(config.data.many_to_many) > 2 else 1.0
        temperature = config.training.mixing_temperature
        temperature = usual if temperature == "auto" else temperature
        portions, mixtures = self.portions, list[Mixture | WeightedPairs | None]()
        for weights in ({}, *(stage.weights for stage in config.training.stages)):
            portions = [replace(p, weight=weights.get(p.corpus, p.weight)) for p in portions]
            mixtures.append(mixture_of(self.train, portions, temperature))
        steps = (stage.step for stage in config.training.stages)
        return replace(read, mixture=mixtures[0], stages=list(zip(steps, mixtures[1:], strict=True)))

    def mixture_after(self, step: int) -> Mixture | WeightedPairs | None:
        """How the portions are mixed in the stage of the steps after this one."""
        return [self.mixture, *(mixture for first, mixture in self.stages if first <= step)][-1]

    def lengths(self) -> Iterator[tuple[Tensor, Tensor]]:
        """As `Pairs.lengths`, of the training pairs as a model reads them, in parts."""
        for source_N, target_N, *_ in self.train.columns():
            yield self.objective.lengths(source_N, target_N)

    def longest(self, model: Model) -> int:
        """The longest sequence of a training pair that the model reads, in positions."""
        return max(int(lengths_N.max()) for part in self.lengths() for lengths_N in model.sequence_lengths(*part))

    @property
    def told(self) -> list[tuple[Tokenizer, range]]:
        """For each validation set the tokenizer, which is told its languages, and the pairs."""
        if not self.val_sets:
            return [(self.tokenizer, range(len(self.validation_text)))]
        ends = accumulate(one.rows for one in self.val_sets)
        rows = (range(end - one.rows, end) for one, end in zip(self.val_sets, ends, strict=True))
        tokenizers = (self.tokenizer.for_corpus(one.source, one.target) for one in self.val_sets)
        return list(zip(tokenizers, rows, strict=True))


def source_facts(tokenizer: Tokenizer, source: Sequences) -> Facts:
    """How long the training sources are, in pieces and sentences; the defaults if there are no sources."""
    if not source.lengths_N.max():
        return Facts()
    chosen = torch.linspace(0, len(source) - 1, min(len(source), MEASURED_SOURCES)).long()
    texts = tokenizer.decode_source(source.rows(chosen))
    longest = int(source.lengths_N.max())
    return Facts(longest_source=longest, usual_sentences=usual_sentences(texts), final_mark=final_mark(texts))
