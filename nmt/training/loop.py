"""The training loop: batches in, a better model out. It validates, keeps checkpoints, can stop at any step."""

import contextlib
import math
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import torch
from torch import nn

from nmt.config import Config, TrainingConfig
from nmt.data.batches import Batch, Pairs, encode_pairs, hide_pieces, make_batch, plan_batches
from nmt.data.sampling import SampledPairs
from nmt.data.tokenizer import Tokenizer
from nmt.files import write_lines
from nmt.model.device import choose_numerics
from nmt.model.transformer import Transformer
from nmt.training.checkpoint import Progress, list_checkpoints, load_checkpoint, newest_checkpoint, save_checkpoint
from nmt.training.finetuning import freeze, start_from
from nmt.training.loss import Loss, batch_loss
from nmt.training.monitor import Monitor
from nmt.training.optim import MovingAverage, learning_rate, make_optimizer
from nmt.training.selection import prune
from nmt.training.validation import Validator


class Stopped(Exception):  # noqa: N818 (it is no error)
    """Training was interrupted; its state is saved."""


@dataclass(frozen=True)
class TrainingData:
    """What training reads: encoded pairs, and the validation text for BLEU."""

    train: Pairs | SampledPairs
    validation: Pairs
    validation_text: list[tuple[str, str]]

    @classmethod
    def encode(cls, tokenizer: Tokenizer, train: list[tuple[str, str]], validation: list[tuple[str, str]],
               config: TrainingConfig) -> "TrainingData":
        alpha = config.subword_sampling
        return cls(SampledPairs(tokenizer, train, alpha, longest=config.batch_tokens - 1) if alpha
                   else encode_pairs(tokenizer, train), encode_pairs(tokenizer, validation), validation)

    def of_epoch(self, seed: int, epoch: int) -> Pairs:
        """The training pairs of an epoch: always the same, or segmented anew."""
        return self.train if isinstance(self.train, Pairs) else self.train.draw(seed, epoch)


@dataclass
class Window:
    """Sums since the last record."""

    loss: float = 0.0
    nll: float = 0.0
    target_tokens: int = 0
    source_tokens: int = 0
    positions: int = 0
    sentences: int = 0
    gradient_norm: float = 0.0
    steps: int = 0
    started: float = field(default_factory=time.perf_counter)

    def add(self, batch: Batch, loss: Loss) -> None:
        self.loss += float(loss.smoothed.detach())
        self.nll += float(loss.nll)
        self.target_tokens += batch.target_tokens
        self.source_tokens += batch.source_tokens
        self.positions += batch.positions
        self.sentences += batch.src_BS.size(0)

    def figures(self) -> dict[str, float]:
        """The window as TensorBoard scalars."""
        seconds = time.perf_counter() - self.started
        nll = self.nll / self.target_tokens
        return {
            "train/loss": self.loss / self.target_tokens, "train/nll": nll, "train/perplexity": math.exp(min(nll, 50)),
            "train/gradient_norm": self.gradient_norm / self.steps,
            "speed/target_tokens_per_second": self.target_tokens / seconds,
            "speed/sentences_per_second": self.sentences / seconds,
            "speed/padding_efficiency": (self.target_tokens + self.source_tokens) / self.positions,
        }


def make_trainer(config: Config, tokenizer: Tokenizer, data: TrainingData, folder: Path,
                 say: Callable[[str], None]) -> "Trainer":
    """A trainer with a new model, or one that starts from another's weights. The seed decides all that is random."""
    if config.training.threads:
        torch.set_num_threads(config.training.threads)
    torch.manual_seed(config.training.seed)
    model = Transformer(config.model, tokenizer.src_vocab_size, tokenizer.tgt_vocab_size)
    freeze(model, config.training.freeze)
    if config.training.start_from and not list_checkpoints(folder / "checkpoints"):
        say(start_from(model, tokenizer, Path(config.training.start_from)))
    return Trainer(model, tokenizer, data, config.training, folder)


