"""Greedy and beam search agree with their plain definitions, whatever the batch, and stopping early changes nothing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.config import SearchConfig
from nmt.decode.beam import force_score, search
from nmt.decode.hypothesis import FORBIDDEN_IDS, CompiledConstraints, Hypothesis
from nmt.decode.pytorch import Ensemble
from nmt.model.contract import GenerativeModel
from nmt.vocabulary import BOS, EOS
from tests.decode.families import TINY, batch, of_family, random_model

pytestmark = pytest.mark.usefixtures("family")
seeds = st.integers(0, 2**16)
many = settings(max_examples=15, deadline=None, derandomize=True)


def random_sources(seed: int, vocab_size: int = 40, n: int = 6, longest: int = 9) -> list[list[int]]:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (n,), generator=generator).tolist()
    return [torch.randint(4, vocab_size, (length,), generator=generator).tolist() for length in lengths]


def find(model: GenerativeModel, sources: list[list[int]], options: SearchConfig) -> list[list[Hypothesis]]:
    return search(model, *batch(sources), options)


def divisor(length: int, options: SearchConfig) -> float:
    return float((length if options.length_norm == "average" else (5 + length) / 6) ** options.length_penalty)


def limit_of(source: list[int], options: SearchConfig) -> int:
    return max(min(int(options.max_length_ratio * len(source)) + 10, options.max_length or 10**9), options.min_length)


def ruled(
    log_probs: list[float], ids: list[int], limit: int, options: SearchConfig, prefix: Sequence[int]
) -> dict[int, float]:
    """The pieces that may follow `ids`, with the log-probability that they are chosen by: every rule's definition."""
    step, n = len(ids), options.no_repeat_ngram
    if step == limit:
        return {EOS: log_probs[EOS]}
    if step < len(prefix):
        return {prefix[step]: log_probs[prefix[step]]}
    seen = {tuple(ids[i : i + n]) for i in range(step - n + 1)} if n else set()
    return {
        token: value * options.repetition_penalty if token in ids else value
        for token, value in enumerate(log_probs)
        if not (
            token in FORBIDDEN_IDS
            or (token == EOS and step < options.min_length)
            or (n and tuple([*ids, token][-n:]) in seen)
        )
    }


def plain_beam_search(
    model: GenerativeModel, source: list[int], options: SearchConfig, prefix: Sequence[int] = ()
) -> list[tuple[float, list[int]]]:
    """The definition: one sentence, whole prefixes instead of a cache, and never an early end."""
    limit = limit_of(source, options) + len(prefix)
    live: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[tuple[float, list[int]]] = []
    while live:
        longer = []
        logits_NV = model(*batch([source] * len(live)), torch.tensor([[BOS, *ids] for _, ids in live]))[:, -1]
        for (total, ids), log_probs in zip(live, logits_NV.log_softmax(-1).tolist(), strict=True):
            choices = ruled(log_probs, ids, limit, options, prefix)
            longer += [(total + value, [*ids, token]) for token, value in choices.items()]
        best = sorted(longer, reverse=True)[: options.beam_size - len(finished)]
        finished += [(total / divisor(len(ids), options), ids[:-1]) for total, ids in best if ids[-1] == EOS]
        live = [(total, ids) for total, ids in best if ids[-1] != EOS]
    return sorted(finished, reverse=True)


@pytest.fixture(autouse=True)
def no_gradients() -> object:
    with torch.no_grad():
        yield


@many
@given(
    seed=seeds,
    vocab_size=st.sampled_from([12, 64, 70, 150, 400]),
    beam_size=st.integers(1, 6),
    n_best=st.integers(1, 6),
    penalty=st.sampled_from([0.0, 0.6, 1.0, 1.7]),
)
def test_batched_search_is_the_plain_one(
    seed: int, vocab_size: int, beam_size: int, n_best: int, penalty: float
) -> None:
    """On the cache, with early stopping: as many hypotheses as are asked for, the best first; a beam of 1 is greedy."""
    model, sources = random_model(seed, vocab_size), random_sources(seed, vocab_size, n=3, longest=4)
    options = SearchConfig(beam_size=beam_size, n_best=min(n_best, beam_size), length_penalty=penalty)
    for found, source in zip(find(model, sources, options), sources, strict=True):
        expected = plain_beam_search(model, source, options)[: options.n_best]
        assert [h.ids for h in found] == [ids for _, ids in expected]
        assert [h.score for h in found] == pytest.approx([score for score, _ in expected], abs=1e-4)


RULES = st.fixed_dictionaries(
    {},
    optional={
        "length_norm": st.just("gnmt"),
        "min_length": st.integers(1, 6),
        "max_length": st.integers(6, 9),
        "max_length_ratio": st.sampled_from([0.1, 2.5]),
        "no_repeat_ngram": st.integers(1, 3),
        "repetition_penalty": st.sampled_from([1.2, 2.0]),
        "length_penalty": st.sampled_from([0.0, 0.6, 1.7]),
    },
)


