"""Corpora in formats of translators, programs and data sets: each is read, and a broken one gets a sentence."""

import gzip
from pathlib import Path

import polib
import pyarrow
import pytest
from pyarrow.parquet import write_table

from nmt.config import DataConfig
from nmt.data.corpora import corpus_files, load_corpus
from nmt.data.corpora.bilingual_xml import entries_of, in_languages
from nmt.data.corpora.catalogues import mo_messages, po_messages
from nmt.data.corpora.corpus import Corpus
from tests.data.corpus_files import load

GERMAN, ENGLISH = [f"Satz {n}" for n in range(40)], [f"sentence {n}" for n in range(40)]
PAIRS = list(zip(GERMAN, ENGLISH, strict=True))
XLIFF_1 = """<?xml version="1.0"?><xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file source-language="de" target-language="en-GB" original="a" datatype="plaintext"><body>{}</body></file></xliff>"""
UNIT = "<trans-unit id='{0}'><source>{1}</source><target>{2}</target><note>not read</note></trans-unit>"
XLIFF_2 = """<x:xliff xmlns:x="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="de" trgLang="en">
<x:file id="f">{}</x:file></x:xliff>"""
SEGMENT = "<x:unit id='{0}'><x:segment><x:source>{1}</x:source><x:target>{2}</x:target></x:segment></x:unit>"


def all_pairs(corpus: Corpus) -> list[tuple[str, str]]:
    return sorted([*corpus.train, *corpus.val, *(pair for pairs in corpus.tests.values() for pair in pairs)])


@pytest.mark.parametrize(("whole", "unit"), [(XLIFF_1, UNIT), (XLIFF_2, SEGMENT)], ids=["1.2", "2.0"])
@pytest.mark.parametrize("swapped", [False, True])
def test_xliff_is_read_in_both_directions(tmp_path: Path, whole: str, unit: str, swapped: bool) -> None:
    text = whole.format("".join(unit.format(n, *pair) for n, pair in enumerate(PAIRS)))
    (tmp_path / "a.xliff.gz").write_bytes(gzip.compress(text.encode()))
    source, target = ("en", "de") if swapped else ("de", "en")
    corpus = load(tmp_path / "a.xliff.gz", source=source, target=target)
    assert all_pairs(corpus) == sorted((b, a) if swapped else (a, b) for a, b in PAIRS)
    assert corpus.name == "a"


def test_codes_and_proposals_of_xliff_are_left_out_and_units_without_a_target_have_no_text(tmp_path: Path) -> None:
    first = "<source>Der <g id='1'>große</g> <ph id='2'>&lt;br/></ph>Hund</source><target>The <x id='1'/>dog</target>"
    proposal = "<alt-trans><source>falsch</source><target>wrong</target></alt-trans>"
    units = f"<trans-unit id='1'>{first}{proposal}</trans-unit><trans-unit id='2'><source>Ja</source></trans-unit>"
    (tmp_path / "a.xlf").write_text(XLIFF_1.format(units))
    entries = [*entries_of(tmp_path / "a.xlf", "XLIFF")]
    assert entries == [[("de", "Der große Hund"), ("en-GB", "The dog")], [("de", "Ja")]]


def test_what_somebody_must_look_at_is_no_pair(tmp_path: Path) -> None:
    unit = "<trans-unit id='1'><source>Ja</source><target state='{}'>Yes</target></trans-unit>"
    states = ("translated", "final", "new", "needs-translation", "needs-review-translation")
    (tmp_path / "a.xlf").write_text(XLIFF_1.format("".join(map(unit.format, states))))
    entries = [*entries_of(tmp_path / "a.xlf", "XLIFF")]
    assert [in_languages(entry, ["en"])[0] for entry in entries] == ["Yes", "Yes", None, None, None]
    segments = SEGMENT.replace("<x:segment>", "<x:segment state='initial'>").format(1, "Ja", "Yes")
    (tmp_path / "b.xlf").write_text(XLIFF_2.format(segments + SEGMENT.format(2, "Nein", "No")))
    assert [in_languages(entry, ["en"])[0] for entry in entries_of(tmp_path / "b.xlf", "XLIFF")] == [None, "No"]
    po = tmp_path / "names.model.po"
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\nLanguage: en\\n"\n\n'
    messages = "".join(f'msgid "Satz {n}"\nmsgstr "Sentence {n}"\n\n' for n in range(9))
    po.write_text(f'{header}{messages}#, fuzzy\n#, c-format\nmsgid "Baum %d"\nmsgstr "wrong %d"\n')
    assert sorted(all_pairs(load(po))) == [(f"Satz {n}", f"Sentence {n}") for n in range(9)]