class Trainer:
    """One training run in `folder`."""

    def __init__(self, model: Transformer, tokenizer: Tokenizer, data: TrainingData, config: TrainingConfig,
                 folder: Path) -> None:
        self.numerics = choose_numerics(config.device, config.precision)
        self.model = model.to(self.numerics.device)
        self.data, self.config, self.folder = data, config, folder
        self.optimizer = make_optimizer(model, config)
        self.average = MovingAverage(self.model, config.ema) if config.ema else None
        validated = self.average.model if self.average else self.model
        self.validator = Validator(validated, tokenizer, data.validation, data.validation_text, config, self.numerics)
        self.checkpoints = folder / "checkpoints"
        self.progress = Progress()
        self.interrupted = False

    def resume(self, say: Callable[[str], None]) -> bool:
        """Go back to the newest undamaged checkpoint, if there is one; `say` is told of damaged ones."""
        checkpoint = newest_checkpoint(self.checkpoints, say)
        if checkpoint:
            self.progress = load_checkpoint(checkpoint, self.model, self.optimizer,
                                            self.average.model if self.average else None)
        return checkpoint is not None

    def finished(self) -> bool:
        patience = self.config.patience
        return self.progress.step >= self.config.max_steps or 0 < patience <= self.progress.bad_validations

    def train(self, monitor: Monitor) -> None:
        """Train to the end. Raises Stopped on Ctrl-C or SIGTERM, after saving; FloatingPointError on a loss of NaN."""
        batches, window, started = self.batches(), Window(), time.perf_counter() - self.progress.seconds
        with self.watching_signals():
            while not self.finished():
                self.step(batches, window)
                self.progress.seconds = time.perf_counter() - started
                step, at_end = self.progress.step, self.progress.step == self.config.max_steps
                if step % self.config.log_every == 0 or at_end:
                    self.log(window, monitor)
                    window = Window()
                if step % self.config.validate_every == 0 or at_end:
                    self.validate(monitor)
                    self.save()
                    window = Window()
                if self.interrupted:
                    self.save()
                    raise Stopped

    def batches(self) -> Iterator[Batch]:
        """Batches from where progress stands, without end; progress moves with them."""
        while True:
            pairs = self.data.of_epoch(self.config.seed, self.progress.epoch)
            plan = plan_batches(pairs, self.config.batch_tokens, self.config.seed, self.progress.epoch)
            for index in plan[self.progress.batch:]:
                self.progress.batch += 1
                yield make_batch(pairs, index)
            self.progress.epoch, self.progress.batch = self.progress.epoch + 1, 0

    def step(self, batches: Iterator[Batch], window: Window) -> None:
        """One optimizer step, on the gradient of the mean loss over all real target tokens of `accumulate` batches."""
        self.model.train()
        group = [next(batches) for _ in range(self.config.accumulate)]
        tokens = sum(batch.target_tokens for batch in group)
        for batch in group:
            if self.config.word_dropout:
                batch = hide_pieces(batch, self.config.word_dropout)
            loss = batch_loss(self.model, batch, self.config.label_smoothing, self.numerics, self.config.r_drop)
            (loss.smoothed / tokens).backward()
            window.add(batch, loss)
        limit = self.config.clip_norm or math.inf
        norm = float(nn.utils.clip_grad_norm_(self.model.parameters(), limit))
        if not math.isfinite(norm):
            raise FloatingPointError(f"the gradient is not finite at step {self.progress.step + 1}; the last "
                                     f"checkpoint is good: try a lower training.learning_rate or a longer warm-up")
        self.progress.step += 1
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = learning_rate(self.progress.step, self.config)
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.average:
            self.average.update(self.progress.step)
        window.gradient_norm += norm
        window.steps += 1

    def log(self, window: Window, monitor: Monitor) -> None:
        figures = window.figures()
        figures["train/learning_rate"] = self.optimizer.param_groups[0]["lr"]
        figures["train/epoch"] = self.progress.epoch
        monitor.scalars(self.progress.step, figures)
        monitor.advance(self.progress.step, f"loss {figures['train/loss']:.3f}, nll {figures['train/nll']:.3f}, "
                                            f"{figures['speed/target_tokens_per_second']:,.0f} tokens/s")

    def validate(self, monitor: Monitor) -> None:
        """Measure the model on the validation text; note whether it is the best yet."""
        step = self.progress.step
        figures, translations = self.validator.measure()
        monitor.scalars(step, figures)
        self.note_best(self.validator.goodness(figures))
        best = " (the best yet)" if self.progress.bad_validations == 0 else ""
        shown = ", ".join(f"{tag.split('/')[1]} {value:.3f}" for tag, value in figures.items())
        monitor.say(f"step {step}: validation {shown}{best}")
        self.validator.show(translations, step, monitor)
        write_lines(self.folder / "translations" / f"step-{step:08d}.txt", translations)

    def note_best(self, value: float) -> None:
        self.progress.validated[str(self.progress.step)] = value
        if self.progress.best_value is None or value > self.progress.best_value:
            self.progress.best_value, self.progress.best_step = value, self.progress.step
            self.progress.bad_validations = 0
        else:
            self.progress.bad_validations += 1

    def save(self) -> None:
        """Write a checkpoint, then remove those no longer needed."""
        save_checkpoint(self.checkpoints, self.model, self.optimizer, self.progress,
                        self.average.model if self.average else None)
        prune(self.checkpoints, self.progress, self.config)

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
