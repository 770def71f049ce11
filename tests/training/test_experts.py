"""The balance of experts: its loss, its biases, its figures, and training with both."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from nmt.config import OBJECTIVES, Config, ModelConfig
from nmt.data.batches import make_batch
from nmt.model.experts import Experts, Routes
from nmt.training.data import TrainingData
from nmt.training.delivery import write_model
from nmt.training.loop import Trainer
from nmt.translation.model_folder import load_model
from tests.training.reversal import NO_DROPOUT, TINY, losses, new_trainer, records, require_equal, require_same_end, run

EXPERTS = replace(TINY, experts=4, d_ff=16)
BIAS = replace(EXPERTS, expert_balance="bias")


def weights(trainer: Trainer) -> dict[str, Tensor]:
    return dict(trainer.model.named_parameters())


def layer_with(passes: list[Routes], **changes: Any) -> Experts:
    layer = Experts(replace(EXPERTS, **changes))
    layer.routes = passes
    return layer


def test_the_loss_is_one_a_pass_at_best_and_the_number_of_experts_at_worst() -> None:
    even = Routes(torch.full((1, 4, 4), 0.25), torch.arange(4)[None, :, None])
    alone = Routes(torch.eye(4)[0].expand(1, 4, 4), torch.zeros(1, 4, 1, dtype=torch.int64))
    layer = layer_with([even, alone, alone])
    assert [float(loss) for loss in layer.count(torch.tensor([4]))] == [1, 4, 4]
    assert layer.loads_E.tolist() == [9, 1, 1, 1]
    assert layer_with([even], expert_balance="bias").count(torch.tensor([4])) == []


@pytest.mark.parametrize("r_drop", [0.0, 1.0])
def test_the_loss_counts_as_much_as_its_weight_for_each_token(
    data: TrainingData, tmp_path: Path, r_drop: float
) -> None:
    model = replace(NO_DROPOUT, experts=4)
    batch = make_batch(data.train.first(100), torch.arange(6))

    def smoothed(weight: float, training: bool) -> float:
        trainer = new_trainer(data, tmp_path, model, balance_weight=weight, r_drop=r_drop)
        return float(trainer.learner.train(training)(batch).smoothed.detach())

    extra = (smoothed(0.5, True) - smoothed(0.0, True)) / batch.target_tokens
    assert 0.5 * 2 <= extra < 0.5 * 2 * 2, "two layers, each not far from balance"
    assert smoothed(0.5, False) == smoothed(0.0, False), "validation measures the translation alone"


@pytest.mark.parametrize(
    ("model", "setting", "strong"), [(EXPERTS, "balance_weight", 1.0), (BIAS, "balance_rate", 0.01)]
)
def test_the_loss_alone_and_the_biases_alone_balance_a_router(
    data: TrainingData, tmp_path: Path, model: ModelConfig, setting: str, strong: float
) -> None:
    largest = {}
    for value in (0.0, strong):
        folder, changes = tmp_path / str(value), {setting: value, "max_steps": 60, "validate_every": 60}
        run(new_trainer(data, folder, model, [1.0] * 9, **changes))
        largest[value] = records(folder)[-2]["experts/largest_load"]
    assert largest[strong] < min(1.6, 0.8 * largest[0.0])


def give_loads(trainer: Trainer, loads: list[list[float]]) -> None:
    for layer, loads_E in zip(trainer.model.experts().values(), loads, strict=True):
        layer.loads_E = torch.tensor(loads_E)


def test_biases_move_towards_the_mean_load_unless_the_router_is_frozen(data: TrainingData, tmp_path: Path) -> None:
    trainer = new_trainer(data, tmp_path, BIAS, freeze=("encoder",))
    give_loads(trainer, [[2.0, 0, 4, 0], [3.0, 4, 2, 3]])
    trainer.model.after_step(0.25, list)
    biases = {name: layer.choice_bias for name, layer in trainer.model.experts().items()}
    assert biases["encoder.0"].tolist() == [0, 0, 0, 0]  # type: ignore[union-attr]
    assert biases["decoder.0"].tolist() == [0, -0.25, 0.25, 0]  # type: ignore[union-attr]


def test_figures_are_relative_to_the_mean_load(data: TrainingData, tmp_path: Path) -> None:
    trainer = new_trainer(data, tmp_path, EXPERTS)
    for loads in ([[2.0, 1, 1, 2], [0.0, 2, 3, 3]], [[0.0, 1, 1, 0], [0.0, 2, 3, 3]]):
        give_loads(trainer, loads)
        trainer.model.after_step(0.0, list)
    give_loads(trainer, [[9.0, 0, 0, 0]] * 2)
    trainer.model.forget_batches()
    trainer.model.after_step(0.0, list)
    figures = trainer.model.figures(list)
    assert figures.pop("experts/variation_decoder.0") == pytest.approx(6**0.5 / 4)
    assert figures == {"experts/least_load": 0, "experts/largest_load": 1.5, "experts/variation_encoder.0": 0}
    assert trainer.model.figures(list)["experts/largest_load"] == 0, "since the last time"
    assert new_trainer(data, tmp_path, TINY).model.figures(list) == {}


@pytest.mark.parametrize("model", [EXPERTS, BIAS])
@pytest.mark.parametrize("changes", [{}, {"accumulate": 2, "ema": 0.9, "optimizer": "muon"}])
def test_a_resumed_run_equals_an_uninterrupted_one(
    data: TrainingData, tmp_path: Path, model: Any, changes: dict[str, Any]
) -> None:
    changes |= {"max_steps": 8, "validate_every": 2}
    whole, _ = require_same_end(lambda folder: new_trainer(data, folder, model, **changes), tmp_path, 4)
    assert losses(tmp_path / "parts") == losses(tmp_path / "whole")
    biases = [tensor for name, tensor in weights(whole).items() if "choice_bias" in name]
    assert all(tensor.abs().sum() > 0 for tensor in biases)
    assert len(biases) == (2 if model is BIAS else 0)


def test_half_batches_after_a_lack_of_memory_move_the_biases_alike(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"max_steps": 1, "validate_every": 1, "balance_rate": 0.1}
    model = replace(NO_DROPOUT, experts=4, expert_balance="bias")
    whole = new_trainer(data, tmp_path / "whole", model, [1.0], **settings)
    halves = new_trainer(data, tmp_path / "halves", model, [1.0], **settings)
    forward, sizes = halves.learner.forward, []

    def lacking(batch: Any) -> Any:
        loss = forward(batch)
        sizes.append(len(batch.src_BS))
        if len(sizes) < 3:  # once the whole batch, once after a half of it has been counted
            raise torch.OutOfMemoryError("CUDA out of memory")
        return loss

    monkeypatch.setattr(halves.learner, "forward", lacking)
    run(whole)
    run(halves)
    assert len(sizes) > 3
    assert weights(whole)["decoder.0.feed_forward.choice_bias"].abs().sum() > 0
    for name in ("encoder.0.feed_forward.choice_bias", "decoder.0.feed_forward.choice_bias"):
        assert torch.equal(weights(whole)[name], weights(halves)[name])


@pytest.mark.parametrize("model", [EXPERTS, BIAS])
def test_layers_may_be_skipped_shared_or_computed_twice(data: TrainingData, tmp_path: Path, model: Any) -> None:
    deep = replace(model, encoder_layers=3, decoder_layers=3, share_layers=2, layer_drop=0.5)
    settings: dict[str, Any] = {"max_steps": 8, "validate_every": 8, "log_every": 1}
    plain = run(new_trainer(data, tmp_path / "plain", deep, [1.0], **settings))
    twice = run(new_trainer(data, tmp_path / "twice", deep, [1.0], recompute=True, **settings))
    require_equal(plain.model, twice.model)
    assert [*plain.model.experts()] == ["encoder.0", "encoder.1", "decoder.0", "decoder.1"]
    assert min(record["experts/least_load"] for record in records(tmp_path / "plain")[:8]) == 0, (
        "some layer was skipped"
    )


def test_experts_learn_in_bf16(data: TrainingData, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"max_steps": 40, "validate_every": 40, "log_every": 10}
    for precision in ("fp32", "bf16"):
        run(new_trainer(data, tmp_path / precision, EXPERTS, [1.0], precision=precision, **settings))
    assert losses(tmp_path / "bf16") == pytest.approx(losses(tmp_path / "fp32"), rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("model", [EXPERTS, BIAS])
def test_a_compiled_model_learns_the_same(
    data: TrainingData, tmp_path: Path, traced: list[torch.nn.Module], model: Any
) -> None:
    settings: dict[str, Any] = {"max_steps": 3, "validate_every": 3, "log_every": 1}
    run(new_trainer(data, tmp_path / "plain", model, [1.0], **settings))
    run(new_trainer(data, tmp_path / "compiled", model, [1.0], compile=True, **settings))
    assert losses(tmp_path / "compiled") == pytest.approx(losses(tmp_path / "plain"), rel=1e-5)


def test_a_model_folder_has_the_biases(data: TrainingData, tmp_path: Path) -> None:
    trainer = run(new_trainer(data, tmp_path, BIAS, max_steps=1, validate_every=1, balance_rate=0.5))
    write_model(tmp_path / "model", weights(trainer), data, Config(model=BIAS), "x", torch.device("cpu"))
    model, _, _ = load_model(tmp_path / "model")
    for name, layer in model.experts().items():
        assert layer.choice_bias is not None
        assert layer.choice_bias.abs().max() == 0.5, name


@pytest.mark.parametrize("objective", ["lm", "mlm", "denoise", "pair"])
def test_experts_learn_every_objective(data: TrainingData, tmp_path: Path, objective: Any) -> None:
    family: Any = OBJECTIVES[objective].families[0]
    model = replace(EXPERTS, family=family)
    settings: dict[str, Any] = {"objective": objective, "best_metric": "nll", "max_steps": 2, "log_every": 1}
    run(new_trainer(data, tmp_path, model, [1.0], **settings))
    assert all(1 < record["experts/largest_load"] <= 2 for record in records(tmp_path)[:2])
