"""The training loop: batches flow in; weights, checkpoints and records flow out. It can stop after any step."""

import contextlib
import copy
import itertools
import math
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import NoReturn

import torch
from torch import nn

from nmt.config import Config
from nmt.data.batches import Batch, PlannedBatch
from nmt.data.packing import PackedBatch, RowShape
from nmt.data.store.engines import usable_cores
from nmt.fields import require
from nmt.files import write_lines
from nmt.messages import say
from nmt.model import device
from nmt.model.build import build_model
from nmt.model.contract import Model
from nmt.model.encoder_decoder import EncoderDecoder
from nmt.model.lora import add_adapters
from nmt.training import checkpoint
from nmt.training.checkpoint import Progress, signed
from nmt.training.data import Feed, TrainingData
from nmt.training.distributed import SINGLE_PROCESS, Processes, no_sync
from nmt.training.finetuning import freeze, load_teacher, start_from
from nmt.training.loss import Learner, Loss
from nmt.training.monitor import Monitor, Window, drop_records_after
from nmt.training.objectives import Objective
from nmt.training.optim import learning_rate, make_optimizer, update_average
from nmt.training.recorded import RecordedLoss, RecordedUpdate
from nmt.training.threads import Threads
from nmt.training.validation import Validator

SWITCH_SECONDS = 2e-4  # after which Python lets another thread run; usually 5e-3
PACKING = ("cuda",)  # the devices that want batches of one shape
TrainedBatch = tuple[PlannedBatch, Batch, Loss]


