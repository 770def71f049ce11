"""A corpus is assembled from its splits: missing ones are held out of the training text, the same ones every time."""

from pathlib import Path

import pytest

from tests.data.corpus_files import load, pairs_of, write_corpus


def test_val_and_test_are_held_out_without_overlap_and_it_is_said(tmp_path: Path) -> None:
    pairs = [*pairs_of("wort", 200), *((german, f"{english}, again") for german, english in pairs_of("wort", 50))]
    write_corpus(tmp_path / "mine", train=pairs)
    corpus = load(tmp_path / "mine")
    val, test = corpus.val, corpus.tests["test"]
    assert len(val) == len(test) == 10  # 5% of 200 different source sentences
    sources = [source for source, _ in val + test]
    assert len(set(sources)) == 20
    assert sorted([*corpus.train, *val, *test]) == sorted(pairs)
    assert corpus.ledgers["train"].dropped == {"held out for val": 10, "held out for test": 10}
    assert corpus.ledgers["train"].kept == len(corpus.train)
    assert corpus.notes == [
        "mine has no val text: 10 of its training pairs are held out for it.",
        "mine has no test text: 10 of its training pairs are held out for it.",
    ]


def test_only_the_missing_split_is_held_out(tmp_path: Path) -> None:
    write_corpus(tmp_path, train=pairs_of("train"), test=pairs_of("test"))
    corpus = load(tmp_path)
    assert len(corpus.val) == 1
    assert len(corpus.train) == 2
    assert corpus.tests["test"] == pairs_of("test")


def test_held_out_sentences_do_not_depend_on_the_order_of_lines_nor_on_a_few_more(tmp_path: Path) -> None:
    pairs = pairs_of("satz", 400)
    write_corpus(tmp_path / "a", train=pairs)
    write_corpus(tmp_path / "b", train=[*reversed(pairs), *pairs_of("mehr", 4)])
    a, b = load(tmp_path / "a"), load(tmp_path / "b")
    assert set(a.val) != set(pairs[:20])
    assert len(set(a.val + a.tests["test"]) & set(b.val + b.tests["test"])) >= 36


def test_texts_without_translations_are_held_out_by_themselves(tmp_path: Path) -> None:
    write_corpus(tmp_path / "mine", train=pairs_of("wort", 200))
    corpus = load(tmp_path / "mine", text="both")
    assert len(corpus.val) == len(corpus.tests["test"]) == 20  # 5% of 400 different texts
    everything = [*corpus.train, *corpus.val, *corpus.tests["test"]]
    assert sorted(everything) == sorted(("", text) for pair in pairs_of("wort", 200) for text in pair)
    assert corpus.ledgers["train"].dropped == {"held out for val": 20, "held out for test": 20}
    assert {ledger.unit for ledger in corpus.ledgers.values()} == {"text"}
    write_corpus(tmp_path / "few", train=pairs_of("wort", 2))
    with pytest.raises(ValueError, match="2 different texts and no val or test text: too few"):
        load(tmp_path / "few", text="target")


def test_too_small_a_corpus_is_told_that_it_is(tmp_path: Path) -> None:
    write_corpus(tmp_path, train=[("eins", "one"), ("eins", "one!"), ("zwei", "two")])
    with pytest.raises(ValueError, match="2 different source sentences and no val or test text: too few"):
        load(tmp_path)
