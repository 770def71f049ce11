"""Search on recorded steps finds what plain search finds. Without a GPU, steps are computed on the same buffers, or a
stand-in of a CUDA graph replays them (`Replayed`)."""

import gc
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from nmt.config import SearchConfig
from nmt.decode.beam import Beams, search
from nmt.decode.graphs import LEAST_LENGTH, Buffers, RecordedBeams, RecordedCache, RecordedModel
from nmt.decode.hypothesis import Hypothesis
from nmt.decode.pytorch import Begun, Ensemble, TorchEngine
from nmt.decode.stop import Stop
from nmt.model.contract import Decoder
from nmt.model.encoder_decoder import EncoderDecoder
from nmt.vocabulary import EOS, PAD
from tests.decode.families import TINY, Looks, random_model
from tests.replayed import Replayed

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SETTINGS: list[dict[str, Any]] = [
    {},
    {"positions": "rotary", "n_kv_heads": 1, "qk_norm": True},
    {"positions": "learned", "max_positions": 60},
]
RULES: list[dict[str, Any]] = [
    {},
    {"min_length": 4, "length_penalty": 0.0},
    {"length_norm": "gnmt", "length_penalty": 0.6, "allow_unk": True},
    {"no_repeat_ngram": 2},
]
many = settings(max_examples=15, deadline=None, derandomize=True)


def a_model(seed: int, **chosen: Any) -> EncoderDecoder:
    model = random_model(seed, config=replace(TINY, **chosen))
    assert isinstance(model, EncoderDecoder)
    return model.to(DEVICE)


def finished(beams: Beams, stop: Stop | None = None) -> list[list[Hypothesis]]:
    beams.run(stop)
    return beams.hypotheses()


def batch(generator: torch.Generator, n: int, longest: int) -> tuple[Tensor, Tensor]:
    """Sources of different lengths, ids and mask."""
    lengths = torch.randint(1, longest + 1, (n,), generator=generator).tolist()
    rows = [[*torch.randint(4, 40, (length,), generator=generator).tolist(), EOS] for length in lengths]
    width = max(map(len, rows))
    src_BS = torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows], device=DEVICE)
    return src_BS, src_BS != PAD


def record(function: "partial[None]", _: Any) -> Callable[[], None]:
    """A GPU records without computing. Here the last step is computed again: there may be no room for the next."""
    buffers: Buffers = function.args[0]
    buffers.position_1 -= 1
    replayed = Replayed(function)
    buffers.position_1 += 1
    return replayed


@torch.inference_mode()
def searched(
    kind: type[Beams], model: Decoder, src_BS: Tensor, src_mask_BS: Tensor, options: SearchConfig
) -> list[list[Hypothesis]]:
    return finished(kind(model, src_BS, src_mask_BS, options, ()))


def assert_same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    assert [[h.ids for h in best] for best in found] == [[h.ids for h in best] for best in expected]
    for best, others in zip(found, expected, strict=True):
        assert [h.token_log_probs for h in best] == [pytest.approx(h.token_log_probs, abs=1e-4) for h in others]


@many
@given(
    seed=st.integers(0, 2**16),
    chosen=st.sampled_from(SETTINGS),
    beam_size=st.sampled_from([1, 3, 5]),
    rules=st.sampled_from(RULES),
    sizes=st.lists(st.tuples(st.integers(1, 20), st.integers(1, 24)), min_size=2, max_size=4),
)
def test_recorded_steps_give_what_plain_steps_give(
    seed: int, chosen: dict[str, Any], beam_size: int, rules: dict[str, Any], sizes: list[tuple[int, int]]
) -> None:
    """Batches of several sizes follow one another on the same buffers. What follows rules is recorded in part."""
    model = a_model(seed, **chosen)
    recorded, generator = RecordedModel(model), torch.Generator().manual_seed(seed)
    options = SearchConfig(beam_size=beam_size, n_best=beam_size, **rules)
    for n, longest in [*sizes, *sizes]:
        sources = batch(generator, n, longest)
        expected = search(model, *sources, options)
        for kind in (Beams, RecordedBeams):
            assert_same(searched(kind, recorded, *sources, options), expected)
    assert list(recorded.buffers) == [beam_size]


def test_fixed_pieces_and_ensembles_are_recorded_too() -> None:
    models = [a_model(seed) for seed in (1, 2)]
    recorded = [RecordedModel(model) for model in models]
    sources, options = batch(torch.Generator().manual_seed(1), 5, 9), SearchConfig(beam_size=3)
    pairs: list[tuple[Decoder, Decoder]] = [
        (Begun(recorded[0], [5], [6, 7]), Begun(models[0], [5], [6, 7])),
        (Ensemble(recorded), Ensemble(models)),
    ]
    for own, plain in pairs:
        assert_same(search(own, *sources, options), search(plain, *sources, options))


