"""The batch size that `training.batch_tokens: auto` finds, on machines that are made up and on this one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt.config import ModelConfig, TrainingConfig
from nmt.data.batches import Pairs, Plan, Sequences
from nmt.model.build import build_model
from nmt.model.device import choose_numerics, is_out_of_memory
from nmt.training.data import TrainingData
from nmt.training.loss import Learner
from nmt.training.memory import find_batch_tokens, memory_available, tokens_per_second
from nmt.training.objectives import Objective
from nmt.translation.model_folder import Facts

Speed = Callable[[int], float | None]


@pytest.fixture
def learner() -> Learner:
    config = ModelConfig(d_model=16, n_heads=2, encoder_layers=1, decoder_layers=1, d_ff=16)
    return Learner(build_model(config, 50, 50), TrainingConfig(), choose_numerics("cpu", "fp32"))


def some_pairs(n: int, length: int) -> Pairs:
    return Pairs(*(Sequences.of([[5] * length for _ in range(n)]) for _ in range(2)))


def data_of(n: int, length: int) -> TrainingData:
    tokenizer: Any = None
    return TrainingData(tokenizer, some_pairs(n, length), some_pairs(1, 1), [], Facts())


@pytest.mark.parametrize(
    ("speed", "found"),
    [
        (lambda size: size, 4096),  # faster and faster, but more would leave less than 100 batches in an epoch
        (lambda size: min(size, 2048), 2048),
        (lambda size: size if size <= 2048 else None, 2048),
        (lambda size: 1.0, 1024),
    ],
)
def test_batches_grow_while_that_is_possible_and_pays(
    learner: Learner, monkeypatch: pytest.MonkeyPatch, speed: Speed, found: int
) -> None:
    data = data_of(60_000, 7)

    def measured(learner: Learner, objective: Objective, pairs: Pairs, plan: Plan) -> float | None:
        return speed(max(map(len, plan)) * 8)

    monkeypatch.setattr("nmt.training.memory.tokens_per_second", measured)
    assert find_batch_tokens(learner, data) == found


def test_the_longest_pair_fits_and_a_small_corpus_has_a_size_too(learner: Learner) -> None:
    assert find_batch_tokens(learner, data_of(3, 1500)) == 2048
    assert find_batch_tokens(learner, data_of(20, 5)) == 1024
    assert all(p.grad is None for p in learner.parameters())


def test_a_machine_without_room_is_told_of(learner: Learner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt.training.memory.tokens_per_second", lambda *arguments: None)
    with pytest.raises(ValueError, match="not even 1,024 positions fit"):
        find_batch_tokens(learner, data_of(20, 5))


def test_a_containers_limit_counts(tmp_path: Path) -> None:
    information = tmp_path / "meminfo"
    assert memory_available(information, tmp_path) is None
    information.write_text("MemTotal: 9000 kB\nMemAvailable:    5000 kB\n")
    assert memory_available(information, tmp_path) == 5_120_000
    (tmp_path / "memory.current").write_text("350000\n")
    (tmp_path / "memory.stat").write_text("anon 9\ninactive_anon 7\ninactive_file 40000\nactive_file 10000\n")
    for limit, free in (("max", 5_120_000), ("1000000", 700_000), ("9000000", 5_120_000)):
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        assert memory_available(information, tmp_path) == free


def test_running_out_is_told_from_other_errors(learner: Learner, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs, plan = some_pairs(4, 5), [torch.arange(4)]
    assert (tokens_per_second(learner, Objective(), pairs, plan) or 0) > 0
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60)
    assert is_out_of_memory(caught.value), caught.value

    def fail(error: RuntimeError) -> Callable[..., None]:
        def forward(*arguments: object) -> None:
            raise error

        return forward

    monkeypatch.setattr(Learner, "forward", fail(torch.OutOfMemoryError("CUDA out of memory")))
    assert tokens_per_second(learner, Objective(), pairs, plan) is None
    monkeypatch.setattr(Learner, "forward", fail(RuntimeError("shapes differ")))
    with pytest.raises(RuntimeError, match="shapes differ"):
        tokens_per_second(learner, Objective(), pairs, plan)
