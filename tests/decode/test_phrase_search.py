"""Phrases that must occur do, those that must not don't, and neighbours without such demands are left as they are."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from nmt.config import ModelConfig, SearchConfig
from nmt.decode.beam import force_score, search
from nmt.decode.hypothesis import Demands, Hypothesis
from nmt.decode.phrases import Automaton, Surfaces
from nmt.model.encoder_decoder import Transformer
from nmt.model.incremental import IncrementalDecoder
from nmt.vocabulary import EOS, PAD

TINY = ModelConfig(d_model=16, n_heads=2, encoder_layers=1, decoder_layers=1, d_ff=32, tied_embeddings="none")
PIECES = ["<unk>", "<s>", "</s>", "<pad>", "▁", "a", "b", "c", ".", "▁a", "▁b", "ab", "▁ab", "ca", "▁c", "bc", "▁abc"]
SURFACES = Surfaces(PIECES)
many = settings(max_examples=60, deadline=None, derandomize=True)
seeds = st.integers(0, 2**16)
words = st.text("abc", min_size=1, max_size=4)


def random_model(seed: int) -> Transformer:
    torch.manual_seed(seed)
    model = Transformer(TINY, len(PIECES), len(PIECES)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1.5)
    return model


def batch(sources: list[list[int]]) -> tuple[Tensor, Tensor]:
    longest = max(map(len, sources)) + 1
    src_BS = torch.tensor([[*source, EOS, *[PAD] * (longest - 1 - len(source))] for source in sources])
    return src_BS, src_BS != PAD


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
    (found,) = search(IncrementalDecoder(model), *batch([[5, 6]]), options, [Demands(phrases=automaton)])
    assert found
    assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
    assert len({tuple(h.ids) for h in found}) == len(found)
    for h in found:
        assert all(any(occurs(phrase, text(h)) for phrase in alternatives) for alternatives in must), text(h)
        assert not any(occurs(phrase, text(h)) for phrase in must_not), text(h)
        forced_T = force_score(model, *batch([[5, 6]]), *batch([h.ids]))[0].tolist()
        assert h.token_log_probs == pytest.approx(forced_T, abs=1e-4)


@many
@given(seed=seeds, must=words, beam_size=st.integers(1, 4))
def test_a_demand_concerns_its_own_sentence_only(seed: int, must: str, beam_size: int) -> None:
    decoder = IncrementalDecoder(random_model(seed))
    sources, options = [[5, 6, 7], [9], [10, 11]], SearchConfig(beam_size=beam_size)
    demands = [Demands(), Demands(phrases=Automaton(SURFACES, [[must]], [])), Demands()]
    together = search(decoder, *batch(sources), options, demands)
    for source, demand, (best, *_) in zip(sources, demands, together, strict=True):
        ((alone, *_),) = search(decoder, *batch([source]), options, [demand])
        assert alone.ids == best.ids


@many
@given(seed=seeds, must=words, start=st.sampled_from(["▁a", "▁b", "▁c"]))
def test_a_prefix_and_phrases_are_met_together(seed: int, must: str, start: str) -> None:
    demands = [Demands((PIECES.index(start),), Automaton(SURFACES, [[must]], []))]
    ((best,),) = search(IncrementalDecoder(random_model(seed)), *batch([[5, 6]]), SearchConfig(), demands)
    assert PIECES[best.ids[0]] == start
    assert occurs(must, text(best))


def test_what_is_met_anyway_changes_nothing() -> None:
    decoder, met = IncrementalDecoder(random_model(5)), 0
    for first in range(4, len(PIECES)):
        ((free,),) = search(decoder, *batch([[first]]), SearchConfig(beam_size=4))
        for word in re.findall("[abc]+", text(free)):
            demands = [Demands(phrases=Automaton(SURFACES, [[word]], []))]
            ((best,),) = search(decoder, *batch([[first]]), SearchConfig(beam_size=4), demands)
            met += 1
            assert best.score >= free.score - 1e-4 or occurs(word, text(best))
    assert met > 5


def test_groups_and_phrases_are_not_combined() -> None:
    demands = [Demands(phrases=Automaton(SURFACES, [["a"]], []))]
    with pytest.raises(ValueError, match="beam_groups is 2"):
        search(IncrementalDecoder(random_model(1)), *batch([[5]]), SearchConfig(beam_size=4, beam_groups=2), demands)
