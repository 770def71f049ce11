"""The training loop: batches in, a better model out. It validates, keeps checkpoints, can stop at any step."""

import contextlib
import copy
import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType

import torch
from torch import nn

from nmt.cli import say
from nmt.config import Config, TrainingConfig, require
from nmt.data.batches import Batch, PlannedBatch, plan_batches
from nmt.files import write_lines
from nmt.model.device import choose_numerics, keep_freed_memory
from nmt.model.encoder_decoder import Transformer
from nmt.model.weights import set_weights
from nmt.training.checkpoint import (
    Progress,
    load_checkpoint,
    load_progress,
    newest_checkpoint,
    save_checkpoint,
    weights,
)
from nmt.training.data import TrainingData
from nmt.training.distributed import Processes, local_gradients, shard, whole
from nmt.training.finetuning import freeze, start_from
from nmt.training.loss import Learner, Loss
from nmt.training.memory import find_batch_tokens, is_out_of_memory
from nmt.training.monitor import Monitor
from nmt.training.optim import MovingAverage, learning_rate, make_optimizer
from nmt.training.selection import prune
from nmt.training.validation import Validator

ALONE = Processes()


class Stopped(Exception):  # noqa: N818 (it is no error)
    """Training was interrupted; its state is saved."""


@dataclass
class Window:
    """Sums since the last record, of this process's batches."""

    loss: float = 0.0
    nll: float = 0.0
    target_tokens: int = 0
    source_tokens: int = 0
    positions: int = 0
    sentences: int = 0
    gradient_norm: float = 0.0
    steps: int = 0
    waited: float = 0.0
    """Seconds in which batches were made."""
    started: float = field(default_factory=time.perf_counter)

    def add(self, batch: Batch, loss: Loss) -> None:
        self.loss += float(loss.smoothed)
        self.nll += float(loss.nll)
        self.target_tokens += batch.target_tokens
        self.source_tokens += batch.source_tokens
        self.positions += batch.positions
        self.sentences += batch.src_BS.size(0)

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the time within as waiting for data."""
        started = time.perf_counter()
        yield
        self.waited += time.perf_counter() - started

    def figures(self, processes: Processes) -> dict[str, float]:
        """The window of all processes as TensorBoard scalars."""
        seconds = time.perf_counter() - self.started
        loss, nll, target_tokens, source_tokens, positions, sentences, waited = processes.total(
            [self.loss, self.nll, self.target_tokens, self.source_tokens, self.positions, self.sentences, self.waited]
        )
        return {
            "train/loss": loss / target_tokens,
            "train/nll": nll / target_tokens,
            "train/perplexity": math.exp(min(nll / target_tokens, 50)),
            "train/gradient_norm": self.gradient_norm / self.steps,
            "speed/target_tokens_per_second": target_tokens / seconds,
            "speed/sentences_per_second": sentences / seconds,
            "speed/padding_efficiency": (target_tokens + source_tokens) / positions,
            "speed/data_share": waited / processes.size / seconds,
        }


def make_trainer(
    config: Config, data: TrainingData, folder: Path, say: Callable[[str], None], processes: Processes = ALONE
) -> "Trainer":
    """A trainer that goes on from the folder's newest undamaged checkpoint; or, if it has none, with a new model, or
    from another's weights. The seed decides all that is random.

    Raises:
        ValueError: a step has too few batches for the processes, or the settings ask for what isn't there.
    """
    training = config.training
    require_batches_for_all(training, processes)
    require_room(config, data)
    if training.threads or processes.size > 1:
        torch.set_num_threads(training.threads or max(1, usable_cores() // processes.local_size))
    keep_freed_memory()
    torch.manual_seed(training.seed)
    model = Transformer(config.model, data.tokenizer.src_vocab_size, data.tokenizer.tgt_vocab_size)
    freeze(model, training.freeze)
    found = newest_checkpoint(folder / "checkpoints", say) if processes.first else None
    told = processes.told(str(found) if found else None)
    checkpoint = Path(told) if told else None
    if training.start_from and not checkpoint:
        say(start_from(model, data.tokenizer, Path(training.start_from)))
    numerics = choose_numerics(processes.device(training.device), training.precision)
    learner = Learner(model.to(numerics.device), training, numerics)
    if training.batch_tokens == "auto":
        training = replace(training, batch_tokens=batch_tokens_of_run(learner, data, checkpoint, processes, say))
    trainer = Trainer(learner, data, training, folder, processes)
    if checkpoint:
        trainer.load(checkpoint)
        say(f"Going on after step {trainer.progress.step:,}.")
    return trainer


def usable_cores() -> int:
    """Cores that this process may run on, where the system tells; else all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def require_batches_for_all(config: TrainingConfig, processes: Processes) -> None:
    n, size = config.accumulate, processes.size
    require(
        n >= size,
        f"training.accumulate is {n}: {size} processes need at least {size} batches a step, one each. "
        f"The number of processes never alters what a step learns from, so say it yourself",
    )
    require(
        not config.shard or n % size == 0,
        f"training.accumulate is {n}: with training.shard it must be a multiple of the number of processes, {size}",
    )


