"""Plural forms: each form of the target language is translated, with a number of its class that comes back."""

import json
import re
from collections.abc import Callable

import polib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.documents.base import Answer, Document, Options, read_document
from nmt.documents.plurals import numbers
from tests.documents.office_samples import ANDROID, QT, STRINGSDICT, XLIFF_1
from tests.documents.samples import PO, texts

PLURAL = "{n, plural, =0{keine Hunde} one{# Hund} other{# Hunde mit {name}}}"
TO_POLISH = Options(source="de", target="pl")


def answered(document: Document, answer: Callable[[str], str] = lambda text: f"x {text}") -> str:
    return document.join([Answer(answer(unit.text)) for unit in document.units]).decode()


def in_json(text: str, options: Options = TO_POLISH) -> Document:
    return read_document(json.dumps({"a": text}).encode(), "json", options)


def test_classes_are_those_of_cldr() -> None:
    assert [*numbers("pl")] == ["one", "few", "many", "other"]
    assert numbers("pl")["few"] == (2, False)
    assert numbers("ja") == {"other": (2, False)}
    assert [name for name, (_, is_alone) in numbers("ar").items() if is_alone] == ["zero", "one", "two"]
    assert [*numbers("ar-EG")] == ["zero", "one", "two", "few", "many", "other"]
    assert [*numbers("en", ordinal=True)] == ["one", "two", "few", "other"]
    assert [*numbers("xx")] == ["one", "other"]
    assert numbers("ar_AR") == numbers("ar")


def test_a_message_gets_the_forms_of_the_target_language() -> None:
    document = in_json(f"Da sind {PLURAL}.")
    assert texts(document)[:3] == ["Da sind keine Hunde.", "Da sind 1 Hund.", "Da sind 2 Hunde mit {name}."]
    written = json.loads(answered(document))["a"]
    assert written.startswith("{n, plural, =0 {x Da sind keine Hunde.} one {x Da sind # Hund.} few {x Da sind # Hunde")
    assert [*re.findall(r"(\w+) \{x", written)] == ["0", "one", "few", "many", "other"]
    assert document.join([Answer(text) for text in texts(document)]) == document.data


def test_selects_and_nested_choices() -> None:
    text = "{sex, select, male{Er hat {n, plural, one{# Hund} other{# Hunde}}} other{Sie}}"
    document = in_json(text, Options(target="en"))
    assert texts(document) == ["Er hat 1 Hund", "Er hat 2 Hunde", "Sie"]
    written = json.loads(answered(document))["a"]
    assert written == "{sex, select, male {{n, plural, one {x Er hat # Hund} other {x Er hat # Hunde}}} other {x Sie}}"


@pytest.mark.parametrize("form", ["# Hunde mit {name}", "# von 2 mit {name}"])
@pytest.mark.parametrize("answer", ["Hunde", "2 2 Hunde {name}", "2 Hunde", "2 Hunde {name} {", ""])
def test_a_message_whose_number_or_placeholder_is_lost_stays(answer: str, form: str) -> None:
    document = in_json(f"{{n, plural, other{{{form}}}}}", Options(target="en"))
    assert document.join([Answer(answer) for _ in document.units]) == document.data
    assert any("stays as it is" in note for note in document.notes)


@pytest.mark.parametrize(("form", "written"), [("Hut {name}", "d’{name}"), ("Annas' {name}", "d'{name}")])
def test_an_apostrophe_of_an_answer_begins_no_quotation(form: str, written: str) -> None:
    document = in_json(f"{{n, plural, other{{{form}}}}}", Options(target="en"))
    assert f"{{{written}}}" in json.loads(answered(document, lambda _: "d'{name}"))["a"]


@pytest.mark.parametrize(
    "text",
    ["{n, plural, one{a}}", "{n, plural, other{a}", "{n, plural,}", "{a, select, " * 99, "a {n, plural, # } b",
     "{n, plural, one{a} other{b}}" * 6],  # too many forms
)  # fmt: skip
def test_what_is_no_message_stays_with_a_remark(text: str) -> None:
    document = in_json(text)
    assert texts(document) == []
    assert document.join([]) == document.data


BRACES = st.sampled_from(["{n, plural, ", "one{", "other{", "}", "# a", "{x}", "'", "{s, select, ", "few {"])


