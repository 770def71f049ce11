"""Greedy and beam search agree with their plain definitions, whatever the batch, and stopping early changes nothing."""

from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from nmt.config import DecodingConfig, ModelConfig
from nmt.data import tokenizer
from nmt.decode import search as module
from nmt.decode.search import BOS, EOS, FORBIDDEN, PAD, Hypothesis, best_continuations, force_score, search
from nmt.model.incremental import IncrementalDecoder
from nmt.model.transformer import Transformer

TINY = ModelConfig(d_model=16, n_heads=2, encoder_layers=1, decoder_layers=1, d_ff=32, tied_embeddings="none")
seeds = st.integers(0, 2**16)
many = settings(max_examples=15, deadline=None, derandomize=True)


def random_model(seed: int, vocab_size: int = 40, config: ModelConfig = TINY) -> Transformer:
    """With larger weights than a fresh one, so that its choices differ between positions and hypotheses end."""
    torch.manual_seed(seed)
    model = Transformer(config, vocab_size, vocab_size).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1.5)
        model.output.weight[EOS] *= 1.5
    return model


def random_sources(seed: int, vocab_size: int = 40, n: int = 6, longest: int = 9) -> list[list[int]]:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (n,), generator=generator).tolist()
    return [torch.randint(4, vocab_size, (length,), generator=generator).tolist() for length in lengths]


def batch(sources: list[list[int]]) -> tuple[Tensor, Tensor]:
    longest = max(map(len, sources)) + 1
    src_BS = torch.tensor([[*source, EOS, *[PAD] * (longest - 1 - len(source))] for source in sources])
    return src_BS, src_BS != PAD


def find(model: Transformer, sources: list[list[int]], options: DecodingConfig) -> list[list[Hypothesis]]:
    return search(IncrementalDecoder(model), *batch(sources), options)


def plain_beam_search(model: Transformer, source: list[int], options: DecodingConfig) -> list[tuple[float, list[int]]]:
    """The definition: one sentence, whole prefixes instead of a cache, and never an early end."""
    memory = model.encode(*batch([source]))
    limit = int(options.max_length_ratio * len(source)) + 10
    live: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[tuple[float, list[int]]] = []
    for step in range(limit + 1):
        longer = []
        for total, ids in live:
            log_probs = model.decode(torch.tensor([[BOS, *ids]]), memory)[0, -1].log_softmax(0).tolist()
            allowed = [EOS] if step == limit else [i for i in range(len(log_probs)) if i not in FORBIDDEN]
            longer += [(total + log_probs[token], [*ids, token]) for token in allowed]
        best = sorted(longer, reverse=True)[:options.beam_size - len(finished)]
        finished += [(total / len(ids) ** options.length_penalty, ids[:-1]) for total, ids in best if ids[-1] == EOS]
        live = [(total, ids) for total, ids in best if ids[-1] != EOS]
    return sorted(finished, reverse=True)


@pytest.fixture(autouse=True)
def no_gradients() -> object:
    with torch.no_grad():
        yield


@many
@given(seed=seeds, vocab_size=st.sampled_from([12, 64, 70, 150]), beam_size=st.integers(1, 6),
       penalty=st.sampled_from([0.0, 0.6, 1.0, 1.7]))
