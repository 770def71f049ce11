"""Changed copies of training pairs: what each kind makes, how many, and always the same."""

from dataclasses import replace
from pathlib import Path

import pytest

from nmt.config import Config, DataConfig, TokenizerConfig
from nmt.data.corpora import load_corpus
from nmt.data.prepared import prepare
from nmt.data.variants import CHANGES, make_variants

PAIRS = [(f"Der Hund {n} läuft.", f"The dog {n} runs.") for n in range(100)]
CONFIG = DataConfig(variants=0.1)


@pytest.mark.parametrize(
    ("kind", "pair", "expected"),
    [
        ("no_stop", ("Der Hund läuft.", "The dog runs."), ("Der Hund läuft", "The dog runs")),
        ("no_stop", ("Wo ist er?", "Where is he."), ("Wo ist er?", "Where is he.")),
        ("no_stop", ("Warte ...", "Wait ..."), ("Warte ...", "Wait ...")),
        ("no_stop", ("狗在跑。", "The dog runs."), ("狗在跑", "The dog runs")),
        ("capitals", ("Große Häuser.", "Big houses."), ("GROSSE HÄUSER.", "BIG HOUSES.")),
        ("title_case", ("der über-alte Hund", "the dog's house"), ("Der Über-Alte Hund", "The Dog's House")),
    ],
)
def test_a_pair_is_changed_alike_on_both_sides(kind: str, pair: tuple[str, str], expected: tuple[str, str]) -> None:
    assert CHANGES[kind](pair) == expected


def test_each_kind_adds_its_share_and_the_copies_are_always_the_same() -> None:
    copies = make_variants(PAIRS, CONFIG)
    assert len(copies) == 3 * 10
    assert not set(copies) & set(PAIRS)
    assert copies == make_variants(PAIRS, CONFIG)
    assert make_variants(PAIRS, replace(CONFIG, variants=0.0)) == []


def test_prepared_text_has_the_copies_in_training_only(tmp_path: Path) -> None:
    corpus = tmp_path / "dogs"
    corpus.mkdir()
    for side, language in enumerate(("de", "en")):
        for split, pairs in (("train", PAIRS[:80]), ("val", PAIRS[80:90]), ("test", PAIRS[90:])):
            (corpus / f"{split}.{language}").write_text("".join(f"{pair[side]}\n" for pair in pairs))
    data = replace(CONFIG, corpus=str(corpus))
    config = Config(name="run", runs=str(tmp_path), data=data, tokenizer=TokenizerConfig(vocab_size=320))
    prepared = prepare(load_corpus(data), config, tmp_path / "run")
    assert {*PAIRS[:80]} < {*prepared.train}
    assert len(prepared.train) == 80 + 3 * 8
    assert prepared.val == PAIRS[80:90]
    assert sum(source.isupper() for source, _ in prepared.train) == 8
    assert prepared.tokenizer.encode_source(["DER HUND"])[0] != []
    assert prepare(None, config, tmp_path / "run").train == prepared.train


def test_text_without_translations_has_no_variants() -> None:
    with pytest.raises(ValueError, match=r"data\.variants changes pairs, but data\.text is target"):
        DataConfig(text="target", variants=0.1)


def test_a_copy_that_nothing_changed_is_left_out() -> None:
    pairs = [(f"der hund {n}", f"the dog {n}") for n in range(100)]  # without a stop that could be left out
    copies = make_variants(pairs, replace(CONFIG, variants=0.9))
    assert not set(copies) & set(pairs)
    assert len(copies) == 2 * 90
