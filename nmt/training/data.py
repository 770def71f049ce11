"""The data of training: sentence pairs as text in, ids of pieces and batches in groups of a step out.

On a GPU, which must not wait, threads work ahead: one reads and plans the next window of the corpus, and another one
makes the batches of the next step. On a CPU they would take their time from the step.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeVar

import torch
from torch import Tensor

from nmt.config import Config, DataConfig, TrainingConfig
from nmt.data import batches
from nmt.data.batches import Batch, Pairs, PlannedBatch, StoredPairs
from nmt.data.cleaning.cleaner import Pair
from nmt.data.mixing import Mixture, mixture_of
from nmt.data.packing import PackedBatch, RowShape, pack, plan_rows
from nmt.data.sections import Section, weighted
from nmt.data.store.facts import FACTS, MEASURED_SOURCES, facts_of, learn_words
from nmt.data.store.prepared import Prepared
from nmt.data.store.record import read_json
from nmt.data.tokenizer import Tokenizer, encode_pairs, load_words
from nmt.model.contract import Model
from nmt.model.device import pinned
from nmt.training.distributed import Processes
from nmt.training.objectives import Objective, make_objective
from nmt.translation.model_folder import Facts

Item = TypeVar("Item")
Place = tuple[int, int]
"""An epoch, and the number of a batch in it."""


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
    first: Objective = field(default_factory=Objective)
    """Makes the batches of the first steps: see `training.denoise_steps`."""
    portions: Sequence[Section] = ()
    """Those of `train`, if they are known."""
    stored: bool = False
    """Whether `train` comes from a store, so that an epoch is planned in windows."""
    val_sets: Sequence[Section] = ()
    """The sets of validation pairs that follow one another, if there are several."""
    mixture: Mixture | None = None
    """How the portions are mixed; None: each epoch takes each pair once."""
    first_mixture: Mixture | None = None
    """The same for the first steps, which read texts without translations too."""
    commits: Mapping[str, str] = field(default_factory=dict)
    """The commit of each data set of the hub whose text this is."""

    @classmethod
    def load(cls, prepared: Prepared, data: DataConfig | None = None) -> "TrainingData":
        """The data of a prepared run folder. `data`: has the weights of the corpora; None: an epoch has each pair."""
        if not prepared.store:
            return cls.encode(prepared.tokenizer, list(prepared.train), prepared.val)
        folder = prepared.folder / "data"
        tokenizer = prepared.tokenizer.with_words(load_words(folder))
        train = batches.read_store(prepared.store)
        facts = make_facts(read_json(folder / FACTS, prepared.folder))
        starts = list[tuple[list[int], list[int]]]()  # without tags of corpora
        for part in prepared.val_sets:
            starts += [tokenizer.for_corpus(part.source, part.target).starts()] * part.rows
        validation = encode_pairs(tokenizer, prepared.val, starts)
        portions = weighted(prepared.sections, data) if data else ()
        whole = cls(tokenizer, train, validation, prepared.val, facts, portions=portions, stored=True)
        return replace(whole, val_sets=prepared.val_sets, commits=prepared.commits)

    @classmethod
    def encode(cls, tokenizer: Tokenizer, train: Sequence[Pair], validation: list[Pair]) -> "TrainingData":
        encoded, sources = encode_pairs(tokenizer, train), [source for source, _ in train]
        sample = sources[:: math.ceil(len(sources) / MEASURED_SOURCES)]
        facts = make_facts(facts_of(int(encoded.source.lengths_N.max()), sample))
        tokenizer = tokenizer.with_words(learn_words(tokenizer, sources))
        return cls(tokenizer, encoded, encode_pairs(tokenizer, validation), validation, facts)

    def as_read(self, config: Config) -> "TrainingData":
        """The data for a model that learns `training.objective`: validation pairs as it reads them, and a mixture."""
        objective, first = (make_objective(config, self.tokenizer, first=is_first) for is_first in (False, True))
        read = replace(self, validation=objective.pairs(self.validation), objective=objective, first=first)
        if next(self.train.columns())[2] is None or len(self.portions) < 2:
            return read
        usual = 5.0 if len(config.data.many_to_many) > 2 else 1.0
        temperature = config.training.mixing_temperature
        temperature = usual if temperature == "auto" else temperature
        pairs_alone = [part if part.text == "pairs" else replace(part, weight=0.0) for part in self.portions]
        mixtures = [mixture_of(self.train, parts, temperature) for parts in (pairs_alone, self.portions)]
        return replace(read, mixture=mixtures[0], first_mixture=mixtures[1])

    def objective_of(self, planned: PlannedBatch) -> Objective:
        """What the model learns with a batch."""
        return self.first if planned.denoises else self.objective

    def lengths(self) -> Iterator[tuple[Tensor, Tensor]]:
        """As `Pairs.lengths`, of the training pairs as a model reads them, in parts."""
        for source_N, target_N, _ in self.train.columns():
            yield self.objective.lengths(source_N, target_N)

    @property
    def texts(self) -> int:
        """Number of the texts without translations among the training pairs."""
        return sum(part.rows for part in self.portions if part.text != "pairs")

    def first_pairs(self, most: int) -> Pairs:
        """The first training pairs, at most so many, without texts that have no translations."""
        if not self.texts:
            return self.train.chosen(torch.arange(min(most, len(self.train))))
        has_text_R = torch.tensor([part.text != "pairs" for part in self.portions])
        is_pair_N = torch.cat([~has_text_R[column.long()] for *_, column in self.train.columns() if column is not None])
        return self.train.chosen(is_pair_N.nonzero()[:most, 0])

    def longest(self, model: Model) -> int:
        """The longest sequence of a training pair that the model reads, in positions."""
        return max(int(lengths_N.max()) for part in self.lengths() for lengths_N in model.sequence_lengths(*part))

    def steps_a_pass(self, model: Model, config: TrainingConfig, *, first: bool = False) -> float:
        """About how many steps an epoch takes: padding isn't counted. `first`: of the first steps."""
        mixture, positions, n = self.first_mixture if first else self.mixture, 0.0, 1
        for lengths, (*_, portion_N) in zip(self.lengths(), self.train.columns(), strict=True):
            stacks = model.sequence_lengths(*lengths)
            longest_N, n = torch.stack(stacks).amax(0).double(), len(stacks)
            if mixture and portion_N is not None:
                times_R = torch.tensor(mixture.amounts) / torch.tensor(mixture.sizes).clamp(min=1)
                longest_N *= times_R[portion_N.long()]
            positions += float(longest_N.sum())
        return max(1.0, positions / (self.objective.budget(config.batch_tokens, n) * config.accumulate))

    @property
    def validation_sets(self) -> list[tuple[Tokenizer, range]]:
        """For each validation set the tokenizer of its languages, and the numbers of its pairs."""
        found, end = [], 0
        for part in self.val_sets:
            found.append((self.tokenizer.for_corpus(part.source, part.target), range(end, end + part.rows)))
            end += part.rows
        return found or [(self.tokenizer, range(len(self.validation_text)))]