def test_the_buffers_serve_one_batch_of_beams_at_a_time_and_grow() -> None:
    model = RecordedModel(a_model(1))
    with torch.inference_mode():
        first = model.start(*batch(torch.Generator().manual_seed(1), 3, 5), max_length=9, width=2)
        second = model.start(*batch(torch.Generator().manual_seed(1), 3, 5), max_length=9, width=2)
        assert isinstance(first, RecordedCache)
        assert not isinstance(second, RecordedCache)
        buffers = first.buffers
        del first
        gc.collect()
        third = model.start(*batch(torch.Generator().manual_seed(1), 2, 5), max_length=9, width=2)
        assert isinstance(third, RecordedCache)
        assert third.buffers is buffers
        del third
        larger = model.start(*batch(torch.Generator().manual_seed(1), 9, 5), max_length=99, width=2)
        assert isinstance(larger, RecordedCache)
        assert larger.buffers.largest == (12, LEAST_LENGTH, 128)
        del larger
        samples = model.start(*batch(torch.Generator().manual_seed(1), 3, 5), 9, 2, separate=True)
        assert not isinstance(samples, RecordedCache)


def test_buffers_stay_within_their_limit() -> None:
    model, generator = RecordedModel(a_model(1)), torch.Generator().manual_seed(1)
    with torch.inference_mode():
        for n, length in ((2, 9000), (300, 60), (2, 9000), (30, 9000)):
            cache = model.start(*batch(generator, n, 5), max_length=length, width=2)
            assert isinstance(cache, RecordedCache) == (n == 2)  # 300 × 2 × 60 fits, but not beside 9,000 positions
            del cache
    assert model.buffers[2].largest == (2, LEAST_LENGTH, 12_288)


def test_an_engine_with_other_models_records_these(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt.decode.pytorch.record_models", lambda models: tuple(map(RecordedModel, models)))
    first, adapted = a_model(1), a_model(2)
    engine = TorchEngine.make([first]).with_models([adapted])
    assert [recorded.model for recorded in engine.begun([5], [6]).recorded] == [adapted]


@pytest.mark.parametrize("kind", [Beams, RecordedBeams])
@pytest.mark.parametrize("chosen", SETTINGS)
def test_a_step_is_recorded_once_for_each_shape_and_replayed(chosen: dict[str, Any], kind: type[Beams]) -> None:
    model, options = a_model(1, **chosen), SearchConfig(beam_size=3, max_length=20)
    recorded, generator = RecordedModel(model), torch.Generator().manual_seed(1)
    recorded.record = recorded.record or record
    first, smaller = batch(generator, 5, 9), batch(generator, 2, 4)
    assert_same(searched(kind, recorded, *first, options), search(model, *first, options))
    steps = dict(recorded.buffers[3].steps)
    assert steps
    assert_same(searched(kind, recorded, *smaller, options), search(model, *smaller, options))
    assert_same(searched(kind, recorded, *first, options), search(model, *first, options))
    assert recorded.buffers[3].steps.items() >= steps.items()


def test_steps_that_cannot_be_recorded_are_computed(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(_: Callable[[], None], pool: Any) -> Callable[[], None]:
        raise RuntimeError("operation not permitted when stream is capturing")

    model, options = a_model(1), SearchConfig(beam_size=3, max_length=20)
    recorded, sources = RecordedModel(model), batch(torch.Generator().manual_seed(1), 5, 9)
    recorded.record = fail
    for _ in range(2):
        assert_same(searched(RecordedBeams, recorded, *sources, options), search(model, *sources, options))
    assert capsys.readouterr().err.count("not recorded") == 1


@torch.inference_mode()
def test_at_its_deadline_a_recorded_search_ends_as_a_plain_one_does() -> None:
    model, options = a_model(1), SearchConfig(beam_size=3, min_length=6, max_length=20)
    recorded, sources = RecordedModel(model), batch(torch.Generator().manual_seed(1), 5, 9)
    whole = search(model, *sources, options)
    for looks in range(1, 7):
        expected = finished(Beams(model, *sources, options, ()), Looks(looks))
        assert [best[0].ids for best in expected] != [best[0].ids for best in whole]
        assert_same(finished(RecordedBeams(recorded, *sources, options, ()), Looks(looks)), expected)
        assert max(len(best[0].ids) for best in expected) == looks


def recording_engine() -> TorchEngine:
    model = a_model(1)
    return replace(TorchEngine.make([model]), recorded=(RecordedModel(model),))


def test_threads_search_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, options, caches, start = recording_engine(), SearchConfig(beam_size=3), list[bool](), RecordedModel.start

    def watched(self: RecordedModel, *sources: Any) -> object:
        cache = start(self, *sources)
        caches.append(isinstance(cache, RecordedCache))
        return cache

    monkeypatch.setattr(RecordedModel, "start", watched)

    def slow(self: RecordedBeams) -> list[list[Hypothesis]]:
        time.sleep(0.01)
        return Beams.hypotheses(self)

    monkeypatch.setattr(RecordedBeams, "hypotheses", slow)
    sources = [[[4 + n, 5 + n, 6], [7, 8 + n]] for n in range(12)]
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda rows: engine.search(rows, options), sources)]
    for rows, lists in zip(sources, found, strict=True):
        assert [best.ids for best, *_ in lists] == [best.ids for best, *_ in engine.search(rows, options)]
    assert all(caches)  # each has the buffers, also while another follows its hypotheses back


def test_a_search_waits_no_longer_than_its_time() -> None:
    engine, options = recording_engine(), SearchConfig(beam_size=3)
    with engine.turn:
        [[hypothesis]] = engine.search([[4, 5, 6]], options, stop=Stop(0.1))
    assert not hypothesis.finished
    [[hypothesis]] = engine.search([[4, 5, 6]], options, stop=Stop(60))
    assert hypothesis.finished
