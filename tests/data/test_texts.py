"""Promises of pairs in order: what was appended is read again, from memory and from files."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow
import pytest

from nmt.config import TokenizerConfig
from nmt.data import texts as module
from nmt.data.store import shards
from nmt.data.store.shards import least_pairs, row_order
from nmt.data.texts import Row, Texts, read_rows, write_rows
from nmt.data.tokenizer.trainer import sample

ROWS = [Row(f"Satz {n}", f"sentence {n}", n % 3, n + 1, n * 2**50, n % 5 == 0) for n in range(23)]


@pytest.mark.parametrize("chunk", [1000, 40, 23, 10, 1])
def test_rows_are_as_appended_in_memory_or_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    texts = Texts(ROWS)
    assert len(texts.newest) < chunk, "the rest is in files"
    pairs = [row.pair for row in ROWS]
    assert texts == pairs
    assert texts != pairs[1:]
    assert list(texts.rows()) == ROWS
    assert list(Texts(ROWS).rows()) == ROWS, "also if nothing else keeps the pairs"
    assert [row.line for row in Texts.of(pairs).rows()] == [*range(1, 24)]
    assert len(texts) == 23
    assert [texts[n] for n in (0, 11, -1)] == [pairs[n] for n in (0, 11, -1)]
    assert texts[3:20:4] == pairs[3:20:4]
    files = texts.move(tmp_path)
    assert chunk != 40 or len(files) == 2, "more than half a chunk is for two processes"
    stored = Texts.stored(files, [len(list(read_rows(file))) for file in files])
    assert list(stored.rows()) == ROWS
    assert stored[22] == pairs[22]
    with pytest.raises(IndexError):
        stored[23]


@pytest.mark.parametrize("chunk", [1000, 23, 10, 1])
def test_rows_that_are_taken_are_gone_and_the_rest_stays_in_order(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    texts = Texts(ROWS)
    assert list(texts.take({22, 0, 9, 10}).items()) == [(n, ROWS[n]) for n in (0, 9, 10, 22)]
    left = [row for n, row in enumerate(ROWS) if n not in (0, 9, 10, 22)]
    assert list(texts.rows()) == left
    assert len(texts) == len(left)
    texts.append(ROWS[0])
    assert list(texts.rows()) == [*left, ROWS[0]]


def test_the_first_row_of_a_file_takes_no_memory_for_the_groups_after_it(tmp_path: Path) -> None:
    """A tokenizer's sample is read from all shards at once, of each only the beginning."""
    random = Random(1)
    rows = [Row(random.randbytes(200).hex(), random.randbytes(200).hex(), key=n) for n in range(8_000)]
    write_rows(tmp_path / "x", rows, at_once=500)
    before = pyarrow.total_allocated_bytes()
    found = read_rows(tmp_path / "x")
    assert next(found) == rows[0]
    assert pyarrow.total_allocated_bytes() - before < (tmp_path / "x").stat().st_size * 0.75
    assert [next(found) for _ in range(7_999)] == rows[1:]


def test_a_sample_of_sorted_files_gives_back_the_memory_for_reading(tmp_path: Path) -> None:
    """Training a tokenizer comes next, and needs much."""
    for n in range(3):
        write_rows(tmp_path / f"{n}", [Row(f"{k:05}" * 50, "x", key=k) for k in range(n, 6_000, 3)])
    before = pyarrow.total_allocated_bytes()
    pairs = least_pairs([tmp_path / f"{n}" for n in range(3)], 10_000)
    assert pyarrow.total_allocated_bytes() == before
    assert pairs == [(f"{n:05}" * 50, "x") for n in range(10_000 // 251 + 1)]
    assert len(sample(pairs, TokenizerConfig(sample_characters=10_000), [])) == 10_000 // 251


@pytest.mark.parametrize("characters", [1, 100, 2_000, 10**6])
@pytest.mark.parametrize("n_files", [1, 7])
def test_a_sample_has_the_least_keys_of_all_files_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, characters: int, n_files: int
) -> None:
    """Of each file only the rows are read that can be in the sample"""
    random, read = Random(2), list[Row]()
    rows = [Row("x" * random.randrange(1, 40), f"{n}", key=random.randrange(500)) for n in range(1_000)]
    files = [tmp_path / f"{n}" for n in range(n_files)]
    for n, file in enumerate(files):
        write_rows(file, sorted(rows[n::n_files], key=row_order))

    def watched(file: Path) -> Iterator[Row]:
        for row in read_rows(file):
            read.append(row)
            yield row

    monkeypatch.setattr(shards, "read_rows", lambda file: watched(file))
    pairs = least_pairs(files, characters)
    wanted = [row.pair for row in sorted(rows, key=row_order)]
    assert pairs == wanted[: len(pairs)]
    settings = TokenizerConfig()
    object.__setattr__(settings, "sample_characters", characters)
    assert sample(pairs, settings, []) == sample(wanted, settings, [])
    assert characters == 10**6 or len(read) < 600
