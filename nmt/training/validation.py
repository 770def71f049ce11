"""Validation: a model in training flows in; its losses and, of a translator, BLEU, chrF and samples flow out.

Several sets (of several directions, or named val-medical) are measured one by one: the figures are the means of those
that `training.best_of` says, and the figures of one set are named by it (bleu/de-fr).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import compress

import torch
from torch.nn.utils import parametrize

from nmt.config import OBJECTIVES, Config, SearchConfig
from nmt.data.batches import Pairs, PlannedBatch, plan_batches
from nmt.data.sections import labels
from nmt.model.contract import GenerativeModel, Model
from nmt.model.device import Numerics
from nmt.scoring.metrics import score
from nmt.training.data import TrainingData
from nmt.training.distributed import Processes
from nmt.training.loss import Learner, Loss
from nmt.training.monitor import Monitor
from nmt.training.objectives import Objective
from nmt.translation.translator import Translator

SAMPLES = 8  # validation sentences shown in TensorBoard
BATCH_TOKENS = 4096  # positions of a batch for the validation loss (more only for a longer sentence)
GPU_SENTENCES = 512  # sentences that a GPU translates at once, or more if search.batch_size says so


class Validator:
    """Measures a model on the validation pairs, which the processes share."""

    def __init__(
        self, model: Model, data: TrainingData, settings: Config, numerics: Numerics, processes: Processes
    ) -> None:
        self.model, self.config, self.processes = model, settings.training, processes
        self.learner = Learner(model, self.config, numerics)
        self.data, self.text = data, data.validation_text
        self.translators: list[Translator] = []
        """One for each direction; none of a model that is no translator."""
        self.rows = [rows for _, rows in data.validation_sets]
        self.names = labels(data.val_sets)
        target = settings.data.target
        self.targets = [part.target or target for part in data.val_sets] or [target]
        of_first = [part.name == data.val_sets[0].name for part in data.val_sets] or [True]
        self.best = of_first if self.config.best_of == "first" else [True] * len(self.rows)
        """Of which sets the figures called validation/ are the means."""
        if self.config.objective == "translation":
            assert isinstance(model, GenerativeModel)
            greedy = replace(plain(settings.search), beam_size=1)
            if numerics.device.type == "cuda":
                greedy = replace(greedy, batch_size=max(greedy.batch_size, GPU_SENTENCES))
            tokenizers = [tokenizer for tokenizer, _ in data.validation_sets]
            self.translators = [Translator(model, t, greedy, facts=data.facts) for t in tokenizers]

    @parametrize.cached()  # of adapters, the weight is computed once
    def measure(self) -> tuple[dict[str, float], list[str]]:
        """The figures by their TensorBoard tags, and the greedy translations, if the objective is translation."""
        figures, translations = [], list[str]()
        for direction, rows in enumerate(self.rows):
            figures.append(self.measure_loss(direction))
            if self.translators:
                sources, references = zip(*(self.text[n] for n in self.translated(rows)), strict=True)
                part = self.processes.shard_items(sources)
                found = self.processes.gather_items(self.translators[direction].translate(part))
                scores = score(found, references, language=self.targets[direction])
                figures[-1] |= {s.name.lower(): s.value for s in scores}
                translations += found
        best = list(compress(figures, self.best))
        means = {f"validation/{name}": sum(of[name] for of in best) / len(best) for name in best[0]}
        named = zip(self.names, figures, strict=False)  # no names if there is one set
        return means | {f"{name}/{label}": of[name] for label, of in named for name in of}, translations

    def measure_loss(self, direction: int = 0) -> dict[str, float]:
        """The losses of the validation pairs of a direction, by name."""
        pairs = self.data.validation.chosen(torch.tensor(self.rows[direction]))
        return measure_losses(self.learner, self.data.objective, pairs, self.processes)

    def describe(self, figures: Mapping[str, float]) -> Iterator[str]:
        """The figures of each set for the user, if sets have names of their own (directions alone may be many)."""
        for label in self.names if len({part.name for part in self.data.val_sets}) > 1 else ():
            of_set = {tag.partition("/")[0]: value for tag, value in figures.items() if tag.endswith(f"/{label}")}
            yield f"  {label}: {', '.join(f'{name} {value:.3f}' for name, value in of_set.items())}"

    def translated(self, rows: range) -> range:
        """The validation pairs of a direction that are translated."""
        return rows[: self.config.validation_sentences or None]

    def add_samples(self, translations: list[str], step: int, monitor: Monitor) -> None:
        """Add some validation sentences to TensorBoard: a table of translations."""
        if monitor.writer is None:
            return
        texts = [self.text[n] for rows in self.rows for n in self.translated(rows)]
        table = ["| source | translation | reference |", "|---|---|---|"]
        for i in sorted({i * len(translations) // SAMPLES for i in range(SAMPLES)}):
            source, reference = texts[i]
            cells = (cell.replace("|", "\\|") for cell in (source, translations[i], reference))
            table.append(f"| {' | '.join(cells)} |")
        monitor.writer.add_text("samples", "\n".join(table), step)


def plain(search: SearchConfig) -> SearchConfig:
    """The settings of one search without retries; what cuts a line, and limits a translation, is as users have it."""
    return replace(search, guard=False, samples=0, n_best=1)


@torch.inference_mode()
def measure_losses(learner: Learner, objective: Objective, pairs: Pairs, processes: Processes) -> dict[str, float]:
    """Means over the targets: smoothed loss and negative log-likelihood (in nats), perplexity and, where the objective
    has it, accuracy (in percent). The noise is always the same. Puts the learner into evaluation mode."""
    learner.eval()
    tokens, sums = 0, torch.zeros(3, dtype=torch.float64, device=learner.numerics.device)
    lengths = learner.model.sequence_lengths(*pairs.lengths)
    budget = max(BATCH_TOKENS, *(int(lengths_N.max()) for lengths_N in lengths))
    plan = [*enumerate(plan_batches(lengths, budget, seed=0, epoch=0))]
    for number, index in processes.shard_items(plan):
        batch = objective.batch(pairs, index, PlannedBatch(pairs, index, 0, number).generator(0))
        loss: Loss = learner(batch)
        sums += torch.stack([loss.smoothed.double(), loss.nll.double(), loss.right.double()])
        tokens += batch.target_tokens
    smoothed, nll, right, n = processes.all_reduce_sum([*sums.tolist(), float(tokens)])
    losses = {"loss": smoothed / n, "nll": nll / n, "perplexity": math.exp(min(nll / n, 50))}
    has_accuracy = "accuracy" in OBJECTIVES[learner.config.objective].metrics
    return losses | ({"accuracy": 100 * right / n} if has_accuracy else {})