def make_trainer(config: Config, data: TrainingData, folder: Path, processes: Processes = SINGLE_PROCESS) -> "Trainer":
    """Make a trainer that resumes from the newest undamaged checkpoint in the run folder, or starts with random weights
    or those in `training.start_from`. `training.seed` determines all random numbers."""
    training = config.training
    n, size = training.accumulate, processes.size
    advice = "raise it (the batch of a step then gets larger)"
    require(n >= size, f"training.accumulate is {n}: {size} processes need at least {size} batches a step; {advice}")
    least, most = training.min_learning_rate, training.learning_rate
    require(least <= most, f"training.min_learning_rate is {least:g}, above the learning_rate of {most:g}: lower it")
    data = data.as_read(config)
    if training.threads or processes.size > 1:
        torch.set_num_threads(training.threads or max(1, usable_cores() // processes.local_size))
    device.keep_freed_memory()
    device.remember_few_shapes()
    torch.manual_seed(training.seed)
    model = build_model(config.model, data.tokenizer.src_vocab_size, data.tokenizer.tgt_vocab_size)
    model.recompute(training.recompute)
    check_lengths(model, data)
    freeze(model, training.freeze)
    newest = checkpoint.newest_checkpoint(folder / "checkpoints") if processes.is_main else None
    path = processes.broadcast(str(newest or ""))  # processes may see different states of a shared file system
    if training.start_from and not path:
        say(start_from(model, data.tokenizer, Path(training.start_from)))
    if config.lora.rank:
        add_adapters(model, config.lora)
    numerics = device.choose_numerics(processes.choose_device(training.device), training.precision)
    device.allow_tf32(numerics.device)
    device.choose_attention(numerics.device, usual_length(model, data))
    teacher = load_teacher(config, data, numerics)
    learner = Learner(model.to(numerics.device), training, numerics, teacher)
    trainer = Trainer(learner, data, config, folder, processes)
    if path:
        trainer.progress = checkpoint.load_checkpoint(Path(path), trainer.model, trainer.optimizer, trainer.ema)
        say(f"Resuming after step {trainer.progress.step:,}.")
        trainer.threads.start(trainer.progress.threads)
    trainer.feed.go_to((trainer.progress.epoch, trainer.progress.batch))
    return trainer


def check_lengths(model: Model, data: TrainingData) -> None:
    """Make the tables of positions long enough for each pair. Raise ValueError if a pair is too long for learned ones,
    which validation would notice only hours later."""
    limit = model.max_positions
    of_validation = model.sequence_lengths(*data.validation.lengths)
    longest_of = {"training": data.longest(model), "validation": max(int(lengths.max()) for lengths in of_validation)}
    for name, longest in longest_of.items():
        require(
            limit is None or longest <= limit,
            f"a {name} sequence takes {longest} positions, and model.max_positions is {limit}: "
            f"raise it, or take other model.positions, which have no limit",
        )
        model.reserve(longest)


def usual_length(model: Model, data: TrainingData) -> float:
    """The mean length of a training sequence, weighted by length: that of a random position's sequence."""
    parts_X = (torch.cat(model.sequence_lengths(*part)).double() for part in data.lengths())
    squares, total = torch.stack([torch.stack([x.square().sum(), x.sum()]) for x in parts_X]).sum(0).tolist()
    return float(squares / total)


def row_shape(learner: Learner, data: TrainingData) -> RowShape | None:
    """The shape of packed batches, or None if this training needs padded ones."""
    model = learner.model
    plain = type(data.objective) is Objective and not learner.teacher
    # Steps that restore texts need no others: no noised text is longer than its text, for which a row has room.
    can = plain and isinstance(model, EncoderDecoder) and model.config.source_end
    wanted = learner.numerics.device.type in PACKING
    return RowShape.of(data.longest(model), learner.config.batch_tokens) if can and wanted else None


class Trainer:
    """Trains a model in a run folder."""

    def __init__(
        self, learner: Learner, data: TrainingData, settings: Config, folder: Path, processes: Processes
    ) -> None:
        self.model, self.numerics = learner.model, learner.numerics
        self.data, self.folder, self.processes = data, folder, processes
        self.config = config = settings.training
        self.ema = copy.deepcopy(self.model).requires_grad_(False) if config.ema else None
        on_gpu = self.numerics.device.type == "cuda"
        if on_gpu:  # a thread that makes batches must not hold up the one that starts steps
            sys.setswitchinterval(SWITCH_SECONDS)
        self.rows = row_shape(learner, data)
        if config.compile and self.rows:  # after the copy above was made, which is not compiled
            for stack in self.model.stacks():
                stack.compile_rows()
        elif config.compile:
            for block in self.model.blocks():
                block.compile(dynamic=True)
        self.learner = processes.wrap_ddp(learner)
        self.optimizer = make_optimizer(self.model, config, self.numerics.bf16, processes)
        self.recorded = RecordedLoss(learner) if on_gpu and self.rows and processes.size == 1 else None
        self.update = RecordedUpdate(self.optimizer, self.recorded) if self.recorded else self.optimizer.step
        self.validator = Validator(self.ema or self.model, data, settings, self.numerics, processes)
        self.checkpoints = folder / "checkpoints"
        self.writer = ThreadPoolExecutor(1)  # so that training waits only for a copy of the tensors
        self.written: Future[None] = Future()
        """Of the newest checkpoint."""
        self.written.set_result(None)
        self.progress = Progress()
        self.feed = Feed(data, self.model, config, processes, in_threads=on_gpu, rows=self.rows)
        is_chosen = config.threads > 0 or processes.size > 1 or self.numerics.device.type != "cpu"
        self.threads = Threads(fixed=is_chosen)
        self.interrupted = False
        self.most_seconds = 60 * config.max_minutes or math.inf
        self.time_is_up = False
        """Whether `training.max_minutes` ends the run: the same in all processes."""

    def train(self, monitor: Monitor | None) -> None:
        """Train until the run is finished; only rank 0 has a monitor. Raises KeyboardInterrupt after Ctrl-C or SIGTERM,
        with the state saved, and FloatingPointError if a gradient is not finite."""
        started = time.perf_counter() - self.progress.seconds
        self.time_is_up = self.progress.seconds >= self.most_seconds
        with self.catching_signals(), self.writer:
            if self.validation_is_due():  # the run was stopped before its next checkpoint
                if monitor:
                    drop_records_after(monitor.file, self.progress.step, keep_validation=False)
                self.validate(monitor)
                self.prune()
                self.stop_if(self.processes.all_reduce_any(lambda: self.interrupted))
            window = Window()
            while not self.ended_by():
                stopping = self.processes.all_reduce_any(lambda: self.interrupted)
                if self.written.done():
                    self.written.result()  # raises the error of a checkpoint that couldn't be written
                self.step(window)
                self.progress.seconds = time.perf_counter() - started
                if threads := self.threads.adapt():
                    self.progress.threads = threads
                    rest = ": other programs use the rest" if threads < self.threads.most else ""
                    say(f"step {self.progress.step}: training takes {threads} of {self.threads.most} cores{rest}")
                if self.config.max_minutes:
                    over = self.processes.all_reduce_any(lambda: self.progress.seconds >= self.most_seconds)
                    self.time_is_up = over()
                if monitor:
                    monitor.expect(self.progress.step, self.most_seconds - self.progress.seconds)
                due, often = self.validation_is_due(), (self.config.validate_every, self.config.save_every)
                saving = due or any(steps and self.progress.step % steps == 0 for steps in often)
                # Also before a checkpoint: a run that resumes there starts a new window, and writes the same records.
                if saving or self.config.is_recorded(self.progress.step):
                    self.log(window, monitor)
                    if saving:
                        self.start_saving()  # before the validation, which may fail or be killed
                    if due and not stopping():
                        self.validate(monitor)
                    if saving:
                        self.prune()
                    window = Window()  # started after the validation, so that its time doesn't count
                self.stop_if(stopping)
            if self.progress.step < self.config.max_steps:
                limit = f"training.{self.ended_by()} ({getattr(self.config, self.ended_by()):g}) ends training"
                say(f"{limit} after {self.progress.step:,} of {self.config.max_steps:,} steps")
            self.finish_saving()
            self.prune()

    def stop_if(self, stopping: Callable[[], bool]) -> None:
        """Save all and raise KeyboardInterrupt, in all processes after the same step, if one of them was told to."""
        if stopping():
            self.save()
            raise KeyboardInterrupt(f"Stopped after step {self.progress.step:,}; all is saved for --resume.")

    def ended_by(self) -> str:
        """The first setting of `training` that ends the run now; empty if none does. The last two need a validation."""
        progress, config, best = self.progress, self.config, self.progress.best_value
        reached = {
            "max_minutes": self.time_is_up,
            "max_epochs": 0 < config.max_epochs <= progress.epoch,
            "max_steps": progress.step >= config.max_steps,
            "patience": 0 < config.patience <= progress.bad_validations,
            "stop_at": best is not None and best >= signed(config.best_metric, config.stop_at) and config.stop_at > 0,
        }
        return next((name for name, is_reached in reached.items() if is_reached), "")

    def most_steps(self) -> int:
        """The steps of the whole run if no other limit than `max_steps` and `max_epochs` ends it: of epochs, about."""
        config, first, epochs = self.config, self.config.denoise_steps, self.config.max_epochs
        if not epochs:  # counting takes time: it reads the lengths of all pairs
            return config.max_steps
        restoring, usual = (self.data.steps_a_pass(self.model, config, first=is_first) for is_first in (True, False))
        of_epochs = min(first, epochs * restoring) + max(0, epochs - first / restoring) * usual
        return round(min(of_epochs, config.max_steps))

    def validation_is_due(self) -> bool:
        """Whether the weights of this step must be validated, and have not been."""
        step = self.progress.step
        translates = step > self.config.denoise_steps
        scheduled = translates and step % self.config.validate_every == 0
        is_last = self.ended_by() in ("max_minutes", "max_epochs", "max_steps")
        return step > 0 and (scheduled or is_last) and str(step) not in self.progress.validated

    def step(self, window: Window) -> None:
        """Take an optimizer step, with the gradient of the mean loss per target token of `accumulate` batches. Batches
        whose gradient is not finite are left out, if `training.skip_nonfinite` allows it."""
        if not self.model.training:  # going through all modules takes a GPU's time
            self.learner.train()
        for skipped in itertools.count():
            with window.waiting():
                group = self.feed.group(self.progress.step + 1)
            trained = self.accumulate(group, window)
            clip = self.config.clip_norm or math.inf
            norm = float(nn.utils.clip_grad_norm_(self.model.parameters(), clip))
            if math.isfinite(norm):  # the norm is the same in all processes
                break
            problem = self.explain_not_finite(group, trained)
            if skipped == self.config.skip_nonfinite:
                self.stop_before(problem)
            say(f"{problem}. These batches are skipped.")
            self.progress.epoch, self.progress.batch = group[-1].after
            self.clear_gradients()
        self.progress.step += 1
        self.progress.epoch, self.progress.batch = group[-1].after
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = learning_rate(self.progress.step, self.config)
        self.update()
        self.clear_gradients()
        if self.ema:
            update_average(self.ema, self.model, self.config.ema, self.progress.step)
        for _, batch, loss in trained:
            window.add(batch, loss, self.model.sequence_lengths(*batch.lengths))
        window.gradient_norm += norm
        window.steps += 1

    def clear_gradients(self) -> None:
        if self.recorded:
            self.recorded.is_empty = True
        else:
            self.optimizer.zero_grad()

    def accumulate(self, group: list[PlannedBatch], window: Window) -> list[TrainedBatch]:
        """Compute the group's gradient in the parameters; return this process's batches with their losses.

        If memory runs out over a batch, the batch is split in half and the group starts again: the sum is
        the same, apart from new noise if the objective has any.
        """
        objective = self.data.objective_of(group[0])
        tokens = sum(objective.predictions(planned.pairs, planned.index_B) for planned in group)
        work = self.processes.shard_items(group)
        trained: list[TrainedBatch] = []
        while len(trained) < len(work):
            planned = work[len(trained)]
            with window.waiting():
                batch = self.feed.take(planned)
            loss = self.backward(planned, batch, tokens, more_follow=len(trained) + 1 < len(work))
            if loss is not None:
                trained.append((planned, batch, loss))
                continue
            require(not self.rows, f"memory ran out over {planned}: lower training.batch_tokens")
            require(len(planned.index_B) > 1, f"memory ran out over a single pair, in {planned}: lower data.max_pieces")
            self.clear_gradients()
            work[len(trained) : len(trained) + 1] = planned.halves()
            trained.clear()
        return trained

    def backward(self, planned: PlannedBatch, batch: Batch, tokens: int, more_follow: bool) -> Loss | None:
        """Add a batch's gradient to the parameters' gradients; None if memory ran out, when only a part was added.

        `more_follow`: this process has more batches in this step, so gradients need no all-reduce yet.
        """
        torch.manual_seed(planned.seed(self.config.seed))
        exchanging = False
        try:
            if self.recorded:
                assert isinstance(batch, PackedBatch)
                return self.recorded(batch, 1 / tokens)
            with no_sync(self.learner, enabled=more_follow):
                loss: Loss = self.learner(batch)
                exchanging = self.processes.size > 1 and not more_follow
                (loss.smoothed / tokens).backward()
        except RuntimeError as error:
            if not device.is_out_of_memory(error):
                raise
            advice = f"train anew with training.batch_tokens below {self.config.batch_tokens:,} and a higher accumulate"
            require(not exchanging, f"memory ran out while processes exchanged gradients, in {planned}: {advice}")
            return None
        return loss._replace(smoothed=loss.smoothed.detach())

    def explain_not_finite(self, group: list[PlannedBatch], trained: list[TrainedBatch]) -> str:
        """The message for a gradient that is not finite: it names the batches with such a loss, or else all batches."""
        names = [str(planned) for planned, _, loss in trained if not math.isfinite(float(loss.smoothed))]
        not_finite = [name for names in self.processes.all_gather(names) for name in names]
        what, batches = "loss" if not_finite else "gradient", "; ".join(not_finite or map(str, group))
        return f"the {what} is not finite at step {self.progress.step + 1}, of {batches}"

    def stop_before(self, problem: str) -> NoReturn:
        """Save the state before the batches of this step, unless it is spoiled; raise FloatingPointError."""
        spoiled = not all(bool(p.isfinite().all()) for p in self.model.parameters())
        advice = "Look at those lines, and take a lower training.learning_rate or"
        if spoiled:
            advice = "The weights are not finite either: resume from the last checkpoint with a lower learning_rate"
        elif self.progress.step:
            self.save()
            advice = f"The state before it is saved. {advice} training.skip_nonfinite to resume"
        else:
            advice = f"{advice} training.skip_nonfinite"
        raise FloatingPointError(f"{problem}. No step was taken. {advice}")

    def log(self, window: Window, monitor: Monitor | None) -> None:
        """Record the figures of the steps since the last record."""
        figures = window.figures(self.processes)
        figures["train/learning_rate"] = self.optimizer.param_groups[0]["lr"]
        figures["train/epoch"] = self.progress.epoch
        if monitor:
            monitor.add_scalars(self.progress.step, figures)
            loss, nll, speed = (figures[tag] for tag in ("train/loss", "train/nll", "speed/target_tokens_per_second"))
            task = " (of noised text)" if self.progress.step <= self.config.denoise_steps else ""
            monitor.advance(self.progress.step, f"loss {loss:.3f}, nll {nll:.3f}{task}, {speed:,.0f} pieces/s")

    def validate(self, monitor: Monitor | None) -> None:
        """Measure the model on the validation pairs, and record whether it is the best so far."""
        step, started = self.progress.step, time.perf_counter()
        figures, translations = self.validator.measure()
        self.progress.seconds += time.perf_counter() - started
        self.note_best(figures[f"validation/{self.config.best_metric}"])
        if not monitor:
            return
        monitor.add_scalars(step, figures)
        best = " (the best so far)" if self.progress.bad_validations == 0 else ""
        means = {tag: value for tag, value in figures.items() if tag.startswith("validation/")}
        values = ", ".join(f"{tag.split('/')[1]} {value:.3f}" for tag, value in means.items())
        say(f"step {step}, {self.progress.seconds / 60:,.1f} minutes: validation {values}{best}")
        for line in self.validator.describe(figures):
            say(line)
        if translations:
            with monitor.recording("tensorboard/"):
                self.validator.add_samples(translations, step, monitor)
            with monitor.recording("translations/"):
                write_lines(self.folder / "translations" / f"step-{step:08d}.txt", translations)

    def note_best(self, value: float) -> None:
        """Record the value of `training.best_metric`, and whether it is the best so far: the newest of equal ones."""
        progress, value = self.progress, signed(self.config.best_metric, value)
        progress.validated[str(progress.step)] = value
        progress.bad_validations += 1
        before = -math.inf if progress.best_value is None else progress.best_value
        if math.isfinite(value) and value >= before:
            progress.best_value, progress.best_step = value, progress.step
            progress.bad_validations *= value == before  # patience counts those that are not better

    def save(self) -> None:
        """Save a checkpoint, and wait until it is on the disk."""
        self.start_saving()
        self.finish_saving()

    def start_saving(self) -> None:
        """Save a checkpoint in the background."""
        if self.processes.is_main:
            self.written.result()  # so that not more than one copy of the tensors is in memory
            progress, files = copy.deepcopy(self.progress), checkpoint.copy_files(self.model, self.optimizer, self.ema)
            self.written = self.writer.submit(checkpoint.write_checkpoint, self.checkpoints, files, progress)

    def finish_saving(self) -> None:
        """Wait until the checkpoint is on the disk."""
        self.written.result()
        # If another process exited now, torchrun would kill rank 0, which may still be writing.
        self.processes.barrier()

    def prune(self) -> None:
        """Delete the checkpoints that are no longer needed."""
        if self.processes.is_main:
            checkpoint.prune(self.checkpoints, self.progress, self.config)

    @contextlib.contextmanager
    def catching_signals(self) -> Iterator[None]:
        """Let the current step or validation end after Ctrl-C or SIGTERM; a second Ctrl-C stops at once."""
        # In a thread: the signal may come while this one waits in the middle of a line.
        message = "Stopping after this step or validation; Ctrl-C stops at once"
        saying = Thread(target=say, args=[message])

        def handle(number: int, frame: FrameType | None) -> None:
            self.interrupted = True
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if not saying.ident:
                saying.start()

        before = {s: signal.signal(s, handle) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            if saying.ident:
                saying.join()