def test_batched_search_on_the_cache_with_early_stopping_is_the_plain_one(
        seed: int, vocab_size: int, beam_size: int, penalty: float) -> None:
    model, sources = random_model(seed, vocab_size), random_sources(seed, vocab_size, n=3, longest=4)
    options = DecodingConfig(beam_size=beam_size, n_best=(beam_size + 1) // 2, length_penalty=penalty)
    for found, source in zip(find(model, sources, options), sources, strict=True):
        expected = plain_beam_search(model, source, options)[:options.n_best]
        assert [h.ids for h in found] == [ids for _, ids in expected]
        assert [h.score for h in found] == pytest.approx([score for score, _ in expected], abs=1e-4)


@many
@given(seed=seeds)
def test_a_beam_of_one_takes_the_most_probable_piece_each_time(seed: int) -> None:
    model, sources = random_model(seed), random_sources(seed)
    for (found,), source in zip(find(model, sources, DecodingConfig(beam_size=1)), sources, strict=True):
        memory, ids = model.encode(*batch([source])), [BOS]
        while ids[-1] != EOS and len(ids) <= 2 * len(source) + 10:
            logits_V = model.decode(torch.tensor([ids]), memory)[0, -1]
            logits_V[list(FORBIDDEN)] = -torch.inf
            ids.append(int(logits_V.argmax()))
        assert found.ids == [i for i in ids if i not in (BOS, EOS)]


@many
@given(seed=seeds, beam_size=st.integers(1, 5), order=st.permutations(range(6)), size=st.integers(1, 5))
def test_neighbours_in_the_batch_change_nothing(seed: int, beam_size: int, order: list[int], size: int) -> None:
    model, sources = random_model(seed), random_sources(seed)
    options = DecodingConfig(beam_size=beam_size, n_best=beam_size)
    together = find(model, sources, options)
    parts = [order[i:i + size] for i in range(0, len(order), size)]
    for part in parts:
        for i, apart in zip(part, find(model, [sources[i] for i in part], options), strict=True):
            assert [h.ids for h in apart] == [h.ids for h in together[i]]
            assert [h.score for h in apart] == pytest.approx([h.score for h in together[i]], abs=1e-4)


@many
@given(seed=seeds, penalty=st.sampled_from([0.0, 1.0]))
def test_a_hypothesis_has_the_score_that_the_model_gives_it_when_forced(seed: int, penalty: float) -> None:
    model, sources = random_model(seed), random_sources(seed)
    options = DecodingConfig(beam_size=4, n_best=3, length_penalty=penalty)
    for found, source in zip(find(model, sources, options), sources, strict=True):
        tgt_BT, tgt_mask_BT = batch([h.ids for h in found])
        src_BS, src_mask_BS = (x.expand(len(found), -1) for x in batch([source]))
        forced_BT = force_score(model, src_BS, src_mask_BS, tgt_BT, tgt_mask_BT)
        for h, forced_T in zip(found, forced_BT.tolist(), strict=True):
            length = len(h.ids) + 1
            assert h.token_log_probs == pytest.approx(forced_T[:length], abs=1e-4)
            assert h.log_prob == pytest.approx(sum(forced_T), abs=1e-4)
            assert h.score == pytest.approx(h.log_prob / length ** penalty)


@many
@given(seed=seeds, beam_size=st.integers(1, 6))
def test_n_best_are_as_many_as_asked_for_all_different_and_best_first(seed: int, beam_size: int) -> None:
    for n_best in range(1, beam_size + 1):
        options = DecodingConfig(beam_size=beam_size, n_best=n_best)
        for found in find(random_model(seed), random_sources(seed), options):
            assert len({tuple(h.ids) for h in found}) == n_best
            assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)


@many
@given(seed=seeds)
def test_fewer_best_are_the_first_of_more(seed: int) -> None:
    model, sources = random_model(seed), random_sources(seed)
    more, fewer = (find(model, sources, DecodingConfig(beam_size=5, n_best=n)) for n in (5, 2))
    assert [[h.ids for h in found[:2]] for found in more] == [[h.ids for h in found] for found in fewer]


@pytest.mark.parametrize("seed", range(3))
def test_a_beam_wide_enough_finds_the_best_of_all_sequences(seed: int) -> None:
    model, source = random_model(seed, vocab_size=6), [[4, 5, 5]]
    options = DecodingConfig(beam_size=2**11, n_best=20, max_length_ratio=0.1)
    every = [list(ids) for length in range(11) for ids in product((4, 5), repeat=length)]
    tgt_BT, tgt_mask_BT = batch(every)
    src_BS, src_mask_BS = (x.expand(len(every), -1) for x in batch(source))
    log_probs = force_score(model, src_BS, src_mask_BS, tgt_BT, tgt_mask_BT).sum(1).tolist()
    ranked = sorted(((p / (len(ids) + 1), ids) for p, ids in zip(log_probs, every, strict=True)), reverse=True)
    (found,) = find(model, source, options)
    assert [h.score for h in found] == pytest.approx([score for score, _ in ranked[:20]], abs=1e-4)
    assert found[0].ids == ranked[0][1]


@many
@given(seed=seeds, ratio=st.sampled_from([0.1, 1.0, 2.5]), beam_size=st.integers(1, 4))
def test_each_sentence_has_its_own_longest_length(seed: int, ratio: float, beam_size: int) -> None:
    sources = random_sources(seed)
    options = DecodingConfig(beam_size=beam_size, n_best=beam_size, max_length_ratio=ratio)
    for source, found in zip(sources, find(random_model(seed), sources, options), strict=True):
        limit = int(ratio * len(source)) + 10
        assert all(len(h.ids) <= limit and h.finished == (len(h.ids) < limit) for h in found)


