"""Catalogues of gettext, read again by polib: what had no translation has one, with flags, plurals, accelerators."""

from dataclasses import replace
from pathlib import Path

import polib
import pytest

from nmt.documents.base import Answer, Options, read_document
from nmt.documents.gettext import Message, samples
from tests.documents.samples import PO, SAMPLES, read, texts

ANSWERS = [Answer("Open the file %s"), Answer("Dog", ("unsure",)), Answer("The dogs"), Answer('A "line"\n\\x')]


def test_translations_are_filled_in() -> None:
    joined = read_document(PO.encode(), "po", Options()).join(ANSWERS).decode()
    found = {entry.msgid: entry for entry in polib.pofile(joined)}
    assert found["&Datei %s\n"].msgstr == "Open the file %s\n".replace("Open", "&Open")
    assert found["&Datei %s\n"].flags == ["c-format"]
    assert found["Hund"].msgstr_plural == {0: "Dog", 1: "T_he dogs"}
    assert found["Hund"].fuzzy
    assert found["alt"].msgstr == "old"
    assert found['Eine "Zeile"\nNoch eine'].msgstr == 'A "line"\n\\x'
    assert '#~ msgstr "gone"' in joined
    every = read_document(PO.encode(), "po", Options(all_entries=True))
    assert [unit.text for unit in every.units][3] == "alt"
    joined = every.join([*ANSWERS[:3], Answer("new"), ANSWERS[3]]).decode()
    entry = polib.pofile(joined).find("alt")
    assert (entry.msgstr, entry.fuzzy) == ("new", False)


@pytest.mark.parametrize(
    ("source", "core", "answer", "expected"),
    [
        ("&Datei", "Datei", "File", "&File"),
        ("_Suchen …", "Suchen …", "Find …", "_Find …"),
        ("Be_enden", "Beenden", "Exit", "_Exit"),
        ("_Öffnen", "Öffnen", "R & D", "_R & D"),
        ("S&peichern", "Speichern", "Update & Save", "U&pdate && Save"),
        ("&Datei", "Datei", "Fi&le", "Fi&le"),
        ("&Sichern", "Sichern", "A & B & Save", "A && B && &Save"),
        ("%s &speichern", "%s speichern", "%s save", "%s &save"),
        ("<b>{name}</b> &neu", "<b>{name}</b> neu", "<b>{name}</b> fresh", "<b>{name}</b> &fresh"),
        ("A & B", "A & B", "C & D", "C & D"),
        ("Tee &amp; Brot", "Tee &amp; Brot", "tea", "tea"),
        ("file_name", "file_name", "file_name", "file_name"),
        ("Falsche user_id", "Falsche user_id", "Wrong user_id", "Wrong user_id"),
        ("Zu http://a.de?b=1&c=d", "Zu http://a.de?b=1&c=d", "At http://a.de?b=1&c=d", "At http://a.de?b=1&c=d"),
        ("R&D im Haus", "R&D im Haus", "R&D in house", "R&D in house"),
        ("  Hund\n", "Hund", "dog", "  dog\n"),
        ("ファイル(&F)...", "ファイル...", "File...", "&File..."),
        ("文件（_F）", "文件", "Save", "_Save"),
        ("&Datei:", "Datei:", "ファイル:", "ファイル(&D):"),
        ("_URL", "URL", "URL を開く", "_URL を開く"),
        ("(&A)", "(A)", "(A)", "(&A)"),
    ],
)
def test_accelerators_and_blanks_are_put_back(source: str, core: str, answer: str, expected: str) -> None:
    assert Message(source).core == core
    assert Message(source).restore(answer) == expected


def test_a_flag_is_found_in_any_line_and_not_in_that_of_an_obsolete_entry() -> None:
    obsolete = '#, fuzzy\n#~ msgid "weg"\n#~ msgstr "gone"\n\n#, c-format\n'
    text = f'{obsolete}msgid "Hund"\nmsgstr ""\n\n#, fuzzy\n#, c-format\nmsgid "Hut"\nmsgstr ""\n'
    joined = read_document(text.encode(), "po", Options()).join([Answer("Dog"), Answer("Hat")]).decode()
    assert joined == f'{obsolete}msgid "Hund"\nmsgstr "Dog"\n\n#,\n#, c-format\nmsgid "Hut"\nmsgstr "Hat"\n'


def test_a_plural_form_without_a_known_number_needs_a_look_and_what_is_no_catalogue_is_told() -> None:
    text = PO.replace("nplurals=2", "nplurals=3").replace('msgstr[1] ""\n', 'msgstr[1] ""\nmsgstr[2] ""\n')
    answers = [Answer(answer.text) for answer in ANSWERS]
    entry = polib.pofile(read(text, "po").join(answers).decode()).find("Hund")
    assert entry.fuzzy
    assert len(set(entry.msgstr_plural.values())) == 2
    for bad, told in (("msgid 3\n", "line 1 is no"), ('msgid "a"\nmsgid "b"\n', "line 2: msgid"), ('"a"', "keyword")):
        with pytest.raises(ValueError, match=told):
            read_document(bad.encode(), "po", Options())


