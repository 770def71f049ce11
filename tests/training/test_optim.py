"""Muon: orthogonal steps, fused matrices split, AdamW for the rest. Decay groups, learning rate, moving average."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nmt.config import ModelConfig, TrainingConfig
from nmt.model.build import build_model
from nmt.model.contract import Model
from nmt.training.distributed import Processes
from nmt.training.finetuning import freeze
from nmt.training.optim import Muon, learning_rate, make_optimizer, orthogonal, update_average

MODEL = ModelConfig(
    d_model=16, n_heads=4, n_kv_heads=2, encoder_layers=1, decoder_layers=1, d_ff=24, activation="swiglu"
)


@pytest.mark.parametrize("shape", [(3, 8, 8), (2, 5, 12), (2, 12, 5)])
def test_singular_values_come_near_one(shape: tuple[int, int, int]) -> None:
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(1)) * 40
    u, s, vh = torch.linalg.svd(matrices, full_matrices=False)
    result = orthogonal(matrices)
    values = torch.linalg.svdvals(result[s.amin(-1) > 0.05 * s.amax(-1)])
    assert values.numel()
    assert float(values.min()) > 0.6
    assert float(values.max()) < 1.3
    # The same singular vectors: in their bases the result is diagonal.
    inside = u.mT @ result @ vh.mT
    assert float((inside - torch.diag_embed(inside.diagonal(dim1=1, dim2=2))).abs().max()) < 1e-4
    assert torch.equal(orthogonal(torch.zeros(1, 3, 3)), torch.zeros(1, 3, 3))


def with_gradients(
    settings: TrainingConfig, config: ModelConfig = MODEL, frozen: tuple[str, ...] = ()
) -> tuple[Model, torch.optim.Optimizer]:
    torch.manual_seed(1)
    model = build_model(config, 30, 30)
    freeze(model, frozen)
    for p in model.parameters():
        p.grad = torch.randn_like(p) if p.requires_grad else None
    return model, make_optimizer(model, settings)


def test_each_matrix_of_a_fused_one_takes_a_step_of_its_own() -> None:
    settings = TrainingConfig(optimizer="muon", weight_decay=0.1)
    model, optimizer = with_gradients(settings)
    for group in optimizer.param_groups:
        group["lr"] = 0.01
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer.step()
    attention = "encoder.0.self_attention.qkv.weight"
    for start, rows in ((0, 16), (16, 8), (24, 8)):  # q has four heads, k and v two each
        old, new = before[attention][start : start + rows], model.get_parameter(attention)[start : start + rows]
        gradient: Any = model.get_parameter(attention).grad
        step = orthogonal(1.95 * gradient[start : start + rows][None])[0]
        torch.testing.assert_close(new, old * (1 - 0.02 * 0.1) - 0.2 * 0.02 * math.sqrt(16) * step)
    name = "decoder.0.around_cross.norm.weight"
    gradient = model.get_parameter(name).grad
    torch.testing.assert_close(model.get_parameter(name), before[name] - 0.01 * gradient.sign())


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_every_learned_parameter_moves_once(name: Any) -> None:
    model, optimizer = with_gradients(TrainingConfig(optimizer=name), frozen=("encoder",))
    before = [p.detach().clone() for p in model.parameters()]
    owned = [id(p) for group in optimizer.param_groups for p in group["params"]]
    assert sorted(owned) == sorted(id(p) for p in model.parameters() if p.requires_grad)
    optimizer.step()
    moved = [not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True)]
    assert moved == [p.requires_grad for p in model.parameters()]
    optimizer.zero_grad()
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize("family", ["encoder-decoder", "decoder-only", "encoder-only"])
def test_an_output_layer_of_its_own_is_adamw_s(family: Any) -> None:
    model = build_model(replace(MODEL, family=family, tied_embeddings="none"), 30, 30)
    optimizer: Any = make_optimizer(model, TrainingConfig(optimizer="muon", weight_decay=0.3))
    output = model.get_parameter("output.weight")
    assert all(output is not matrix for matrix, _ in optimizer.matrices)
    [group] = [group for group in optimizer.adamw.param_groups if any(p is output for p in group["params"])]
    assert group["weight_decay"] == 0.3, "it is a matrix, and decays as with AdamW alone"


class Threads(Processes):
    """Two processes in two threads; counts the numbers that each sends."""

    meeting, sent, counts = threading.Barrier(2), [torch.empty(0)] * 2, [0, 0]

    def gather_tensors(self, part: Tensor) -> Tensor:
        self.sent[self.rank] = part
        self.counts[self.rank] += part.numel()
        self.meeting.wait(timeout=60)
        everyone = torch.stack(self.sent)
        self.meeting.wait(timeout=60)
        return everyone


@pytest.mark.parametrize("bf16", [False, True])
def test_processes_share_the_work_of_muon_and_change_nothing(bf16: bool) -> None:
    settings = TrainingConfig(optimizer="muon")
    Threads.counts[:] = 0, 0
    models = [with_gradients(settings)[0] for _ in range(3)]
    alone, *together = [make_optimizer(models[0], settings, bf16)] + [
        make_optimizer(models[1 + rank], settings, bf16, Threads(rank, 2)) for rank in range(2)
    ]
    alone.step()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda optimizer: optimizer.step(), together))
    for parameters in zip(*(model.parameters() for model in models), strict=True):
        assert all(torch.equal(p, parameters[0]) for p in parameters)
    assert isinstance(alone, Muon)
    most = 0.75 * sum(p.numel() for p, _ in alone.matrices)  # half, and an empty matrix for each odd one out
    assert 0 < Threads.counts[0] == Threads.counts[1] <= most


def test_muon_without_a_matrix_is_adamw() -> None:
    model, optimizer = with_gradients(TrainingConfig(optimizer="muon"), frozen=("encoder", "decoder"))
    assert isinstance(optimizer, torch.optim.AdamW)
    learned = {id(p) for p in model.parameters() if p.requires_grad}
    assert {id(p) for group in optimizer.param_groups for p in group["params"]} == learned != set()


def test_a_moving_average_forgets_at_its_decay() -> None:
    model, average = nn.Linear(1, 1), nn.Linear(1, 1)
    nn.init.constant_(model.weight, 1.0)
    nn.init.constant_(average.requires_grad_(False).weight, 0.0)
    update_average(average, model, decay=0.75, step=1)
    assert float(average.weight) == pytest.approx(1 - 2 / 11), "at first it forgets faster"
    update_average(average, model, decay=0.75, step=1_000_000)
    assert float(average.weight) == pytest.approx(1 - 2 / 11 * 0.75)


def test_the_rate_rises_linearly_then_follows_its_schedule() -> None:
    config = TrainingConfig(learning_rate=1.0, warmup_steps=100, max_steps=1100, schedule="inverse-sqrt")
    assert [learning_rate(s, config) for s in (1, 50, 100, 400)] == pytest.approx([0.01, 0.5, 1.0, 0.5])
    cosine = replace(config, schedule="cosine", min_learning_rate=0.2)
    assert [learning_rate(s, cosine) for s in (50, 100, 600, 1100, 2000)] == pytest.approx([0.5, 1.0, 0.6, 0.2, 0.2])
    linear = replace(cosine, schedule="linear")
    assert [learning_rate(s, linear) for s in (50, 100, 350, 1100, 2000)] == pytest.approx([0.5, 1.0, 0.8, 0.2, 0.2])
    wsd = replace(cosine, schedule="wsd", decay_share=0.5)
    assert [learning_rate(s, wsd) for s in (50, 550, 825, 1100, 2000)] == pytest.approx([0.5, 1.0, 0.6, 0.2, 0.2])
    assert learning_rate(101, replace(wsd, decay_share=1.0)) < 1, "the decay starts after the warm-up"
    constant = TrainingConfig(learning_rate=1.0, warmup_steps=0, schedule="constant")
    assert [learning_rate(s, constant) for s in (1, 10**6)] == [1.0, 1.0]


def test_only_matrices_decay() -> None:
    model, optimizer = with_gradients(TrainingConfig(weight_decay=0.3))
    names = {id(p): name for name, p in model.named_parameters()}
    groups = {group["weight_decay"]: {names[id(p)] for p in group["params"]} for group in optimizer.param_groups}
    assert set().union(*groups.values()) == set(names.values())
    assert all(name.endswith("weight") and "norm" not in name and "embedding" not in name for name in groups[0.3])
    assert "tgt_embedding.weight" in groups[0.0]
    assert {n for n in names.values() if n.endswith("bias")} <= groups[0.0]
