"""Attention: its two forms agree, masks hide what they should, rotations keep distances."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from nmt.model.attention import SelfAttention, attention, causal_mask, explicit_attention, padding_mask, softmax
from nmt.model.cache import Mask
from nmt.model.positions import RotaryPositions
from tests.model.settings import config

seeds = st.integers(0, 2**16)
lengths_lists = st.lists(st.integers(1, 6), min_size=1, max_size=4)
KINDS = ["padding", "causal", "all"]  # of masks: the last two need no tensor


def real_positions(lengths: list[int]) -> Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def library_attention(q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> Tensor:
    """`attention` by PyTorch's own kernel, which short sequences would not use."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nmt.model.attention.SHORT", 0)
        values = attention(q.requires_grad_(), k, v, mask, 0.0)
    assert "ScaledDotProduct" in str(values.grad_fn)
    return values


@given(seeds, st.sampled_from([1, 2, 4]), lengths_lists, st.sampled_from(KINDS))
def test_both_forms_agree_and_weights_sum_to_1(seed: int, kv_heads: int, lengths: list[int], kind: str) -> None:
    generator, longest = torch.Generator().manual_seed(seed), max(lengths)
    q = torch.randn(len(lengths), 4, longest if kind == "causal" else 5, 8, generator=generator)
    k, v = (torch.randn(len(lengths), kv_heads, longest, 8, generator=generator) for _ in range(2))
    real_BS = real_positions(lengths)
    masks = {"causal": causal_mask(longest, q), "all": torch.zeros(1, 1, 1, longest)}
    mask_BHTS = masks.get(kind, padding_mask(real_BS, q))
    short: Mask = {"causal": None, "all": "all"}.get(kind, mask_BHTS)
    values, weights = explicit_attention(q, k, v, mask_BHTS, 0.0)
    assert torch.equal(attention(q, k, v, short, 0.0), values)
    torch.testing.assert_close(values, library_attention(q, k, v, short), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    assert (weights[(mask_BHTS < 0).expand_as(weights)] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("length", [1, 7, 15, 16, 31, 32, 40])
def test_softmax_of_short_rows_is_that_of_the_library(length: int, dtype: torch.dtype) -> None:
    torch.manual_seed(length)
    scores = (5 * torch.randn(3, 2, 4, length)).to(dtype)
    scores[0, 0] = -1e4  # all hidden alike
    gradient = torch.randn_like(scores)
    results = []
    for function in (softmax, lambda x: torch.softmax(x, -1)):
        x = scores.clone().requires_grad_()
        y = function(x)
        results.append((y, *torch.autograd.grad(y, x, gradient)))
    assert results[0][0].shape == scores.shape
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


@given(st.integers(1, 8), lengths_lists)
def test_masks_hide_all_padding_and_all_of_the_future_and_nothing_else(length: int, lengths: list[int]) -> None:
    hidden = padding_mask(real_positions(lengths), torch.empty(0))
    assert hidden.shape == (len(lengths), 1, 1, max(lengths))
    assert ((hidden[:, 0, 0] == 0) == real_positions(lengths)).all()
    causal = causal_mask(length, torch.empty(0))[0, 0]
    for query, key in itertools.product(range(length), repeat=2):
        assert (causal[query, key] == 0) == (key <= query)


def test_rotations_are_products_of_complex_numbers() -> None:
    rotary, x_BTHD = RotaryPositions(6), torch.randn(2, 5, 3, 6)
    angles_TC = torch.arange(5)[:, None] * 10_000.0 ** (-torch.arange(3) / 3)
    turned = torch.complex(*x_BTHD.chunk(2, dim=3)) * torch.polar(torch.ones(5, 3), angles_TC)[:, None]
    expected = torch.cat([turned.real, turned.imag], dim=3)
    torch.testing.assert_close(rotary.at(x_BTHD, slice(0, 5)), expected)
    for place in (slice(2, 3), torch.tensor([2, 2])):
        torch.testing.assert_close(rotary.at(x_BTHD[:, 2], place), expected[:, 2])
    each_own = rotary.at(x_BTHD[0, [4, 1]], torch.tensor([4, 1]))
    torch.testing.assert_close(each_own, expected[0, [4, 1]])


def test_scores_of_normalised_queries_and_keys_depend_on_their_directions_only() -> None:
    torch.manual_seed(1)
    layer, x_BTM = SelfAttention(config(qk_norm=True, bias=False)).eval(), torch.randn(2, 5, 16)
    before = layer(x_BTM, None)
    with torch.no_grad():
        layer.qkv.weight[:32].mul_(50)
        torch.testing.assert_close(layer(x_BTM, None), before, atol=1e-4, rtol=1e-3)
        layer.k_norm.weight.mul_(3)  # the learned scale
        assert not torch.allclose(layer(x_BTM, None), before, atol=1e-2)
