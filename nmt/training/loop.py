"""The training loop: batches in, a better model out. It validates, keeps checkpoints, can stop at any step."""

import contextlib
import math
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import torch
from torch import Tensor, nn

from nmt.config import Config, DecodingConfig, TrainingConfig
from nmt.data.batches import Batch, Pairs, Sequences, encode_pairs, make_batch, plan_batches
from nmt.data.tokenizer import Tokenizer
from nmt.decode.folder import set_weights
from nmt.decode.translator import Translator
from nmt.model.device import choose_device, choose_precision
from nmt.model.transformer import Transformer
from nmt.scoring.metrics import score
from nmt.training.checkpoint import (
    Progress,
    average_weights,
    list_checkpoints,
    load_checkpoint,
    read_tensors,
    save_checkpoint,
    step_folder,
    weights,
)
from nmt.training.loss import Loss, cross_entropy
from nmt.training.monitor import Monitor
from nmt.training.optim import learning_rate, make_optimizer
from nmt.training.pictures import attention_picture

# Validation sentences shown in TensorBoard, and those of them whose attention is drawn.
SAMPLES, PICTURES = 8, 3


class Stopped(Exception):  # noqa: N818 (it is no error)
    """Training was interrupted; its state is saved."""


@dataclass(frozen=True)
class TrainingData:
    """What training reads: encoded pairs, and the validation text for BLEU."""

    train: Pairs
    validation: Pairs
    validation_text: list[tuple[str, str]]

    @classmethod
    def encode(cls, tokenizer: Tokenizer, train: list[tuple[str, str]],
               validation: list[tuple[str, str]]) -> "TrainingData":
        return cls(encode_pairs(tokenizer, train), encode_pairs(tokenizer, validation), validation)


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


def make_trainer(config: Config, tokenizer: Tokenizer, data: TrainingData, folder: Path) -> "Trainer":
    """A trainer with a new model; the settings' seed decides its weights and all that follows."""
    if config.training.threads:
        torch.set_num_threads(config.training.threads)
    torch.manual_seed(config.training.seed)
    model = Transformer(config.model, tokenizer.src_vocab_size, tokenizer.tgt_vocab_size)
    return Trainer(model, tokenizer, data, config.training, folder)


