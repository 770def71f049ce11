"""The training loop: it learns, repeats itself, stops and goes on as if it had not, and keeps what it should."""

import itertools
import json
import math
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from nmt.config import Config, ModelConfig, TokenizerConfig, TrainingConfig
from nmt.data.batches import Batch, PlannedBatch, make_batch
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.training.checkpoint import (
    Progress,
    average_weights,
    list_checkpoints,
    load_checkpoint,
    load_progress,
    save_checkpoint,
    step_folder,
)
from nmt.training.data import TrainingData
from nmt.training.loop import Stopped, Trainer, Window, make_trainer
from nmt.training.loss import Learner, Loss, batch_loss
from nmt.training.monitor import Monitor
from nmt.training.optim import MovingAverage
from nmt.training.selection import choose_weights, to_average

WORDS = ["ab", "cd", "ef", "gh", "ij", "kl"]
TINY = ModelConfig(
    d_model=32,
    n_heads=2,
    encoder_layers=1,
    decoder_layers=1,
    d_ff=64,
    norm_position="pre",
    dropout=0.1,
    attention_dropout=0.1,
    activation_dropout=0.1,
)
SHORT = TrainingConfig(
    max_steps=12,
    batch_tokens=120,
    learning_rate=3e-3,
    warmup_steps=4,
    log_every=4,
    validate_every=4,
    threads=1,
    device="cpu",
    precision="fp32",
)

GOLDEN_NLL = [3.0259, 2.1157, 1.9090, 1.7504]


