"""What data.corpus may be: a corpus is built in or found by its name, and its name and place are known beforehand."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from nmt.config import DataConfig
from nmt.config.data import Text
from nmt.data.corpora import corpus_name, corpus_path
from tests.data.corpus_files import load


def test_the_phrasebook_is_german_and_english_in_both_directions(small_phrasebook: SimpleNamespace) -> None:
    corpus = load("phrasebook")
    assert (corpus.name, corpus.train, corpus.val) == ("phrasebook", small_phrasebook.train, small_phrasebook.val)
    assert corpus.tests == {"test": small_phrasebook.test}
    assert load("phrasebook", "en", "de").train == [(english, german) for german, english in small_phrasebook.train]
    for source, target, text, train in (
        ("de", "en", "source", ["eins", "zwei"]),
        ("en", "de", "target", ["eins", "zwei"]),
        ("de", "en", "target", ["one", "two"]),
        ("en", "de", "both", ["one", "eins", "two", "zwei"]),
    ):
        assert load("phrasebook", source, target, text).train == [("", sentence) for sentence in train]  # type: ignore[arg-type]


@pytest.mark.parametrize("corpus", ["phrasebook", "multi30k", "auto"])
def test_german_and_english_corpora_say_so_when_asked_for_others(corpus: str) -> None:
    with pytest.raises(ValueError, match=r"German .* and English .* only, not cs and fr"):
        load(corpus, "cs", "fr")


TEXTS = ["corpora/news.en", "corpora/news.en.gz", "news.en.zst", "news.txt", "news.tsv.gz", "news", "news.gz"]


@pytest.mark.parametrize(
    ("corpus", "name", "text"),
    [
        ("auto", None, "auto"),
        ("phrasebook", "phrasebook", "auto"),
        ("multi30k", "multi30k", "auto"),
        ("hub:wmt/wmt14:de-en", "wmt14", "auto"),
        ("hub:someone/talks:ted-2016", "talks-ted-2016", "auto"),
        ("corpora/mine/", "mine", "auto"),
        ("corpora/pairs.tsv.gz", "pairs", "auto"),
        ("corpora/news.2014", "news.2014", "auto"),
        *((corpus, "news", "target") for corpus in TEXTS),
    ],
)
def test_a_name_is_known_without_loading(corpus: str, name: str | None, text: Text) -> None:
    assert corpus_name(DataConfig(corpus=corpus, text=text)) == name


def test_the_place_of_a_corpus_in_files_needs_no_loading(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(here))
    (here / "talks").mkdir()
    for corpus in ("auto", "phrasebook", "multi30k", "hub:wmt/wmt14:de-en"):
        assert corpus_path(DataConfig(corpus=corpus)) is None
    assert corpus_path(DataConfig(corpus="hub:talks")) == Path("talks")
    assert corpus_path(DataConfig(corpus="~/mine")) == here / "mine"