@settings(max_examples=100, deadline=None)
@given(st.lists(BRACES, max_size=12))
def test_any_text_of_braces_is_read_and_stays(parts: list[str]) -> None:
    document = in_json("".join(parts))
    assert document.join([Answer(text) for text in texts(document)]) == document.data
    json.loads(answered(document))


def test_arb_xliff_and_properties_have_messages() -> None:
    arb = read_document(json.dumps({"@@locale": "de", "a": PLURAL, "@a": {"x": "Hund"}}).encode(), "json", TO_POLISH)
    assert len(texts(arb)) == 5
    for form, text in (("xliff", XLIFF_1.replace("Neu<", f"{PLURAL}<")), ("properties", f"a={PLURAL}")):
        assert "few {x # Hunde mit {name}}" in answered(read_document(text.encode(), form, TO_POLISH))


def test_forms_that_android_and_apple_lack_are_added() -> None:
    android = answered(read_document(ANDROID.encode(), "android", TO_POLISH))
    assert '<item quantity="other">x %d Hunde</item><item quantity="few">x %d Hunde</item>' in android
    assert android.count("<item quantity=") == 4
    places = [unit.place for unit in read_document(ANDROID.encode(), "android", TO_POLISH).units]
    assert places[-1].startswith("string ")
    marked = ANDROID.replace("%d Hunde", '<xliff:g id="n">%d</xliff:g> <b>Hunde</b> &amp; Hut')
    android = answered(read_document(marked.encode(), "android", TO_POLISH))
    assert android.count('<xliff:g id="n">%d</xliff:g> x <b>Hunde</b> &amp; Hut</item>') == 3
    apple = answered(read_document(STRINGSDICT.encode(), "stringsdict", TO_POLISH))
    assert "<key>few</key><string>x %d Hunde</string>" in re.sub(r">\s+<", "><", apple)
    assert apple.count("<key>many</key>") == 1


@pytest.mark.parametrize(
    ("format_name", "text", "expected"),
    [
        ("json", '{\n  "a_one": "ein",\n  "a_other": "N da"}',
         '{\n  "a_one": "x ein",\n  "a_few": "x N da",\n  "a_many": "x N da",\n  "a_other": "x N da"}'),
        ("json", '{"one": "1", "few": "ein", "other": "alle"}',
         '{"one": "1", "few": "x ein", "many": "x alle", "other": "x alle"}'),
        ("json", '{"a_ordinal_other": "N. da"}', '{"a_ordinal_other": "x N. da"}'),
        ("yaml", "a:\r\n- b:\r\n  one: 1\r\n  other: 'N da' # y\r\n",
         "a:\r\n- b:\r\n  one: 1\r\n  few: 'x N da'\r\n  many: 'x N da'\r\n  other: 'x N da' # y\r\n"),
        ("yaml", 'other: "N da \\uD83D\\uDC15"\n',
         'one: "x N da 🐕"\nfew: "x N da 🐕"\nmany: "x N da 🐕"\nother: "x N da 🐕"\n'),
        ("yaml", "{one: 1, other: alle}", "{one: 1, few: x alle, many: x alle, other: x alle}"),
        ("yaml", 'one: 1\n"other": |\n  N da\n',
         'one: 1\n"few": "x N da"\n"many": "x N da"\n"other": |\n  x N da\n'),
        ("yaml", "[other: 'N da']\n", "[other: 'x N da']\n"),
        ("yaml", "? one\n: 1\n? other\n: alle\n", "? one\n: 1\n? other\n: x alle\n"),
    ],
)  # fmt: skip
def test_forms_that_rails_and_i18next_lack_are_added(format_name: str, text: str, expected: str) -> None:
    """N stands for the number as each of them writes it."""
    number = {"json": "{{count}}", "yaml": "%{count}"}[format_name]
    document = read_document(text.replace("N", number).encode(), format_name, TO_POLISH)
    assert answered(document) == expected.replace("N", number)


