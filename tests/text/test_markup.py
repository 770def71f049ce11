"""Mark-up is cut into lines to translate, and nothing else of it ever changes."""

import re
import time
from html import unescape
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmt.text.markup import TAG, is_markup, parse, parse_inner, visible
from nmt.text.restore import restore

PARTS = [
    *("<b>", "</b>", "<i class='x'>", "</i>", "<p>", "</p>", "<br>", "<br/>", "<div title='a > b'>", "</div>"),
    *("<!-- <b> -->", "<!--", "-->", "<![CDATA[ x ]]>", "<!DOCTYPE html>", "<?xml?>", "<pre>", "</pre>", "<1>", "</1>"),
    *("<code>", "</code>", "<span translate=no>", "</span>", "<img src=x>", "<wbr>", "<script>", "</script>"),
    *("<title>", "</title>", "<g id='1'/>", "<p translate=no>"),
    *("&amp;", "&lt;", "&nbsp;", "&uuml;", "&#10;", "&#0;", "&#1;", "&Co;", "&", "<", ">"),
    *('"', "'", "=", "\0", "\1", "\3"),
    *("Haus", "ein Hut", "日本", "x@y.de", "{name}", "(", ")", ".", ",", " ", "\n", "\t", "\u00a0", "\ud800", "12"),
]  # fmt: skip
texts = st.lists(st.sampled_from(PARTS), max_size=25).map("".join) | st.text()
# Of those, hardly any has two segments: most parts hide what follows, or are no words.
BLOCKS = [*PARTS[:10], "Haus", "ein Hut", "日本", " ", "."]
texts |= st.lists(st.sampled_from(BLOCKS), min_size=8, max_size=25).map("".join)
many = settings(max_examples=100, deadline=None, derandomize=True)


def test_segments_and_what_is_kept_make_up_the_text() -> None:
    numbers = list[int]()

    @many
    @given(texts)
    def check(text: str) -> None:
        segments = parse(text)
        numbers.append(len(segments))
        assert all(text[segment.start : segment.end] == segment.raw for segment in segments)
        assert all(before.end <= after.start for before, after in pairwise(segments))

    check()
    assert max(numbers) > 2


@many
@example("Haus & <code>\3</code> Hut")
@given(texts)
def test_tags_put_back_into_an_unchanged_line_are_where_they_were_but_for_blanks_and_spelling(text: str) -> None:
    for segment in parse(text.replace("<title>", "")):  # whose tags are text
        links = [(n, n) for n in range(len(segment.lifted.tokens))]
        written = segment.finish(restore(segment.lifted.text, segment.lifted, links, spell=segment.spell).text)
        assert [tag for tag in PARTS[:10] if written.count(tag) != segment.raw.count(tag)] == []
        shown = (unescape(TAG.sub("", raw).replace("&#1;", "\ufffd")) for raw in (segment.raw, written))
        seen = [re.sub("[\0-\3]", "\ufffd", text) for text in shown]
        assert sorted("".join(seen[0].split())) == sorted("".join(seen[1].split()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>Eins.</p><p>Zwei.</p>", ["Eins.", "Zwei."]),
        ("<ul><li>Eins<li>Zwei</ul>Drei<br>Vier<hr/>Fünf", ["Eins", "Zwei", "Drei", "Vier", "Fünf"]),
        ("<td> Ein <b> roter</b>\n Hut </td>", ["Ein roter Hut"]),
        ("<b>Fett</b>gedruckt, Donau<wbr>dampf", ["Fettgedruckt, Donaudampf"]),
        ("&lt;b&gt; &uuml;ber &amp; &#228;hnlich &Co; &", ["<b> über & ähnlich &Co; &"]),
        ("Hund &#1; &#xfffe;", ["Hund \ufffd \ufffd"]),
        ("Ein <code>x</code> <span translate='no'>a <b>b</b></span> <i class=\"a notranslate\">c</i> Hut", ["Ein Hut"]),
        ("<!DOCTYPE html><!-- a --><style>p {}</style><script>if (a<b) x</script>Hut", ["Hut"]),
        ("<title>Ein <b> Hut</title><textarea>a</textarea><pre>b</pre>", ["Ein <b> Hut"]),
        ("<script>a</p>Hut", []),
        ("<title/><script src='x'/><style/><p>Ein <b>Hut</b></p><script src='x'/><script>a</script>", ["Ein Hut"]),
        ("<script src='x'/>a<b</script>Hut", ["Hut"]),
        ("<p>12</p><td>-</td><p>{x}</p>", []),
        ("<note><to>Tove</to> <from>Jani</from></note>", ["Tove Jani"]),
        ("a < b, x <3 und <b", ["a < b, x <3 und <b"]),
        ("<a title='1 > 0' href=\"<>\">Hut</a>", ["Hut"]),
    ],
)
def test_what_is_translated_together(text: str, expected: list[str]) -> None:
    assert [segment.lifted.text for segment in parse(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<p title="Ein Hut">a <img alt=\'Der Hund\' src="a.png"> b</p>', ["Ein Hut", "Der Hund"]),
        ('<input Placeholder = "Name&nbsp;hier" aria-label="" value="Hut"><a title=Hut>x</a>', ["Name\xa0hier"]),
        ('<a data-x=" title=\'Hut\'" title="Zwei\n  Hunde">x</a>', ["Zwei Hunde"]),
        ('<img alt="{x} 12.5"><img alt="https://example.org/a">', []),
        ('<img alt="Hut" translate="no"><p class="notranslate" title="Hut"><b title="Hut">x</b></p>', []),
        ('<textarea placeholder="Dein Text">Hut</textarea><pre title="Ein Hut"><b title="x">y</b></pre>',
         ["Dein Text", "Ein Hut"]),
        ('<Buch title="Hut" alt="Hut">x</Buch>', []),
        ('<script>"<img alt=\'Hut\'>"</script><!-- <img alt="Hut"> -->', []),
        ("<text><![CDATA[ Ein <Hut> &amp; \n mehr ]]></text>", ["Ein <Hut> &amp; \n mehr"]),
        ("<item><title><![CDATA[Ein Hut]]></title><d><![CDATA[<p>Der <b>Hund</b></p><p>b</p>]]></d></item>",
         ["Ein Hut", "Der Hund", "b"]),
        ("<text translate='no'><![CDATA[Hut]]></text> <![CDATA[Hut", []),
    ],
)  # fmt: skip
def test_text_inside_tags_is_translated_apart(text: str, expected: list[str]) -> None:
    assert [segment.lifted.text for segment in parse_inner(text)] == expected


