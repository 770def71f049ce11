"""Positions: the distances that biases stand for, and what they do to attention; threads share the tables."""

import math
from threading import Event, Thread

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from nmt.config import ModelConfig
from nmt.model.build import build_model
from nmt.model.positions import LENGTH, AddedPositions, RotaryPositions, ScoreBias, buckets
from tests.model.settings import VOCAB, config, make, sentences

CPU = torch.device("cpu")


@pytest.mark.parametrize("n_heads", [1, 4, 6])
def test_alibi_falls_linearly_in_both_directions_with_a_slope_of_each_head(n_heads: int) -> None:
    bias = ScoreBias(config(positions="alibi", d_model=24, n_heads=n_heads), causal=False).whole(
        5, CPU, hide_future=False
    )
    for head in range(n_heads):
        slope = 2 ** (-8 * (head + 1) / n_heads)
        expected = [[-slope * abs(key - query) for key in range(5)] for query in range(5)]
        torch.testing.assert_close(bias[0, head], torch.tensor(expected))


def bucket(distance: int, causal: bool) -> int:
    """The definition, for one distance: half of the buckets are exact, the others logarithmic up to 128."""
    n, start = (32, 0) if causal else (16, 16 if distance > 0 else 0)
    size = max(-distance, 0) if causal else abs(distance)
    if size < n // 2:
        return start + size
    share = math.log(size / (n // 2)) / math.log(128 / (n // 2))
    return start + min(n - 1, n // 2 + int(share * (n - n // 2) + 1e-6))


@pytest.mark.parametrize("causal", [True, False])
def test_relative_positions_are_exact_when_near_and_logarithmic_when_far(causal: bool) -> None:
    distances = list(range(-300, 1 if causal else 301))
    assert buckets(torch.tensor(distances), causal).tolist() == [bucket(d, causal) for d in distances]
    assert {bucket(d, causal) for d in distances} == set(range(32)) - ({16} if not causal else set())


@given(st.sampled_from(["alibi", "relative"]), st.booleans(), st.integers(1, 200))
def test_the_biases_of_the_past_are_the_last_row_of_the_whole(positions: str, causal: bool, length: int) -> None:
    bias = ScoreBias(config(positions=positions), causal)
    for table in bias.parameters():
        torch.nn.init.normal_(table)
    whole = bias.whole(length, CPU, hide_future=causal)
    assert whole.shape == (1, 4, length, length)
    assert torch.equal(whole[0, :, -1], bias.past(length, CPU))
    hidden = whole < -1e8
    assert torch.equal(hidden, torch.ones_like(hidden).triu(1) if causal else torch.zeros_like(hidden))


@pytest.mark.parametrize("family", ["encoder-decoder", "decoder-only", "encoder-only"])
@pytest.mark.parametrize("positions", ["alibi", "relative"])
def test_the_order_of_the_source_counts_and_its_length_has_no_limit(family: str, positions: str) -> None:
    torch.manual_seed(1)
    model = build_model(config(family=family, positions=positions), VOCAB, VOCAB).eval()
    assert model.max_positions is None
    src, mask = sentences(1, [300])
    states, other = (model.target_states(ids, mask, src, mask) for ids in (src, src[:, [1, 0, *range(2, 300)]]))
    assert states.isfinite().all()
    assert not torch.allclose(states[-1], other[-1], atol=1e-7, rtol=0)


def test_one_table_of_relative_positions_serves_all_layers_of_a_stack() -> None:
    model = make(config(positions="relative", encoder_layers=2, decoder_layers=2), 1)
    tables = {name: tuple(p.shape) for name, p in model.named_parameters() if "bias.table" in name}
    assert tables == {"src_positions.bias.table": (32, 4), "tgt_positions.bias.table": (32, 4)}


@pytest.mark.parametrize("kind", ["rotary", "sinusoidal"])
def test_a_thread_with_a_shorter_text_never_makes_a_table_shorter(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread with the longer text begins first, and ends while the other one still computes."""
    module = RotaryPositions(8) if kind == "rotary" else AddedPositions(ModelConfig(), causal=True)
    compute, begun, ended = module.rows, {5000: Event(), 9000: Event()}, Event()

    def slow(length: int) -> Tensor:
        begun[length // 2].set()
        # Where the other thread must wait for this one, these waits end by their limits.
        begun[5000].wait(0.3) if length == 18_000 else ended.wait(2)
        return compute(length)

    monkeypatch.setattr(module, "rows", slow)
    longer, shorter = (Thread(target=module.reserve, args=(end,)) for end in (9000, 5000))
    longer.start()
    assert begun[9000].wait(2)
    shorter.start()
    longer.join()
    ended.set()
    shorter.join()
    assert module.table.size(-2) == 18_000 > LENGTH
