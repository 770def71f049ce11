"""HTML is cut as browsers read it: cases of the standard's tokenizer, of other programs' mistakes, and of encodings."""

import pytest

from nmt.documents.base import Answer
from nmt.text.markup import parse
from tests.documents.samples import identity, read, translated

CASES = {
    "<!DOCTYPE html><p>a</p>": ["a"],
    "<!doctype html PUBLIC 'x>y'>b": ["y'>b"],
    "a<!-- <p>no</p> -->b": ["ab"],
    "<!-- no": [],
    "a &amp;lt; &#228;&nbsp;b": ["a &lt; ä\xa0b"],
    '<p translate="no">no<p>a': ["no", "a"],
    "<p title='if translate=no'>a</p>": ["if translate=no", "a"],
    "今日は<b>雨</b>\n<i>です</i>。\n明日\nx": ["今日は雨です。明日 x"],
}
ONLY_A = ["<!-->a", "<!--->a", "<!-- no --!>a", "<?php no ?>a", "<textarea><p>no</p></textarea>a", "<P/>a"]
ONLY_A += ["<script>no</scripty></script>a", "<script>no</SCRIPT >a", "<svg><title>no</title></svg>a"]
ONLY_A += ["<iframe src=x>no</iframe>a"]


@pytest.mark.parametrize(("text", "expected"), [*CASES.items(), *((text, ["a"]) for text in ONLY_A)])
def test_texts_are_found_as_browsers_find_them(text: str, expected: list[str]) -> None:
    units = read(text, "html").units
    assert [segment.lifted.text.strip() for unit in units for segment in parse(unit.text)] == expected


def test_the_declared_encoding_is_read_and_written() -> None:
    for head in (
        *('<meta charset="latin1">', "<meta content='text/html; charset=windows-1252'>", "<?xml encoding='cp1252'?>"),
        "<!-- <meta charset=utf-8> --><meta charset=cp1252>",
    ):
        data = f"{head}<p>Grüße".encode("cp1252")
        document = read(data, "html")
        assert document.units[-1].text == "Grüße"
        assert document.join([Answer("zł ä")] * len(document.units)).endswith("<p>z&#322; ä".encode("cp1252"))
    with pytest.raises(ValueError, match="line 2 is not valid utf-8"):
        read(b"<meta charset=utf-8><p>\n\xff", "html")


@pytest.mark.parametrize(
    ("named", "wider", "text"),
    [
        *(("gb2312", "gbk", "朱镕基"), ("Shift_JIS", "cp932", "①番"), ("big5", "big5hkscs", "嘅")),
        *(("x-sjis", "cp932", "①番"), ("Windows-874", "cp874", "สุนัข"), ("iso-8859-8-i", "iso8859-8", "כלב")),
        *(("big5", "big5", "══ 你好"), ("iso-8859-9", "iso-8859-9", "ş\x81")),  # which Python's wider ones lack
    ],
)
def test_encodings_are_understood_as_browsers_do(named: str, wider: str, text: str) -> None:
    data = f"<meta charset={named}><p>{text}".encode(wider)
    document = read(data, "html")
    assert document.units[-1].text == text
    assert document.write(identity(document.units)) == data


def test_attributes_are_escaped_and_foreign_tags_are_refused() -> None:
    data = "<p title='Ein Hund'>Der <b>Hund</b> <img alt='x y'></p>"
    document = read(data, "html")
    _, joined = translated(data, "html", 'it\'s > "a"', "<b>dog</b> <img alt='a b'> the")
    assert joined == "<p title='it&#39;s &gt; \"a\"'><b>dog</b> <img alt='a b'> the</p>"
    image = "<img alt='x y'>"
    for hostile in (
        "<b>x</b> <img alt='' onerror=x>",
        f"<b>x {image}",
        f"<b>x</b> {image}<script>",
        f"<b>x</b> {image} <",
    ):
        assert document.join([Answer("Ein Hund"), Answer(hostile)]).decode() == data
        assert "hasn't the tags" in document.notes[0]
