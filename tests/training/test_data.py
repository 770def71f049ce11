"""The facts of a translator are measured on its training sources."""

from pathlib import Path

import pytest

from nmt.data.batches import Sequences
from nmt.data.cleaning import Pair
from nmt.data.store.facts import final_mark
from nmt.data.tokenizer import Tokenizer
from nmt.training.data import TrainingData, source_facts
from nmt.translation.model_folder import Facts
from tests.tiny import PAIRS, make_tokenizer

ONE, TWO, THREE = ((" ".join(["Der Hund läuft."] * n), "The dog runs.") for n in (1, 2, 3))


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return make_tokenizer(Path(tmp_path_factory.mktemp("tokenizer")))


@pytest.mark.parametrize(
    ("train", "usual"),
    [
        ([ONE] * 200, 1),
        ([ONE] * 199 + [TWO], 1),
        ([ONE] * 198 + [TWO] * 2, 2),
        ([ONE] * 98 + [TWO, THREE] * 51, 3),
        ([ONE, TWO] * 300 + [THREE] * 5, 2),
        ([THREE], 3),
    ],
)
def test_as_many_sentences_are_usual_as_one_source_in_a_hundred_has(
    tokenizer: Tokenizer, train: list[Pair], usual: int
) -> None:
    data = TrainingData.encode(tokenizer, train, PAIRS)
    longest = max(len(ids) for ids in tokenizer.encode_source([source for source, _ in train]))
    assert data.facts == Facts(longest_source=longest, usual_sentences=usual, final_mark=".")


@pytest.mark.parametrize(
    ("sources", "mark"),
    [
        (["Da.", "Da!"] * 19 + ["Da", "Wo?"], "."),
        (["Da."] * 18 + ["Da"] * 2, ""),
        (["好。"] * 20 + ["好？"], "。"),
        (["Da.", ""], ""),
        ([], ""),
    ],
)
def test_the_final_mark_is_the_usual_one_if_nearly_all_sources_have_one(sources: list[str], mark: str) -> None:
    assert final_mark(sources) == mark


def test_a_translator_knows_the_words_of_its_sources_and_a_language_model_none(tokenizer: Tokenizer) -> None:
    words = TrainingData.encode(tokenizer, PAIRS, PAIRS).tokenizer.words
    assert words is not None
    assert {"Hund", "Männer", "Wo"} <= words.ranks.keys()
    assert TrainingData.encode(tokenizer, [("", target) for _, target in PAIRS], []).tokenizer.words is None


def test_sources_that_are_read_with_the_targets_tell_nothing(tokenizer: Tokenizer) -> None:
    assert source_facts(tokenizer, Sequences.of([[]] * 3)) == Facts()