def corpus(n: int, seed: int) -> list[tuple[str, str]]:
    """Sentences of four words, and the same backwards."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randint(len(WORDS), (n, 4), generator=generator).tolist()
    return [(" ".join(WORDS[i] for i in row), " ".join(WORDS[i] for i in reversed(row))) for row in rows]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    settings = TokenizerConfig(vocab_size=30, byte_fallback=False)
    return train_tokenizer(corpus(300, 1), settings, tmp_path_factory.mktemp("tokenizer"), "de", "en")


@pytest.fixture(scope="module")
def data(tokenizer: Tokenizer) -> TrainingData:
    return TrainingData.encode(tokenizer, corpus(100, 1), corpus(20, 2), SHORT)


def trainer(data: TrainingData, folder: Path, model: ModelConfig = TINY, **changes: object) -> Trainer:
    settings = replace(SHORT, **changes)  # type: ignore[arg-type]
    return make_trainer(Config(model=model, training=settings), data, folder, print)


def run(trainer: Trainer) -> Trainer:
    with Monitor(trainer.folder, trainer.progress.step, trainer.config.max_steps) as monitor:
        trainer.train(monitor)
    return trainer


def records(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def losses(folder: Path) -> list[float]:
    return [r[key] for r in records(folder) for key in ("train/loss", "validation/loss") if key in r]


def test_a_model_learns_to_reverse_and_the_records_say_so(tokenizer: Tokenizer, tmp_path: Path) -> None:
    data = TrainingData.encode(tokenizer, corpus(2000, 1), corpus(30, 2), SHORT)
    # The model learns where to look long before it has seen every sentence of four among six words.
    run(
        trainer(
            data,
            tmp_path,
            max_steps=400,
            batch_tokens=600,
            learning_rate=5e-3,
            warmup_steps=50,
            log_every=100,
            validate_every=200,
            label_smoothing=0.0,
        )
    )
    last = records(tmp_path)[-1]
    assert last["validation/bleu"] > 95
    assert last["validation/nll"] < 0.3
    assert last["validation/perplexity"] == pytest.approx(math.exp(last["validation/nll"]))
    assert last["validation/loss"] == pytest.approx(last["validation/nll"]), "no smoothing"


def test_equal_seeds_give_equal_runs(data: TrainingData, tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("two", 1), ("three", 2)):
        run(trainer(data, tmp_path / name, seed=seed))
    assert losses(tmp_path / "one") == losses(tmp_path / "two") != losses(tmp_path / "three")


def test_the_loss_curve_is_the_one_it_always_was(data: TrainingData, tmp_path: Path) -> None:
    """A change that means to alter no result must leave these figures; one that means to, says so and renews them."""
    still = replace(TINY, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0)
    run(trainer(data, tmp_path, still, max_steps=40, log_every=10, validate_every=40))
    curve = [r["train/nll"] for r in records(tmp_path) if "train/nll" in r]
    assert curve == pytest.approx(GOLDEN_NLL, abs=2e-3)


@pytest.mark.parametrize(
    ("stop_after", "more"),
    [(1, {}), (4, {}), (7, {}), (7, {"subword_sampling": 0.3}), (7, {"ema": 0.9}), (7, {"optimizer": "muon"})],
)
def test_an_interrupted_run_goes_on_bit_for_bit(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop_after: int, more: dict[str, Any]
) -> None:
    data = TrainingData.encode(tokenizer, corpus(100, 1), corpus(20, 2), replace(SHORT, **more))
    whole = run(trainer(data, tmp_path / "whole", accumulate=2, **more))
    first = trainer(data, tmp_path / "parts", accumulate=2, **more)
    step = first.step

    def step_then_interrupt(batches: Iterator[PlannedBatch], window: Window) -> None:
        step(batches, window)
        if first.progress.step == stop_after:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(first, "step", step_then_interrupt)
    with pytest.raises(Stopped):
        run(first)
    torch.manual_seed(1234)  # whatever happens in between
    second = trainer(data, tmp_path / "parts", accumulate=2, **more)
    assert second.progress.step == stop_after
    run(second)
    for (name, a), b in zip(whole.model.named_parameters(), second.model.parameters(), strict=True):
        assert torch.equal(a, b), name
    validations = [[r for r in records(tmp_path / part) if "validation/nll" in r] for part in ("whole", "parts")]
    assert validations[0] == validations[1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "Ctrl-C is as it was"


def test_two_small_batches_weigh_as_one_large_batch(data: TrainingData, tmp_path: Path) -> None:
    """The gradient is that of the mean over tokens, not of the mean over batches."""
    still = replace(TINY, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0)
    one, parts = (trainer(data, tmp_path, still, accumulate=n) for n in (1, 3))
    batches = parts.batches()
    group = [next(batches) for _ in range(3)]
    assert len({batch.target_tokens for batch in group}) > 1, "batches of different weight"
    parts.step(iter(group), Window())
    losses = [batch_loss(one.model, batch.make(), 0.1, one.numerics).smoothed for batch in group]
    (torch.stack(losses).sum() / sum(batch.target_tokens for batch in group)).backward()
    torch.nn.utils.clip_grad_norm_(one.model.parameters(), 1.0)
    for group_settings in one.optimizer.param_groups:
        group_settings["lr"] = SHORT.learning_rate / SHORT.warmup_steps
    one.optimizer.step()
    for a, b in zip(one.model.parameters(), parts.model.parameters(), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize(("dropout", "apart"), [(0.0, False), (0.3, True)])
def test_r_drop_compares_two_dropouts(data: TrainingData, tmp_path: Path, dropout: float, apart: bool) -> None:
    model = replace(TINY, dropout=dropout, attention_dropout=0.0, activation_dropout=0.0)
    t = trainer(data, tmp_path, model)
    t.model.train()
    batch = make_batch(data.of_epoch(1, 0), torch.arange(10))
    plain, weak, strong = (
        with_seed(batch_loss, t.model, batch, 0.1, t.numerics, r_drop) for r_drop in (0.0, 1e-6, 5.0)
    )
    assert float(strong.nll) == pytest.approx(float(weak.nll))
    if apart:
        assert float(strong.smoothed.detach()) > 1.01 * float(weak.smoothed.detach())
    else:
        for loss in (weak, strong):
            assert float(loss.smoothed.detach()) == pytest.approx(float(plain.smoothed.detach()))


def with_seed(function: Callable[..., Loss], *arguments: object) -> Loss:
    torch.manual_seed(1)
    return function(*arguments)


def test_a_gradient_that_is_not_finite_stops_before_the_step(data: TrainingData, tmp_path: Path) -> None:
    sick = trainer(data, tmp_path)
    with torch.no_grad():
        sick.model.decoder_blocks[0].feed_forward.up.weight[0, 0] = math.nan
    before = sick.model.output.weight.detach().clone()
    with pytest.raises(FloatingPointError, match=r"loss is not finite at step 1, of batch 1 of epoch 1 \(lines \d+"):
        run(sick)
    assert torch.equal(sick.model.output.weight, before)
    assert not list_checkpoints(sick.checkpoints), "nothing was learned yet"


def test_after_a_loss_that_is_not_finite_a_run_goes_on_at_a_lower_rate(data: TrainingData, tmp_path: Path) -> None:
    """From the last checkpoint, which is some steps before: there the lower rate can still lead elsewhere."""
    t = trainer(data, tmp_path)
    step = t.step

    def diverge(batches: Iterator[PlannedBatch], window: Window) -> None:
        t.model.scale = math.inf if t.progress.step == 6 else t.model.scale
        step(batches, window)

    t.step = diverge  # type: ignore[method-assign]
    with pytest.raises(FloatingPointError, match=r"step 7.*the last checkpoint is good.*go on from it"):
        run(t)
    again = trainer(data, tmp_path, learning_rate=1e-3)
    assert again.progress.step == 4
    assert run(again).progress.step == 12


def test_a_validation_that_fails_costs_no_step_and_is_made_up_for(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(trainer(data, tmp_path / "whole"))
    t = trainer(data, tmp_path / "parts")

    def fail() -> None:
        raise OSError("disk full")

    monkeypatch.setattr(t.validator, "measure", fail)
    with pytest.raises(OSError, match="disk full"):
        run(t)
    again = trainer(data, tmp_path / "parts")
    assert again.progress.step == 4
    run(again)
    measured = [
        [{tag: value for tag, value in record.items() if "validation" in tag} for record in records(tmp_path / part)]
        for part in ("whole", "parts")
    ]
    assert [figures for figures in measured[0] if figures] == [figures for figures in measured[1] if figures]


def test_the_first_validation_may_be_no_number(data: TrainingData, tmp_path: Path) -> None:
    t = trainer(data, tmp_path)
    t.note_best(math.nan)
    assert (t.progress.best_value, t.progress.bad_validations) == (None, 1)
    t.note_best(2.0)
    assert (t.progress.best_value, t.progress.bad_validations) == (2.0, 0)


@pytest.mark.parametrize(
    ("part", "room", "sampling"), [("training", 9, 0.0), ("validation", 10, 0.0), ("training", 20, 0.5)]
)
def test_sentences_without_a_position_are_told_before_the_first_step(
    tokenizer: Tokenizer, tmp_path: Path, part: str, room: int, sampling: float
) -> None:
    """With sampling, the longest segmentation counts that could be drawn."""
    long = [("ab " * 12, "cd")]
    data = TrainingData.encode(
        tokenizer,
        corpus(20, 1) + long * (part == "training"),
        corpus(5, 2) + long,
        replace(SHORT, subword_sampling=sampling),
    )
    few = replace(TINY, positions="learned", max_positions=room)
    told = rf"a {part} sentence may take \d+ positions, and model.max_positions is {room}"
    with pytest.raises(ValueError, match=told):
        trainer(data, tmp_path, few)


def test_every_step_is_logged_once_whenever_validation_is(data: TrainingData, tmp_path: Path) -> None:
    run(trainer(data, tmp_path / "often", log_every=1))
    run(trainer(data, tmp_path / "rarely", log_every=5, validate_every=3))
    norms = [
        {int(r["step"]): r["train/gradient_norm"] for r in records(tmp_path / part) if "train/loss" in r}
        for part in ("often", "rarely")
    ]
    assert list(norms[1]) == [3, 5, 6, 9, 10, 12]
    for first, last in itertools.pairwise([0, *norms[1]]):
        mean = sum(norms[0][step] for step in range(first + 1, last + 1)) / (last - first)
        assert norms[1][last] == pytest.approx(mean)


def test_of_several_batches_the_one_to_blame_is_named(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = trainer(data, tmp_path, accumulate=3)
    third = list(islice(t.batches(), 3))[2]
    t.progress = Progress()
    make = PlannedBatch.make

    def poison(planned: PlannedBatch) -> Batch:
        t.model.scale = math.inf if planned.number == 2 else 1.0
        return make(planned)

    monkeypatch.setattr(PlannedBatch, "make", poison)
    with pytest.raises(FloatingPointError, match="step 1") as caught:
        run(t)
    assert str(third) in str(caught.value)
    assert "batch 2" not in str(caught.value)


def out_of_memory_above(t: Trainer, pairs: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let a batch of more pairs run out of memory, deep in its backward pass; returns the sizes tried."""
    tried: list[int] = []
    forward = type(t.learner).forward

    def run_out(gradient: torch.Tensor) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")

    def limited(learner: Learner, batch: Batch) -> Loss:
        tried.append(batch.src_BS.size(0))
        first = next(learner.model.encoder.parameters())
        first._backward_hooks = None
        if batch.src_BS.size(0) > pairs:
            first.register_hook(run_out)
        return forward(learner, batch)

    monkeypatch.setattr(type(t.learner), "forward", limited)
    return tried


