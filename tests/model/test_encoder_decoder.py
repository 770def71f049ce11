"""The Transformer in every combination of its settings: masks, caches, gradients, initial weights."""

import itertools
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from nmt.config import ModelConfig
from nmt.model.attention import attention, causal_mask, explicit_attention, padding_mask
from nmt.model.dropout import dropout
from nmt.model.encoder_decoder import Transformer
from nmt.model.incremental import IncrementalDecoder
from nmt.model.positions import RotaryPositions

VOCAB = 23


def config(**changes: Any) -> ModelConfig:
    return replace(
        ModelConfig(d_model=16, n_heads=4, encoder_layers=2, decoder_layers=1, d_ff=24, max_positions=40, dropout=0.0),
        **changes,
    )


EVERY_COMBINATION = [
    config(
        norm=norm,
        norm_position=norm_position,
        bias=bias,
        positions=positions,
        activation=activation,
        n_kv_heads=n_kv_heads,
        tied_embeddings=tied,
        encoder_layers=layers[0],
        decoder_layers=layers[1],
    )
    for norm, norm_position, bias, positions, activation, n_kv_heads, tied, layers in itertools.product(
        ("layer", "rms"),
        ("pre", "post"),
        (True, False),
        ("sinusoidal", "learned", "rotary"),
        ("relu", "gelu", "swiglu"),
        (None, 2, 1),
        ("three-way", "decoder", "none"),
        ((2, 1), (1, 2)),
    )
]
combinations = st.sampled_from(EVERY_COMBINATION)
seeds = st.integers(0, 2**16)


def make(config: ModelConfig, seed: int) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(config, VOCAB, VOCAB if config.tied_embeddings == "three-way" else VOCAB + 5).eval()