def test_forms_of_a_list_of_names_are_not_added() -> None:
    text = '{"a_other": "Hunde", "two": "Zwei", "Another": "{{count}} da"}'
    assert texts(read_document(text.encode(), "json", TO_POLISH)) == ["Hunde", "Zwei", "{{count}} da"]
    assert texts(read_document(b"other: Am %date% von %name\n", "yaml", TO_POLISH)) == ["Am %date% von %name"]
    added = texts(read_document("other: 有%d个\n".encode(), "yaml", TO_POLISH))
    assert added == ["有%d个", "有1个", "有2个", "有5个"]
    counted = texts(read_document(b'{"a_other": "{{ count }} da"}', "json", TO_POLISH))
    assert counted == ["{{ count }} da", "1 da", "2 da", "5 da"]


def qt(*changes: tuple[str, str], target: str = "en", every: bool = False) -> Document:
    """The file of Qt with some changes."""
    file = QT
    for old, new in changes:
        assert old in file
        file = file.replace(old, new)
    return read_document(file.encode(), "qt", Options(source="de", target=target, all_entries=every))


DONE = (' type="unfinished"', ""), ("m></n", "m>dogs</n")


def test_messages_of_qt_are_filled_and_finished() -> None:
    written = answered(qt())
    assert "<translation>x Die Datei &amp;öffnen</translation>" in written
    assert "<numerusform>x %n Hunde</numerusform><numerusform>x %n Hunde</numerusform>" in written
    assert '<translation type="vanished">Old</translation>' in written
    variants = ('"unfinished"></t', '"unfinished"><lengthvariant/></t')
    assert "<translation>x Die Datei &amp;öffnen</translation>" in answered(qt(variants))
    assert 'language="en_GB">' in written
    assert 'language="fr">' in answered(qt(target="fr", every=True))
    assert 'language="en_GB">' in answered(qt(("en_GB", "en"), target="en-GB"))
    document = qt()
    lost = document.join([Answer(unit.text.replace("2 Hunde", "dogs")) for unit in document.units]).decode()
    assert "<numerusform></numerusform>" in lost
    [note] = document.notes
    assert note.startswith("message '%n Hunde': the translation of a plural form hasn't the number 2 once, so the text")
    assert qt(("<numerusform></numerusform><", "<numerusform/><"), ("en_GB", "pl_PL"), target="pl").units
    without_forms = answered(qt(("<numerusform></numerusform>", ""))).replace("\n", "")
    assert '<translation type="unfinished"><numerusform>x %n Hunde</numerusform></translation>' in without_forms


@pytest.mark.parametrize("last", ["<numerusform></numerusform></t", "<numerusform/></t", "</t"])
def test_a_message_of_qt_gets_the_forms_of_another_language(last: str) -> None:
    others = (' language="en_GB"', ""), ("%n", "%Ln")
    document = qt(("<numerusform></numerusform></t", last), *others, target="pl")
    assert sorted(texts(document)[1:]) == ["1 Hunde", "2 Hunde", "5 Hunde"]
    forms = ["x %Ln Hunde", "y %Ln", ""]
    for_numbers = {"1 Hunde": "x 1 Hunde", "2 Hunde": "y 2", "5 Hunde": "z"}
    written = document.join([Answer(for_numbers.get(text, text)) for text in texts(document)]).decode()
    assert "".join(f"<numerusform>{form}</numerusform>" for form in forms) in written
    assert len(document.notes) == 1
    kept = document.join([Answer(text if "Hunde" in text else "x") for text in texts(document)]).decode()
    assert "Hunde</numerusform>" not in kept


def test_a_message_of_qt_whose_new_translation_is_flagged_or_has_any_new_form_is_not_finished() -> None:
    document = qt(*DONE, every=True)
    written = document.join([Answer("x 1 2", ("numbers",)), *(Answer(f"x {unit.text}") for unit in document.units[1:])])
    kinds = re.findall("<translation(?: type=.(.*?).)?>", written.decode())
    assert kinds == ["unfinished", "unfinished", "", "vanished"]
    for kept in ("1 Hunde", "2 Hunde", ""):
        partly = answered(qt(*DONE, every=True), lambda text: "" if text == kept else f"x {text}")  # noqa: B023
        assert '<translation type="unfinished"><numerusform>' in partly


