"""Promises of cleaning.near: long pairs that are nearly the same as another one go, wherever they are; no others do."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.config import CleaningConfig, Config
from nmt.config.data import CorpusConfig
from nmt.data.cleaning import near
from nmt.data.cleaning.filters import alike
from nmt.data.cleaning.near import CAUSE, CHARACTERS, HASHES, find_near, is_long, rows_in, shape, signatures, sketch
from nmt.data.store import shards
from nmt.data.store.prepared import DRAFT
from nmt.data.store.preparing import prepare
from nmt.data.store.shards import Draft, key_of
from nmt.data.texts import Row, read_rows
from nmt.prepare import main
from tests.data.corpus_files import interrupt, write_corpus
from tests.data.store.test_engines import ONE, argv_of

SYLLABLES = ["ba", "der", "gen", "hol", "ki", "lun", "mas", "nor", "pe", "rit", "so", "tur", "ver", "wim", "zu", "sch"]


def words(random: Random, count: int) -> list[str]:
    return ["".join(random.choices(SYLLABLES, k=random.randint(1, 3))) for _ in range(count)]


def sentences(count: int, seed: int, length: int = 12) -> list[Row]:
    """Random pairs of so many words."""
    random = Random(seed)
    return [Row(" ".join(words(random, length)), " ".join(words(random, length))) for _ in range(count)]


def changed(rows: Sequence[Row], seed: int) -> list[Row]:
    """The pairs with one other word in the target."""
    random, made = Random(seed), []
    for row in rows:
        target = row.target.split()
        target[random.randrange(len(target))] = words(random, 1)[0]
        made.append(row._replace(target=" ".join(target)))
    return made


def shingles(row: Row) -> set[tuple[tuple[bool, str], ...]]:
    """By another way than `signatures`."""
    marked = [(True, c) for c in alike(row.source)] + [(False, c) for c in alike(row.target) + near.PADDING]
    return set(zip(*(marked[n:] for n in range(CHARACTERS)), strict=False))


def similarity(first: Row, second: Row) -> float:
    a, b = shingles(first), shingles(second)
    return len(a & b) / len(a | b)


def found(shards_of_rows: Sequence[Sequence[Row]], folder: Path, least: float) -> list[list[int]]:
    """The places that are dropped, by shard."""
    size = len(shards_of_rows)
    bands, stored, places = ([folder / f"{kind}-{n}.npy" for n in range(size)] for kind in ("bands", "all", "near"))
    for n, rows in enumerate(shards_of_rows):
        hashes, least_hashes = sketch(rows, n, [0, 0, 1], least)
        np.save(bands[n], hashes)
        np.save(stored[n], least_hashes)
    for n, file in enumerate(places):
        np.save(file, find_near(bands, stored, n, least))
    return [sorted(set(rows_in(places, n))) for n in range(size)]


# Signatures and bands


def test_signatures_agree_as_often_as_pairs_are_similar() -> None:
    rows = sentences(300, seed=1)
    for others in (changed(rows, 2), changed(changed(rows, 3), 4), sentences(300, seed=5)):
        exact = np.array([similarity(a, b) for a, b in zip(rows, others, strict=True)])
        estimated = (signatures(rows) == signatures(others)).mean(axis=1)
        assert abs(np.mean(estimated - exact)) < 0.015
        assert np.std(estimated - exact) < 1.3 * np.sqrt(np.mean(exact * (1 - exact)) / HASHES) + 1e-9


@pytest.mark.parametrize("least", [0.7, 0.8, 0.9])
def test_pairs_are_found_from_the_similarity_on(tmp_path: Path, least: float) -> None:
    """The standard error of a similarity of 0.9 is 0.027."""
    rows = sentences(2000, seed=1)
    others = list(rows)
    for n in range(4):  # up to four words
        others[: 500 * (4 - n)] = changed(others[: 500 * (4 - n)], seed=n)
    exact = np.array([similarity(a, b) for a, b in zip(rows, others, strict=True)])
    kept, dropped = found([rows, others], tmp_path, least)
    assert kept == []
    is_found = np.isin(np.arange(len(rows)), dropped)
    bands, size = shape(least)
    assert bands * size <= HASHES
    assert 0.9 <= 1 - (1 - least**size) ** bands < 0.97
    for above, few, most in ((0.06, 0.85, 1), (0, 0.35, 0.9), (-0.04, 0, 0.4), (-0.12, 0, 0.02)):
        near_it = abs(exact - least - above) < 0.03
        assert near_it.sum() > 25
        assert few <= is_found[near_it].mean() <= most, (above, near_it.sum())


def test_1_is_for_pairs_with_the_same_shingles(tmp_path: Path) -> None:
    rows = sentences(200, seed=1)
    assert shape(1.0) == (1, HASHES)
    assert len(found([rows, changed(rows, seed=2)], tmp_path, 1.0)[1]) <= 2
    same = [row._replace(target=row.target.upper() + "!") for row in rows]
    assert found([rows, same], tmp_path, 1.0) == [[], list(range(200))]


@given(st.text(max_size=30), st.text(min_size=1, max_size=30))
def test_case_digits_and_punctuation_change_no_signature(source: str, target: str) -> None:
    row, other = Row(source, f"a{target}1"), Row(source, f"A {target}-2.")
    one, two = signatures([row, Row("a", "b")]), signatures([other])
    assert (one[0] == two[0]).all() == (alike(row.target) == alike(other.target))
    assert (signatures([row])[0] == one[0]).all(), "whatever its neighbours"


def test_the_sides_are_kept_apart() -> None:
    (row,) = sentences(1, seed=1)
    assert (signatures([row]) == signatures([Row(row.target, row.source)])).mean() < 0.2


@pytest.mark.parametrize(
    ("text", "long"),
    [
        ("eins zwei drei vier fünf", False),
        ("eins zwei drei vier fünf sechs", True),
        ("孩子们在公园里玩", False),
        ("孩子们今天下午在公园里玩球", True),
    ],
)
def test_short_sentences_are_those_of_fewer_than_six_words(text: str, long: bool) -> None:
    assert is_long(text) == long


def test_short_pairs_stay(tmp_path: Path) -> None:
    rows = sentences(50, seed=1)
    short = [Row(row.source, " ".join(row.target.split()[:5])) for row in rows]
    assert found([short, short], tmp_path, 0.9) == [[], []]
    assert found([rows, rows], tmp_path, 0.9) == [[], list(range(50))]


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_all_that_are_like_the_first_pair_with_an_equal_band_go_whatever_the_parts(tmp_path: Path, size: int) -> None:
    rows = sentences(40, seed=1)
    rows += changed(rows, seed=2) + changed(rows[:20], seed=3)
    Random(4).shuffle(rows)
    divided = [rows[n::size] for n in range(size)]
    bands, length = shape(0.8)
    ranked = [(n, place, row) for n, group in enumerate(divided) for place, row in enumerate(group)]
    whole = signatures([row for *_, row in ranked])
    first, expected = dict[tuple[int, bytes], int](), [set[int]() for _ in divided]
    for number, (n, place, _) in enumerate(ranked):
        for band in range(bands):
            part = whole[number, band * length : (band + 1) * length].tobytes()
            earlier = first.setdefault((band, part), number)
            if earlier != number and (whole[earlier] == whole[number]).mean() >= 0.8:
                expected[n].add(place)
    assert found(divided, tmp_path, 0.8) == [sorted(places) for places in expected]
    assert 40 < sum(map(len, expected)) <= 60


def test_the_earlier_corpus_wins_and_other_directions_are_other_pairs(tmp_path: Path) -> None:
    rows = sentences(20, seed=1)
    later = [row._replace(corpus=1) for row in rows]
    assert found([later, rows], tmp_path, 0.9) == [list(range(20)), []]
    assert found([rows, [row._replace(corpus=2) for row in rows]], tmp_path, 0.9) == [[], []]


def test_no_long_pair_and_no_pair_at_all(tmp_path: Path) -> None:
    assert found([[], [Row("", "kurz")]], tmp_path, 0.9) == [[], []]


def test_texts_without_translations(tmp_path: Path) -> None:
    rows = [row._replace(source="") for row in sentences(20, seed=1)]
    assert found([rows, rows], tmp_path, 1.0) == [[], list(range(20))]


# In a preparation

KEPT = sentences(60, seed=1)
NEAR = [row._replace(target=f"{row.target} x") for row in KEPT[:25]]
SHORT = [Row(f"der kleine hund {n}", f"the small dog {word}") for n, word in enumerate(SYLLABLES)]


def test_of_pairs_that_are_nearly_the_same_the_one_with_the_least_hash_stays(
    tmp_path: Path, near_settings: Config
) -> None:
    prepared = prepare(None, near_settings, tmp_path / "run", engine=ONE)
    rows = [row for file in prepared.store for row in read_rows(file.with_suffix(".parquet"))]
    copies = {row.target for row in rows if row.changed}
    pairs = {row.pair for row in rows if not row.changed}
    assert copies <= {target for _, target in pairs}, "what is dropped has no copies"
    assert copies
    places = [(key_of(pair) % 4, key_of(pair)) for pair in pairs]
    assert len({n for n, _ in places}) == 4
    together = [{row.pair, other.pair} for row, other in zip(KEPT, NEAR, strict=False)]
    assert pairs >= {row.pair for row in [*KEPT[25:], *SHORT]}
    for both in together:
        assert pairs & both == {min(both, key=lambda pair: (key_of(pair) % 4, key_of(pair)))}
    ledger = prepared.ledgers["train"]
    assert ledger.dropped == {CAUSE: 25}
    assert ledger.kept == len(pairs) == 60 + len(SHORT)
    assert len(prepared.dropped[CAUSE]) == 20
    assert not (tmp_path / "run" / DRAFT).exists()
    words_of_run = (tmp_path / "run" / "data" / "words.txt").read_text("utf8")
    assert all(row.source.split()[0].casefold() in words_of_run.casefold() for row in KEPT)


def test_a_pair_of_an_earlier_corpus_stays(tmp_path: Path, near_settings: Config) -> None:
    later = write_corpus(tmp_path / "later", train=[(f"{row.source} y", row.target) for row in KEPT])
    entry = CorpusConfig(corpus=str(later), cleaning=CleaningConfig(profile="gentle"))
    data = replace(near_settings.data, more=(entry,), typos=0.0)
    ledger = prepare(None, replace(near_settings, data=data), tmp_path / "run", engine=ONE).ledgers["train"]
    assert ledger.parts["mine"].dropped == {CAUSE: 25}
    assert ledger.parts["later"].dropped == {CAUSE: 60}
    with pytest.raises(ValueError, match=r"entry of data\.more has cleaning\.near 0\.9: it holds for all corpora"):
        replace(entry, cleaning=CleaningConfig(near=0.9))


def test_without_it_there_are_no_hashes_and_no_files(
    tmp_path: Path, near_settings: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sketch", "find_near", "rows_in"):
        monkeypatch.setattr(shards, name, None)
    monkeypatch.setattr(Draft, "encode", interrupt)
    with pytest.raises(KeyboardInterrupt):
        prepare(None, replace(near_settings, cleaning=CleaningConfig()), tmp_path / "run", engine=ONE)
    draft = tmp_path / "run" / DRAFT
    assert {path.name for path in draft.iterdir()} == {
        *(".nmt", "state.json", "keys.json", "text", "clean", "reports", "tokenizer", "working")
    }
    assert {path.name for path in (draft / "clean").iterdir()} == {f"{n:05}.parquet" for n in range(4)}


def test_the_command_shows_what_is_dropped(near_settings: Config, capsys: pytest.CaptureFixture[str]) -> None:
    argv = argv_of(near_settings)
    assert main([*argv, "--cleaning.near", "0.8", "--explain", "1"]) == 0
    captured = capsys.readouterr()
    assert f"\nDropped: {CAUSE}\n  " in captured.out
    assert f"dropped: {CAUSE}" in captured.err
    assert main([*argv, "--cleaning.near", "0.4"]) == 2
    assert "cleaning.near is 0.4: it must be" in capsys.readouterr().err