def make_facts(values: Mapping[str, Any]) -> Facts:
    """Facts by their names; the defaults for what is 0 or empty, as in text without sources."""
    return Facts(**{name: value for name, value in values.items() if value})


def one_side(planned: PlannedBatch) -> PlannedBatch:
    """The batch for one of the first steps, which restore texts: sources, if it begins with a pair of an odd number."""
    texts = planned.pairs.source if int(planned.index_B[0]) % 2 else planned.pairs.target
    return replace(planned, pairs=Pairs(texts, texts), denoises=True)


class Feed:
    """Endless batches of training data. Which they are depends on the data, the settings and the place alone."""

    def __init__(
        self,
        data: TrainingData,
        model: Model,
        config: TrainingConfig,
        processes: Processes,
        *,
        in_threads: bool,
        rows: RowShape | None = None,
    ) -> None:
        """`rows`: the shape of packed batches; None: batches are padded."""
        self.data, self.model, self.config, self.processes, self.rows = data, model, config, processes, rows
        self.whole = data.objective.pairs(data.train) if isinstance(data.train, Pairs) else None
        self.planner, self.maker = (ThreadPoolExecutor(1) if in_threads else None for _ in range(2))

    def go_to(self, place: Place) -> None:
        """Go on with the batch at this place."""
        self.place = self.reached = place
        self.planned, self.denoises = self.plan(place), False
        self.following: list[PlannedBatch] = []
        self.started: dict[Place, Future[Batch]] = {}

    def group(self, step: int) -> list[PlannedBatch]:
        """The batches of this step, the next one. If there are threads, one begins with this process's following."""
        if self.following and self.following[0].denoises != self.denoises_in(step):
            self.go_to(self.reached)  # other batches of this step were skipped: make these anew
        group = self.following or self.next_for(step)
        self.reached = group[-1].after
        if self.maker:
            self.following = self.next_for(step + 1)
            for planned in self.processes.shard_items(self.following):
                self.started[planned.epoch, planned.number] = self.maker.submit(self.make, planned)
        return group

    def next_for(self, step: int) -> list[PlannedBatch]:
        if self.denoises != self.denoises_in(step):  # texts without translations begin or end
            self.planned, self.denoises = self.plan(self.place), self.denoises_in(step)
        group = list(islice(self.planned, self.config.accumulate))
        self.place = group[-1].after
        return list(map(one_side, group)) if self.denoises else group

    def denoises_in(self, step: int) -> bool:
        return step <= self.config.denoise_steps

    def take(self, planned: PlannedBatch) -> Batch:
        """The batch, on the CPU. Raises the errors of making it."""
        found = None if planned.part else self.started.pop((planned.epoch, planned.number), None)
        return found.result() if found else self.make(planned)

    def make(self, planned: PlannedBatch) -> Batch:
        """The batch, which depends on its place in the run alone."""
        objective = self.data.objective_of(planned)
        batch = objective.batch(planned.pairs, planned.index_B, planned.generator(self.config.seed))
        if not self.rows:
            return batch
        packed = PackedBatch(*map(pinned, pack(batch, self.rows).tensors()))
        _ = packed.sentences, packed.target_tokens, packed.lengths  # counted here, in the thread
        return packed

    def plan(self, place: Place) -> Iterator[PlannedBatch]:
        """The batches from this place on."""
        for window in ahead(self.windows(place), self.planner):
            yield from (planned for planned in window if (planned.epoch, planned.number) >= place)

    def windows(self, place: Place) -> Iterator[list[PlannedBatch]]:
        """The batches of each window, from that of this place on."""
        (epoch, number), mixture = place, self.data.first_mixture if self.denoises else self.data.mixture
        while True:
            times_N = mixture.times(self.config.seed, epoch) if mixture else None
            n = len(self.data.train) if times_N is None else int(times_N.sum())
            in_windows = self.data.stored and n > batches.WINDOW
            size = batches.WINDOW if in_windows else n
            starts = batches.window_starts(n, self.config.seed, epoch) if in_windows else [0]
            for turn in range(number // size, len(starts)):
                start, stop = starts[turn], min(starts[turn] + size, n)
                entries_E = torch.arange(start, stop)
                if times_N is not None:
                    entries_E = batches.repeated_rows(times_N, start, stop)
                planned = self.window(entries_E, epoch, turn * size)
                if turn + 1 == len(starts):
                    planned[-1] = replace(planned[-1], after=(epoch + 1, 0))
                yield planned
            epoch, number = epoch + 1, 0

    def window(self, entries_E: Tensor, epoch: int, first: int) -> list[PlannedBatch]:
        """The batches of these pairs (rising numbers; each as often as it is seen). `first`: number of the first."""
        pairs, rows_N = self.whole, None
        if pairs is None:
            rows_N, entries_E = entries_E.unique_consecutive(return_inverse=True)
            pairs = self.data.objective.pairs(self.data.train.chosen(rows_N))
        lengths = [lengths_N[entries_E] for lengths_N in self.model.sequence_lengths(*pairs.lengths)]
        if self.rows:
            plan = plan_rows(lengths, self.rows, self.config.seed, epoch)
        else:
            budget = self.data.objective.budget(self.config.batch_tokens, len(lengths))
            plan = batches.plan_batches(lengths, budget, self.config.seed, epoch)
        return [
            PlannedBatch(pairs, entries_E[index_B], epoch, number, after=(epoch, number + 1), rows_N=rows_N)
            for number, index_B in enumerate(plan, start=first)
        ]


def ahead(items: Iterator[Item], pool: ThreadPoolExecutor | None) -> Iterator[Item]:
    """Endless items; if there is a pool, a thread makes each while the one before is used."""
    if not pool:
        yield from items
        return
    following = pool.submit(next, items)
    while True:
        item = following.result()
        following = pool.submit(next, items)
        yield item
