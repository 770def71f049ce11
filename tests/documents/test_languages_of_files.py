"""A translated file states its new language, keeps its encoding, and what only some readers see is translated too."""

import pytest

from nmt.documents.base import Answer, Document, Options, read_document


def shouted(data: bytes, form: str, options: Options) -> tuple[str, Document]:
    document = read_document(data, form, options)
    texts = (unit.text.upper() if "<" not in unit.text else unit.text + " X" for unit in document.units)
    return document.join([*map(Answer, texts)]).decode("latin-1"), document


@pytest.mark.parametrize(
    ("form", "before", "after"),
    [
        ("json", '{"@@locale": "de", "a": "Hund"}', '{"@@locale": "no", "a": "HUND"}'),
        ("yaml", "de:\n  a: Hund\n", 'no:\n  a: HUND\n'.replace("no", '"no"')),
        ("yaml", "'de':\n  a: Hund\n", "'no':\n  a: HUND\n"),
        ("yaml", "de-AT:\n  a: Hund\n", '"no":\n  a: HUND\n'),
        ("yaml", "de: Hund\nen: Hut\n", "de: HUND\nen: HUT\n"),
        ("html", '<html lang="ar" dir="rtl"><p>Hund', '<html lang="no" dir="ltr"><p>HUND'),
        ("html", '<html dir="rtl"><p>Hund', '<html dir="ltr"><p>HUND'),
        ("html", '<html class=x lang="de"><p>Hund', '<html class=x lang="no"><p>HUND'),
        ("html", "<html data-x=' lang=x dir=y' lang=de><p>Hund", "<html data-x=' lang=x dir=y' lang=\"no\"><p>HUND"),
        ("html", "<html lang=de xml:lang='de'><p lang=de>Hund", '<html lang="no" xml:lang="no"><p lang=de>HUND'),
        ("html", '<!--[if IE]><html lang="de"><![endif]--><!--[if !IE]><!--><html lang="de"><!--<![endif]--><p>Hund',
         '<!--[if IE]><html lang="de"><![endif]--><!--[if !IE]><!--><html lang="no"><!--<![endif]--><p>HUND'),
        ("html", '<meta name="description" content="Hund">', '<meta name="description" content="HUND">'),
        ("html", "<meta content='Hund' property=og:title>", "<meta content='HUND' property=og:title>"),
        ("html", '<meta name="viewport" content="Hund"><p>x', '<meta name="viewport" content="Hund"><p>X'),
        ("html", "<select><optgroup label='Hund'>", "<select><optgroup label='HUND'>"),
    ],
)  # fmt: skip
def test_the_language_and_what_is_seen_elsewhere(form: str, before: str, after: str) -> None:
    assert shouted(before.encode(), form, Options(source="de", target="no"))[0] == after
    if "<html" in before or "de" in before[:8]:
        assert shouted(before.encode(), form, Options())[0].replace("HU", "Hu") != after


@pytest.mark.parametrize(
    ("source", "target", "stated"),
    [("deu", "eng", "en"), ("de_DE", "en_XX", "en"), ("deu_Latn", "zho_Hant", "zh-Hant"), ("de", "srp_Cyrl", "sr-Cyrl"),
     ("de", "pt_BR", "pt-BR"), ("de", "shp", "shp"), ("deu", "de-1996", "de-1996"), ("de", "taq_Tfng", "taq-Tfng")],
)  # fmt: skip
def test_files_state_codes_of_models_as_the_standard_writes_them(source: str, target: str, stated: str) -> None:
    options = Options(source=source, target=target)
    assert shouted(b"de:\n  a: Hund\n", "yaml", options)[0].startswith(f"{stated}:")
    texts = f'{{"Hund": {{}}, "Hut": {{"localizations": {{"{stated}": {{}}}}}}}}'
    catalogue = f'{{"sourceLanguage": "de", "strings": {texts}}}'
    assert f'"{stated}" : {{' in shouted(catalogue.encode(), "xcstrings", options)[0]
    assert len(shouted(catalogue.encode(), "xcstrings", options)[1].units) == 1


def test_the_value_of_a_button_may_change_and_that_of_other_fields_may_not() -> None:
    document = read_document(b'<p>Hund <input type="submit" value="Los"> <input value="Los">', "html", Options())
    answer = document.units[0].text.replace('submit" value="Los', 'submit" value="Go')
    assert b'<input type="submit" value="Go"> <input value="Los">' in document.join([Answer(answer)])
    hostile = answer.replace('<input value="Los', '<input value="Go')
    assert b'value="Go"' not in document.join([Answer(hostile)])


@pytest.mark.parametrize(
    ("language", "encoding", "text"),
    [("de", "cp1252", "Grüße"), ("cs", "cp1250", "Žluťoučký kůň"), ("ru", "cp1251", "Привет, мир"),
     ("ru", "koi8-r", "Привет, мир"), ("ja", "cp932", "日本語です"), ("de", "utf-16-le", "Hallo")],
)  # fmt: skip
def test_encodings_are_detected_kept_and_told(language: str, encoding: str, text: str) -> None:
    document = read_document(text.encode(encoding), "txt", Options(source=language))
    assert [unit.text for unit in document.units] == [text]
    assert document.join([Answer(f"x {text}")]) == f"x {text}".encode(encoding)
    assert f"in the encoding {encoding}" in document.notes[0]
    if encoding == "cp1252":
        assert document.join([Answer("я")]) == b"?"
        assert "has no я" in document.notes[1]


def test_the_encoding_of_html_that_names_none_is_told_and_characters_that_it_lacks_become_references() -> None:
    document = read_document("<p>Grüße</p>".encode("cp1252"), "html", Options(source="de"))
    assert document.join([Answer("Привет")]) == "<p>Привет</p>".encode("cp1252", "xmlcharrefreplace")
    [note] = document.notes
    assert "in the encoding cp1252" in note
    named = read_document("<meta charset=latin1><p>Grüße</p>".encode("cp1252"), "html", Options(source="de"))
    named.join([Answer("Gruß")])
    assert not named.notes
