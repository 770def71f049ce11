"""XML with byte offsets: every node knows its bytes; edits change nothing else; hostile files are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.documents.xml_splice import DEPTH, Text, Xml, escape, escape_cdata

FILE = "<a b=\"1\">x &amp; ü<b/>&#65;<![CDATA[<q>&amp;]]>z<!-- c --><c d='2'\n>w</c ><?p i?></a>\n<!-- end -->"
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "iso-8859-1", "windows-1252"]


def encoded(text: str, encoding: str) -> bytes:
    named = {"utf-8-sig": "utf-8", "utf-16-le": "utf-16", "utf-16-be": "utf-16"}.get(encoding, encoding)
    return f'<?xml version="1.0" encoding="{named}"?>\r\n{text}'.encode(encoding)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_edits_change_nothing_else(encoding: str) -> None:
    xml = Xml(encoded(FILE, encoding))
    assert xml.result() == xml.data
    b, c = xml.root.elements
    xml.replace(*xml.filled(c, xml.encode("語"), {"d": "<3>", "e": 'a"b'}))
    xml.replace(b.start, b.end, xml.encode(escape("<&>")))
    c_tag = '<c d="&lt;3&gt;" e="a&quot;b">'
    mark = "語" if encoding.startswith("utf") else "&#35486;"
    expected = FILE.replace("<b/>", "&lt;&amp;&gt;").replace("<c d='2'\n>w", c_tag + mark)
    assert xml.result() == encoded(expected, encoding)
    inner = Xml(b"<a n=' d=\"1\"' d='2'/>")
    assert inner.with_attributes(inner.root, {"d": "3"}) == b'<a n=\' d="1"\' d="3"/>'
    empty = Xml(b"<a ><b  /></a>")
    empty.replace(*empty.filled(empty.root.elements[0], b"x", {"n": "1"}))
    assert empty.result() == b'<a ><b n="1">x</b></a>'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "isn't well-formed"),
        (b"<a>", "isn't well-formed"),
        (b"<a>&nbsp;</a>", "undefined entity"),
        (b"<x:a/>", "unbound prefix"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "remove them"),
        (b"<!DOCTYPE a [<!ELEMENT a ANY>]><a/>", "remove them"),
        (b'<!DOCTYPE a [<!ENTITY % b SYSTEM "file:///etc/passwd"> %b;]><a/>', "remove them"),
        (b'<?xml version="1.0" encoding="klingon"?><a/>', "unknown encoding: 'klingon'"),
        (b'<?xml version="1.0" encoding="rot13"?><a/>', "unknown encoding: 'rot13'"),
        (b'<?xml version="1.0" encoding="shift_jis"?><a/>', "multi-byte"),
        (b"<a>" * (DEPTH + 1) + b"</a>" * (DEPTH + 1), "nested"),
        ("<a>ü</a>".encode("latin-1"), "isn't well-formed"),
        (b"\xff\xfe<", "isn't well-formed"),
    ],
)
def test_broken_and_hostile_files_get_a_sentence(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        Xml(data, "word/x.xml")
    assert str(caught.value).startswith("word/x.xml")


def test_a_document_type_without_declarations_is_read_and_its_entities_are_kept() -> None:
    xml = Xml(b'<!DOCTYPE a PUBLIC "-//X" "x.dtd"><a>b&nbsp;c</a>')
    assert [xml.data[child.start : child.end] for child in xml.root.children] == [b"b", b"&nbsp;", b"c"]


@given(text=st.text(), encoding=st.sampled_from(ENCODINGS))
def test_any_text_gives_a_well_formed_file(text: str, encoding: str) -> None:
    xml = Xml(encoded('<a b="">x<![CDATA[y]]></a>', encoding))
    cdata = xml.root.children[1]
    inside = xml.encode(f"<![CDATA[{escape_cdata(text)}]]>") if encoding.startswith("utf") else b""
    xml.replace(cdata.start, cdata.end, inside)
    xml.replace(xml.root.inner, cdata.start, xml.encode(escape(text)))
    xml.replace(xml.root.start, xml.root.inner, xml.with_attributes(xml.root, {"b": text}))
    again = Xml(xml.result()).root
    first = "".join(child.value for child in again.children if isinstance(child, Text) and not child.cdata)
    is_valid = first == text
    assert is_valid or "\ufffd" in first
    assert again.attributes["b"] == first