def test_blanks_accelerators_and_drafts_in_a_file_of_qt_are_kept() -> None:
    document = qt(("Die Datei &amp;öffnen", "Der &amp;Name: \n"))
    assert texts(document)[0] == "Der Name:"
    assert "<translation>The &amp;name: \n</translation>" in answered(document, lambda text: "The name:")
    assert '<translation type="unfinished"></translation>' in answered(document, lambda text: "")
    draft = ('type="unfinished"></translation>', 'type="unfinished">Draft</translation>')
    assert texts(qt(draft)) == ["1 Hunde", "2 Hunde"]
    assert "Die Datei öffnen" in texts(qt(draft, every=True))


def test_a_catalogue_gets_the_header_and_the_forms_of_its_language() -> None:
    header = PO.replace('"Plural', '"Language: \\n"\n"Plural')
    template = "#, fuzzy\n" + header.replace("Die _Hunde", "%d Hunde")
    document = read_document(template.encode(), "po", TO_POLISH)
    assert texts(document)[1:4] == ["Hund", "2 Hunde", "5 Hunde"]
    catalogue = polib.pofile(answered(document))
    assert catalogue.metadata["Language"] == "pl"
    assert not catalogue.metadata_is_fuzzy
    # Babel 2.19 writes blanks, and no brackets around the rule.
    rule = catalogue.metadata["Plural-Forms"].replace(" ", "")
    assert rule.replace("plural=(", "plural=").startswith("nplurals=3;plural=n==1?0:")
    entry = catalogue.find("Hund")
    assert entry.msgstr_plural == {0: "x Hund", 1: "x %d Hunde", 2: "x %d Hunde"}
    assert not entry.fuzzy
    japanese = polib.pofile(answered(read_document(template.encode(), "po", Options(target="ja"))))
    assert japanese.find("Hund").msgstr_plural == {0: "x %d Hunde"}
    same = read_document(template.replace("Language: ", "Language: pl").encode(), "po", TO_POLISH)
    assert "nplurals=2" in answered(same)
    unknown = polib.pofile(answered(read_document(template.encode(), "po", Options(target="shp"))))
    assert unknown.find("Hund").msgstr_plural == {0: "x Hund", 1: "x %d Hunde"}


@pytest.mark.parametrize(
    ("data", "answers", "expected"),
    [
        (b"a=Heut'' {0}\r\nb=\\u00fc", ["it's {0}", "😀 \\ \n!"], b"a=it''s {0}\r\nb=\\ud83d\\ude00 \\\\ \\n!"),
        (b"a=\xfc\nb Hund\n", ["żé😀", "= Pies"], b"a=\\u017c\xe9\\ud83d\\ude00\nb \\= Pies\n"),
        (b"a=Nimm '{'0'}' f''r {0}\nb=''{0}'' da", ["a's '{'0'}' {0}", "'{0}' x"], b"a=a''s '{'0'}' {0}\nb=''{0}'' x"),
        ("a=ü\n".encode(), ["ö"], "a=ö\n".encode()),
    ],
)
def test_properties_keep_escapes_and_apostrophes(data: bytes, answers: list[str], expected: bytes) -> None:
    document = read_document(data, "properties", Options(encoding="cp1252" if b"=\xfc" in data else ""))
    assert document.join([*map(Answer, answers)]) == expected
    assert not document.notes


def test_each_form_of_a_message_has_its_tags() -> None:
    forms = 'vor {n, plural, one {<x id="a"/> Tag} other {<x id="b"/> <g id="c">Tagen</g>}}'
    file = re.sub("Neu<", f"{forms}<", XLIFF_1).encode()
    assert answered(read_document(file, "xliff", TO_POLISH)).count('{x vor <x id="b"/> <g id="c">Tagen</g>}') == 3
    japanese = read_document(file, "xliff", Options(source="de", target="ja"))
    assert '>{n, plural, other {x vor <x id="b"/> <g id="c">Tagen</g>}}</target>' in answered(japanese)


def test_a_segment_of_memoq_has_its_status() -> None:
    file = XLIFF_1.replace("<xliff ", '<xliff xmlns:mq="MQXliff" ').replace('id="3"', 'id="3" mq:status="NotStarted"')
    written = answered(read_document(file.encode(), "xliff", Options(target="en")))
    assert '<trans-unit id="3" mq:status="Pretranslated">' in written