def require_room(config: Config, data: TrainingData) -> None:
    """That no sentence is too long for the model: else validation would fail, hours later."""
    if config.model.positions != "learned":
        return
    for name, pairs in (("training", data.train), ("validation", data.validation)):
        longest = pairs.longest + 1
        require(
            longest <= config.model.max_positions,
            f"a {name} sentence may take {longest} positions, and model.max_positions is "
            f"{config.model.max_positions}: raise that, or take model.positions sinusoidal or rotary",
        )


def batch_tokens_of_run(
    learner: Learner, data: TrainingData, checkpoint: Path | None, processes: Processes, say: Callable[[str], None]
) -> int:
    """What `training.batch_tokens: auto` comes to: what the run's checkpoint says, or what trying finds."""
    if checkpoint:
        return load_progress(checkpoint).batch_tokens
    pairs = data.of_epoch(seed=0, epoch=0)
    found = processes.told(find_batch_tokens(learner, pairs, processes.local_size) if processes.first else 0)
    say(f"training.batch_tokens: {found:,} found to be best on this machine")
    return found


class Trainer:
    """One training run in `folder`."""

    def __init__(
        self, learner: Learner, data: TrainingData, config: TrainingConfig, folder: Path, processes: Processes
    ) -> None:
        self.model, self.numerics = learner.model, learner.numerics
        self.data, self.config, self.folder, self.processes = data, config, folder, processes
        self.average = MovingAverage(self.model, config.ema) if config.ema else None
        self.sharded = config.shard and processes.size > 1
        self.validated = self.average.model if self.average else self.model
        # What is sharded can't be searched with: each process then has a whole copy, without gradients and moments.
        inference = copy.deepcopy(self.validated) if self.sharded else self.validated
        if self.sharded:
            shard(learner, [*self.model.encoder, *self.model.decoder])
            if self.average:
                shard(self.average.model, [*self.average.model.encoder, *self.average.model.decoder])
        if config.compile:  # after all copies were made, which then go uncompiled
            for block in (*self.model.encoder, *self.model.decoder):
                block.compile(dynamic=True)
        self.learner = learner if self.sharded else processes.unite(learner)
        self.optimizer = make_optimizer(self.model, config, self.numerics.bf16)
        self.validator = Validator(inference, data, config, self.numerics, processes)
        self.checkpoints = folder / "checkpoints"
        self.progress = Progress(batch_tokens=int(config.batch_tokens))
        self.saved_step = -1
        self.interrupted = False

    def load(self, checkpoint: Path) -> None:
        """Go back to where a checkpoint was made."""
        self.progress = load_checkpoint(
            checkpoint, self.model, self.optimizer, self.average.model if self.average else None
        )
        self.progress.batch_tokens = int(self.config.batch_tokens)
        self.saved_step = self.progress.step

    def finished(self) -> bool:
        patience, stop_at, best = self.config.patience, self.config.stop_at, self.progress.best_value
        reached = best is not None and stop_at > 0 and best >= self.validator.goodness_of(stop_at)
        return self.progress.step >= self.config.max_steps or 0 < patience <= self.progress.bad_validations or reached

    def train(self, monitor: Monitor | None) -> None:
        """Train to the end; only the first process has a monitor.

        Raises Stopped on Ctrl-C or SIGTERM, after saving; FloatingPointError on a loss of NaN.
        """
        batches, window, started = self.batches(), Window(), time.perf_counter() - self.progress.seconds
        with self.watching_signals():
            if self.validation_is_due():  # it failed, or was cut off, when this step was made
                self.validate(monitor)
            while not self.finished():
                stopping = self.processes.ask(lambda: self.interrupted)
                self.step(batches, window)
                self.progress.seconds = time.perf_counter() - started
                due = self.validation_is_due()
                if due or self.progress.step % self.config.log_every == 0:
                    self.log(window, monitor)
                    window = Window()
                if due:
                    self.validate_and_save(monitor)
                    window = Window()  # which begins with a checkpoint, so that a resumed run's records are the same
                if stopping():  # all processes after the same step
                    self.save()
                    raise Stopped

    def validation_is_due(self) -> bool:
        """Whether this step is to be validated, and has not been."""
        step, config = self.progress.step, self.config
        return (
            step > 0
            and str(step) not in self.progress.validated
            and (step % config.validate_every == 0 or step == config.max_steps)
        )

    def validate_and_save(self, monitor: Monitor | None) -> None:
        """Validate, then save; the steps since the last checkpoint are saved even if validation fails."""
        try:
            self.validate(monitor)
        except Exception:
            if self.processes.size == 1:  # one alone of several can't
                with contextlib.suppress(OSError):  # what made it fail is what the user should read
                    self.save()
            raise
        self.save()

    def batches(self) -> Iterator[PlannedBatch]:
        """Batches from where progress stands, without end; progress moves with them."""
        while True:
            epoch, done = self.progress.epoch, self.progress.batch
            pairs = self.data.of_epoch(self.config.seed, epoch)
            plan = plan_batches(pairs, int(self.config.batch_tokens), self.config.seed, epoch)
            for number, index in enumerate(plan[done:], start=done):
                self.progress.batch += 1
                yield PlannedBatch(pairs, index, epoch, number)
            self.progress.epoch, self.progress.batch = epoch + 1, 0

    def step(self, batches: Iterator[PlannedBatch], window: Window) -> None:
        """One optimizer step, on the gradient of the mean loss over all real target tokens of `accumulate` batches."""
        self.learner.train()
        with window.waiting():
            group = [next(batches) for _ in range(self.config.accumulate)]
        learned = self.gradient(group, window)
        limit = self.config.clip_norm or math.inf
        norm = float(whole(nn.utils.clip_grad_norm_(self.model.parameters(), limit)))
        if not math.isfinite(norm):
            raise FloatingPointError(self.blame(group, learned))
        self.progress.step += 1
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = learning_rate(self.progress.step, self.config)
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.average:
            self.average.update(self.progress.step)
        for _, batch, loss in learned:
            window.add(batch, loss)
        window.gradient_norm += norm
        window.steps += 1

    def gradient(self, group: list[PlannedBatch], window: Window) -> list[tuple[PlannedBatch, Batch, Loss]]:
        """Leave the group's gradient in the parameters; returns this process's batches with their losses.

        A batch that memory has no room for is cut in half, and the group begun again: the gradient is the same sum.
        """
        tokens = sum(planned.target_tokens for planned in group)
        work = self.processes.share(group)
        learned: list[tuple[PlannedBatch, Batch, Loss]] = []
        while len(learned) < len(work):
            planned = work[len(learned)]
            with window.waiting():
                batch = planned.make()
            loss = self.backward(planned, batch, tokens, more_follow=len(learned) + 1 < len(work))
            if loss is not None:
                learned.append((planned, batch, loss))
                continue
            require(
                len(planned.index_B) > 1, f"memory has no room for a single pair, in {planned}: lower data.max_pieces"
            )
            self.optimizer.zero_grad()
            work[len(learned) : len(learned) + 1] = planned.halves()
            learned.clear()
        return learned

    def backward(self, planned: PlannedBatch, batch: Batch, tokens: int, more_follow: bool) -> Loss | None:
        """Add a batch's gradient to the parameters; None if memory ran out, which leaves a part of it there.

        `more_follow`: other batches of this process do, so the processes needn't exchange gradients yet.
        """
        torch.manual_seed(planned.seed(self.config.seed))
        exchanging = self.sharded  # whose processes exchange parameters too, from the first block on
        try:
            with local_gradients(self.learner, more_follow):
                loss: Loss = self.learner(batch)
                exchanging = self.sharded or (self.processes.size > 1 and not more_follow)
                (loss.smoothed / tokens).backward()
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            require(
                not exchanging,
                f"memory ran out while the processes exchanged gradients, in {planned}: train anew "
                f"with training.batch_tokens below {self.config.batch_tokens:,}, and more "
                f"training.accumulate to make up for it",
            )
            return None
        return Loss(loss.smoothed.detach(), loss.nll)

    def blame(self, group: list[PlannedBatch], learned: list[tuple[PlannedBatch, Batch, Loss]]) -> str:
        """Which batches made a gradient that is not finite."""
        mine = [str(p) for p, _, loss in learned if not math.isfinite(float(loss.smoothed))]
        guilty = [name for part in self.processes.gather(mine) for name in part]
        what = (
            f"the loss is not finite at step {self.progress.step + 1}, of {'; '.join(guilty)}"
            if guilty
            else f"the gradient is not finite at step {self.progress.step + 1}, of {'; '.join(map(str, group))}"
        )
        return (
            f"{what}. No step was taken, and the last checkpoint is good. Look at those lines, or go on from it "
            f"(--resume) with a lower training.learning_rate"
        )

    def log(self, window: Window, monitor: Monitor | None) -> None:
        figures = window.figures(self.processes)
        figures["train/learning_rate"] = self.optimizer.param_groups[0]["lr"]
        figures["train/epoch"] = self.progress.epoch
        if monitor:
            monitor.scalars(self.progress.step, figures)
            monitor.advance(
                self.progress.step,
                f"loss {figures['train/loss']:.3f}, nll {figures['train/nll']:.3f}, "
                f"{figures['speed/target_tokens_per_second']:,.0f} tokens/s",
            )

    def validate(self, monitor: Monitor | None) -> None:
        """Measure the model on the validation text; note whether it is the best yet."""
        if self.sharded:
            set_weights(self.validator.model, weights(self.validated), self.folder)
        step = self.progress.step
        figures, translations = self.validator.measure()
        self.note_best(self.validator.goodness(figures))
        if not monitor:
            return
        monitor.scalars(step, figures)
        best = " (the best yet)" if self.progress.bad_validations == 0 else ""
        shown = ", ".join(f"{tag.split('/')[1]} {value:.3f}" for tag, value in figures.items())
        minutes = self.progress.seconds / 60
        say(f"step {step}, {minutes:,.1f} minutes: validation {shown}{best}")
        self.validator.show(translations, step, monitor)
        write_lines(self.folder / "translations" / f"step-{step:08d}.txt", translations)

    def note_best(self, value: float) -> None:
        self.progress.validated[str(self.progress.step)] = value
        if math.isfinite(value) and (self.progress.best_value is None or value > self.progress.best_value):
            self.progress.best_value, self.progress.best_step = value, self.progress.step
            self.progress.bad_validations = 0
        else:
            self.progress.bad_validations += 1

    def save(self) -> None:
        """Write a checkpoint, then remove those no longer needed."""
        if self.saved_step == self.progress.step:
            return
        self.saved_step = self.progress.step
        if self.processes.first or self.sharded:
            save_checkpoint(
                self.checkpoints,
                self.model,
                self.optimizer,
                self.progress,
                self.average.model if self.average else None,
                self.processes.first,
            )
        if self.processes.first:
            prune(self.checkpoints, self.progress, self.config)
        self.processes.wait()  # until it is safe: what the others say next may be the last that is heard of them

    @contextlib.contextmanager
    def watching_signals(self) -> Iterator[None]:
        """Let Ctrl-C and SIGTERM end the current step in peace; a second Ctrl-C ends at once."""

        def handle(number: int, frame: FrameType | None) -> None:
            self.interrupted = True
            signal.signal(signal.SIGINT, signal.default_int_handler)

        before = {s: signal.signal(s, handle) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
