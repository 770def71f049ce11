"""Promises of pairs in order: what was appended is read again, from memory and from files."""

from pathlib import Path
from random import Random

import pyarrow
import pytest

from nmt.config import TokenizerConfig
from nmt.data import texts as module
from nmt.data.shards import by_key
from nmt.data.texts import Row, Texts, read_rows, write_rows
from nmt.data.tokenizer import sample

ROWS = [Row(f"Satz {n}", f"sentence {n}", n % 3, n + 1, n * 2**50, n % 5 == 0) for n in range(23)]


@pytest.mark.parametrize("chunk", [1000, 23, 10, 1])
def test_rows_are_those_that_were_appended_in_memory_or_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    texts = Texts(ROWS)
    assert len(texts.newest) < chunk, "the rest is in files"
    pairs = [row.pair for row in ROWS]
    assert texts == pairs
    assert texts != pairs[1:]
    assert list(texts.rows()) == ROWS
    assert len(texts) == 23
    assert [texts[n] for n in (0, 11, -1)] == [pairs[n] for n in (0, 11, -1)]
    assert texts[3:20:4] == pairs[3:20:4]
    files = texts.move(tmp_path)
    stored = Texts.stored(files, [len(list(read_rows(file))) for file in files])
    assert list(stored.rows()) == ROWS
    assert stored[22] == pairs[22]
    with pytest.raises(IndexError):
        stored[23]


def test_rows_can_be_read_when_nothing_else_keeps_the_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 10)
    assert list(Texts(ROWS).rows()) == ROWS


def test_a_group_of_a_file_is_read_by_itself(tmp_path: Path) -> None:
    write_rows(tmp_path / "file", [ROWS[:4], [], ROWS[4:]])
    assert [list(read_rows(tmp_path / "file", group)) for group in range(3)] == [ROWS[:4], [], ROWS[4:]]


def test_the_first_row_of_a_file_takes_no_memory_for_the_groups_after_it(tmp_path: Path) -> None:
    """A tokenizer's sample is read from all shards at once, of each only the beginning."""
    random = Random(1)
    rows = [Row(random.randbytes(200).hex(), random.randbytes(200).hex(), key=n) for n in range(8_000)]
    write_rows(tmp_path / "x", [rows[n : n + 500] for n in range(0, 8_000, 500)])
    before = pyarrow.total_allocated_bytes()
    found = read_rows(tmp_path / "x")
    assert next(found) == rows[0]
    assert pyarrow.total_allocated_bytes() - before < (tmp_path / "x").stat().st_size * 0.75
    assert [next(found) for _ in range(7_999)] == rows[1:]


def test_a_sample_of_sorted_files_gives_back_the_memory_for_reading(tmp_path: Path) -> None:
    """Training a tokenizer comes next, and needs much."""
    for n in range(3):
        write_rows(tmp_path / f"{n}", [[Row(f"{k:05}" * 50, "x", key=k) for k in range(n, 6_000, 3)]])
    before = pyarrow.total_allocated_bytes()
    pairs = (row.pair for row in by_key([tmp_path / f"{n}" for n in range(3)]))
    assert next(pairs) == ("00000" * 50, "x")
    assert pyarrow.total_allocated_bytes() > before
    assert len(sample(pairs, TokenizerConfig(sample_characters=10_000), [])) == 10_000 // 251
    assert pyarrow.total_allocated_bytes() == before


def test_pairs_without_origins_are_numbered_from_1() -> None:
    texts = Texts.of([("a", "b"), ("c", "d")])
    assert [row.line for row in texts.rows()] == [1, 2]
    assert Texts.of(texts) is texts
