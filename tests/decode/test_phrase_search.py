"""Phrases that must occur do, those that must not don't, and neighbours without constraints are left as they are."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.config import DecodingPrecision, SearchConfig
from nmt.decode.beam import force_score, search
from nmt.decode.hypothesis import CompiledConstraints, Hypothesis
from nmt.decode.phrases import Automaton
from nmt.decode.surfaces import Surfaces
from nmt.model.build import with_precision
from nmt.model.contract import GenerativeModel
from nmt.vocabulary import EOS
from tests.decode.families import batch
from tests.decode.families import random_model as larger_model

pytestmark = pytest.mark.usefixtures("family")
PIECES = ["<unk>", "<s>", "</s>", "<pad>", "▁", "a", "b", "c", ".", "▁a", "▁b", "ab", "▁ab", "ca", "▁c", "bc", "▁abc"]
SURFACES = Surfaces(PIECES)
many = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 2**16)
words = st.text("abc", min_size=1, max_size=4)


def random_model(seed: int, vocab_size: int = len(PIECES)) -> GenerativeModel:
    return larger_model(seed, vocab_size, end=1.0)


def text(h: Hypothesis) -> str:
    return "".join(PIECES[i] for i in h.ids).replace("▁", " ")


def occurs(phrase: str, in_text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", in_text) is not None


@many
@given(
    seed=seeds,
    must=st.lists(st.lists(words, min_size=1, max_size=2), min_size=1, max_size=3),
    must_not=st.lists(words, max_size=2),
    beam_size=st.integers(1, 6),
    ratio=st.sampled_from([0.1, 2.0]),
    no_repeat=st.sampled_from([0, 2]),
)
def test_phrases_that_must_occur_do_and_those_that_must_not_do_not(
    seed: int, must: list[list[str]], must_not: list[str], beam_size: int, ratio: float, no_repeat: int
) -> None:
    try:
        automaton = Automaton(SURFACES, must, must_not)
    except ValueError:
        return  # they contradict each other
    options = SearchConfig(beam_size=beam_size, n_best=beam_size, max_length_ratio=ratio, no_repeat_ngram=no_repeat)
    model = random_model(seed)
    (found,) = search(model, *batch([[5, 6]]), options, [CompiledConstraints(phrases=automaton)])
    assert found
    assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
    assert len({tuple(h.ids) for h in found}) == len(found)
    for h in found:
        assert all(any(occurs(phrase, text(h)) for phrase in alternatives) for alternatives in must), text(h)
        assert not any(occurs(phrase, text(h)) for phrase in must_not), text(h)
        forced_T = force_score(model, *batch([[5, 6]]), *batch([h.ids]))[0].tolist()
        assert h.token_log_probs == pytest.approx(forced_T, abs=1e-4)


@many
@given(seed=seeds, must=st.sampled_from([[], [["b"]], [["a"]]]), beam_size=st.integers(1, 4))
def test_a_sentence_that_cannot_meet_its_constraints_has_none(seed: int, must: list[list[str]], beam_size: int) -> None:
    """Its neighbours have what they have without it."""
    decoder = random_model(seed)
    sources, options = [[5, 6, 7], [9], [10, 11]], SearchConfig(beam_size=beam_size, n_best=beam_size)
    prefix = tuple(PIECES.index(piece) for piece in ("▁b", "▁c", "▁b"))
    constraints = [CompiledConstraints()] * 3
    expected = search(decoder, *batch(sources), options)
    constraints[1] = CompiledConstraints(prefix, Automaton(SURFACES, must, ["c"]))
    first, cornered, last = search(decoder, *batch(sources), options, constraints)
    assert cornered == []
    for found, free in ((first, expected[0]), (last, expected[2])):
        assert [h.ids for h in found] == [h.ids for h in free]
        assert [h.score for h in found] == pytest.approx([h.score for h in free], abs=1e-4)


NESTED = [[" ".join(["abc"] * n)] for n in range(1, 6)]  # together no longer than the last, one by one three times so


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize(("must", "must_not"), [([], ["a b", "b c", "c"]), ([["b"]], ["a"]), (NESTED, ["b"])])
def test_constraints_leave_a_way_out(precision: DecodingPrecision, must: list[list[str]], must_not: list[str]) -> None:
    pieces = [*PIECES, *(f"<0x{byte:02X}>" for byte in range(0x80, 0xF5))]
    surfaces, unfinished = Surfaces(pieces), 0
    for seed in range(4):
        model = random_model(seed, len(pieces))
        with torch.no_grad():
            model.output.weight[EOS] *= 0.2
        decoder = with_precision(model, precision)[0]
        for beam_size, no_repeat in ((1, 0), (1, 1), (3, 2)):
            options = SearchConfig(beam_size=beam_size, max_length_ratio=1.0, no_repeat_ngram=no_repeat)
            constraints = [CompiledConstraints(phrases=Automaton(surfaces, must, must_not))]
            ((best,),) = search(decoder, *batch([[5, 6]]), options, constraints)
            unfinished += not best.finished
    assert unfinished > 4
