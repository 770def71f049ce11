"""TMX as text: entries come one by one; codes are left out."""

import gzip
import io
from pathlib import Path

import pytest

from nmt.config import DataConfig
from nmt.data.corpora import bilingual_xml, load_corpus
from nmt.data.corpora.bilingual_xml import CHUNK, entries_of, in_languages
from nmt.text.languages import same_language
from tests.documents.office_samples import TMX


def test_entries_are_read_without_codes(tmp_path: Path) -> None:
    plain = TMX.encode()
    for name, data in (("a.tmx", plain), ("b.tmx", TMX.encode("utf-16")), ("c.tmx.gz", gzip.compress(plain))):
        (tmp_path / name).write_bytes(data)
        assert pairs(tmp_path / name) == [("Der Hund bellt", None), ("Gut", "Good"), (None, None)]


@pytest.mark.parametrize("code", ['<ph type="lb"/>', '<ph x="1" type="lb">\\line </ph>', '<x ctype="lb"/>'])
def test_a_code_that_ends_a_line_divides_words(tmp_path: Path, code: str) -> None:
    body = f'<tu><tuv xml:lang="de"><seg>Ein{code}Hund</seg></tuv></tu>'
    (tmp_path / "a.tmx").write_text(f"<tmx><body>{body}</body></tmx>", encoding="utf-8")
    assert pairs(tmp_path / "a.tmx") == [("Ein Hund", None)]


def test_long_files_are_read_in_parts(tmp_path: Path) -> None:
    entry = '<tu><tuv xml:lang="de"><seg>Nummer {}</seg></tuv><tuv xml:lang="en"><seg>Number {}</seg></tuv></tu>'
    n = 3 * CHUNK // len(entry)
    body = "".join(entry.format(k, k) for k in range(n))
    (tmp_path / "a.tmx").write_text(f"<tmx><body>{body}</body></tmx>", encoding="utf-8")
    assert pairs(tmp_path / "a.tmx") == [(f"Nummer {k}", f"Number {k}") for k in range(n)]


def pairs(path: Path) -> list[tuple[str | None, ...]]:
    return [tuple(in_languages(entry, ("de", "en"))) for entry in entries_of(path, "TMX")]


def test_a_script_or_region_counts_only_if_both_codes_have_one() -> None:
    for pair in ("de DE_at", "pt-BR pt-br", "ger de-DE", "zh-Hans-CN zh-Hans", "sr-RS sr_Latn_RS"):
        assert same_language(*pair.split())
    for pair in ("pt-BR pt-PT", "de den", "por-BR pt-PT", "sr-Latn-RS sr-Cyrl"):
        assert not same_language(*pair.split())


@pytest.mark.parametrize(
    ("codes", "languages", "texts"),
    [
        ("pt pt-BR", "pt-BR pt", ["pt-BR", "pt"]),
        ("en en_GB", "EN-gb en", ["en_GB", "en"]),
        ("de-AT de-DE en", "de en", ["de-AT", "en"]),
        ("zh zh-Hant", "zh zh-Hant", ["zh", "zh-Hant"]),
        ("en-GB en-US", "en en-GB", [None, None]),
        ("de-DE *", "en de", ["*", "de-DE"]),
    ],
)
def test_the_nearest_code_counts_and_no_text_is_both_sides(codes: str, languages: str, texts: list[str | None]) -> None:
    assert in_languages([(code, code) for code in codes.split()], languages.split()) == texts


def test_a_memory_is_a_corpus(tmp_path: Path) -> None:
    german = '<tuv xml:lang="de-DE"><seg>Satz {0} &amp;</seg></tuv>'
    entry = f'<tu>{german}<tuv xml:lang="en"><seg>Sentence {{0}} &amp;</seg></tuv></tu>'
    entries = "".join(entry.format(n) for n in range(9))
    only_german = '<tu><tuv xml:lang="de"><seg>Ja</seg></tuv></tu>'
    (tmp_path / "mine.tmx").write_text(f"<tmx><body>{entries}{only_german}</body></tmx>", encoding="utf-8")
    corpus = load_corpus(DataConfig(corpus=str(tmp_path / "mine.tmx"), source="de", target="en"))
    known = [*corpus.train, *corpus.val, *(pair for pairs in corpus.tests.values() for pair in pairs)]
    assert corpus.name == "mine"
    assert sorted(known) == [(f"Satz {n} &", f"Sentence {n} &") for n in range(9)]
    assert corpus.ledgers["train"].dropped["no text in one or both languages"] == 1


@pytest.mark.parametrize("encoding", ["foo", "shift_jis"])
def test_an_encoding_that_cannot_be_read_is_told_with_the_file(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.tmx").write_text(f'<?xml version="1.0" encoding="{encoding}"?><tmx><body/></tmx>')
    with pytest.raises(ValueError, match=r"a\.tmx.* encoding"):
        pairs(tmp_path / "a.tmx")


def test_deep_elements_are_refused(tmp_path: Path) -> None:
    for depth in (200, 300):
        text = f"{'<hi>a' * depth}{'</hi>' * depth}"
        (tmp_path / "a.tmx").write_text(f'<tmx><body><tu><tuv xml:lang="de"><seg>{text}</seg></tuv></tu></body></tmx>')
        if depth == 200:
            assert pairs(tmp_path / "a.tmx") == [("a" * depth, None)]
        else:
            with pytest.raises(ValueError, match=r"a\.tmx: elements nested in 250 others"):
                pairs(tmp_path / "a.tmx")


def test_a_long_comment_is_read_in_few_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expat reads it again from its start with each part: in parts of one size, 40 MB took half a minute."""
    entries, sizes = TMX.removeprefix('<?xml version="1.0"?>'), list[int]()

    class File(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            sizes.append(size or 0)
            return super().read(size)

    monkeypatch.setattr(
        bilingual_xml, "open_compressed", lambda _: File(f"<!--{'x' * 64 * CHUNK}-->{entries}".encode())
    )
    assert len(pairs(tmp_path / "a.tmx")) == 3
    assert len(sizes) < 12
