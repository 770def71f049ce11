"""A prefix that ends inside a word is written whole, in any pieces; those of a longer word may follow."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.config import DecodingPrecision, SearchConfig
from nmt.decode.beam import search
from nmt.decode.hypothesis import CompiledConstraints
from nmt.decode.phrases import Automaton
from nmt.decode.pytorch import Ensemble
from nmt.decode.surfaces import Surfaces, UnfinishedWord
from nmt.model.build import with_precision
from tests.decode.families import batch
from tests.decode.test_phrase_search import PIECES, SURFACES, occurs, random_model, text

pytestmark = pytest.mark.usefixtures("family")
few = settings(max_examples=8, deadline=None, derandomize=True)
seeds = st.integers(0, 2**16)
words = st.text("abc", min_size=1, max_size=4)
NO_BYTES = ["<unk>", "<s>", "</s>", "<pad>", "▁", "a", "ab", "bcd", "c", "▁a", "▁abc", "▁b"]


def constraints(words_before: list[str], last: str, phrases: Automaton | None = None) -> CompiledConstraints:
    """A prefix, spelled letter by letter."""
    before, prefix = ([PIECES.index(c) for c in "▁" + "▁".join(some)] for some in (words_before, [*words_before, last]))
    n_before = len(before) if words_before else 0
    return CompiledConstraints(tuple(prefix), phrases, UnfinishedWord(SURFACES, n_before, f" {last}".encode()))


def test_a_piece_that_leads_nowhere_does_not_follow() -> None:
    surfaces = Surfaces(NO_BYTES)  # "b" and "bd" have no pieces here
    word = UnfinishedWord(surfaces, 0, b" abd")
    assert word.needed[:4] == [float("inf")] * 4
    word = UnfinishedWord(surfaces, 0, b"abcd")
    assert word.pieces(0, 9) == ([NO_BYTES.index("a")], [])
    assert word.needed == [2, 1, 9e999, 9e999, 0]


@few
@given(
    seed=seeds,
    before=st.lists(words, max_size=2),
    last=words,
    beam_size=st.integers(1, 6),
    options=st.sampled_from([{}, {"max_length_ratio": 0.1, "max_length": 1}, {"no_repeat_ngram": 1}]),
)
def test_every_translation_begins_with_the_text_of_its_prefix(
    seed: int, before: list[str], last: str, beam_size: int, options: dict[str, float]
) -> None:
    model, settings = random_model(seed), SearchConfig(beam_size=beam_size, n_best=beam_size, **options)  # type: ignore[arg-type]
    all_constraints = [CompiledConstraints(), constraints(before, last), constraints([], "a")]
    sources = [[5, 6], [7], [8, 9, 5]]
    results = search(model, *batch(sources), settings, all_constraints)
    assert all(results)
    for start, found in zip(("", "".join(f" {word}" for word in [*before, last]), " a"), results, strict=True):
        assert all(text(h).startswith(start) for h in found)
    alone = [search(model, *batch([s]), settings, [c])[0] for s, c in zip(sources, all_constraints, strict=True)]
    assert [[h.ids for h in found] for found in alone] == [[h.ids for h in found] for found in results]


@few
@given(seed=seeds, n_models=st.integers(1, 2), precision=st.sampled_from(["fp32", "bf16"]))
def test_greedy_translations_continue_their_beginnings(seed: int, n_models: int, precision: DecodingPrecision) -> None:
    models = [with_precision(random_model(seed + n), precision)[0] for n in range(n_models)]
    model, options = models[0] if n_models == 1 else Ensemble(models), SearchConfig(beam_size=1)
    source = batch([[5, 6, 7]])
    ((whole,),) = search(model, *source, options)
    starts = [n for n, i in enumerate(whole.ids) if PIECES[i].startswith("▁")]
    for n_before in starts[1:3]:
        rest = "".join(PIECES[i] for i in whole.ids[n_before:]).replace("▁", " ").encode()
        for end in range(1, min(len(rest), 4) + 1):
            word = UnfinishedWord(SURFACES, n_before, rest[:end])
            compiled = CompiledConstraints(tuple(whole.ids), word=word)
            ((found,),) = search(model, *source, options, [compiled])
            assert found.ids[: len(whole.ids)] == whole.ids


@few
@given(seed=seeds, last=words, must=words, must_not=words, beam_size=st.integers(1, 4))
def test_the_word_and_phrases_are_met_together(seed: int, last: str, must: str, must_not: str, beam_size: int) -> None:
    if must.startswith(must_not) or must_not in (must, last):
        return
    compiled = constraints(["b"], last, Automaton(SURFACES, [[must]], [must_not]))
    if must_not == "b":
        return
    options = SearchConfig(beam_size=beam_size + 20, max_length_ratio=0.1)
    (found,) = search(random_model(seed), *batch([[5, 6]]), options, [compiled])
    assert found
    assert text(found[0]).startswith(f" b {last}")
    assert occurs(must, text(found[0]))
    assert not occurs(must_not, text(found[0]))
