"""Several corpora in one recipe: each pair knows its corpus, and how often it is seen."""

from pathlib import Path

import pytest
import torch

from nmt.cli import load_config
from nmt.config import Config, DataConfig, TokenizerConfig
from nmt.config.data import CorpusConfig
from nmt.data.corpora import corpus_files, load_corpus
from nmt.data.portions import portions_of
from nmt.data.prepared import Prepared, prepare
from nmt.data.texts import Texts
from nmt.training.data import TrainingData
from nmt.training.delivery import card
from nmt.translation.model_folder import ModelInfo


def write(folder: Path, sizes: dict[str, int], word: str) -> Path:
    folder.mkdir()
    for split, size in sizes.items():
        for language in ("de", "en"):
            lines = [f"{word} {split} {language} {n}" for n in range(size)]
            (folder / f"{split}.{language}").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def data(tmp_path: Path) -> DataConfig:
    main = write(tmp_path / "main", {"train": 40, "val": 3, "test": 2}, "haupt")
    back, news = (write(tmp_path / name, {"train": size}, name) for name, size in (("back", 30), ("news", 20)))
    more = (CorpusConfig(corpus=str(back), weight=0.5, tag="bt"), CorpusConfig(corpus=str(news), name="NEWS", weight=2))
    return DataConfig(corpus=str(main), more=more, drop_duplicates=True)


def prepared_of(data: DataConfig, folder: Path) -> Prepared:
    return prepare(None, Config(data=data, tokenizer=TokenizerConfig(vocab_size=330)), folder)


def test_all_training_text_of_more_is_read_and_val_and_tests_are_those_of_the_corpus(data: DataConfig) -> None:
    corpus = load_corpus(data)
    assert isinstance(corpus.train, Texts)
    numbers = [row.corpus for row in corpus.train.rows()]
    assert [numbers.count(number) for number in range(3)] == [40, 30, 20]
    assert len(corpus.val) == 3
    assert corpus.ledgers["train"].kept == 90
    assert {name: part.kept for name, part in corpus.ledgers["train"].parts.items()} == {
        "main": 40,
        "back": 30,
        "NEWS": 20,
    }
    assert len(corpus_files(data)["train"]) == 6


def test_a_pair_keeps_its_corpus_its_tag_and_its_weight(data: DataConfig, tmp_path: Path) -> None:
    prepared = prepared_of(data, tmp_path / "run")
    read = TrainingData.load(prepared, portions_of(data)).as_read(Config(data=data))
    tokenizer = prepared.tokenizer
    assert read.corpus_N is not None
    assert read.mixture
    assert read.mixture.amounts == [40, 15, 40]
    tag = tokenizer.source.piece_to_id("<bt>")
    texts = [text for text, _ in prepared.train]
    for text, ids, number in zip(texts, read.train.source.rows(torch.arange(90)), read.corpus_N.tolist(), strict=True):
        assert text.startswith(("haupt", "back", "news")[number])
        assert (ids[0] == tag) == (number == 1)
    assert not any(tag in ids for ids in tokenizer.encode_source(["<bt> haupt"]))
    seen = [n for epoch in (0, 1) for n in read.mixture.pairs(1, epoch).tolist()]
    assert {seen.count(n) for n in range(90) if read.corpus_N[n] == 1} == {1}  # in two epochs
    assert {seen.count(n) for n in range(90) if read.corpus_N[n] == 2} == {4}


def test_a_pair_that_an_earlier_corpus_has_is_dropped_and_counted(data: DataConfig, tmp_path: Path) -> None:
    for language in ("de", "en"):
        with (tmp_path / "news" / f"train.{language}").open("a") as file:
            file.write(f"haupt train {language} 7\nhaupt test {language} 1\n")
    ledger = prepared_of(data, tmp_path / "run").ledgers["train"]
    assert ledger.parts["NEWS"].dropped == {"repeated": 1, "source occurs in val or test": 1}
    assert ledger.parts["main"].kept == 40
    assert ledger.kept == 90


def test_one_corpus_alone_is_not_mixed(data: DataConfig, tmp_path: Path) -> None:
    alone = DataConfig(corpus=data.corpus)
    assert TrainingData.load(prepared_of(alone, tmp_path / "run"), portions_of(alone)).as_read(Config()).mixture is None


def test_a_tokenizer_without_the_tag_is_refused(data: DataConfig, tmp_path: Path) -> None:
    prepared_of(DataConfig(corpus=data.corpus), tmp_path / "plain")
    taken = TokenizerConfig(folder=str(tmp_path / "plain" / "tokenizer"))
    with pytest.raises(ValueError, match="the tokenizer has no piece <bt>"):
        prepare(None, Config(data=data, tokenizer=taken), tmp_path / "run")


def test_the_model_card_names_corpora_and_licences(data: DataConfig) -> None:
    config = Config(data=data)
    text = card(ModelInfo("de", "en", "main", config.model, config.search), data, 1, 90)
    assert "Besides main, it was trained on back (licence not noted), NEWS (licence not noted)." in text


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("{corpus: x, weight: 0}", "data.more.weight is 0.0: it must be above 0"),
        ("{corpus: auto}", "has no corpus: name one"),
        ("{corpus: x, tag: 2de}", "has the tag '2de': it must be a word of small letters"),
        ("{corpus: x, tag: s}", "has the tag 's'"),
        ("{corpus: my/x}, {corpus: x}", "the corpora are called main, x, x: give each a name"),
    ],
)
def test_entries_that_are_wrong_are_refused(tmp_path: Path, entry: str, problem: str) -> None:
    (tmp_path / "recipe.yaml").write_text(f"data: {{corpus: a/main, more: [{entry}]}}\n")
    with pytest.raises(ValueError, match=problem):
        load_config(tmp_path / "recipe.yaml")
