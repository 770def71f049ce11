"""Every format: an unchanged translation leaves every byte; answers come back whatever they are; damaged files get a
sentence."""

import contextlib
import gc
import html
import json
import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.documents import xml_splice
from nmt.documents.base import FORMATS, Answer, Options, Unit, decode, format_of, read_document, units_translator
from nmt.translation.translator import Translator
from tests.documents.office_samples import FIELD, FILES, W, docx, epub, run, tmx, xliff
from tests.documents.samples import SAMPLES, identity
from tests.tiny import SHORT

OFFICE = {name for name, _ in FILES}  # in these formats, a translated file also changes its language
CASES = pytest.mark.parametrize("name", SAMPLES)
# Formats whose units, after a translation, are the answers. The others keep the source beside them.
BILINGUAL = ("po", "mo", "xcstrings", "xliff", "tmx", "qt")
MONOLINGUAL = [name for name, sample in SAMPLES.items() if sample.format not in BILINGUAL and sample.texts]
SIGNS = [
    *"\\\"'`*_[](){}<>&#~!|%$=:;,-+.?@/ \n\r\tÄx1日",
    "&amp;", "<b>", "-->", "--- ", "\u2028", "\x85", "]]>", "1. ", "//", "/*",
]  # fmt: skip
hostile = st.lists(st.sampled_from(SIGNS), max_size=8).map("".join)


@CASES
def test_an_unchanged_translation_leaves_every_byte(name: str) -> None:
    sample = SAMPLES[name]
    document = read_document(sample.data, sample.format, sample.options)
    assert [unit.text for unit in document.units] == sample.texts
    assert document.join(identity(document.units)) == sample.data
    if sample.format not in OFFICE:
        assert document.write(identity(document.units)) == sample.data


@CASES
def test_a_text_whose_translation_is_empty_stays(name: str) -> None:
    sample = SAMPLES[name]
    document = read_document(sample.data, sample.format, sample.options)
    tags = [Answer("".join(re.findall("<[^>]*>", unit.text)) if unit.markup else "") for unit in document.units]
    written = document.join(tags)
    assert [unit.text for unit in read_document(written, sample.format, sample.options).units] == sample.texts


def plain(units: list[Unit]) -> str:
    """The texts without tags and entities, and without blanks, since some formats have their own."""
    texts = [html.unescape(re.sub("<[^>]*>", "", u.text)) if u.markup else u.text for u in units]
    return re.sub(r"\s+", "", "".join(texts))


def answer_of(unit: Unit, text: str) -> Answer:
    """An answer with this text before and after others; its last word has a letter, since it may be a cue."""
    text = html.escape(text, quote=False) if unit.markup else text
    return Answer(f"{text} x {unit.text if unit.markup else 'y'} {text} z".strip())


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.sampled_from(MONOLINGUAL), hostile)
def test_any_answer_comes_back_from_a_file_that_is_read_again(name: str, text: str) -> None:
    sample = SAMPLES[name]
    document = read_document(sample.data, sample.format, sample.options)
    answers = [answer_of(unit, text) for unit in document.units]
    again = read_document(document.join(answers), sample.format, sample.options)
    asked = [Unit(a.text, u.markup) for u, a in zip(document.units, answers, strict=True)]
    assert plain([*again.units]) == plain(asked)
    assert not any("stays as it is" in note for note in document.notes)


PLACES = st.tuples(st.integers(0, 2000), st.integers(0, 6))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.sampled_from([*SAMPLES]), PLACES, st.binary(max_size=4) | hostile.map(str.encode))
def test_damaged_files_stay_as_they_are_or_get_a_sentence(name: str, where: tuple[int, int], new: bytes) -> None:
    sample, size = SAMPLES[name], where[1]
    place = where[0] % (len(sample.data) + 1)
    data = sample.data[:place] + new + sample.data[place + size :]
    try:
        document = read_document(data, sample.format, sample.options)
        write = document.join if sample.format in OFFICE else document.write
        written = write(identity(document.units))
    except UnicodeError:  # it says nothing to a user
        raise
    except ValueError:
        return
    assert written == data


