"""All models that write, in any combination of their settings: masks, steps, gradients, the contract."""

import re
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from nmt.config import ModelConfig
from nmt.model.cache import DecoderCache
from nmt.model.contract import GenerativeModel
from tests.model.settings import VOCAB, combinations, config, make, sentences, some_combinations

seeds = st.integers(0, 2**16)


@pytest.mark.parametrize("config", some_combinations(60))
def test_every_weight_gets_a_finite_gradient(config: ModelConfig) -> None:
    model = make(config, 1).train()
    src, src_mask = sentences(1, [5, 3])
    tgt, _ = sentences(2, [4, 4])
    logits = model(src, src_mask, tgt)
    assert logits.shape == (2, 4, model.output.weight.size(0))
    assert logits.dtype == torch.float32
    logits.log_softmax(-1)[..., 5].sum().backward()
    learned = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    for name, parameter in learned:
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        # A key bias moves all of a query's scores alike: its gradient is rightly nought.
        assert parameter.grad.abs().sum() > 0, name


@given(combinations(), seeds, st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=2, max_size=4))
def test_logits_do_not_depend_on_the_batch(config: ModelConfig, seed: int, lengths: list[tuple[int, int]]) -> None:
    model = make(config, seed)
    src, src_mask = sentences(seed, [s for s, _ in lengths])
    tgt, _ = sentences(seed + 1, [t for _, t in lengths])
    together = model(src, src_mask, tgt)
    for i, (s, t) in enumerate(lengths):
        alone = model(src[i : i + 1, :s], src_mask[i : i + 1, :s], tgt[i : i + 1, :t])
        torch.testing.assert_close(together[i : i + 1, :t], alone, atol=1e-5, rtol=1e-4)


def assert_steps_give_the_logits_of_the_whole_prefix(model: GenerativeModel, seed: int, width: int) -> None:
    src, src_mask = sentences(seed, [6, 3])
    tgt, _ = sentences(seed + 1, [5] * 2 * width)
    with torch.inference_mode():
        cache = model.start(src, src_mask, 5, width)
        steps = [model.step(tgt[:, t].view(2, width), cache).flatten(0, 1) for t in range(5)]
        rows = torch.arange(2).repeat_interleave(width)
        whole = model(src[rows], src_mask[rows], tgt)
    torch.testing.assert_close(torch.stack(steps, dim=1), whole, atol=1e-5, rtol=1e-4)


@given(combinations(), seeds, st.lists(st.sets(st.integers(0, 3)), max_size=3))
def test_separate_rows_stay_while_others_leave(config: ModelConfig, seed: int, leaving: list[set[int]]) -> None:
    model, width, left = make(config, seed), 2, [0, 1, 2, 3]
    src, src_mask = sentences(seed, [6, 3, 4, 1])
    tgt, _ = sentences(seed + 1, [4] * 4 * width)
    tgt_NWT = tgt.view(4, width, 4)
    with torch.inference_mode():
        whole_NWTV = model(*(x.repeat_interleave(width, 0) for x in (src, src_mask)), tgt).unflatten(0, (4, width))
        cache = model.start(src, src_mask, 4, width, separate=True)
        for t, gone in enumerate([*leaving, set()]):
            logits_NWV = model.step(tgt_NWT[left, :, t], cache)
            torch.testing.assert_close(logits_NWV, whole_NWTV[left, :, t], atol=1e-5, rtol=1e-4)
            staying = [i for i, n in enumerate(left) if n not in gone]
            cache.keep(torch.tensor(staying, dtype=torch.int64))
            left = [left[i] for i in staying]
            if not left:
                return


@pytest.mark.parametrize("config", some_combinations(20))
def test_separate_rows_cost_time_and_memory_in_proportion_to_their_number(config: ModelConfig) -> None:
    model, flops, sizes = make(config, 1), [], []
    for width in (2, 4, 6):
        with torch.inference_mode():
            cache = model.start(*sentences(1, [5, 3]), 3, width, separate=True)
            assert isinstance(cache, DecoderCache)
            with FlopCounterMode(display=False) as counter:
                for _ in range(3):
                    model.step(torch.full((2, width), 7), cache)
        flops.append(counter.get_total_flops())
        sizes.append(sum(target.numel() for target in cache.target_2NKLD))
    assert flops[2] - flops[1] == flops[1] - flops[0]
    assert sizes == [sizes[0], 2 * sizes[0], 3 * sizes[0]]


@given(combinations(), seeds, st.integers(1, 3))
def test_steps_use_the_parameters_that_the_model_has_now(config: ModelConfig, seed: int, width: int) -> None:
    """Parameters may be replaced, not only changed in place, after the model has decoded."""
    model = make(config, seed)
    assert_steps_give_the_logits_of_the_whole_prefix(model, seed, width)
    for module in model.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            setattr(module, name, nn.Parameter(parameter.detach() + 0.1 * torch.randn_like(parameter)))
    assert_steps_give_the_logits_of_the_whole_prefix(model, seed, width)