class Trainer:
    """One training run in `folder`."""

    def __init__(self, model: Transformer, tokenizer: Tokenizer, data: TrainingData, config: TrainingConfig,
                 folder: Path) -> None:
        self.device = choose_device(config.device)
        self.autocast = choose_precision(config.precision, self.device) == "bf16"
        self.model, self.tokenizer = model.to(self.device), tokenizer
        self.data, self.config, self.folder = data, config, folder
        self.optimizer = make_optimizer(model, config)
        self.translator = Translator(model, tokenizer, DecodingConfig(beam_size=1), self.device)
        self.checkpoints = folder / "checkpoints"
        self.progress = Progress()
        self.interrupted = False

    def describe(self) -> str:
        """Device and precision, for the user."""
        threads = f", {torch.get_num_threads()} threads" if self.device.type == "cpu" else ""
        return f"{'bf16 autocast' if self.autocast else 'fp32'} on {self.device}{threads}"

    def resume(self) -> bool:
        """Go back to the newest checkpoint, if there is one."""
        for checkpoint in list_checkpoints(self.checkpoints)[-1:]:
            self.progress = load_checkpoint(checkpoint, self.model, self.optimizer)
            return True
        return False

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
            plan = plan_batches(self.data.train, self.config.batch_tokens, self.config.seed, self.progress.epoch)
            for index in plan[self.progress.batch:]:
                self.progress.batch += 1
                yield make_batch(self.data.train, index)
            self.progress.epoch, self.progress.batch = self.progress.epoch + 1, 0

    def step(self, batches: Iterator[Batch], window: Window) -> None:
        """One optimizer step, on the gradient of the mean loss over all real target tokens of `accumulate` batches."""
        self.model.train()
        group = [next(batches) for _ in range(self.config.accumulate)]
        tokens = sum(batch.target_tokens for batch in group)
        for batch in group:
            loss = self.loss(batch.to(self.device))
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
        window.gradient_norm += norm
        window.steps += 1

    def loss(self, batch: Batch) -> Loss:
        """Summed over the batch's real target tokens; the output layer runs at those alone."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.autocast):
            memory = self.model.encode(batch.src_BS, batch.src_mask_BS)
            states_BTM = self.model.decode_states(batch.tgt_in_BT, memory, batch.tgt_mask_BT)
            real_N = batch.tgt_mask_BT.flatten().nonzero().squeeze(1)
            states_NM = states_BTM.flatten(0, 1).index_select(0, real_N)
            return cross_entropy(states_NM, self.model.output.weight, batch.tgt_out_BT.flatten()[real_N],
                                 self.config.label_smoothing)

    def log(self, window: Window, monitor: Monitor) -> None:
        figures = window.figures()
        figures["train/learning_rate"] = self.optimizer.param_groups[0]["lr"]
        figures["train/epoch"] = self.progress.epoch
        monitor.scalars(self.progress.step, figures)
        monitor.advance(self.progress.step, f"loss {figures['train/loss']:.3f}, nll {figures['train/nll']:.3f}, "
                                            f"{figures['speed/target_tokens_per_second']:,.0f} tokens/s")

    def validate(self, monitor: Monitor) -> None:
        """Measure the model on the validation text; note whether it is the best yet."""
        figures, translations = self.measure()
        monitor.scalars(self.progress.step, figures)
        self.note_best(self.goodness(figures))
        best = " (the best yet)" if self.progress.bad_validations == 0 else ""
        monitor.say(f"step {self.progress.step}: validation " + ", ".join(
            f"{k.split('/')[1]} {v:.3f}" for k, v in figures.items()) + best)
        self.show_samples(translations, monitor)
        output = self.folder / "translations" / f"step-{self.progress.step:08d}.txt"
        output.parent.mkdir(exist_ok=True)
        output.write_text("".join(line + "\n" for line in translations), encoding="utf8")

    @torch.inference_mode()
    def show_samples(self, translations: list[str], monitor: Monitor) -> None:
        """Some validation sentences as a table, and where the model looked while it wrote them as pictures."""
        pairs, n = self.data.validation_text, len(translations)
        chosen = [i * n // SAMPLES for i in range(min(SAMPLES, n))]
        cells = [(pairs[i][0], translations[i], pairs[i][1]) for i in chosen]
        table = ["| source | translation | reference |", "|---|---|---|",
                 *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells)]
        monitor.text(self.progress.step, "samples", "\n".join(table))
        for number, i in enumerate(chosen[:PICTURES]):
            source = self.tokenizer.encode_source([pairs[i][0]])[0]
            target = self.tokenizer.encode_target([translations[i]])[0]
            if source and target:
                columns = [*self.tokenizer.source_pieces(source), "</s>"]
                rows = [*self.tokenizer.target_pieces(target), "</s>"]
                picture = attention_picture(self.attention(source, target), columns, rows)
                monitor.picture(self.progress.step, f"cross_attention/{number + 1}", picture)

    def attention(self, source: list[int], target: list[int]) -> Tensor:
        """The last layer's cross-attention (T, S), averaged over its heads, while it writes target and EOS."""
        pair = Pairs(Sequences([source]), Sequences([target]))
        batch = make_batch(pair, torch.tensor([0])).to(self.device)
        maps: list[Tensor] = []
        memory = self.model.encode(batch.src_BS, batch.src_mask_BS)
        self.model.decode_states(batch.tgt_in_BT, memory, cross_weights=maps)
        return maps[-1][0].mean(0)

    def measure(self) -> tuple[dict[str, float], list[str]]:
        """Loss, BLEU and chrF on the validation pairs, and the translations they were scored on (greedy, for speed)."""
        self.model.eval()
        sources, references = map(list, zip(*self.data.validation_text, strict=True))
        n = self.config.validation_sentences or len(sources)
        translations = self.translator.translate(sources[:n])
        scores = {s.name.lower(): s.value for s in score(translations, references[:n])}
        return {f"validation/{k}": v for k, v in {**self.validation_loss(), **scores}.items()}, translations

    def goodness(self, figures: dict[str, float]) -> float:
        """The figure that the best is chosen by; larger is better."""
        value = figures[f"validation/{self.config.best_metric}"]
        return -value if self.config.best_metric == "loss" else value

    def choose_weights(self, monitor: Monitor) -> dict[str, Tensor]:
        """The weights for the model folder: the best checkpoint's, or an average if the validation text prefers it."""
        best = step_folder(self.checkpoints, self.progress.best_step)
        kept = list_checkpoints(self.checkpoints)
        if not kept:  # nothing was trained
            return weights(self.model)
        chosen = read_tensors((best if best in kept else kept[-1]) / "model.safetensors")
        averaged = self.checkpoints_to_average()
        if len(averaged) > 1:
            average = average_weights(averaged)
            set_weights(self.model, average, self.checkpoints)
            value = self.goodness(self.measure()[0])
            better = self.progress.best_value is None or value > self.progress.best_value
            verdict = "kept" if better else f"the best alone is better: {abs(self.progress.best_value or 0):.3f}"
            monitor.say(f"average of {len(averaged)} checkpoints: validation {self.config.best_metric} "
                        f"{abs(value):.3f} ({verdict})")
            chosen = average if better else chosen
        return chosen

    def checkpoints_to_average(self) -> list[Path]:
        kept = list_checkpoints(self.checkpoints)
        if self.config.average_of == "best":
            kept = [step_folder(self.checkpoints, step) for step in self.best_steps()]
        return kept[-self.config.average:] if self.config.average > 1 else []

    def best_steps(self) -> list[int]:
        """Steps of the best validations that are kept, worst first: one, or as many as are averaged."""
        n = self.config.average if self.config.average_of == "best" else 1
        return sorted(map(int, self.progress.validated), key=lambda step: self.progress.validated[str(step)])[-n:]

    def note_best(self, value: float) -> None:
        self.progress.validated[str(self.progress.step)] = value
        if self.progress.best_value is None or value > self.progress.best_value:
            self.progress.best_value, self.progress.best_step = value, self.progress.step
            self.progress.bad_validations = 0
        else:
            self.progress.bad_validations += 1

    @torch.inference_mode()
    def validation_loss(self) -> dict[str, float]:
        """Loss, nll and perplexity over the validation pairs, in nats a token."""
        smoothed = nll = tokens = 0.0
        for index in plan_batches(self.data.validation, max(self.config.batch_tokens, 4096), 0, 0):
            batch = make_batch(self.data.validation, index)
            loss = self.loss(batch.to(self.device))
            smoothed, nll, tokens = smoothed + float(loss.smoothed), nll + float(loss.nll), tokens + batch.target_tokens
        return {"loss": smoothed / tokens, "nll": nll / tokens, "perplexity": math.exp(min(nll / tokens, 50))}

    def save(self) -> None:
        """Write a checkpoint, then remove those no longer needed."""
        save_checkpoint(self.checkpoints, self.model, self.optimizer, self.progress)
        keep = {step_folder(self.checkpoints, step) for step in (*self.best_steps(), self.progress.best_step)}
        newest = max(self.config.keep_checkpoints, self.config.average if self.config.average_of == "last" else 1)
        for old in list_checkpoints(self.checkpoints)[:-newest]:
            if old not in keep:
                shutil.rmtree(old)

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