def test_a_file_of_xliff_needn_t_name_the_target_language(tmp_path: Path) -> None:
    text = XLIFF_1.replace(' target-language="en-GB"', "")
    (tmp_path / "a.xlf").write_text(text.format("".join(UNIT.format(n, *pair) for n, pair in enumerate(PAIRS))))
    assert all_pairs(load(tmp_path / "a.xlf")) == sorted(PAIRS)
    with pytest.raises(ValueError, match=r"no entry with text in fi and sv; its languages are de$"):
        load(tmp_path / "a.xlf", source="fi", target="sv")


def test_po_and_mo_are_read_and_the_header_says_which_side_is_translated(tmp_path: Path) -> None:
    po = polib.POFile()
    po.metadata = {"Content-Type": "text/plain; charset=UTF-8", "Language": "de"}
    for german, english in PAIRS:
        po.append(polib.POEntry(msgid=english, msgstr=german, msgctxt="menu" if "7" in english else None))
    po[0].flags.append("fuzzy")
    po.append(polib.POEntry(msgid="one dog", msgid_plural="%d dogs", msgstr_plural={0: "ein Hund", 1: "%d Hunde"}))
    po.append(polib.POEntry(msgid="open", msgstr=""))
    po.save(str(tmp_path / "a.po"))
    po.save_as_mofile(str(tmp_path / "a.mo"))
    corpus = load(tmp_path / "a.po")
    plural = [("ein Hund", "one dog"), ("%d Hunde", "%d dogs")]
    assert all_pairs(corpus) == sorted(PAIRS[1:] + plural)
    dropped = corpus.ledgers["train"].dropped
    assert (dropped["fuzzy"], dropped["a side is blank"]) == (1, 1)
    assert corpus.dropped["fuzzy"] == [("train:1: Satz 0", "sentence 0")]
    turned = load(tmp_path / "a.po", source="en", target="de")
    assert all_pairs(turned) == sorted((b, a) for a, b in PAIRS[1:] + plural)
    compiled = all_pairs(load(tmp_path / "a.mo"))  # polib leaves fuzzy messages out
    assert compiled == sorted([*PAIRS[1:], ("ein Hund", "one dog")]), "of a plural, only the singular is known"
    with pytest.raises(ValueError, match=r"has translations into de, which is neither data.source, fr, nor"):
        load(tmp_path / "a.po", source="fr")


@pytest.mark.parametrize("shape", ["columns", "translation", "text"])
def test_parquet_is_read_by_the_names_of_columns(tmp_path: Path, shape: str) -> None:
    columns: dict[str, list[object]] = {"id": list(range(40)), "de": list(GERMAN), "en": list(ENGLISH)}
    if shape == "translation":
        columns = {"translation": [{"de": de, "en": en} for de, en in PAIRS]}
    if shape == "text":
        columns = {"text": list(ENGLISH)}
    write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    if shape == "text":
        wanted = [("", text) for text in ENGLISH]
        assert all_pairs(load(tmp_path / "a.parquet", text="target")) == sorted(wanted)
    else:
        assert all_pairs(load(tmp_path / "a.parquet")) == sorted(PAIRS)
    with pytest.raises(ValueError, match=r"a\.parquet has no columns for de and fr, .*; it has "):
        load(tmp_path / "a.parquet", target="fr")


def test_of_columns_with_one_name_the_first_is_read(tmp_path: Path) -> None:
    table = pyarrow.table([GERMAN, ENGLISH, GERMAN], names=["de", "en", "en"])
    write_table(table, tmp_path / "a.parquet")
    assert all_pairs(load(tmp_path / "a.parquet")) == sorted(PAIRS)


def test_bytes_in_parquet_that_are_not_utf8_drop_their_pair_alone(tmp_path: Path) -> None:
    german = pyarrow.array([b"sch\xf6n", *(line.encode() for line in GERMAN)]).view(pyarrow.string())
    write_table(pyarrow.table({"de": german, "en": ["nice", *ENGLISH]}), tmp_path / "a.parquet")
    corpus = load(tmp_path / "a.parquet")
    assert all_pairs(corpus) == sorted(PAIRS)
    assert corpus.ledgers["train"].dropped["invalid UTF-8"] == 1