@given(
    combinations(),
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
        cache = model.start(src, src_mask, len(moves) + 1, 3)
        for parents, leaving in [*moves, ((0,) * 9, set())]:
            tokens = torch.randint(4, 20, (len(rows),), generator=generator)
            rows = [(n, [*ids, token]) for (n, ids), token in zip(rows, tokens.tolist(), strict=True)]
            logits = model.step(tokens.view(-1, 3), cache).flatten(0, 1)
            for logits_V, (n, ids) in zip(logits, rows, strict=True):
                whole = model(src[n : n + 1], src_mask[n : n + 1], torch.tensor([ids]))
                torch.testing.assert_close(logits_V, whole[0, -1], atol=1e-5, rtol=1e-4)
            parents_NW = torch.tensor(parents[: len(rows)]).view(-1, 3)
            cache.reorder(parents_NW)
            rows = [rows[i - i % 3 + parent] for i, parent in enumerate(parents_NW.flatten().tolist())]
            staying = [n for n in range(len(rows) // 3) if n not in leaving]
            cache.keep(torch.tensor(staying, dtype=torch.int64))
            rows = [row for n in staying for row in rows[3 * n : 3 * n + 3]]
            if not rows:
                return


@given(combinations(), seeds, st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=4))
def test_target_states_are_of_real_positions(config: ModelConfig, seed: int, lengths: list[tuple[int, int]]) -> None:
    model = make(config, seed)
    source = sentences(seed, [source for source, _ in lengths])
    tgt, tgt_mask = sentences(seed + 1, [target for _, target in lengths])
    states_NM = model.target_states(*source, tgt, tgt_mask)
    assert states_NM.size(0) == sum(target for _, target in lengths)
    torch.testing.assert_close(model.output(states_NM), model(*source, tgt)[tgt_mask], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("changes", [{}, {"family": "decoder-only"}])
def test_dropout_is_off_in_evaluation_and_on_everywhere_in_training(changes: dict[str, Any]) -> None:
    src, src_mask = sentences(1, [6])
    tgt, _ = sentences(2, [5])
    for name in ("dropout", "attention_dropout", "activation_dropout"):
        model = make(config(**{name: 0.5}, **changes), 1)
        assert torch.equal(model(src, src_mask, tgt), model(src, src_mask, tgt))
        model.train()
        assert not torch.equal(model(src, src_mask, tgt), model(src, src_mask, tgt))


@pytest.mark.parametrize("config", some_combinations(30))
def test_parts_and_blocks_hold_every_parameter_once(config: ModelConfig) -> None:
    model = make(config, 1)
    parts = model.parts()
    assert set(parts) >= {"embeddings", "decoder"}
    held = [{id(p) for module in modules for p in module.parameters()} for modules in parts.values()]
    assert sum(map(len, held)) == len(set().union(*held)) == len(list(model.parameters()))
    blocks = [id(p) for block in model.blocks() for p in block.parameters()]
    names = {id(p): name for name, p in model.named_parameters()}
    outside = held[0] | {i for i, name in names.items() if re.match("(en|de)coder_norm", name)}
    assert sorted(blocks) == sorted(id(p) for p in model.parameters() if id(p) not in outside)


@pytest.mark.parametrize("config", some_combinations(30))
def test_embeddings_and_parameters_by_piece_are_named(config: ModelConfig) -> None:
    model = make(config, 1)
    sizes = {"source": VOCAB, "target": model.vocab_size}
    by_piece = {name for name, p in model.named_parameters() if p.size(0) in sizes.values()}
    vocabularies = {n: v for n, v in model.vocabularies().items() if n in dict(model.named_parameters())}
    assert set(vocabularies) == by_piece
    assert all(model.get_parameter(name).size(0) == sizes[side] for name, side in vocabularies.items())
    names = {id(p): name for name, p in model.named_parameters()}
    embeddings = {names[id(p)] for p in model.embeddings()}
    assert embeddings == {n for n in names.values() if "embedding" in n or n.endswith(".table")}


@pytest.mark.parametrize(
    ("family", "source_attention", "layers"),
    [("encoder-decoder", "bidirectional", 2), ("decoder-only", "bidirectional", 0), ("decoder-only", "causal", 0)],
)
def test_attention_is_given_on_request_and_changes_nothing(family: str, source_attention: str, layers: int) -> None:
    model = make(config(family=family, source_attention=source_attention, encoder_layers=layers, decoder_layers=3), 1)
    source, (tgt, _) = sentences(1, [6, 2]), sentences(2, [5, 4])
    maps: list[Tensor] = []
    torch.testing.assert_close(model(*source, tgt, maps), model(*source, tgt))
    assert [tuple(m.shape) for m in maps] == [(2, 4, 5, 6)] * 3
    assert (maps[0][1, :, :, 2:] == 0).all()
    torch.testing.assert_close(maps[0].sum(-1), torch.ones(2, 4, 5))


@pytest.mark.parametrize("config", some_combinations(30))
def test_embeddings_and_each_part_of_a_fused_matrix_have_initial_weights_of_their_own_size(config: ModelConfig) -> None:
    model = make(config, 1)
    assert all(weight.detach().std() == pytest.approx(16**-0.5, rel=0.2) for weight in model.embeddings())
    for fused, rows in model.fused_matrices():
        for part in fused.detach().flatten(0, -2).split(rows):
            bound = (6 / sum(part.shape)) ** 0.5
            assert 0.7 * bound < float(part.abs().max()) <= bound
