"""What data.corpus may be: a corpus is built in or found by its name, and its name and place are known beforehand."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from nmt.config import DataConfig
from nmt.config.data import Text
from nmt.data.corpora import corpus_name, corpus_path
from tests.data.corpus_files import load


def test_the_phrasebook_is_german_and_english_in_both_directions(small_phrasebook: SimpleNamespace) -> None:
    forth, back = load("phrasebook"), load("phrasebook", "en", "de")
    assert forth.name == "phrasebook"
    assert (forth.train, forth.val) == (small_phrasebook.train, small_phrasebook.val)
    assert forth.tests == {"test": small_phrasebook.test}
    assert back.train == [(english, german) for german, english in forth.train]


@pytest.mark.usefixtures("small_phrasebook")
def test_the_phrasebook_is_text_in_one_language_or_in_both() -> None:
    def train(source: str, target: str, text: Text) -> list[str]:
        return [text for _, text in load("phrasebook", source, target, text).train]

    assert train("de", "en", "source") == train("de", "de", "target") == ["eins", "zwei"]
    assert train("de", "en", "target") == ["one", "two"]
    assert train("en", "de", "both") == ["one", "eins", "two", "zwei"]


@pytest.mark.parametrize("corpus", ["phrasebook", "multi30k", "auto"])
def test_german_and_english_corpora_say_so_when_asked_for_others(corpus: str) -> None:
    with pytest.raises(ValueError, match=r"German .* and English .* only, not cs and fr"):
        load(corpus, "cs", "fr")


@pytest.mark.parametrize(
    ("corpus", "name"),
    [
        ("auto", None),
        ("phrasebook", "phrasebook"),
        ("multi30k", "multi30k"),
        ("hub:wmt/wmt14:de-en", "wmt14"),
        ("hub:someone/talks:ted-2016", "talks-ted-2016"),
        ("corpora/mine/", "mine"),
        ("corpora/pairs.tsv.gz", "pairs"),
        ("corpora/news.2014", "news.2014"),
    ],
)
def test_a_name_is_known_without_loading(corpus: str, name: str | None) -> None:
    assert corpus_name(DataConfig(corpus=corpus)) == name


@pytest.mark.parametrize(
    "corpus", ["corpora/news.en", "corpora/news.en.gz", "news.en.zst", "news.txt", "news.tsv.gz", "news", "news.gz"]
)
def test_the_name_of_text_in_one_language_has_no_ending(corpus: str) -> None:
    assert corpus_name(DataConfig(corpus=corpus, text="target")) == "news"


def test_the_place_of_a_corpus_in_files_needs_no_loading(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(here))
    (here / "talks").mkdir()
    for corpus in ("auto", "phrasebook", "multi30k", "hub:wmt/wmt14:de-en"):
        assert corpus_path(DataConfig(corpus=corpus)) is None
    assert corpus_path(DataConfig(corpus="hub:talks")) == Path("talks")
    assert corpus_path(DataConfig(corpus="~/mine")) == here / "mine"
