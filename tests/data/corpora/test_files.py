"""Files become a corpus: every format, every rule of reading, and errors that name the file."""

import gzip
import json
import re
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmt.config.data import Text
from nmt.files import NO_TEXT
from tests.data.corpus_files import load, pairs_of, write_corpus


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A corpus of plain files with two test sets."""
    return write_corpus(tmp_path / "mine", **{name: pairs_of(name) for name in ("train", "val", "test", "test_2018")})


def with_train_in(folder: Path, name: str, content: str | bytes) -> Path:
    """The folder with this file in the place of its training text."""
    for path in folder.glob("train.*"):
        path.unlink()
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def texts_of(pairs: list[tuple[str, str]], text: Text) -> list[tuple[str, str]]:
    """The pairs as `data.text` reads them."""
    sides = {"source": (0,), "target": (1,), "both": (0, 1)}.get(text, ())
    return [("", pair[side]) for pair in pairs for side in sides] or pairs


# Where corpora lie

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": partial(gzip.compress, mtime=0),
    ".zst": partial(pyarrow.compress, codec="zstd", asbytes=True),
}


@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
@pytest.mark.parametrize("kind", ["plain", "tsv", "jsonl", "translation"])
def test_every_format_holds_the_same_pairs(folder: Path, kind: str, packed: str) -> None:
    plain = load(folder)
    for path in list(folder.glob("*.de")):
        name, pairs = path.stem, pairs_of(path.stem)
        rows = {
            "plain": {f"{name}.de": [german for german, _ in pairs], f"{name}.en": [english for _, english in pairs]},
            "tsv": {f"{name}.tsv": [f"{german}\t{english}\t0.9" for german, english in pairs]},
            "jsonl": {f"{name}.jsonl": [json.dumps({"id": 1, "de": de, "en": en}) for de, en in pairs]},
            "translation": {f"{name}.jsonl": [json.dumps({"translation": {"en": en, "de": de}}) for de, en in pairs]},
        }[kind]
        path.unlink()
        path.with_suffix(".en").unlink()
        for file, lines in rows.items():
            content = "".join(f"{line}\n" for line in lines).encode()
            (folder / f"{file}{packed}").write_bytes(PACK[packed](content))
    assert load(folder) == plain
    assert (plain.name, plain.notes, [*plain.ledgers]) == ("mine", [], ["train", "val", "test", "test_2018"])
    if kind != "tsv":  # whose columns have no names here
        assert load(folder, "en", "de").val == [(english, german) for german, english in pairs_of("val")]
    for text in ("pairs", "source", "target", "both"):
        corpus = load(folder, text=text)
        assert [corpus.train, corpus.val] == [texts_of(pairs_of(split), text) for split in ("train", "val")]
        assert corpus.tests == {name: texts_of(pairs_of(name), text) for name in ("test", "test_2018")}
        assert {ledger.unit for ledger in corpus.ledgers.values()} == {"pair" if text == "pairs" else "text"}
        assert all(ledger.kept == len(texts_of(pairs_of(""), text)) for ledger in corpus.ledgers.values())


@pytest.mark.parametrize(
    ("header", "blank"),
    [("id\ten\tde", 0), ("EN\tDE", 0), ("en \tde ", 0), ('"en"\t"de"', 0), (' "En"\tDE\r', 0), ("\n \t\nen\tde", 2)],
)
def test_a_header_of_tsv_may_be_in_any_case_in_quotes_after_blanks(tmp_path: Path, header: str, blank: int) -> None:
    first = "7\t" if "id" in header else ""
    rows = "".join(f"{first}sentence {n}\tSatz {n}\n" for n in range(40))
    (tmp_path / "pairs.tsv").write_bytes(f"{header}\n{rows}".encode())
    corpus = load(tmp_path / "pairs.tsv")
    found = [*corpus.train, *corpus.val, *corpus.tests["test"]]
    assert sorted(found) == sorted((f"Satz {n}", f"sentence {n}") for n in range(40))
    assert (corpus.name, corpus.ledgers["train"].read) == ("pairs", 40 + blank)


@pytest.mark.parametrize("header", ["fi\tsv", "source\ttarget", "ES\tGN", "chr\ten", "deu\tEN", "De\tFr", "Source\tde"])
def test_a_header_of_other_columns_is_an_error_and_not_a_pair(tmp_path: Path, header: str) -> None:
    (tmp_path / "pairs.tsv").write_text(f"{header}\nSatz\tsentence\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"columns seem to be named .* but data.source is de.* put a line with de"):
        load(tmp_path / "pairs.tsv")


@pytest.mark.parametrize("number", ["18", "1.0412", '"0,98"', "-3e-05", "ID\tDeutsch\tEnglisch\n18"])
def test_columns_of_numbers_are_no_text(tmp_path: Path, number: str) -> None:
    (tmp_path / "pairs.tsv").write_text(f"{number}\tSchnell!\t1001\tQuick!\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"its first two columns .* have numbers: put a line before the"):
        load(tmp_path / "pairs.tsv")


@pytest.mark.parametrize("first", ["Ja\tNo", "ja", "Nein.\tNo.", "ja\tyes", "No\tNO", "German\tEnglish"])
def test_a_first_line_that_names_no_columns_is_read_as_text(tmp_path: Path, first: str) -> None:
    """And two words, which might be names after all, are told."""
    (tmp_path / "pairs.tsv").write_text(f"{first}\n" + "".join(f"Satz {n}\tsentence {n}\n" for n in range(40)))
    corpus = load(tmp_path / "pairs.tsv")
    assert corpus.ledgers["train"].read == 41
    notes = [note for note in corpus.notes if "first line" in note]
    is_told = "\t" in first and "." not in first
    told = f"{tmp_path / 'pairs.tsv'}: its first line is read as a pair: {first.replace(chr(9), ' and ')}"
    assert notes == ([told] if is_told else [])


SAID = [('"Ja", sagte er.', '"Yes", he said.'), ('"Komm!"', '"Come!"')]
WITH_COMMA = [(f'"Ja, {n}"', f'"Yes, {n}"') for n in range(5)]


@pytest.mark.parametrize(
    ("rows", "removed"),
    [
        ([('"Er sagte ""Ja""."', "He said yes."), ('"Ja, gern."', '"""Yes, please."""')], [0, 1]),
        ([('"de"', '"en"'), ('"Ja."', '"Yes."'), ("Nein", '"No"')], [0, 1]),
        ([*WITH_COMMA, ("Nein", "No")], [*range(5)]),
        ([*WITH_COMMA, ("Nein", '"No"')], []),
        ([*WITH_COMMA, ("Nein, nein", "No")], []),
        (WITH_COMMA[1:], []),
        (SAID, []),
        ([*SAID, ('"ein ""Fehler"" hier"', "a fault")], []),
    ],
)
def test_only_quotes_of_spreadsheets_are_removed(folder: Path, rows: list[tuple[str, str]], removed: list[int]) -> None:
    content = "".join(f"{de}\t{en}\r\n" for de, en in rows)
    corpus, rows = load(with_train_in(folder, "train.tsv", content)), rows[rows[0] == ('"de"', '"en"') :]
    plain = [tuple(re.sub(r'^"|"$', "", side).replace('""', '"') for side in row) for row in rows]
    assert corpus.train == [plain[n] if n in removed else row for n, row in enumerate(rows)]
    assert corpus.ledgers["train"].repaired["quotes of a spreadsheet removed"] == len(removed)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_parts_of_cells_of_several_lines_are_no_sentences(folder: Path, size: int) -> None:
    quoted = [("Ja", "Yes"), *((f'"Er sagte ""Ja {n}""."', f'"He said ""yes {n}""."') for n in range(size))]
    rows = [*quoted, ("Nein", '"No.\nNever."'), ('"Ja.\nGern."', "Yes, please.")]
    corpus = load(with_train_in(folder, "train.tsv", "".join(f"{de}\t{en}\n" for de, en in rows)))
    assert corpus.train == [("Ja", "Yes"), *((f'Er sagte "Ja {n}".', f'He said "yes {n}".') for n in range(size))]
    assert corpus.ledgers["train"].dropped == {"a line break in a cell": 2, "too few columns": 2}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("pairs.txt.zip", r"a \.zip file isn't read as a corpus: unpack it, and name its folder"),
        ("pairs.csv", r"a \.csv file isn't read as a corpus: save it .*\(de and en\)"),
        ("pairs.ODS", r"a \.ods file isn't read as a corpus: save it .*\(de and en\)"),
        ("pairs.tsv", "no line has a tab: are the columns divided by , or ;"),
    ],
)
def test_tables_of_other_kinds_are_to_be_unpacked_or_saved_as_tsv(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / name).write_text("de;en\nja;yes\n")
    with pytest.raises(ValueError, match=told):
        load(tmp_path / name)


# Text without translations


@pytest.mark.parametrize("files", ["train.en", "train.en train.de", "train.tsv", "train.jsonl"])
def test_text_in_one_language_needs_no_other(tmp_path: Path, files: str) -> None:
    english = [f"sentence {n}" for n in range(40)]
    for name in files.split():
        lines = [json.dumps({"en": line}) if name.endswith("jsonl") else line for line in english]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines[: 5 if name == "train.de" else None]))
    for name in ("valid", "test_a", "test_b"):
        (tmp_path / f"{name}.en").write_text("one\ntwo\n")
    corpus = load(tmp_path, source="en", text="target")
    assert (corpus.ledgers["train"].read, corpus.ledgers["train"].dropped, corpus.notes) == (40, {}, [])
    assert corpus.train == [("", line) for line in english]
    assert sorted(corpus.tests) == ["test_a", "test_b"]


@pytest.mark.parametrize("name", ["news.en", "news.txt", "news.en.gz", "news.gz", "news"])
def test_a_plain_file_is_text_in_one_language(tmp_path: Path, name: str) -> None:
    content = "".join(f"sentence {n}\n" for n in range(40)).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    corpus = load(tmp_path / name, text="target")
    assert (corpus.name, len(corpus.train), len(corpus.val)) == ("news", 36, 2)
    assert corpus.notes[0] == "news has no val text: 2 of its training texts are held out for it."
    assert name != "news.en" or load(tmp_path / "news", text="target").train == corpus.train, "as a prefix"
    for both in ("pairs", "both"):
        with pytest.raises(
            ValueError,
            match=r"one plain file: give the prefix of two files.*, call .* set data\.text \(of .*: text\) to",
        ):
            load(tmp_path / name, text=both)


def test_text_of_two_languages_may_have_different_numbers_of_lines(folder: Path) -> None:
    (folder / "train.en").write_text("one\ntwo\n\nfour\nfive\n")
    corpus = load(folder, text="both")
    german = [source for source, _ in pairs_of("train")]
    assert [text for _, text in corpus.train] == [german[0], "one", german[1], "two", german[2], "four", "five"]
    assert corpus.ledgers["train"].read == 8
    assert corpus.ledgers["train"].dropped == {"blank": 1}
    assert corpus.ledgers["train"].first == {"blank": 3}
    with pytest.raises(ValueError, match=r"train\.de has 3 lines, .*train\.en has 5: line n of each must translate"):
        load(folder, text="pairs")


@pytest.mark.parametrize("text", ["auto", "pairs", "both"])
def test_a_language_that_is_missing_is_named_with_the_setting(folder: Path, text: Text) -> None:
    (folder / "val.de").unlink()
    there = r"and .*val\.en is there; .* holds test\.de, test\.en.* set data\.text \(of .*: text\) to source"
    with pytest.raises(ValueError, match=rf"val\.de is missing, {there}"):
        load(folder, text=text)
    with pytest.raises(ValueError, match=r"neither train\.fi nor .*, and data\.text is target; .*holds test\.de"):
        load(folder, target="fi", text="target")


@pytest.mark.parametrize(
    ("content", "text", "texts", "dropped"),
    [
        ("ja\nnein\tno\nwohl\n", "target", ["ja", "wohl"], {"too many columns": 1}),
        ("ja\tyes\n\nnein\n", "target", ["yes"], {"blank": 1, "too few columns": 1}),
        ("ja\tyes\nnein\n", "source", ["ja", "nein"], {}),
        ("ja\tyes\nnein\n", "both", ["ja", "yes"], {"too few columns": 1}),
        ("id\ten\n1\tyes\n2\tno\n3\t\n", "target", ["yes", "no"], {"blank": 1}),
        ("en\nyes\nno\n", "target", ["yes", "no"], {}),
    ],
)
def test_the_first_line_of_tsv_says_where_the_text_is(
    folder: Path, content: str, text: Text, texts: list[str], dropped: dict[str, int]
) -> None:
    corpus = load(with_train_in(folder, "train.tsv", content), text=text)
    assert [text for _, text in corpus.train] == texts
    assert corpus.ledgers["train"].dropped == dropped


def test_rows_without_a_language_are_counted_for_it(folder: Path) -> None:
    content = '{"de": "ja"}\n{"en": "no", "text": "x"}\n{"text": "y"}\n{"en": null, "de": ""}\n'
    corpus = load(with_train_in(folder, "train.jsonl", content), text="both")
    assert corpus.train == [("", "ja"), ("", "no")]
    assert corpus.ledgers["train"].read == 8
    assert corpus.ledgers["train"].dropped == {"no text in en": 3, "no text in de": 2, "blank": 1}
    assert load(folder, text="target").train == [("", "no"), ("", "y")]


# Errors


@pytest.mark.parametrize("split", ["train", "val", "test"])
@pytest.mark.parametrize("languages", [["de"], ["en"], ["de", "en"]])
def test_a_folder_in_place_of_a_file_is_told(folder: Path, split: str, languages: list[str]) -> None:
    for language in languages:
        (folder / f"{split}.{language}").unlink()
        (folder / f"{split}.{language}").mkdir()
    with pytest.raises(ValueError, match=rf"mine/{split}\.{languages[0]} is a folder: it must be a file"):
        load(folder)


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_an_empty_file_is_told(folder: Path, split: str) -> None:
    for language in ("de", "en"):
        (folder / f"{split}.{language}").write_text("")
    files = rf"\S*mine/{split}\.de and \S*mine/{split}\.en are empty"
    with pytest.raises(ValueError, match=f"mine has no usable {split} pair: {files}"):
        load(folder)
    with pytest.raises(ValueError, match=rf"no usable {split} text: \S*mine/{split}\.en is empty"):
        load(folder, text="target")
    (folder / "only-names.tsv").write_text("de\ten\n")
    with pytest.raises(ValueError, match=r"only-names\.tsv is without rows"):
        load(folder / "only-names.tsv")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"id": 1, "source": "Eins", "target": "One"}\n' * 3, "no object has de and en as keys; the first one has"),
        ('{"de": null, "en": "One"}\n', "no usable train pair: 1 read, dropped: 1 no text in one or both languages"),
    ],
)
def test_objects_without_the_languages_are_answered_with_their_keys(folder: Path, content: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        load(with_train_in(folder, "train.jsonl", content))


@pytest.mark.parametrize("path", ["nowhere", "no/where", "link.tsv"])
def test_what_is_not_there_is_answered_with_what_could_be(tmp_path: Path, path: str) -> None:
    (tmp_path / "other").touch()
    (tmp_path / "link.tsv").symlink_to("nowhere.tsv")
    with pytest.raises(ValueError, match=r"^the corpus .*: there is no such folder or file; a corpus is phrasebook"):
        load(tmp_path / path)


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(tmp_path: Path) -> None:
    (tmp_path / "verses.tsv").touch()
    for wrong, right in (("phrasebok", "phrasebook"), (tmp_path / "verse.tsv", tmp_path / "verses.tsv")):
        with pytest.raises(ValueError, match=rf"there is no such folder or file: did you mean {right}\?$"):
            load(wrong)


@pytest.mark.parametrize(
    ("packed", "broken", "name"),
    [
        (".gz", PACK[".gz"](b"eins\n" * 999)[:-9], "gzip"),
        (".gz", b"eins\nzwei\n", "gzip"),
        (".gz", PACK[".gz"](b"x" * 99)[:-8] + b"\0" * 8, "gzip"),
        (".zst", PACK[".zst"](b"eins\n" * 999)[:-9], "Zstandard"),
        (".zst", b"eins\nzwei\n", "Zstandard"),
    ],
)
def test_a_damaged_compressed_file_is_named(folder: Path, packed: str, broken: bytes, name: str) -> None:
    (folder / "train.de").unlink()
    (folder / f"train.de{packed}").write_bytes(broken)
    with pytest.raises(ValueError, match=rf"train\.de{packed} is cut short or not a {name} file"):
        load(folder)


@pytest.mark.parametrize("split", ["train", "val", "test_2018"])
def test_a_split_without_a_usable_pair_is_refused(folder: Path, split: str) -> None:
    write_corpus(folder, **{split: [("", "nothing"), ("nichts", " ")]})
    with pytest.raises(ValueError, match=f"no usable {split} pair: 2 read, dropped: 2 a side is blank"):
        load(folder)


# Rules of reading


def test_lines_end_at_lf_only(folder: Path) -> None:
    (folder / "train.de").write_bytes("eins\x85zwei\u2028drei\x0bvier\r\nfünf\rsechs\nsieben".encode())
    corpus = load(folder)
    assert [source for source, _ in corpus.train] == ["eins zwei drei vier", "fünf sechs", "sieben"]
    ledger = corpus.ledgers["train"]
    returned, tabs = "carriage return at the end removed", "tabs and separators made spaces"
    assert ledger.repaired == {returned: 1, tabs: 2}
    assert ledger.first == {returned: 1, tabs: 1}


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_lines_of_carriage_returns_alone_are_refused_with_the_command_to_convert_them(folder: Path, split: str) -> None:
    (folder / f"{split}.de").write_bytes(b"eins\rzwei\rdrei\rvier\r")
    (folder / f"{split}.en").write_bytes(b"one\rtwo\rthree\rfour\r")
    with pytest.raises(ValueError, match=r"returns \(CR\) alone: convert it with tr") as error:
        load(folder)
    command = str(error.value).partition("convert it with ")[2].replace("NEW-FILE", str(folder / "converted"))
    subprocess.run(command, shell=True, check=True)
    assert (folder / "converted").read_text() == "eins\nzwei\ndrei\nvier\n"


@pytest.mark.parametrize(
    ("name", "content"), [("train.tsv", "de\ten\nEins\tOne\n"), ("train.jsonl", '{"de": "Eins", "en": "One"}\n')]
)
def test_a_byte_order_mark_goes_and_is_counted(folder: Path, name: str, content: str) -> None:
    corpus = load(with_train_in(folder, name, f"\ufeff{content}"))
    assert corpus.train == [("Eins", "One")]
    assert corpus.ledgers["train"].repaired == {"byte-order mark removed": 1}


def test_invalid_utf8_drops_a_training_pair_and_is_repaired_elsewhere(folder: Path) -> None:
    for split in ("train", "val"):
        (folder / f"{split}.de").write_bytes(b"eins\nf\xfcnf\ndrei\n")
    corpus = load(folder)
    assert [source for source, _ in corpus.train] == ["eins", "drei"]
    assert corpus.ledgers["train"].dropped == {"invalid UTF-8": 1}
    assert corpus.ledgers["train"].first == {"invalid UTF-8": 2}
    assert [source for source, _ in corpus.val] == ["eins", "f\ufffdnf", "drei"]
    assert corpus.ledgers["val"].repaired == {"invalid UTF-8 made U+FFFD": 1}


def test_malformed_rows_are_counted_by_cause_with_their_first_line(folder: Path) -> None:
    with_train_in(folder, "train.tsv", "eins\tone\nzwei\n\ndrei\tthree\nvier\tist zu viel\tfour\n")
    for path in folder.glob("val.*"):
        path.unlink()
    deep = "[" * 100_000
    (folder / "val.jsonl").write_text(
        '{"de": "eins", "en": "one"}\n{"de": "zwei"}\nnull\n{"de": 3, "en": "three"}\n'
        f'{{"de": "vier", "en":\n{deep}\n{{"translation": "fünf"}}\n'
    )
    corpus = load(folder)
    assert corpus.train == [("eins", "one"), ("drei", "three")]
    assert corpus.ledgers["train"].dropped == {"too few columns": 1, "a side is blank": 1, "too many columns": 1}
    assert corpus.ledgers["train"].first == {"too few columns": 2, "a side is blank": 3, "too many columns": 5}
    assert corpus.val == [("eins", "one")]
    assert corpus.ledgers["val"].dropped == {"no text in one or both languages": 4, "not JSON": 2}
    assert corpus.ledgers["val"].first == {"no text in one or both languages": 2, "not JSON": 5}


odd_bytes = [b"a\tb", b"\n", b"\r", b"\xff", b"\xc3\xa4", b'{"de": "\\ud800", "en": "x"}', b"\x00", b"\xef\xbb\xbf"]


@given(
    content=st.binary(max_size=200) | st.lists(st.sampled_from(odd_bytes), max_size=20).map(b"".join),
    name=st.sampled_from(["train.tsv", "train.jsonl", "train.de"]),
    text=st.sampled_from(["pairs", "source", "target", "both"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_bytes_crash_reading_and_each_line_is_counted(tmp_path: Path, content: bytes, name: str, text: Text) -> None:
    """A file with any content yields its usable pairs, or a ValueError that says why there are none."""
    with_train_in(write_corpus(tmp_path, val=pairs_of("val"), test=pairs_of("test")), name, content)
    if name == "train.de":
        (tmp_path / "train.en").write_bytes(content)
    try:
        corpus = load(tmp_path, text=text)
    except ValueError as error:
        causes = "(no|few) usable train (pair|text)|is UTF-|is compressed|have numbers|no line has a tab|CR. alone"
        assert re.search(f"{causes}|is ({'|'.join(map(re.escape, NO_TEXT.values()))})", str(error))  # noqa: PT017
        return
    ledger = corpus.ledgers["train"]
    lines = content.count(b"\n") + (not content.endswith(b"\n"))
    undivided = "not JSON", "too few columns", "too many columns"
    whole = sum(ledger.dropped[cause] for cause in undivided)
    assert lines <= ledger.read <= 2 * lines - whole if text == "both" else ledger.read == lines
    assert ledger.kept == len(corpus.train)


@pytest.mark.parametrize("name", ["valid", "validation", "dev"])
def test_other_names_of_the_validation_text_are_known_and_a_second_one_is_another_set(folder: Path, name: str) -> None:
    for path in folder.glob("val.*"):
        (folder / f"{name}{path.suffix}").write_bytes(path.read_bytes())
    corpus, rows = load(folder), pairs_of("val")
    assert [(part.name, part.rows) for part in corpus.val_sets] == [("val", len(rows)), (f"val-{name}", len(rows))]
    assert corpus.val == rows * 2
    for path in list(folder.glob("val.*")):
        path.unlink()
    assert load(folder).val == rows


def test_no_validation_text_takes_the_place_of_another_one(folder: Path) -> None:
    for path in list(folder.glob("val.*")):
        for name in ("val-medical", "dev_medical"):
            (folder / f"{name}{path.suffix}").write_bytes(path.read_bytes())
    with pytest.raises(ValueError, match="has two validation sets named val-medical: rename one"):
        load(folder)