@many
@given(seed=seeds, beam_size=st.integers(1, 4))
def test_unk_bos_and_pad_are_never_written_however_probable(seed: int, beam_size: int) -> None:
    model = random_model(seed)
    model.output.weight[list(FORBIDDEN)] *= 20
    options = DecodingConfig(beam_size=beam_size, n_best=beam_size)
    for found in find(model, random_sources(seed), options):
        assert not {i for h in found for i in h.ids} & {*FORBIDDEN, EOS}


@many
@given(seed=seeds, n=st.integers(1, 4), beam_size=st.integers(1, 9), vocab_size=st.sampled_from([5, 64, 65, 200]))
def test_the_best_continuations_are_those_of_a_plain_top_k(seed: int, n: int, beam_size: int, vocab_size: int) -> None:
    torch.manual_seed(seed)
    scores_NK, log_probs_NKV = torch.randn(n, beam_size), torch.randn(n, beam_size, vocab_size)
    scores_NK[:, 1:][torch.rand(n, beam_size - 1) < 0.3] = -torch.inf
    best_NK, place_NK = best_continuations(scores_NK, log_probs_NKV)
    totals_NX = (scores_NK[:, :, None] + log_probs_NKV).flatten(1)
    expected_NK, index_NK = totals_NX.topk(beam_size)
    width = -(-vocab_size // 64) * 64
    assert torch.equal(best_NK, expected_NK)
    real = expected_NK > -torch.inf
    assert torch.equal((place_NK // width * vocab_size + place_NK % width)[real], index_NK[real])


def test_learned_positions_bound_the_output() -> None:
    config = ModelConfig(d_model=16, n_heads=2, encoder_layers=1, decoder_layers=1, d_ff=32, positions="learned",
                         max_positions=8, tied_embeddings="none")
    found = find(random_model(1, config=config), [[4, 5, 6], [7]], DecodingConfig(max_length_ratio=5.0))
    assert all(len(h.ids) <= 7 for (h,) in found)


def test_a_vocabulary_smaller_than_the_beam_yields_what_there_is() -> None:
    (found,) = find(random_model(1, vocab_size=5), [[4]], DecodingConfig(beam_size=5, n_best=5))
    assert len({tuple(h.ids) for h in found}) == len(found) > 0


def test_broken_weights_are_named_instead_of_searched_forever() -> None:
    model = random_model(1)
    model.output.weight.fill_(torch.nan)
    with pytest.raises(ValueError, match="not numbers"):
        find(model, [[4, 5]], DecodingConfig())


def test_the_special_ids_are_the_tokenizer_s() -> None:
    names = ("UNK", "BOS", "EOS", "PAD")
    assert [getattr(module, name) for name in names] == [getattr(tokenizer, name) for name in names]


def learn_to_reverse(vocab_size: int = 10) -> Transformer:
    torch.manual_seed(1)
    model = Transformer(ModelConfig(d_model=32, n_heads=4, encoder_layers=1, decoder_layers=1, d_ff=64,
                                    norm_position="pre", dropout=0.0), vocab_size, vocab_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=8e-3, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, 400)
    for step in range(400):
        sources = random_sources(step, vocab_size, n=64, longest=5)
        (src_BS, mask), (tgt_BT, _) = batch(sources), batch([source[::-1] for source in sources])
        input_BT = torch.nn.functional.pad(tgt_BT[:, :-1], (1, 0), value=BOS)
        loss = torch.nn.functional.cross_entropy(model(src_BS, mask, input_BT, mask)[mask], tgt_BT[mask])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval()


def test_a_model_that_learned_to_reverse_does_so_with_and_without_a_beam() -> None:
    with torch.enable_grad():
        model = learn_to_reverse()
    unseen = random_sources(10**6, vocab_size=10, n=100, longest=5)
    for beam_size in (1, 4):
        found: list[list[Hypothesis]] = find(model, unseen, DecodingConfig(beam_size=beam_size))
        right = sum(best.ids == source[::-1] and best.finished for (best,), source in zip(found, unseen, strict=True))
        assert right >= 98
