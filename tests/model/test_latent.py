"""Latent attention: the formula of the paper, the width of its cache, settings that don't fit."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from nmt.model.attention import Seen, causal_mask
from nmt.model.cache import DecoderCache
from nmt.model.contract import CacheBytes
from nmt.model.latent import LatentAttention
from tests.model.settings import combinations, config, make, sentences


def layer(**changes: Any) -> LatentAttention:
    torch.manual_seed(1)
    made = LatentAttention(config(attention="latent", **changes)).eval()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return made


def rotate(x_TE: Tensor) -> Tensor:
    """Each position's pairs of values as complex numbers, turned by position / 10000 ^ (2 i / E) radians."""
    half = x_TE.size(1) // 2
    rates = 10_000.0 ** -(torch.arange(half) / half)
    turned = torch.complex(x_TE[:, :half], x_TE[:, half:]) * torch.polar(
        torch.ones(1), torch.arange(len(x_TE))[:, None] * rates
    )
    return torch.cat([turned.real, turned.imag], dim=1)


def rms(x: Tensor, weight: Tensor) -> Tensor:
    return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * weight


@pytest.mark.parametrize(("query_width", "rotary_width"), [(0, 4), (5, 4), (0, 0)])
def test_it_is_the_formula_of_the_paper(query_width: int, rotary_width: int) -> None:
    rotary = {"positions": "rotary", "rotary_width": rotary_width} if rotary_width else {}
    made = layer(latent_width=6, query_latent_width=query_width, bias=False, **rotary)
    weight = {name: p.detach() for name, p in made.named_parameters()}
    x_TM = torch.randn(7, 16)
    latent = x_TM @ weight["latent.weight"].T
    c, k_r = rms(latent[:, :6], weight["latent_norm.weight"]), rotate(latent[:, 6:])
    queries = rms(x_TM @ weight["query_latent.weight"].T, weight["query_norm.weight"]) if query_width else x_TM
    queries, up = queries @ weight["query.weight"].T, c @ weight["kv.weight"].T
    outputs = []
    for head in range(4):
        width, start = slice(4 * head, 4 * head + 4), 16 + rotary_width * head
        q, q_r = queries[:, width], rotate(queries[:, start : start + rotary_width])
        k, v = up[:, :16][:, width], up[:, 16:][:, width]
        scores = (q @ k.T + q_r @ k_r.T) / (4 + rotary_width) ** 0.5 + causal_mask(7, x_TM)[0, 0]
        outputs.append(scores.softmax(1) @ v)
    expected = torch.cat(outputs, dim=1) @ weight["out.weight"].T
    torch.testing.assert_close(made(x_TM[None], None)[0], expected, atol=1e-5, rtol=1e-4)


def test_by_default_widths_are_those_of_the_paper() -> None:
    assert config(d_model=512, n_heads=8, attention="latent", positions="rotary").latent_widths == (256, 32)
    assert config(d_model=512, n_heads=8, attention="latent").latent_widths == (256, 0)


def test_what_a_prefix_leaves_is_the_latent_vector_and_the_rotated_key() -> None:
    seen = Seen([])
    layer(latent_width=6, positions="rotary", rotary_width=4)(torch.randn(2, 5, 16), None, seen)
    assert seen.keys_values[0].shape == (1, 2, 1, 5, 6 + 4)


LATENT = {"attention": "latent", "latent_width": 6, "rotary_width": 4}


@pytest.mark.parametrize(
    ("family", "changes", "expected"),
    [
        ("encoder-decoder", {}, (2 * 2 * 16 * 4, 2 * 2 * 16 * 4)),
        ("encoder-decoder", {"n_kv_heads": 1}, (2 * 2 * 4 * 4, 2 * 2 * 4 * 4)),
        ("encoder-decoder", LATENT, (2 * 10 * 4, 2 * 2 * 16 * 4)),
        ("decoder-only", LATENT, (4 * 10 * 4, 4 * 10 * 4)),
        ("decoder-only", {"n_kv_heads": 2}, (4 * 2 * 8 * 4, 4 * 2 * 8 * 4)),
    ],
)
def test_the_cache_is_as_large_as_the_formula_says(
    family: str, changes: dict[str, Any], expected: tuple[int, int]
) -> None:
    model = make(config(family=family, encoder_layers=2, decoder_layers=2, positions="rotary", **changes), 1)
    assert model.cache_bytes() == expected
    assert model.cache_bytes(torch.bfloat16) == tuple(n // 2 for n in expected)
    assert model.bfloat16().cache_bytes() == tuple(n // 2 for n in expected)


@given(combinations(), st.integers(1, 3))
def test_the_bytes_of_a_token_are_those_that_the_cache_takes(settings: Any, width: int) -> None:
    model, length = make(settings, 1), 3
    cache = model.start(*sentences(1, [5, 5]), length, width)
    assert isinstance(cache, DecoderCache)
    source = cache.source_2NKSD or [target[:, :, :, : cache.n_prefix] for target in cache.target_2NKLD]
    target = [target[:, :, :, cache.n_prefix :] for target in cache.target_2NKLD]
    n_source = 2 * source[0].size(3)
    distinct = {s.data_ptr(): s for s in source}.values()  # layers of one block share the source's
    taken = sum(t.nbytes for t in target) // (2 * length * width), sum(s.nbytes for s in distinct) // n_source
    cache.keep(torch.tensor([1]))
    kept = {s.data_ptr() for s in cache.source_2NKSD or source}
    assert len(kept) == len(distinct)
    assert model.cache_bytes() == CacheBytes(*taken)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"qk_norm": True}, "qk_norm is true, but latent attention"),
        ({"rotary_width": 4}, "rotary_width is 4, and model.positions is sinusoidal"),
        ({"rotary_width": 3, "positions": "rotary"}, "rotary_width is 3: it must be even"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        config(attention="latent", **changes)


def test_a_head_of_odd_width_may_be_latent_since_it_is_not_rotated() -> None:
    with pytest.raises(ValueError, match="even head width"):
        config(d_model=12, positions="rotary")
    assert config(d_model=12, positions="rotary", attention="latent").latent_widths == (12, 2)