def test_a_batch_without_room_in_memory_is_split_not_dropped(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    still = replace(TINY, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0)
    roomy, tight = (trainer(data, tmp_path, still, accumulate=2) for _ in range(2))
    windows = Window(), Window()
    roomy.step(roomy.batches(), windows[0])
    tried = out_of_memory_above(tight, 3, monkeypatch)
    tight.step(tight.batches(), windows[1])
    assert max(tried) > 6, "split more than once"
    assert windows[0].sentences == windows[1].sentences
    assert windows[0].target_tokens == windows[1].target_tokens
    assert windows[0].loss == pytest.approx(windows[1].loss)
    assert windows[0].gradient_norm == pytest.approx(windows[1].gradient_norm)
    for (name, p), parameters in zip(roomy.model.named_parameters(), tight.model.parameters(), strict=True):
        torch.testing.assert_close(
            roomy.optimizer.state[p]["exp_avg"], tight.optimizer.state[parameters]["exp_avg"], msg=name
        )


def test_a_pair_without_room_in_memory_is_named(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = trainer(data, tmp_path)
    out_of_memory_above(t, 0, monkeypatch)
    with pytest.raises(ValueError, match=r"no room for a single pair, in batch 1 of epoch 1 \(lines \d+ of"):
        t.step(t.batches(), Window())


def test_bf16_autocast_follows_fp32(data: TrainingData, tmp_path: Path) -> None:
    for precision in ("fp32", "bf16"):
        t = run(trainer(data, tmp_path / precision, precision=precision))
        assert all(p.dtype == torch.float32 for p in t.model.parameters())
    difference = [abs(a - b) for a, b in zip(losses(tmp_path / "fp32"), losses(tmp_path / "bf16"), strict=True)]
    assert 0 < max(difference) < 0.05


def test_a_compiled_model_learns_the_same(data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a backend that runs what was traced as it is: writing kernels takes minutes."""
    compiled: list[torch.nn.Module] = []
    compile_module = torch.nn.Module.compile

    def trace(module: torch.nn.Module, **settings: object) -> None:
        compiled.append(module)
        compile_module(module, backend="eager", **settings)

    monkeypatch.setattr(torch.nn.Module, "compile", trace)
    plain = run(trainer(data, tmp_path / "plain", ema=0.5, max_steps=3))
    assert not compiled
    fast = run(trainer(data, tmp_path / "compiled", ema=0.5, max_steps=3, compile=True))
    assert compiled == [*fast.model.encoder, *fast.model.decoder]
    for (name, a), (other, b) in zip(plain.model.named_parameters(), fast.model.named_parameters(), strict=True):
        assert name == other
        torch.testing.assert_close(a, b)


def test_newest_and_best_checkpoints_are_kept_and_no_other(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = trainer(data, tmp_path, keep_checkpoints=2, validate_every=2, max_steps=12)
    values = iter([1.0, 9.0, 2.0, 3.0, 4.0, 5.0])
    monkeypatch.setattr(t.validator, "goodness", lambda figures: next(values))
    run(t)
    assert [c.name for c in list_checkpoints(tmp_path / "checkpoints")] == [
        "step-00000004",
        "step-00000010",
        "step-00000012",
    ]
    assert t.progress.best_step == 4


def test_patience_stops_a_run_that_gets_no_better(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = trainer(data, tmp_path, validate_every=1, patience=3)
    monkeypatch.setattr(t.validator, "goodness", lambda figures: -abs(t.progress.step - 2))
    run(t)
    assert t.progress.step == 5


@pytest.mark.parametrize(
    ("metric", "values", "stop_at"), [("bleu", [10.0, 30.0, 41.0, 50.0], 40.0), ("nll", [3.0, 2.5, 1.9, 1.0], 2.0)]
)
def test_a_run_can_stop_at_a_quality(
    data: TrainingData,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    metric: str,
    values: list[float],
    stop_at: float,
) -> None:
    t = trainer(data, tmp_path, validate_every=1, best_metric=metric, stop_at=stop_at)
    measured = iter(values)
    figures = {f"validation/{name}": 0.0 for name in ("loss", "nll", "perplexity", "bleu", "chrf")}
    monkeypatch.setattr(t.validator, "measure", lambda: ({**figures, f"validation/{metric}": next(measured)}, []))
    run(t)
    assert t.progress.step == 3


def test_averages_are_taken_of_the_last_or_of_the_best(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = trainer(data, tmp_path, validate_every=2, average=2, average_of="best", keep_checkpoints=1)
    values = iter([1.0, 9.0, 2.0, 8.0, 4.0, 5.0, 10.0])
    monkeypatch.setattr(t.validator, "goodness", lambda figures: next(values))
    run(t)
    kept = list_checkpoints(t.checkpoints)
    chosen = to_average(kept, t.progress, t.config)
    assert sorted(c.name for c in chosen) == ["step-00000004", "step-00000008"]
    weights = choose_weights(t.checkpoints, t.progress, t.validator, print)
    a, b = (load_file(c / "model.safetensors")["tgt_embedding.weight"] for c in chosen)
    torch.testing.assert_close(weights["tgt_embedding.weight"], (a + b) / 2)
    last = to_average(kept, t.progress, replace(t.config, average_of="last"))
    assert [c.name for c in last] == ["step-00000012"], "the one before is no longer there"


def test_a_stop_between_validations_is_not_averaged(data: TrainingData, tmp_path: Path) -> None:
    t = trainer(data, tmp_path, average=2, keep_checkpoints=2)
    step = t.step

    def step_and_save(batches: Iterator[PlannedBatch], window: Window) -> None:
        step(batches, window)
        if t.progress.step in (9, 10, 11):
            t.save()

    t.step = step_and_save  # type: ignore[method-assign]
    run(t)
    kept = list_checkpoints(t.checkpoints)
    assert {"step-00000008", "step-00000011", "step-00000012"} <= {c.name for c in kept}
    assert [c.name for c in to_average(kept, t.progress, t.config)] == ["step-00000008", "step-00000012"]


def empty_state(checkpoint: Path) -> None:
    (checkpoint / "state.json").write_text("{")


def empty_sums_and_state(checkpoint: Path) -> None:
    """As a file system that lost its last writes leaves them."""
    for name in ("SHA256SUMS", "state.json"):
        (checkpoint / name).write_text("")


@pytest.mark.parametrize("damage", [empty_state, empty_sums_and_state])
def test_a_run_with_nothing_but_damage_says_so(
    data: TrainingData, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """It doesn't begin anew, which would throw away its records."""
    t = run(trainer(data, tmp_path, keep_checkpoints=1))
    for checkpoint in list_checkpoints(t.checkpoints):
        damage(checkpoint)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"no checkpoint in .* is undamaged: put one there from a copy, or delete"):
            trainer(data, tmp_path)
    assert len(records(tmp_path)) > 3


def test_a_checkpoint_that_can_t_be_read_now_is_not_called_damaged(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = run(trainer(data, tmp_path))
    before = list_checkpoints(t.checkpoints)

    def fail(*arguments: object) -> None:
        raise OSError(5, "Input/output error", "model.safetensors")

    monkeypatch.setattr("nmt.files.sha256", fail)
    with pytest.raises(OSError, match="Input/output error"):
        trainer(data, tmp_path)
    assert list_checkpoints(t.checkpoints) == before


def test_a_state_of_another_version_is_refused_by_name(tmp_path: Path) -> None:
    checkpoint = save_checkpoint(tmp_path, torch.nn.Linear(2, 2), torch.optim.AdamW([torch.ones(1)]), Progress(step=1))
    state = json.loads((checkpoint / "state.json").read_text())
    for wrong in ({"steps": 1}, {"step": "1"}, {"validated": {"1": "good"}}):
        (checkpoint / "state.json").write_text(json.dumps(state | wrong))
        with pytest.raises(ValueError, match=r"state.json is not one that nmt [\d.]+ knows: .*"):
            load_progress(checkpoint)


def test_a_validation_that_was_no_number_is_never_the_best(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = trainer(data, tmp_path, average=2, average_of="best")
    values = iter([math.nan, 9.0, 7.0, 9.5])
    monkeypatch.setattr(t.validator, "goodness", lambda figures: next(values))
    run(t)
    assert [int(c.name[5:]) for c in to_average(list_checkpoints(t.checkpoints), t.progress, t.config)] == [8, 12]
    said: list[str] = []
    t.validator.config = replace(t.config, average=1)
    weights = choose_weights(t.checkpoints, t.progress, t.validator, said.append)
    expected = load_file(step_folder(t.checkpoints, 8) / "model.safetensors")
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    assert not said


def test_the_best_that_is_left_takes_the_place_of_a_damaged_one(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = trainer(data, tmp_path)
    values = iter([5.0, 9.0, 7.0])
    monkeypatch.setattr(t.validator, "goodness", lambda figures: next(values))
    run(t)
    (step_folder(t.checkpoints, 8) / "model.safetensors").write_bytes(b"")
    said: list[str] = []
    weights = choose_weights(t.checkpoints, t.progress, t.validator, said.append)
    expected = load_file(step_folder(t.checkpoints, 12) / "model.safetensors")
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    assert said == [
        "The checkpoint of step 8, the best, is damaged or gone: the best that is left, of step 12, is taken."
    ]


def test_an_average_that_validates_worse_is_not_used(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = trainer(data, tmp_path, average=2)
    values = iter([1.0, 9.0, 2.0, 3.0])
    monkeypatch.setattr(t.validator, "goodness", lambda figures: next(values))
    run(t)
    weights = choose_weights(t.checkpoints, t.progress, t.validator, print)
    best = load_file(tmp_path / "checkpoints" / "step-00000008" / "model.safetensors")
    assert all(torch.equal(weights[name], best[name]) for name in best)


def test_a_moving_average_is_validated_and_kept(data: TrainingData, tmp_path: Path) -> None:
    t = run(trainer(data, tmp_path, ema=0.5))
    plain = run(trainer(data, tmp_path / "plain"))
    assert torch.equal(plain.model.output.weight, t.model.output.weight), "the average doesn't touch training"
    assert losses(tmp_path) != losses(tmp_path / "plain")
    weights = choose_weights(t.checkpoints, t.progress, t.validator, print)
    best = step_folder(t.checkpoints, t.progress.best_step)
    name = "tgt_embedding.weight"
    assert torch.equal(weights[name], load_file(best / "ema.safetensors")[name])
    assert not torch.equal(weights[name], load_file(best / "model.safetensors")[name])


def test_a_moving_average_forgets_at_its_decay() -> None:
    model = torch.nn.Linear(1, 1)
    torch.nn.init.constant_(model.weight, 0.0)
    average = MovingAverage(model, decay=0.75)
    torch.nn.init.constant_(model.weight, 1.0)
    average.update(1)
    assert float(average.model.weight) == pytest.approx(1 - 2 / 11), "at first it forgets faster"
    average.update(1_000_000)
    assert float(average.model.weight) == pytest.approx(1 - 2 / 11 * 0.75)


def test_an_average_is_the_mean_of_the_weights(tmp_path: Path) -> None:
    for step, value in ((1, 1.0), (2, 3.0), (3, 8.0)):
        model = torch.nn.Linear(2, 2)
        torch.nn.init.constant_(model.weight, value)
        save_checkpoint(tmp_path, model, torch.optim.AdamW(model.parameters()), Progress(step=step))
    assert (average_weights(list_checkpoints(tmp_path))["weight"] == 4.0).all()


def test_a_checkpoint_is_whole_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    save_checkpoint(tmp_path, model, optimizer, Progress(step=1))

    def full_disk(*args: object) -> None:
        raise SafetensorError("Error while serializing: No space left on device")

    monkeypatch.setattr("nmt.model.weights.save_file", full_disk)
    with pytest.raises(OSError, match="No space"):
        save_checkpoint(tmp_path, model, optimizer, Progress(step=2))
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]
    assert load_checkpoint(tmp_path / "step-00000001", model, optimizer).step == 1


def test_a_foreign_checkpoint_is_refused(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    checkpoint = save_checkpoint(tmp_path, model, optimizer, Progress(step=1))
    with pytest.raises(ValueError, match="don't fit"):
        load_checkpoint(checkpoint, torch.nn.Linear(3, 2), optimizer)


def test_the_checkpoint_before_a_damaged_one_serves(data: TrainingData, tmp_path: Path) -> None:
    whole = run(trainer(data, tmp_path / "whole"))
    run(trainer(data, tmp_path / "parts"))
    newest = step_folder(tmp_path / "parts" / "checkpoints", 12)
    file = newest / "optimizer.safetensors"
    file.write_bytes(file.read_bytes()[:-10])
    said: list[str] = []
    config = Config(model=TINY, training=SHORT)
    second = make_trainer(config, data, tmp_path / "parts", said.append)
    assert second.progress.step == 8
    assert said[1:] == ["Going on after step 8."]
    assert "optimizer.safetensors is damaged" in said[0]
    run(second)
    assert newest.is_dir(), "made anew"
    for a, b in zip(whole.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_event_files_hold_the_same_scalars_as_metrics(data: TrainingData, tmp_path: Path) -> None:
    run(trainer(data, tmp_path))
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    written: dict[str, list[tuple[int, float]]] = {}
    for record in records(tmp_path):
        for tag, value in record.items():
            if tag != "step":
                written.setdefault(tag, []).append((int(record["step"]), value))
    assert {
        "train/loss",
        "train/nll",
        "train/perplexity",
        "train/learning_rate",
        "train/gradient_norm",
        "speed/target_tokens_per_second",
        "speed/padding_efficiency",
        "validation/loss",
        "validation/bleu",
        "validation/chrf",
    } <= written.keys()
    for tag, values in written.items():
        read = [(e.step, e.value) for e in events.Scalars(tag)]
        assert [step for step, _ in read] == [step for step, _ in values]
        assert [v for _, v in read] == pytest.approx([v for _, v in values], rel=1e-5)


def test_a_batch_size_that_was_found_stays_with_the_run(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmt.training.loop.find_batch_tokens", lambda *arguments: 150)
    t = run(trainer(data, tmp_path, batch_tokens="auto"))
    assert t.config.batch_tokens == 150
    monkeypatch.setattr("nmt.training.loop.find_batch_tokens", lambda *arguments: 999)
    again = trainer(data, tmp_path, batch_tokens="auto", max_steps=14)
    assert again.progress.step == 12
    assert run(again).progress.batch_tokens == 150
