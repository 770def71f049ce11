"""A corpus with several languages side by side becomes pairs of all directions."""

import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from nmt.config import CleaningConfig, Config, DataConfig, TokenizerConfig
from nmt.data.corpora import corpus_files, load_corpus
from nmt.data.sections import Section, sections_of
from nmt.data.store.preparing import prepare
from tests.data.corpus_files import kept_in, prepared_of, write_corpus

LANGUAGES = ("de", "en", "fr")


def write(folder: Path, **sizes: int) -> DataConfig:
    rows = {
        split: [[f"{split} {code} {n}" for code in LANGUAGES] for n in range(size)] for split, size in sizes.items()
    }
    return DataConfig(corpus=str(write_corpus(folder, *LANGUAGES, **rows)), many_to_many=LANGUAGES)


def test_each_direction_has_the_lines_of_its_two_languages(tmp_path: Path) -> None:
    config = write(tmp_path / "mine", train=5, val=2, test=1)
    corpus = load_corpus(config)
    directions = [section.direction for section in sections_of(config)]
    assert directions == [("de", "en"), ("de", "fr"), ("en", "de"), ("en", "fr"), ("fr", "de"), ("fr", "en")]
    wanted = [(f"train {a} {n}", f"train {b} {n}") for a, b in directions for n in range(5)]
    assert list(corpus.train) == wanted
    assert [row.corpus for row in corpus.train.rows()] == [number for number in range(6) for _ in range(5)]
    assert corpus.val == [(f"val {a} {n}", f"val {b} {n}") for a, b in directions for n in range(2)]
    assert corpus.val_sets == [Section("val", a, b, 2) for a, b in directions]
    assert corpus.tests == {f"test.{a}-{b}": [(f"test {a} 0", f"test {b} 0")] for a, b in directions}
    assert corpus.ledgers["train"].read == 30
    assert kept_in(corpus, "val") == {f"{a}-{b}": 2 for a, b in directions}
    assert len(corpus_files(config)["train"]) == 3


def test_a_direction_has_the_rows_that_have_both_languages(tmp_path: Path) -> None:
    rows = [{"de": f"Satz {n}", "en": f"sentence {n}", **({"fr": f"phrase {n}"} if n < 80 else {})} for n in range(100)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    corpus = load_corpus(DataConfig(corpus=str(tmp_path / "mine.jsonl"), many_to_many=LANGUAGES))
    assert kept_in(corpus) == {"de-en": 90, "de-fr": 72, "en-de": 90, "en-fr": 72, "fr-de": 72, "fr-en": 72}
    assert [section.rows for section in corpus.val_sets] == [5, 4, 5, 4, 4, 4]


def test_the_held_out_text_of_each_two_languages_may_have_its_own_name(tmp_path: Path) -> None:
    for pair in ("de-en", "de-fr", "en-fr"):
        for stem in ("Europarl", "test") if pair == "en-fr" else ("Europarl", "valid", "test"):
            for language in pair.split("-"):
                lines = "".join(f"{stem} {pair} {language} {n}\n" for n in range(40))
                (tmp_path / f"{stem}.{pair}.{language}").write_text(lines)
    corpus = load_corpus(DataConfig(corpus=str(tmp_path), many_to_many=LANGUAGES))
    assert [section.rows for section in corpus.val_sets] == [40, 40, 40, 2, 40, 2]
    assert kept_in(corpus, "val") == {"en-fr": 2, "fr-en": 2}
    assert kept_in(corpus, "val-de-fr") == {"de-fr": 40, "fr-de": 40}
    assert len(corpus.tests) == 6
    assert corpus.tests["test.de-fr.fr-de"][0] == ("test de-fr fr 0", "test de-fr de 0")


def test_what_is_held_out_of_one_direction_is_trained_in_none(tmp_path: Path) -> None:
    """Without val and test files, each two languages hold out sentences of their own."""
    prepared = prepared_of(write(tmp_path / "mine", train=100), tmp_path / "run")
    held_out = {text for pairs in (prepared.val, *prepared.tests.values()) for pair in pairs for text in pair}
    assert not held_out & {text for pair in prepared.train for text in pair}
    ledger = prepared.ledgers["train"]
    assert ledger.dropped["target occurs in val"] > 0
    assert ledger.kept == len(prepared.train) == sum(part.kept for part in ledger.parts.values()) > 0


def test_filters_know_the_languages_of_each_direction(tmp_path: Path) -> None:
    splits = ("train", "val", "test")
    pairs = {s: [(f"Der Hund läuft über die Wiese, {s}.", f"Собака бежит по лугу, {s}.")] for s in splits}
    for second in ("ru", "en"):
        write_corpus(tmp_path / second, "de", second, **pairs)
        data = DataConfig(corpus=str(tmp_path / second), many_to_many=("de", second))
        cleaning, tokenizer = CleaningConfig(script=0.5), TokenizerConfig(vocab_size=330)
        settings = Config(data=data, cleaning=cleaning, tokenizer=tokenizer)
        with pytest.raises(ValueError, match="2 another script") if second == "en" else nullcontext():
            assert len(prepare(None, settings, tmp_path / "runs" / second).train) == 2