ODD = "<b> '\"&amp; ]]>"


@pytest.mark.parametrize(
    ("read", "text", "answer", "spelled"),
    [
        (parse_inner, "<p title='a'>", ODD, '&lt;b&gt; &#39;"&amp;amp; ]]&gt;'),
        (parse_inner, '<p title="a">', ODD, "&lt;b&gt; '&quot;&amp;amp; ]]&gt;"),
        (parse_inner, "<x><![CDATA[a]]></x>", ODD, "<b> '\"&amp; ]]&gt;"),
        (parse, "a &amp; b", "<b> & &lt;", "&lt;b&gt; &amp; &amp;lt;"),
        (parse, "a & b > c", "<b> & &lt;", "&lt;b> & &amp;lt;"),
        (parse, "a", "<b> & &lt;", "&lt;b&gt; &amp; &amp;lt;"),
        (parse, "f&uuml;r&nbsp;&quot;alle&quot;", 'für \u00a0"ä"', "f&uuml;r &nbsp;&quot;ä&quot;"),
    ],
)
def test_text_is_spelled_as_its_place_wants_and_ends_no_tag(read: Any, text: str, answer: str, spelled: str) -> None:
    (segment,) = read(text)
    assert segment.finish(segment.spell(answer)) == spelled


MATCHING = ["Ein <b>Hut</b>", "Ein<br>Hut und <img src=x>", "<Knopf>Hut</Knopf> <x/>"]
MATCHING += ["AT&amp;T &#39;s&nbsp;Hut&quot; > 3"]
OTHERS = ["<p>Ein <b>Hut</p>", "a < b > c, x <3 und <y>", "<b>x</b> <3", "<Ihr Name>"]
OTHERS += ["AT&amp;T & Hut", "&uuml;ber", "<!-- x -->", ""]


@pytest.mark.parametrize("text", MATCHING + OTHERS)
def test_lines_with_matching_tags_are_markup(text: str) -> None:
    assert is_markup(text, "auto") == (text in MATCHING)
    assert is_markup(text, "html")
    assert not is_markup(text, "none")
    assert visible(text, "none") == text


@pytest.mark.parametrize(
    "unit",
    ["<b>", "</b>", "<p>", "<b>x", "<b>x</b> ", "<", "<!--", "<!-- -", "<![CDATA[", "<!", '<a "', "<a '\"", "<a b='",
     "&", "&amp;", "<a title=''>", "<a title", "<![CDATA[<![CDATA[x]]>", "<script>", "<code>", "<code></p>", "<title>",
     "<title/>", "<title/><script/>", "x <b>y<p>", "<i>x</b>", "<b class='notranslate"],
)  # fmt: skip
def test_time_is_linear_in_the_length_of_hostile_markup(unit: str) -> None:
    text = unit * (50_000 // len(unit))
    begin = time.process_time()
    is_markup(text, "auto")
    parse(text)
    parse_inner(text)
    assert time.process_time() - begin < 3