@pytest.mark.parametrize("rule", ["n%0", "n*1000000000", "-n", "n!=1", "(n"])
def test_rules_that_make_no_sense_are_none(rule: str) -> None:
    assert len(samples(f"plural={rule};")) in (0, 2)


def test_a_plural_of_french_or_arabic_needs_no_look() -> None:
    template = 'msgid ""\nmsgstr "Language: \\n"\n"Plural-Forms: \\n"\n\nmsgid "%d file"\nmsgid_plural "%d files"\n'
    template += 'msgstr[0] ""\nmsgstr[1] ""\n'
    french, arabic = (read(template, "po", target=target) for target in ("fr", "ar"))
    assert texts(french) == ["1 file", "2 files", "2 files"]
    answers = {"0 files": "بلا ملفات", "1 file": "ملف واحد", "2 files": "ملفان", "3 files": "٣ ملفات"}
    joined = arabic.join([Answer(answers.get(text, text.replace("files", "ملف"))) for text in texts(arabic)])
    [entry] = polib.pofile(joined.decode())
    assert [*entry.msgstr_plural.values()][:4] == ["بلا ملفات", "ملف واحد", "ملفان", "%d ملفات"]
    assert not entry.fuzzy
    [entry] = polib.pofile(french.join([Answer(f"{unit.text} x") for unit in french.units]).decode())
    assert entry.msgstr_plural == {0: "%d file x", 1: "%d files x", 2: "%d files x"}
    assert not entry.fuzzy


def test_compiled_catalogues_get_their_texts_at_the_end(tmp_path: Path) -> None:
    catalogue = polib.pofile(PO)
    catalogue.find("Hund").msgstr_plural = {0: "Dog", 1: "Dogs"}
    data = catalogue.to_binary()
    document = read_document(data, "mo", Options())
    joined = document.join([Answer(unit.text.upper()) for unit in document.units])
    (tmp_path / "a.mo").write_bytes(joined)
    assert polib.mofile(str(tmp_path / "a.mo")).find("Hund").msgstr_plural == {0: "HUND", 1: "DIE _HUNDE"}
    assert joined.startswith(data[:28])
    ascii_only = read(data.replace(b"charset=UTF-8", b"charset=ascii"), "mo")
    assert b"\0?dog?\0" in ascii_only.join([Answer("“dog”") for _ in ascii_only.units])
    assert "the encoding ascii has no “”, which became ?" in ascii_only.notes[0]
    sample = SAMPLES["mo"]
    for size in (0, 10, 40, 70):
        with pytest.raises(ValueError, match=r"MO file|cut off"):
            read_document(sample.data[:size], "mo", replace(sample.options))


def test_the_encoding_is_read_from_a_header_in_one_string_and_put_into_that_of_a_template() -> None:
    header = 'msgid ""\nmsgstr "Language: de\\nContent-Type: text/plain; charset=cp1252\\n"\n'
    data = f'{header}\nmsgid "Grüße"\nmsgstr ""\n'.encode("cp1252")
    assert texts(read(data, "po", source="ru")) == ["Grüße"]
    header = 'msgid ""\nmsgstr ""\n"Language: \\n"\n"Content-Type: text/plain; charset=CHARSET\\n"\n\n'
    document = read_document(f'{header}msgid "Hund"\nmsgstr ""\n'.encode(), "po", Options(target="en"))
    written = document.write([Answer("“dog”")]).decode()
    assert "charset=UTF-8" in written
    assert polib.pofile(written).find("Hund").msgstr == "“dog”"


IN_GERMAN = {
    "po": 'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "Dog"\nmsgstr "Hund"\n\nmsgid "Cat"\nmsgstr ""\n',
    "qt": '<TS language="de_DE"><context><message><source>Dog</source><translation>Hund</translation></message>'
    "<message><source>Cat</source><translation/></message></context></TS>",
}


@pytest.mark.parametrize(("format_", "text"), IN_GERMAN.items())
def test_translations_in_another_language_are_not_mixed_with_new_ones(format_: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"has translations in de.* not in fr: take its template"):
        read(text, format_, target="fr")
    assert texts(read(text, format_, target="fr", all_entries=True)) == ["Dog", "Cat"]
    assert texts(read(text.replace("Language: de", "Language: de@x"), format_, target="de")) == ["Cat"]
    assert texts(read(text.replace("Hund", ""), format_, target="fr")) == ["Dog", "Cat"]
