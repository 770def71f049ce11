"""A language model joins the search by its weight: scores are sums of forced scores, and the plain search agrees."""

from dataclasses import replace
from math import inf

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.config import SearchConfig
from nmt.decode.beam import force_score, search
from nmt.decode.ensemble import Ensemble
from nmt.decode.hypothesis import FORBIDDEN_IDS, CompiledConstraints, Hypothesis
from nmt.model.contract import Decoder, GenerativeModel, without_sources
from nmt.model.precision import with_precision
from nmt.vocabulary import BOS, EOS
from tests.decode.families import TINY, batch, random_model

pytestmark = pytest.mark.usefixtures("family")
VOCAB = 40
SOURCES = [[5, 6, 7, 8, 9], [4], [20, 21, 22], [9, 9, 9, 9], [11, 12]]
seeds = st.integers(0, 2**16)
weights = st.sampled_from([0.2, 1.0, 3.0])
many = settings(max_examples=15, deadline=None, derandomize=True)


def language_model(seed: int, **changes: object) -> GenerativeModel:
    return random_model(seed + 1, VOCAB, replace(TINY, family="decoder-only", **changes))  # type: ignore[arg-type]


def find(
    model: Decoder, lm: Decoder | None, options: SearchConfig, sources: list[list[int]] = SOURCES, prefix: int = 0
) -> list[list[Hypothesis]]:
    constraints = [CompiledConstraints((17,) * prefix)] * len(sources)
    return search(model, *batch(sources), options, constraints, lm)


def forced(model: GenerativeModel, source: list[int] | None, ids: list[int]) -> float:
    sources = without_sources(1, torch.device("cpu")) if source is None else batch([source])
    with torch.inference_mode():
        return float(force_score(model, *sources, *batch([ids])).sum())


@many
@given(seed=seeds, beam_size=st.integers(1, 4))
def test_without_weight_or_without_a_language_model_nothing_changes(seed: int, beam_size: int) -> None:
    model, options = random_model(seed), SearchConfig(beam_size=beam_size, n_best=beam_size)
    plain = find(model, None, options)
    assert find(model, language_model(seed), options) == plain
    assert find(model, None, replace(options, lm_weight=0.3)) == plain
    assert find(model, language_model(seed), replace(options, lm_weight=3.0)) != plain


@many
@given(seed=seeds, weight=weights, penalty=st.sampled_from([0.0, 1.0]), prefix=st.integers(0, 2))
def test_a_score_is_the_sum_of_both_forced_scores(seed: int, weight: float, penalty: float, prefix: int) -> None:
    model, lm = random_model(seed), language_model(seed)
    options = SearchConfig(beam_size=4, n_best=3, lm_weight=weight, length_penalty=penalty)
    for found, source in zip(find(model, lm, options, prefix=prefix), SOURCES, strict=True):
        assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
        for h in found:
            own, other = forced(model, source, h.ids), forced(lm, None, h.ids)
            assert h.ids[:prefix] == [17] * prefix
            assert h.log_prob == pytest.approx(own, abs=1e-4)
            assert h.score == pytest.approx((own + weight * other) / (len(h.ids) + 1) ** penalty, abs=1e-4)


def greedy(model: GenerativeModel, lm: GenerativeModel, source: list[int], weight: float, limit: int) -> list[int]:
    """Piece by piece, each time from whole prefixes."""
    ids: list[int] = []
    while len(ids) < limit:
        prefix = torch.tensor([[BOS, *ids]])
        with torch.inference_mode():
            own_V = model(*batch([source]), prefix)[0, -1].log_softmax(-1)
            total_V = own_V + weight * lm(*without_sources(1, prefix.device), prefix)[0, -1].log_softmax(-1)
            total_V[[*FORBIDDEN_IDS]] = -inf
        if int(total_V.argmax()) == EOS:
            break
        ids.append(int(total_V.argmax()))
    return ids


@many
@given(seed=seeds, weight=weights)
def test_greedy_search_takes_the_best_sum_at_each_step(seed: int, weight: float) -> None:
    model, lm = random_model(seed), language_model(seed)
    for (found,), source in zip(find(model, lm, SearchConfig(beam_size=1, lm_weight=weight)), SOURCES, strict=True):
        assert found.ids == greedy(model, lm, source, weight, 2 * len(source) + 10)


@many
@given(seed=seeds, order=st.permutations(range(5)), size=st.integers(1, 5))
def test_a_translation_does_not_depend_on_its_batch(seed: int, order: list[int], size: int) -> None:
    model, lm, options = random_model(seed), language_model(seed), SearchConfig(beam_size=3, lm_weight=0.7)
    together = find(model, lm, options)
    for part in (order[i : i + size] for i in range(0, 5, size)):
        apart = find(model, lm, options, [SOURCES[i] for i in part])
        assert [h.ids for (h,) in apart] == [together[i][0].ids for i in part]


def test_an_ensemble_is_scored_as_one_model() -> None:
    models, lm = [random_model(1), random_model(2)], language_model(5)
    options = SearchConfig(beam_size=3, lm_weight=0.5)
    for (h,), source in zip(find(Ensemble(models), lm, options), SOURCES, strict=True):
        with torch.inference_mode():
            each = torch.stack([force_score(model, *batch([source]), *batch([h.ids]))[0] for model in models])
        own = float((each.logsumexp(0) - torch.tensor(2.0).log()).sum())
        assert h.score == pytest.approx((own + 0.5 * forced(lm, None, h.ids)) / (len(h.ids) + 1), abs=1e-4)


def test_bf16_gives_nearly_the_same_scores() -> None:
    options = SearchConfig(beam_size=3, lm_weight=0.5)
    model, lm = (with_precision(model, "bf16")[0] for model in (random_model(1), language_model(1)))
    for (h,), source in zip(find(model, lm, options), SOURCES, strict=True):
        total = forced(random_model(1), source, h.ids) + 0.5 * forced(language_model(1), None, h.ids)
        assert h.score == pytest.approx(total / (len(h.ids) + 1), rel=0.05)


def test_a_translation_has_room_in_the_language_model() -> None:
    lm = language_model(1, positions="learned", max_positions=9)
    for (h,) in find(random_model(1), lm, SearchConfig(beam_size=2, lm_weight=0.5, min_length=8)):
        assert len(h.ids) == 8