@pytest.mark.parametrize(
    ("name", "part"),
    [("html", "<p a='"), ("html", "a <"), ("srt", "00:00:01,000 --> 00:00:02,000\na\n"), ("md", "![a]["),
     ("md", "*a `b "), ("po", '"'), ("json", '{"a":'), ("yaml", "[{"), ("yaml", "{"), ("strings", "/* "),
     ("strings", '"a" '), ("csv", '"",')],
)  # fmt: skip
def test_a_hostile_file_takes_linear_time(name: str, part: str) -> None:
    """20,000 characters take a tenth of a second; if time grew with their square, they would take minutes."""
    started = time.process_time()
    with contextlib.suppress(ValueError):
        read_document((part * (20_000 // len(part))).encode(), name, Options(columns=("1",) * (name == "csv")))
    assert time.process_time() - started < 5


CUE = b"WEBVTT\n\n00:01.000 --> 00:02.000\n"
FORMS = b"<TS><message><source>Wort</source><translation>%b</translation></message></TS>"
CDATA = "<resources><string name='a'>{}</string></resources>"
LONG: dict[str, Callable[[int], bytes]] = {  # files of n parts; the first word is the format
    "xliff with lines": lambda n: xliff(chr(10) * n + "Wort"),
    "tmx with codes": lambda n: tmx('Wort<bpt i="1"/>' * (n // 20) + 'b<ept i="1"/>' * (n // 20)),
    "tmx with codes that cross": lambda n: tmx(
        "".join(f'<bpt i="{i}"/>Wort<ept i="{i - 9}"/>' for i in range(n // 40))
    ),
    "docx with runs": lambda n: docx(run("Wort") * (n // 80)),
    "docx with fields": lambda n: docx(
        (FIELD.format("begin") + run("a")) * (n // 160) + FIELD.format("end") * (n // 160), run("Wort")
    ),
    "vtt with stamps": lambda n: CUE + b"<00:01.000>Wort " * (n // 20),
    "vtt with words": lambda n: CUE + b"Wort " * (n // 20),
    "po with blanks": lambda n: b'msgid "a"\nmsgstr ""\n' + b" " * n + b"x",
    "po with strings": lambda n: b'msgid ""\n' + b'"Wort Wort"\n' * (n // 12) + b'msgstr ""\n',
    "md with escapes": lambda n: b"Wort \\* " * (n // 40),
    "md with titles": lambda n: b"[Wort](b" + b' "' * (n // 20) + b")",
    "md with blanks of a box": lambda n: b"/// a |" + b" " * n + b"\n\nWort",
    "json with blanks": lambda n: b'{"a": "Wort"}' + b" " * n,
    "xcstrings with entries": lambda n: (
        b" " * n + json.dumps({"sourceLanguage": "de", "strings": {f"Wort {i}": {} for i in range(n // 20)}}).encode()
    ),
    "qt with forms": lambda n: FORMS % (b"<numerusform/>" * (n // 20)),
    "android with CDATA": lambda n: CDATA.format("<![CDATA[Wort <b>Wort</b>]]>" * (n // 80)).encode(),
    "epub with heads": lambda n: epub("Wort" + "<html" * (n // 5)),
}


@pytest.mark.parametrize("name", LONG)
def test_time_grows_with_the_length_of_a_file(name: str) -> None:
    changed = list[bool]()

    def seconds(size: int) -> float:
        form, data = name.split()[0], LONG[name](size)
        gc.collect()
        gc.disable()  # it goes through all objects of the process, and their number grows with the tests before
        begun = time.process_time()
        try:
            with contextlib.suppress(ValueError):
                document = read_document(data, form, Options(source="de", target="en"))
                written = document.join([Answer(unit.text.replace("Wort", "word")) for unit in document.units])
                changed.append(written != data)
            return time.process_time() - begun
        finally:
            gc.enable()

    seconds(1000)
    most = max(0.3, 22 * min(seconds(30_000) for _ in range(3)))  # linear: 8 times; quadratic: 64 times
    assert any(seconds(240_000) < most for _ in range(3))
    assert all(changed)
    assert changed or name == "po with blanks"  # which end in a line that is none


def test_the_parts_of_a_file_share_the_limit_of_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [*(f"header{n}" for n in range(3))]
    file = docx(run("a"), **dict.fromkeys(parts, f"<w:hdr {W}>{'<w:p/>' * 30}</w:hdr>"))
    monkeypatch.setattr(xml_splice, "NODES", 130)
    assert read_document(file, "docx", Options()).units
    monkeypatch.setattr(xml_splice, "NODES", 90)
    with pytest.raises(ValueError, match="the file has more than 90 elements"):
        read_document(file, "docx", Options())


def test_every_format_has_a_sample_and_is_found_by_its_suffixes() -> None:
    assert {sample.format for sample in SAMPLES.values()} == set(FORMATS)
    for name, has in FORMATS.items():
        assert all(format_of(f"a/Letter{suffix.upper()}") == name for suffix in has.suffixes)
    for file, told in (("a.xyz", r"a\.xyz: .* known are .*\.txt"), ("a.pdf", "save it as .docx"), ("a.doc", ".docx")):
        with pytest.raises(ValueError, match=told):
            format_of(file)
    with pytest.raises(ValueError, match="'pdf' is not a format"):
        read_document(b"", "pdf", Options())


@pytest.mark.parametrize("name", ["utf-8", "cp1252", "mac-roman", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_encodings_come_back(name: str) -> None:
    marks = ["\ufeff"] if "16" in name or "32" in name else ["", "\ufeff"] if name == "utf-8" else [""]
    for mark in marks:
        source = decode(f"{mark}Grüße".encode(name), name)
        assert source.text == "Grüße"
        assert source.encode("Grüße") == f"{mark}Grüße".encode(name)


def test_wrong_encodings_get_a_sentence() -> None:
    assert decode(b"a", "ascii").encode("\u20ac \ud800") == b"? ?"
    with pytest.raises(ValueError, match=r"line 2 is not valid utf-8 \(byte 0xfc\)"):
        decode(b"a\n\xfc", "")
    for name in ("klingon", "idna", "hex"):
        with pytest.raises(ValueError, match=name):
            decode(b"a", name)
    with pytest.raises(ValueError, match="can't be written"):
        decode("a".encode("utf-16-le"), "utf-16")


def test_units_are_translated_as_lines_or_as_markup(translator: Translator) -> None:
    units = [Unit("Der Hund läuft."), Unit("Zwei <1>Männer</1> &amp; Hunde", markup=True), Unit("x < y")]
    answers = units_translator(translator, SHORT)(units)
    assert answers[0].text == translator.translate_n_best([units[0].text], SHORT)[0][0].text
    assert answers[1].text.count("<1>") == answers[1].text.count("</1>") == 1
    assert len(answers) == 3


RESX = '<root><data name="a"><value>&amp;{} </value></data><data name="b"><value>user _id</value></data></root>'


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("json", '{"a": "Ein Mann: ", "b": " und\\n"}', '{"a": "A man: ", "b": " and\\n"}'),
        ("yaml", "a: 'Ein Mann: '\nb: \" und\\n\"\n", "a: 'A man: '\nb: \" and\\n\"\n"),
        ("strings", '"a" = "Ein Mann: ";\n"b" = " und\\n";\n', '"a" = "A man: ";\n"b" = " and\\n";\n'),
        ("properties", "a=Ein Mann:\\u0020\nb=\\ und\\n", "a=A man: \nb=\\ and\\n"),
        ("csv", "a,b\n Ein Mann: , und \n", "a,b\n A man: , and \n"),
        (
            "android",
            '<resources><string name="a">" Ein Mann:"</string><string name="b">\n und\\u0020\n</string></resources>',
            '<resources><string name="a">\\u0020A man:</string><string name="b">and\\u0020</string></resources>',
        ),
        ("resx", RESX.format("und"), RESX.format("and")),  # an accelerator, too, is put back; _ is none in .NET
    ],
)
def test_blanks_around_a_text_stay(kind: str, text: str, expected: str) -> None:
    options = Options(columns=("a", "b")) if kind == "csv" else Options()
    document = read_document(text.encode(), kind, options)
    said = {"Ein Mann:": "A man:", "und": "and", "user _id": "user _id"}
    assert document.write([Answer(said[unit.text.strip()]) for unit in document.units]).decode() == expected
