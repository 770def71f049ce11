"""Training on packed batches learns what training on padded ones does; recorded steps are the same steps."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt.data.batches import make_batch
from nmt.data.packing import PackedBatch, RowShape, pack, plan_rows
from nmt.model.build import build_model
from nmt.model.device import Numerics
from nmt.training.data import TrainingData
from nmt.training.loop import Trainer
from nmt.training.loss import Learner
from nmt.training.monitor import Window
from nmt.training.recorded import WARM_UP, RecordedLoss, RecordedUpdate
from tests.replayed import Replayed
from tests.training.reversal import (
    NO_DROPOUT,
    SHORT,
    TINY,
    new_trainer,
    require_close,
    require_equal,
    require_same_end,
    run,
)

CPU = Numerics(torch.device("cpu"), bf16=False)
MODELS: list[dict[str, Any]] = [
    {},
    {"norm_position": "post", "output_bias": False, "bias": False},
    {"positions": "rotary", "n_kv_heads": 1, "qk_norm": True, "activation": "swiglu", "norm": "rms"},
    {"positions": "learned", "max_positions": 40, "decoder_layers": 2},
]


@pytest.fixture
def packing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU."""
    monkeypatch.setattr("nmt.training.loop.PACKING", ("cpu",))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("chosen", MODELS)
def test_packed_pairs_have_the_loss_and_the_gradient_of_padded_ones(
    data: TrainingData, chosen: dict[str, Any], compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever shares a row: no pair sees another, and padding counts nothing. `compiled`: as the compiler sees it."""
    monkeypatch.setattr("nmt.model.layers.NEEDS_ALIGNED", ("cpu",))
    torch.manual_seed(1)
    vocab = data.tokenizer.src_vocab_size
    model = build_model(replace(NO_DROPOUT, **chosen), vocab, vocab)
    learner = Learner(model, replace(SHORT, label_smoothing=0.1), CPU).train()
    pairs = data.objective.pairs(data.train)  # type: ignore[arg-type]
    shape = RowShape(4, 128)
    plan = plan_rows(pairs.lengths, shape, 1, 0)
    for index in (plan[0], plan[-1]):
        padded = make_batch(pairs, index)
        packed = pack(padded, shape)
        found = []
        if compiled:
            monkeypatch.setattr("torch.compiler.is_compiling", lambda: True)
        for batch in (padded, packed):
            model.zero_grad()
            loss = learner(batch)
            loss.smoothed.backward()
            found.append((loss, [p.grad for p in model.parameters()]))
        (one, grads), (other, others) = found
        torch.testing.assert_close((one.smoothed, one.nll), (other.smoothed, other.nll))
        torch.testing.assert_close(grads, others, atol=2e-4, rtol=1e-4)


@pytest.mark.usefixtures("packing")
@pytest.mark.parametrize("denoise_steps", [0, 5, 9])
def test_a_run_on_packed_batches_learns_and_resumes(data: TrainingData, tmp_path: Path, denoise_steps: int) -> None:
    changes: dict[str, Any] = {"batch_tokens": 300, "denoise_steps": denoise_steps}
    whole, _ = require_same_end(lambda folder: new_trainer(data, folder, **changes), tmp_path, 7)
    assert isinstance(whole.feed.make(next(whole.feed.planned)), PackedBatch)
    assert whole.rows == (2, 128)


@pytest.mark.usefixtures("packing")
@pytest.mark.parametrize(
    ("changes", "model"),
    [({"batch_tokens": 100}, TINY), ({}, replace(TINY, source_end=False)), ({}, replace(TINY, family="decoder-only"))],
)
def test_what_fits_no_row_is_padded(data: TrainingData, tmp_path: Path, changes: dict[str, Any], model: Any) -> None:
    trainer = new_trainer(data, tmp_path, model, **{"batch_tokens": 300, **changes})
    assert trainer.rows is None
    trainer.step(Window())


def recording(make: Callable[[Path], Trainer], folder: Path) -> Trainer:
    trainer = make(folder)
    trainer.recorded = RecordedLoss(trainer.learner)  # type: ignore[arg-type]
    trainer.update = RecordedUpdate(trainer.optimizer, trainer.recorded)
    return trainer


@pytest.mark.usefixtures("packing")
@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_recorded_steps_are_the_same_steps(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accumulate: int, optimizer: str
) -> None:
    """Without dropout: a stand-in of a CUDA graph replays them."""
    monkeypatch.setattr("nmt.training.recorded.record", Replayed)
    # Without biases: that of the keys changes no attention, so that its gradient is rounding, which Adam makes large.
    model = replace(NO_DROPOUT, bias=False)
    settings: dict[str, Any] = {"accumulate": accumulate, "optimizer": optimizer, "r_drop": 1.0, "max_steps": 9}

    def make(folder: Path) -> Trainer:
        return new_trainer(data, folder, model, batch_tokens=300, **settings)

    plain = run(make(tmp_path / "plain"))
    recorded: Any = run(recording(make, tmp_path / "recorded"))
    first, more, update = recorded.recorded.first, recorded.recorded.more, recorded.update.compute
    assert first.calls == 9 > WARM_UP
    assert [isinstance(part.replay, Replayed) for part in (first, update, more)] == [True, True, accumulate > 1]
    require_close(plain.model, recorded.model)
    assert recorded.optimizer.param_groups[0]["lr"] == plain.optimizer.param_groups[0]["lr"]
    resumed = make(tmp_path / "recorded")
    require_equal(resumed.model, recorded.model)


@pytest.mark.usefixtures("packing")
def test_steps_that_cannot_be_recorded_are_computed(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(function: Callable[[], None]) -> None:
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    monkeypatch.setattr("nmt.training.recorded.record", fail)

    def make(folder: Path) -> Trainer:
        return new_trainer(data, folder, replace(TINY, bias=False), batch_tokens=300, accumulate=2)

    plain, computed = run(make(tmp_path / "plain")), run(recording(make, tmp_path / "recorded"))
    require_close(plain.model, computed.model)
    assert capsys.readouterr().err.count("steps are not recorded, and so slower: operation not permitted") == 1


@pytest.mark.slow
@pytest.mark.usefixtures("packing", "traced")
def test_compiled_rows_are_the_same(data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    model = replace(TINY, bias=False, decoder_layers=2)
    settings: dict[str, Any] = {"batch_tokens": 300, "max_steps": 3, "validate_every": 3}
    plain = run(new_trainer(data, tmp_path / "plain", model, **settings))
    fast = run(new_trainer(data, tmp_path / "compiled", model, compile=True, **settings))
    assert [len(stack.compiled) for stack in fast.model.stacks()] == [1, 2]
    require_close(plain.model, fast.model)
