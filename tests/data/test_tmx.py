"""TMX as text: entries come one by one; codes are left out."""

import gzip
from pathlib import Path

import pytest

from nmt.data.corpora.tmx import CHUNK, same_language, tmx_pairs
from tests.documents.office_samples import TMX


def test_entries_are_read_without_codes(tmp_path: Path) -> None:
    for name, data in (
        ("a.tmx", TMX.encode()),
        ("b.tmx", TMX.encode("utf-16")),
        ("c.tmx.gz", gzip.compress(TMX.encode())),
    ):
        (tmp_path / name).write_bytes(data)
        assert [*tmx_pairs(tmp_path / name, "de", "en")] == [("Der Hund bellt", None), ("Gut", "Good"), (None, None)]


def test_long_files_are_read_in_parts(tmp_path: Path) -> None:
    entry = '<tu><tuv xml:lang="de"><seg>Nummer {}</seg></tuv><tuv xml:lang="en"><seg>Number {}</seg></tuv></tu>'
    n = 3 * CHUNK // len(entry)
    body = "".join(entry.format(k, k) for k in range(n))
    (tmp_path / "a.tmx").write_text(f"<tmx><body>{body}</body></tmx>", encoding="utf-8")
    assert [*tmx_pairs(tmp_path / "a.tmx", "de", "en")] == [(f"Nummer {k}", f"Number {k}") for k in range(n)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<tmx>", "isn't well-formed TMX"),
        ("<a/>", "isn't TMX"),
        ('<!DOCTYPE tmx [<!ENTITY a "b">]><tmx/>', "declares an entity"),
    ],
)
def test_broken_files_get_a_sentence(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.tmx").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        list(tmx_pairs(tmp_path / "a.tmx", "de", "en"))


def test_a_region_counts_only_if_both_codes_have_one() -> None:
    assert same_language("de", "DE_at")
    assert same_language("pt-BR", "pt-br")
    assert not same_language("pt-BR", "pt-PT")
    assert not same_language("de", "den")
