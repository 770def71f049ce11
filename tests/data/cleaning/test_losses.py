"""What is lost in masses is told, with the likely encoding of a file that isn't UTF-8, and what to do."""

import gzip
import subprocess
from collections import Counter
from pathlib import Path

import pyarrow
import pytest

from nmt.data.cleaning.cleaner import Ledger
from nmt.data.cleaning.losses import describe_losses, require_sides
from nmt.data.phrasebook import phrasebook
from nmt.prepare import main
from nmt.text.normalise import INVALID
from tests.tiny import Stderr

ENGLISH = [f"this is sentence {n} of all" for n in range(60)]


def write(path: Path, lines: list[str], encoding: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    content = "".join(f"{line}\n" for line in lines).encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize(
    ("name", "text", "encoding"),
    [
        ("all.de", "schöne Grüße", "cp1252"),
        ("all.de.gz", "für 5 €", "cp1252"),
        ("all.ru", "привет, мир", "cp1251"),
        ("all.ces", "šílený žlutý", "cp1250"),
        ("all.ja", "こんにちは世界", "cp932"),
        ("all.ar", "مرحبا بالعالم", "cp1256"),
        ("all.zh", "你好，世界", "gb18030"),
    ],
)
def test_a_file_in_an_older_encoding_is_named_with_the_command_that_converts_it(
    tmp_path: Path, stderr_of: Stderr, name: str, text: str, encoding: str
) -> None:
    lines = [f"{text if n % 3 == 1 else 'text'} {n}" for n in range(60)]
    file, language = write(tmp_path / name, lines, encoding), name.split(".")[1]
    write(tmp_path / "all.en", ENGLISH, "utf8")
    argv = ["--data.corpus", str(tmp_path / "all"), "--data.source", language, "--runs", str(tmp_path / "runs")]
    *_, warning, ready = stderr_of(main, [*argv, "--tokenizer.vocab_size", "300"], status=0).splitlines()
    assert warning.startswith("WARNING: 20 of 60 train pairs (33%) were dropped: invalid UTF-8.")
    assert f"{file} is not UTF-8 (line 2), but perhaps {encoding.upper().replace('CP12', 'WINDOWS-12')}: " in warning
    assert ready.startswith("Ready: ")
    command = warning.rpartition("perhaps ")[2].partition(": ")[2]
    subprocess.run(command.replace("NEW-FILE", "converted"), shell=True, cwd=tmp_path, check=True)
    assert (tmp_path / "converted").read_text(encoding="utf8").splitlines() == lines


@pytest.mark.parametrize(
    ("name", "content", "languages", "told"),
    [
        ("all.tsv", "a\tb\nпривет, мир\tb".encode("cp1251"), ("en", "ru"), "WINDOWS-1251: iconv -f WINDOWS-1251"),
        ("all.tsv", "a\tb\nzażółć gęślą\tb".encode("cp1250"), ("pl", "en"), "WINDOWS-1250: iconv -f WINDOWS-1250"),
        ("all.tsv", "a\tb\nñandéva\tb".encode("cp1252"), ("gn", "es"), "WINDOWS-1252: iconv -f WINDOWS-1252"),
        ("all.cs", b"text \xef\xbf\xbd\n\x9alut\xfd", ("cs", "en"), "WINDOWS-1250: iconv -f WINDOWS-1250"),
        ("all.cs.zst", b"text\n\x9alut\xfd", ("cs", "en"), "WINDOWS-1250: zstd -dc FILE | iconv -f WINDOWS-1250 -t"),
    ],
)
def test_an_encoding_is_guessed_by_the_languages_of_the_corpus(
    tmp_path: Path, name: str, content: bytes, languages: tuple[str, str], told: str
) -> None:
    """A replacement character in a file is UTF-8."""
    file, other = tmp_path / name, write(tmp_path / "all.en", ["text \ufffd", "yellow"], "utf8")
    file.write_bytes(pyarrow.compress(content, "zstd", asbytes=True) if name.endswith("zst") else content)
    ledgers = {"train": Ledger(read=2, dropped=Counter({"invalid UTF-8": 1}))}
    [warning] = describe_losses(ledgers, {"train": [file, other]}, languages)
    assert warning.count("is not UTF-8") == 1
    assert f"{file} is not UTF-8 (line 2), but perhaps {told.replace('FILE', str(file))}" in warning


@pytest.mark.parametrize(("n_ascii", "few"), [(0, "no usable train pair"), (8, "few usable train pairs")])
def test_a_table_with_few_lines_in_utf8_is_an_error(tmp_path: Path, stderr_of: Stderr, n_ascii: int, few: str) -> None:
    lines = [f"{'ASCII' if n < n_ascii else 'привет'} {n}\tsentence {n}" for n in range(9 + n_ascii)]
    file = write(tmp_path / "all.tsv", lines, "cp1251")
    error = stderr_of(main, ["--data.corpus", str(file), "--data.source", "ru", "--runs", str(tmp_path / "runs")])
    assert f"has {few}: {len(lines)} read, dropped: 9 invalid UTF-8." in error
    assert f"perhaps WINDOWS-1251: iconv -f WINDOWS-1251 -t UTF-8 {file} > NEW-FILE" in error


def test_causes_of_few_lines_and_what_is_held_out_are_no_warning() -> None:
    dropped = Counter({"repeated": 5, "held out for val": 10, "a side is blank": 6, "nearly in val": 8})
    ledgers = {"train": Ledger(read=100, dropped=dropped), "val": Ledger(read=50, repaired=Counter({INVALID: 9}))}
    advice = "To keep them, set cleaning.contamination to false."
    assert list(describe_losses(ledgers, {}, ())) == [
        "WARNING: 6 of 100 train pairs (6%) were dropped: a side is blank.",
        f"WARNING: 8 of 100 train pairs (8%) were dropped: nearly in val. {advice}",
        "WARNING: 9 of 50 val pairs (18%) have invalid UTF-8 made U+FFFD.",
    ]
    mixed = Ledger(read=20, dropped=Counter({"repeated": 5}), parts={"a": Ledger(), "b": Ledger(unit="text")})
    assert list(describe_losses({"train": mixed}, {}, ())) == [
        "WARNING: 5 of 20 train pairs and texts (25%) were dropped: repeated."
    ]


@pytest.mark.parametrize(
    ("first", "second"), [("aɓa ƙasa {}", "the land {}"), ("ᏣᎳᎩ ᎦᏬᏂᎯ {}", "a tongue {}"), ("今日は晴れ{}", "sunny {}")]
)
def test_sides_swapped_between_train_and_val_fail(tmp_path: Path, stderr_of: Stderr, first: str, second: str) -> None:
    """As from a table without language codes in its first line, in the direction that it hasn't."""
    words = [str(10**6 + 7 * n) for n in range(60)]
    rows = [f"{first.format(word)}\t{second.format(word)}" for word in words]
    write(tmp_path / "corpus" / "val.xx", [second.format(f"{n} val") for n in range(5)], "utf-8")
    write(tmp_path / "corpus" / "val.yy", [first.format(f"{n} val") for n in range(5)], "utf-8")
    options = ["--data.corpus", f"{tmp_path}/corpus", "--data.source", "xx", "--data.target", "yy"]
    options += ["--runs", str(tmp_path / "runs"), "--tokenizer.vocab_size", "300"]
    write(tmp_path / "corpus" / "train.tsv", rows, "utf-8")
    assert "the sources of train look like the targets of val" in stderr_of(main, options)
    write(tmp_path / "corpus" / "train.tsv", ["yy\txx", *rows], "utf-8")
    assert main(options) == 0


def test_sides_in_each_other_s_language_are_an_error() -> None:
    pairs = phrasebook(train_pairs=20, held_out_pairs=0).train
    require_sides(pairs, {}, "de-AT", "en")
    with pytest.raises(ValueError, match=r"its sources in de and its targets in en: swap data\.source and"):
        require_sides(pairs, {}, "en", "de-AT")
