"""Copies with hints: instead of a word of the source, its translation or another form of that; nothing else changes."""

import re
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from nmt.config import Config, DataConfig, TokenizerConfig
from nmt.data.copies.hints import Forms, add_hints, common_words, with_hints
from nmt.data.copies.word_links import Aligner
from nmt.data.corpora import load_corpus
from nmt.data.store.preparing import prepare
from nmt.vocabulary import HINT, HINT_END, HINTS
from tests.data.copies.test_placeholders import PAIRS
from tests.data.corpus_files import write_corpus

RARE = [(f"{source} w{n}", f"{target} v{n}") for n, (source, target) in enumerate(PAIRS)]  # words for N_COMMON
HINTED = re.compile(rf"{HINT} (.*?) {HINT_END}")


def test_hints_follow_the_words_that_they_translate_and_the_rest_stays() -> None:
    copies = add_hints(RARE, 0.5, Aligner(RARE))
    assert len(copies) == round(0.5 * len(RARE))
    assert copies == add_hints(RARE, 0.5, Aligner(RARE)), "always the same"
    source_of, counts = {target: source for source, target in RARE}, set()
    for source, target in copies:
        replaced = re.fullmatch(HINTED.sub("(.+)", source.replace(".", r"\.")), source_of[target])
        assert replaced
        hints = [*zip(replaced.groups(), HINTED.findall(source), strict=True)]
        counts.add(len(hints))
        assert all(hint.split()[-1] == f"v{words.split()[-1][1:]}" for words, hint in hints if "w" in words)
        assert all(hint in target or Forms([target]).others(hint) for _, hint in hints)
    assert {1, 2} <= counts <= {1, 2, 3}


def test_frequent_words_and_signs_have_no_hints() -> None:
    assert {"der", "den", "sieht"} <= common_words(RARE) < set(" ".join(source.lower() for source, _ in RARE).split())
    pair, links = ("Der Hund, ja!", "The dog, yes!"), [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]
    found = {with_hints(pair, links, {"der", "ja"}, Forms([]), Random(seed)) for seed in range(20)}
    assert found == {(f"Der {HINT} dog {HINT_END}, ja!", "The dog, yes!")}
    assert with_hints(pair, links, {"der", "hund", "ja"}, Forms([]), Random(1)) is None


def test_a_phrase_has_one_hint() -> None:
    pair, links = ("ein alter Hund", "an old dog"), [(1, 1), (2, 2)]
    found = {with_hints(pair, links, set(), Forms([]), Random(seed)) for seed in range(60)}
    sources = {copy[0] for copy in found if copy}
    assert f"ein {HINT} old dog {HINT_END}" in sources
    for source in sources:
        hints = HINTED.findall(source)
        assert len(hints) == len(set(hints)), "no word is in two hints"
        assert hints != ["old dog", "dog"]


def test_forms_begin_alike_and_words_at_the_start_lose_their_capital() -> None:
    forms = Forms(["The dogs run, dogs ran.", "Dogs sleep; a sleeping runner slept. The run", "sleeps sleepwalking"])
    assert forms.others("sleep") == ["sleeping", "sleeps"], "sleepwalking has too long an ending"
    assert forms.others("run") == [], "short words have none"
    assert forms.others("sleeping") == []
    assert (forms.inside("Dogs run"), forms.inside("The"), forms.inside("Anna")) == ("dogs run", "The", "Anna")
    given = {with_hints(("Hunde", "sleep"), [(0, 0)], set(), forms, Random(seed)) for seed in range(50)}
    assert {copy[0].split()[1] for copy in given if copy} == {"sleep", "sleeps", "sleeping"}


def test_the_tokenizer_has_pieces_for_hints(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "dogs", train=RARE[:50], val=PAIRS[50:60], test=PAIRS[60:70])
    data = DataConfig(corpus=str(corpus), hints=0.5)
    config = Config(name="run", runs=str(tmp_path), data=data, tokenizer=TokenizerConfig(vocab_size=330))
    prepared = prepare(load_corpus(data), config, tmp_path / "run")
    sources = [source for source, _ in prepared.train]
    assert len(sources) == 50 + 25 == 50 + sum(HINT in source for source in sources)
    assert all(map(prepared.tokenizer.knows, HINTS))
    [ids] = prepared.tokenizer.encode_source([f"Hund {HINT} dog {HINT_END}."])
    assert {*HINTS} <= {*prepared.tokenizer.source_pieces(ids)}
    plain = replace(config, name="plain", data=replace(data, hints=0.0))
    assert not any(map(prepare(load_corpus(data), plain, tmp_path / "plain").tokenizer.knows, HINTS))
    reused = replace(config, name="other", tokenizer=TokenizerConfig(folder=str(tmp_path / "plain" / "tokenizer")))
    with pytest.raises(ValueError, match=r"has no pieces for hints: set data\.hints to 0"):
        prepare(load_corpus(data), reused, tmp_path / "other")