def test_folders_of_opus_and_mtdata_are_read_by_the_names_of_their_files(tmp_path: Path) -> None:
    (tmp_path / "train-parts").mkdir()
    for stem, part in (("Europarl.de-en", slice(20)), ("train-parts/OPUS-books-v1-de-en", slice(20, 40))):
        for language, lines in (("de", GERMAN[part]), ("en", ENGLISH[part])):
            (tmp_path / f"{stem}.{language}").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "README").write_text("About the corpus.")
    assert all_pairs(load(tmp_path)) == sorted(PAIRS)
    assert all_pairs(load(tmp_path, source="en", target="de")) == sorted((b, a) for a, b in PAIRS)
    assert len(corpus_files(DataConfig(corpus=str(tmp_path)))["train"]) == 4
    train = load_corpus(DataConfig(corpus=str(tmp_path)), needed=()).train
    assert {row.line: row.pair for row in train.rows()} == dict(enumerate(PAIRS, start=1)), "lines go on over files"
    (tmp_path / "Europarl.de-en.en").unlink()
    with pytest.raises(ValueError, match=r"Europarl.de-en.en is missing.*, or data.many_to_many; "):
        load(tmp_path)


def test_held_out_text_is_that_of_both_languages_and_no_training_text(tmp_path: Path) -> None:
    stems = {"train": GERMAN[:20], "valid": GERMAN[20:30], "test": GERMAN[30:]}
    for pair in ("de-en", "de-fr", "en-fr"):
        for stem, lines in stems.items():
            for language in pair.split("-"):
                (tmp_path / f"{stem}.{pair}.{language}").write_text("".join(f"{language} {line}\n" for line in lines))
    (tmp_path / "test-2016.de-pt-BR.de").write_text("Satz\n")
    corpus = load(tmp_path)
    train, val, test = ([(f"de {line}", f"en {line}") for line in lines] for lines in stems.values())
    assert corpus.train == train
    assert (corpus.val, corpus.tests) == (val, {"test.de-en": test})
    assert set(load(tmp_path, source="fr", target="en").tests) == {"test.en-fr"}
    (tmp_path / "test.de-en.en").unlink()
    with pytest.raises(ValueError, match=r"test.de-en.en is missing"):
        load(tmp_path)
    for path in (*tmp_path.glob("train.*"), tmp_path / "test.de-en.de"):
        path.unlink()
    with pytest.raises(ValueError, match="has no training text"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("a.xliff", b"<xliff><file>", "isn't well-formed XLIFF"),
        ("a.xliff", b"<tmx/>", "isn't XLIFF: its first element is <tmx>"),
        ("a.tmx", b"<tmx>", "isn't well-formed TMX"),
        ("a.tmx", b"<a/>", "isn't TMX: its first element is <a>"),
        ("a.xlf", b'<!DOCTYPE x [<!ENTITY a "b">]><xliff/>', "declares the entity a"),
        ("a.tmx", b'<!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx><seg>sch&ouml;n</seg></tmx>', "entity ouml.* without"),
        ("a.po", b'msgid "x\nmsgstr', "can't be read as a PO file: line 1"),
        ("a.po", b'"Content-Type: a; charset=none-such"', "can't be read as a PO file: unknown encoding"),
        ("a.po", b'msgid "\xff"\nmsgstr "x"', "can't be read as a PO file"),
        ("a.mo", b"", "a.mo isn't a whole MO file: it is empty, or was cut short"),
        ("a.mo", b"\xde\x12\x04\x95" + b"\xff" * 40, "can't be read as a MO file"),
        ("a.mo", b"\xde\x12\x04\x95\0\0\0\0\xff\xff\xff\xff", "a.mo isn't a whole MO file"),
        ("a.parquet", b"PAR1nothing", "can't be read as Parquet"),
        ("a.po.gz", b"no gzip", "not a gzip file"),
    ],
)
def test_broken_and_hostile_files_get_a_sentence(tmp_path: Path, name: str, data: bytes, problem: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=problem):
        load(tmp_path / name)


def test_a_catalogue_without_a_header_is_read_from_source_to_target(tmp_path: Path) -> None:
    (tmp_path / "a.po").write_text(
        '# charset=a\nmsgid "Hund"\nmsgstr "dog"\n#. Content-Type: charset=b\nmsgid "charset=c"\nmsgstr ""\n'
    )
    language, messages = po_messages(tmp_path / "a.po")
    assert (language, [*messages]) == ("", [("Hund", "dog", False), ("charset=c", "", False)])
    polib.pofile(str(tmp_path / "a.po")).save_as_mofile(str(tmp_path / "a.mo"))
    assert [*mo_messages(tmp_path / "a.mo")[1]] == [("Hund", "dog", False)]
    (tmp_path / "a.po").write_bytes(
        'msgid ""\nmsgstr "Content-Type: a; charset=latin1\\nLanguage: \\nX: x\\n"\n\nmsgid "ä"\nmsgstr ""\n'.encode(
            "latin1"
        )
    )
    language, messages = po_messages(tmp_path / "a.po")
    assert (language, [*messages]) == ("", [("ä", "", False)])