def sentences(seed: int, lengths: list[int]) -> tuple[Tensor, Tensor]:
    """Random ids with padding of random ids, so that any look at padding shows; and the mask of real positions."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, VOCAB, (len(lengths), max(lengths)), generator=generator)
    return ids, torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


@pytest.mark.parametrize("config", EVERY_COMBINATION[::7] + EVERY_COMBINATION[:7])
def test_every_weight_gets_a_finite_gradient(config: ModelConfig) -> None:
    model = make(config, 1).train()
    src, src_mask = sentences(1, [5, 3])
    tgt, _ = sentences(2, [4, 4])
    logits = model(src, src_mask, tgt)
    assert logits.shape == (2, 4, model.output.weight.size(0))
    assert logits.dtype == torch.float32
    logits.log_softmax(-1)[..., 5].sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        # A key bias moves all of a query's scores alike: its gradient is rightly nought.
        assert parameter.grad.abs().sum() > 0, name


@given(combinations, seeds, st.integers(1, 6), st.integers(1, 6))
def test_no_position_sees_the_future(config: ModelConfig, seed: int, length: int, changed: int) -> None:
    model = make(config, seed)
    src, src_mask = sentences(seed, [4])
    tgt, _ = sentences(seed + 1, [7])
    other = tgt.clone()
    other[0, length:] = (other[0, length:] + changed - 4) % (VOCAB - 4) + 4
    torch.testing.assert_close(model(src, src_mask, tgt)[:, :length], model(src, src_mask, other)[:, :length])


@given(combinations, seeds, st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=2, max_size=4))
def test_logits_do_not_depend_on_the_batch(config: ModelConfig, seed: int, lengths: list[tuple[int, int]]) -> None:
    model = make(config, seed)
    src, src_mask = sentences(seed, [s for s, _ in lengths])
    tgt, tgt_mask = sentences(seed + 1, [t for _, t in lengths])
    together = model(src, src_mask, tgt, tgt_mask)
    for i, (s, t) in enumerate(lengths):
        alone = model(src[i : i + 1, :s], src_mask[i : i + 1, :s], tgt[i : i + 1, :t])
        torch.testing.assert_close(together[i : i + 1, :t], alone, atol=1e-5, rtol=1e-4)


@given(combinations, seeds, st.integers(1, 3))
def test_decoding_step_by_step_gives_the_logits_of_the_whole_prefix(config: ModelConfig, seed: int, width: int) -> None:
    model = make(config, seed)
    src, src_mask = sentences(seed, [6, 3])
    tgt, _ = sentences(seed + 1, [5] * 2 * width)
    with torch.inference_mode():
        decoder = IncrementalDecoder(model)
        cache = decoder.start(src, src_mask, 5, width)
        steps = [decoder.step(tgt[:, t].view(2, width), cache).flatten(0, 1) for t in range(5)]
        rows = torch.arange(2).repeat_interleave(width)
        whole = model(src[rows], src_mask[rows], tgt)
    assert cache.length == 5
    torch.testing.assert_close(torch.stack(steps, dim=1), whole, atol=1e-5, rtol=1e-4)


@given(
    combinations,
    seeds,
    st.lists(st.tuples(st.tuples(*[st.integers(0, 2)] * 9), st.sets(st.integers(0, 2))), max_size=4),
)
def test_rows_go_on_from_any_row_of_their_sentence_while_others_leave(
    config: ModelConfig, seed: int, moves: list[tuple[tuple[int, ...], set[int]]]
) -> None:
    model = make(config, seed)
    src, src_mask = sentences(seed, [6, 3, 4])
    generator = torch.Generator().manual_seed(seed)
    # The plain way: the sentence and the tokens so far.
    rows: list[tuple[int, list[int]]] = [(n, []) for n in range(3) for _ in range(3)]
    with torch.inference_mode():
        decoder = IncrementalDecoder(model)
        cache = decoder.start(src, src_mask, len(moves) + 1, 3)
        for parents, leaving in [*moves, ((0,) * 9, set())]:
            tokens = torch.randint(4, 20, (len(rows),), generator=generator)
            rows = [(n, [*ids, token]) for (n, ids), token in zip(rows, tokens.tolist(), strict=True)]
            logits = decoder.step(tokens.view(-1, 3), cache).flatten(0, 1)
            for logits_V, (n, ids) in zip(logits, rows, strict=True):
                whole = model(src[n : n + 1], src_mask[n : n + 1], torch.tensor([ids]))
                torch.testing.assert_close(logits_V, whole[0, -1], atol=1e-5, rtol=1e-4)
            parents_NW = torch.tensor(parents[: len(rows)]).view(-1, 3)
            cache.reorder(parents_NW)
            rows = [rows[i - i % 3 + parent] for i, parent in enumerate(parents_NW.flatten().tolist())]
            staying = [n for n in range(cache.n_sentences) if n not in leaving]
            cache.keep(torch.tensor(staying, dtype=torch.int64))
            rows = [row for n in staying for row in rows[3 * n : 3 * n + 3]]
            assert cache.n_sentences == len(staying)
            if not rows:
                return


@given(st.integers(1, 8), st.lists(st.integers(1, 8), min_size=1, max_size=4))
def test_masks_hide_all_padding_and_all_of_the_future_and_nothing_else(length: int, lengths: list[int]) -> None:
    _, real = sentences(0, lengths)
    hidden = padding_mask(real)
    assert hidden.shape == (len(lengths), 1, 1, max(lengths))
    assert ((hidden[:, 0, 0] == 0) == real).all()
    causal = causal_mask(length, torch.device("cpu"))[0, 0]
    for query, key in itertools.product(range(length), repeat=2):
        assert (causal[query, key] == 0) == (key <= query)


@given(seeds, st.sampled_from([1, 2, 4]), st.lists(st.integers(1, 6), min_size=1, max_size=3))
def test_both_forms_of_attention_agree_and_weights_are_a_distribution(
    seed: int, kv_heads: int, lengths: list[int]
) -> None:
    generator = torch.Generator().manual_seed(seed)
    q = torch.randn(len(lengths), 4, 5, 8, generator=generator)
    k, v = (torch.randn(len(lengths), kv_heads, max(lengths), 8, generator=generator) for _ in range(2))
    mask = padding_mask(sentences(0, lengths)[1])
    values, weights = explicit_attention(q, k, v, mask)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nmt.model.attention.SHORT", 0)  # or the library's form would never be taken
        library = attention(q.requires_grad_(), k, v, mask)
    assert "ScaledDotProduct" in str(library.grad_fn)
    torch.testing.assert_close(values, library, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(weights.sum(-1), torch.ones(len(lengths), 4, 5))
    for row, length in zip(weights, lengths, strict=True):
        assert (row[..., length:] == 0).all()


@given(seeds, st.lists(st.integers(1, 6), min_size=1, max_size=3), st.booleans())
def test_both_forms_of_causal_attention_agree(seed: int, lengths: list[int], masked: bool) -> None:
    generator = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(len(lengths), 2, max(lengths), 8, generator=generator) for _ in range(3))
    mask = padding_mask(sentences(0, lengths)[1]) if masked else None
    whole = causal_mask(max(lengths), torch.device("cpu"))
    expected, _ = explicit_attention(q, k, v, whole if mask is None else torch.minimum(mask, whole))
    assert torch.equal(attention(q, k, v, mask, causal=True), expected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nmt.model.attention.SHORT", 0)
        library = attention(q.requires_grad_(), k, v, mask, causal=True)
    assert "ScaledDotProduct" in str(library.grad_fn)
    torch.testing.assert_close(expected, library, atol=1e-5, rtol=1e-4)


@given(combinations, seeds, st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=4))
def test_real_target_positions_need_no_mask_of_padding(
    config: ModelConfig, seed: int, lengths: list[tuple[int, int]]
) -> None:
    model = make(config, seed)
    src, src_mask = sentences(seed, [source for source, _ in lengths])
    tgt, tgt_mask = sentences(seed + 1, [target for _, target in lengths])
    memory = model.encode(src, src_mask)
    assert torch.equal(model.decode_states(tgt, memory)[tgt_mask], model.decode_states(tgt, memory, tgt_mask)[tgt_mask])


def test_cross_attention_weights_are_given_on_request_and_change_nothing() -> None:
    model = make(config(decoder_layers=3), 1)
    src, src_mask = sentences(1, [6, 2])
    tgt, tgt_mask = sentences(2, [5, 4])
    memory = model.encode(src, src_mask)
    maps: list[Tensor] = []
    states = model.decode_states(tgt, memory, tgt_mask, cross_weights=maps)
    torch.testing.assert_close(states, model.decode_states(tgt, memory, tgt_mask))
    assert [tuple(m.shape) for m in maps] == [(2, 4, 5, 6)] * 3
    assert (maps[0][1, :, :, 2:] == 0).all()


def test_a_learned_table_ends_with_an_error_and_the_other_positions_do_not() -> None:
    for positions in ("sinusoidal", "rotary", "learned"):
        model = make(config(positions=positions), 1)
        src, src_mask = sentences(1, [300])
        if positions == "learned":
            with pytest.raises(ValueError, match=r"300 pieces.*end at 40"):
                model.encode(src, src_mask)
        else:
            longer = model.encode(src, src_mask).states_BSM
            assert longer.isfinite().all()


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_a_table_that_grew_while_translating_serves_training_too(positions: str) -> None:
    model = make(config(positions=positions), 1)
    long, short = sentences(1, [300]), sentences(1, [5])
    with torch.inference_mode():
        model.encode(*long)
    model.encode(*short).states_BSM.sum().backward()


def test_rotary_attention_depends_on_distance_only() -> None:
    rotary = RotaryPositions(4)
    q, k = torch.randn(2, 1, 1, 1, 4)
    at = [float((rotary.at(q, i) * rotary.at(k, i + 3)).sum()) for i in (0, 5, 260)]
    assert at == pytest.approx([at[0]] * 3, abs=1e-4)
    assert abs(at[0] - float((q * k).sum())) > 1e-3


@pytest.mark.parametrize(("tied", "matrices"), [("three-way", 1), ("decoder", 2), ("none", 3)])
def test_tied_embeddings_are_one_matrix(tied: str, matrices: int) -> None:
    model = make(config(tied_embeddings=tied), 1)
    weights = {model.src_embedding.weight, model.tgt_embedding.weight, model.output.weight}
    assert len(weights) == matrices
    assert len({model.tgt_embedding.weight, model.output.weight}) == (2 if tied == "none" else 1)


def test_equal_seeds_give_equal_weights_and_parts_of_fused_matrices_are_scaled_alone() -> None:
    one, two, three = make(config(), 1), make(config(), 1), make(config(), 2)
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(one.output.weight, three.output.weight)
    bound = (6 / (16 + 16)) ** 0.5
    fused = one.get_parameter("encoder.0.self_attention.qkv.weight")
    for part in fused.split(16):
        assert 0.8 * bound < float(part.detach().abs().max()) <= bound
    assert float(one.output.weight.detach().std()) == pytest.approx(16**-0.5, rel=0.2)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_dropout_keeps_the_share_and_the_mean_it_should(p: float) -> None:
    torch.manual_seed(1)
    x = torch.ones(1001, 997, requires_grad=True)
    y = dropout(x, p)
    shown = y.detach()
    assert float((shown == 0).float().mean()) == pytest.approx(p, abs=0.002)
    assert float(shown.mean()) == pytest.approx(1, abs=0.005)
    assert float(shown.max()) == pytest.approx(1 / (1 - p), rel=1e-4)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, shown)
    other = dropout(x.detach(), p)
    both = float(((other == 0) & (shown == 0)).float().mean())
    assert both == pytest.approx(p * p, abs=0.003), "two masks are independent"


def test_dropout_of_almost_all_is_finite() -> None:
    assert dropout(torch.ones(100, 100), 1 - 1e-9).isfinite().all()


def test_dropout_is_off_in_evaluation_and_on_everywhere_in_training() -> None:
    src, src_mask = sentences(1, [6])
    tgt, _ = sentences(2, [5])
    for name in ("dropout", "attention_dropout", "activation_dropout"):
        model = make(config(**{name: 0.5}), 1)
        assert torch.equal(model(src, src_mask, tgt), model(src, src_mask, tgt))
        model.train()
        assert not torch.equal(model(src, src_mask, tgt), model(src, src_mask, tgt))


def test_memory_that_was_freed_is_kept_for_the_next_step() -> None:
    """Nothing is promised for other C libraries; with glibc, the pages of a large tensor are fetched once."""
    code = """if True:
        import resource, torch
        from nmt.model.device import keep_freed_memory

        def pages_fetched():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            for _ in range(5):
                tensors = [torch.ones(1 << 20) for _ in range(16)]  # 1,024 pages each
                del tensors
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

        first = pages_fetched()
        kept = keep_freed_memory()
        pages_fetched()
        print(first, pages_fetched() if kept else 0)
    """
    # In a process of its own: that of the tests has freed memory in many places, and kept it.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert after < 1000 < before