@many
@given(
    seed=seeds,
    rules=RULES,
    beam_size=st.sampled_from([1, 3, 4, 6]),
    prefixes=st.lists(st.lists(st.integers(4, 39), max_size=4), min_size=3, max_size=3),
)
def test_every_rule_is_its_plain_definition_also_after_a_prefix(
    seed: int, rules: dict[str, Any], beam_size: int, prefixes: list[list[int]]
) -> None:
    model, sources = random_model(seed), random_sources(seed, n=3, longest=4)
    options = SearchConfig(beam_size=beam_size, n_best=beam_size, **rules)
    constraints = [CompiledConstraints(prefix=tuple(prefix)) for prefix in prefixes]
    results = search(model, *batch(sources), options, constraints)
    for found, source, prefix in zip(results, sources, prefixes, strict=True):
        expected = plain_beam_search(model, source, options, prefix)[: options.n_best]
        assert [h.score for h in found] == pytest.approx([score for score, _ in expected], abs=1e-4)
        assert [h.ids for h in found] == [ids for _, ids in expected]
        longest = limit_of(source, options) + len(prefix)
        assert [h.finished for h in found] == [len(h.ids) < longest for h in found]


@many
@given(seed=seeds, rules=RULES)
def test_rules_change_the_choice_but_not_what_the_model_gives(seed: int, rules: dict[str, Any]) -> None:
    model, sources = random_model(seed), random_sources(seed, n=3)
    options = SearchConfig(beam_size=4, n_best=2, **rules)
    for found, source in zip(find(model, sources, options), sources, strict=True):
        tgt_BT, tgt_mask_BT = batch([h.ids for h in found])
        src_BS, src_mask_BS = (x.expand(len(found), -1) for x in batch([source]))
        forced_BT = force_score(model, src_BS, src_mask_BS, tgt_BT, tgt_mask_BT)
        for h, forced_T in zip(found, forced_BT.tolist(), strict=True):
            assert h.token_log_probs == pytest.approx(forced_T[: len(h.ids) + 1], abs=1e-4)
            assert h.log_prob == pytest.approx(sum(forced_T), abs=1e-4)


def test_learned_positions_bound_the_output() -> None:
    model = random_model(1, config=of_family(replace(TINY, positions="learned", max_positions=8)))
    rooms = [model.longest_target(n) or 0 for n in (3, 1)]
    found = find(model, [[4, 5, 6], [7]], SearchConfig(max_length_ratio=5.0))
    assert all(len(h.ids) <= room < 8 for (h,), room in zip(found, rooms, strict=True))
    for seed in range(9):  # the room of one sentence doesn't shorten another one
        found = find(random_model(seed, config=model.config), [[4, 5, 6], [7]], SearchConfig(min_length=20))
        assert [len(h.ids) for (h,) in found] == rooms


def test_a_vocabulary_smaller_than_the_beam_yields_what_there_is() -> None:
    (found,) = find(random_model(1, vocab_size=5), [[4]], SearchConfig(beam_size=5, n_best=5))
    assert len({tuple(h.ids) for h in found}) == len(found) > 0


def test_a_sentence_that_the_rules_leave_no_way_to_end_has_no_hypotheses() -> None:
    options = SearchConfig(beam_size=3, n_best=3, no_repeat_ngram=1, min_length=9)
    assert find(random_model(1, vocab_size=12), [[4], [5, 6]], options) == [[], []]
    long_enough = find(random_model(1, vocab_size=12), [[4], [5, 6]], replace(options, min_length=8))
    assert [[sorted(h.ids) for h in found] for found in long_enough] == [[[*range(4, 12)]] * 3] * 2


def test_broken_weights_are_named_instead_of_searched_forever() -> None:
    model = random_model(1)
    model.output.weight.fill_(torch.nan)
    with pytest.raises(ValueError, match="not numbers"):
        find(model, [[4, 5]], SearchConfig())


@many
@given(seed=seeds, beam_size=st.integers(1, 4))
def test_an_ensemble_means_its_models_probabilities(seed: int, beam_size: int) -> None:
    deep = replace(TINY, decoder_layers=2, n_heads=4, norm_position="pre")  # an encoder–decoder with any family
    models = [random_model(seed), random_model(seed + 1, config=deep)]
    sources = random_sources(seed, n=3)
    ensemble = Ensemble(models)
    for found, source in zip(
        search(ensemble, *batch(sources), SearchConfig(beam_size=beam_size, n_best=beam_size)), sources, strict=True
    ):
        for h in found:
            one, two = (force_score(model, *batch([source]), *batch([h.ids]))[0].exp() for model in models)
            assert h.token_log_probs == pytest.approx(((one + two) / 2).log().tolist(), abs=1e-4)
            forced_T = force_score(ensemble, *batch([source]), *batch([h.ids]))[0]
            assert forced_T.tolist() == pytest.approx(h.token_log_probs, abs=1e-4)


def test_models_of_different_vocabularies_are_no_ensemble() -> None:
    with pytest.raises(ValueError, match=r"\[40, 41\] pieces"):
        Ensemble([random_model(1, vocab_size=n) for n in (40, 41)])
