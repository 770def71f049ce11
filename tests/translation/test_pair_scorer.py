"""A pair scorer gives each pair the probability of its label, whatever else is scored; other models are refused."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
import torch

from nmt.data.tokenizer import Tokenizer
from nmt.decode.stop import Stop, Stopped
from nmt.model.build import build_model
from nmt.translation.forced import MAX_SCORED
from nmt.translation.pair_scorer import PairScorer
from nmt.translation.translator import Translator
from nmt.vocabulary import BOS, EOS, UNK
from tests.tiny import PAIRS, SHORT, TINY, make_model

ODD = [("", ""), ("Hund", ""), ("", "dog"), ("\ufffd \u0007", "\ud800"), ("Hund " * 300, "dog"), ("a\tb", "\n")]


@pytest.fixture(scope="module")
def scorer(scorer_folder: Path) -> PairScorer:
    return PairScorer.load(scorer_folder, "cpu", "fp32")


def test_the_quality_is_the_probability_of_the_label_true_and_not_false(scorer: PairScorer) -> None:
    for (source, target), quality in zip(PAIRS, scorer.score(PAIRS), strict=True):
        sides = [scorer.tokenizer.encode_source([text])[0] for text in (source, target)]
        ids_1S = torch.tensor([[BOS, *sides[0], EOS, BOS, *sides[1], EOS]])
        first_1S = torch.zeros_like(ids_1S, dtype=torch.bool)
        first_1S[0, 0] = True
        with torch.inference_mode():
            states_1M = scorer.model.target_states(ids_1S, torch.ones_like(first_1S), ids_1S, first_1S)
            logits_V = scorer.model.output(states_1M)[0]
        assert quality == pytest.approx(float((logits_V[BOS] - logits_V[UNK]).sigmoid()), abs=1e-6)


def test_a_pair_has_the_same_quality_among_others_and_in_their_order(scorer: PairScorer) -> None:
    pairs = [*ODD, *((source, target) for source, _ in PAIRS for _, target in PAIRS)] * 12
    together = scorer.score(pairs)
    assert together == pytest.approx([quality for pair in pairs for quality in scorer.score([pair])], abs=1e-6)
    assert len(set(together)) > len(PAIRS)
    assert scorer.score([]) == []
    with pytest.raises(Stopped):
        scorer.score(PAIRS, Stop(0.0))


def test_text_is_tidied_as_training_text_is(scorer: PairScorer) -> None:
    untidy = [(source.replace(" ", " \t\u0007 "), f" {target}\u2028") for source, target in PAIRS]
    assert scorer.score(untidy) == scorer.score(PAIRS)


@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_pairs_that_are_too_long_have_no_quality(tokenizer: Tokenizer, positions: Literal["rotary", "learned"]) -> None:
    config = replace(TINY, family="encoder-only", positions=positions, max_positions=30)
    scorer = PairScorer(build_model(config, tokenizer.src_vocab_size, tokenizer.tgt_vocab_size), tokenizer)
    most = 30 if positions == "learned" else MAX_SCORED
    pairs = [("Hund", "a " * n) for n in (1, *range(most - 12, most))]
    lengths = [len(tokenizer.encode_source([a])[0]) + len(tokenizer.encode_target([b.strip()])[0]) for a, b in pairs]
    fits = [quality is not None for quality in scorer.score(pairs)]
    assert fits == [length + 4 <= most for length in lengths]
    assert {True, False} == set(fits)


def test_fewer_bits_hardly_change_the_quality(scorer_folder: Path, scorer: PairScorer) -> None:
    smaller = PairScorer.load(scorer_folder, "cpu", "bf16")
    assert smaller.precision == "bf16"
    assert smaller.score(PAIRS) == pytest.approx(scorer.score(PAIRS), abs=0.02)


def test_translations_are_rated_in_their_places(scorer: PairScorer, tokenizer: Tokenizer) -> None:
    translator = Translator(make_model(tokenizer), tokenizer, replace(SHORT, n_best=2))
    lines = ["Hund", "", "Wiese und Tisch"]
    found = translator.translate_n_best(lines)
    rated = scorer.rate(lines, found)
    assert [[replace(one, quality=None) for one in some] for some in rated] == found
    assert [one.quality for one in rated[1]] == [1.0]
    for i in (0, 2):
        qualities = [one.quality for one in rated[i]]
        assert qualities == pytest.approx(scorer.score([(lines[i], one.text) for one in found[i]]), abs=1e-6)


def test_a_model_that_is_no_pair_scorer_is_refused(model_folder: Path, scorer_folder: Path) -> None:
    with pytest.raises(ValueError, match=r"no pair scorer: it was trained with training\.objective translation, not"):
        PairScorer.load(model_folder, "cpu")
    with pytest.raises(ValueError, match="knows de as source and en as target, not en and de"):
        PairScorer.load(scorer_folder, "cpu", languages=("en", "de"))
    assert PairScorer.load(scorer_folder, "cpu", languages=("de-AT", "en-GB")), "as a translator takes them"
    with pytest.raises(ValueError, match=r"no translator: .*objective pair, not translation; it estimates"):
        Translator.load(scorer_folder, "cpu")
