"""Promises about what must survive translation: what is found, what counts as the same, and how long it takes."""

import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.text.items import PATTERN, SIGN_OF_ITEM, Kind, find_items

exactly = settings(derandomize=True, deadline=None, max_examples=50)

ITEMS = {
    "url": [
        "https://x.de", "HTTP://x.de:80/a?b=1&c=%20#d", "ftp://x.de/f.zip", "www.x.de/a-b_c", "https://x.de/A_(B)",
        "https://user@x.de/2024-01-31", "https://x.de/{id}",
        "https://ru.wikipedia.org/wiki/Москва",
    ],
    "email": ["info@x.de", "a.b+c@mail.x-y.co.uk", "100@x.de", "müller@bäcker.de"],
    "tag": [
        "<b>", "</b>", "<br/>", "<br />", '<a href="https://x.de" title="5 > 3">', "<x:y-z>", "<1>", "&nbsp;",
        "&#160;", "&#xA0;", "<input disabled>", "<a href=x>", "<!-- ein <b> Wort -->",
        "<![CDATA[ein <b> Wort]]>", "<?= $a > 1 ? 'ja' : 'nein' ?>",
    ],
    "placeholder": [
        "{name}", "{0}", "{}", "{user.name}", "{0:.2f}", "{{x}}", "{{ x }}", "%s", "%d", "%1$s", "%.2f", "%ld",
        "%(name)s", "$NAME", "${NAME}", "__NAME__", "__MY_NAME_2__", "$name", "{ name }", "{0, number}",
        "{0,date,short}",
        "{count, plural, one {# file} other {# {x} files}}",
        "{0,choice,0#no files|1#one file|1<{0} files}",
        "%1", "%L1", "%n", "%Ln", "%date%", "@name@", "[[x]]", "[[ x ]]",
        '{% include "a b.md" %}', "{%- if x -%}", "{#my-id}", "{{#if x}}", "$t(menu.open)", '$t(x, {"count": 2})',
        "{# a b #}", "%Y", "%-d", "%H", "@:menu.open", "@.lower:menu.open-it", "@:(menu.open)",
    ],
    "emoji": [
        "😀", "👍🏽", "👨‍👩‍👧‍👦", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "🇩🇪", "1️⃣", "#️⃣", "❤️", "☀", "®️", "🏳️‍🌈", "⭐",
    ],
    "number": [
        "25", "3.5", "3,5", "1.000,50 €", "$1,000.50", "€5", "5 €", "$5", "EUR 5", "5 EUR", "25 %", "5%", "3.5 km",
        "5 km/h", "5 °C", "12:30", "2024-01-31", "31.1.2024", "1/31/2024", "1 000 000", "1'000", "1,00,000", "٢٥",
    ],
}  # fmt: skip
every_item = [(kind, item) for kind, items in ITEMS.items() for item in items]

pieces = st.sampled_from(
    [item for _, item in every_item]
    + [
        " ", "Haus", "日本", "B2B", "5", "(", ")", "]", "{", "}", "<", ">", "@", "%", "$", "_", ".", ",", ":", "/",
        "-", "'", '"', "\u200d", "\ufe0f", "🇩", "www.", "http://", "km", "\ud800",
    ]
)  # fmt: skip
Found = Counter[tuple[Kind, str]]
SAME = Found(), Found()


def compare_items(source: str, translation: str) -> tuple[Found, Found]:
    """The items that only the source has, and those that only the translation has."""
    first, second = (
        Counter((item.kind, item.canonical) for item in find_items(text)) for text in (source, translation)
    )
    return first - second, second - first


texts = st.text() | st.lists(pieces, max_size=30).map("".join)


def found(text: str) -> list[tuple[str, str]]:
    return [(item.kind, item.text) for item in find_items(text)]


@pytest.mark.parametrize(("kind", "item"), every_item)
def test_each_item_is_found_whole_wherever_it_stands(kind: str, item: str) -> None:
    for frame in ("@", "Das ist @ hier.", "(@), oder?", "„@“ …", "*@*", "请看@吧。", "Das ist @!"):
        assert found(frame.replace("@", item)) == [(kind, item)], frame


@pytest.mark.parametrize(
    "text",
    [
        "", "Ein Satz, und noch einer.", "B2B, A380, MP3, 3D und CO2", "5 Hunde, 3 Katzen",
        "a < b > c, d <- e, I <3 U", "x@y, @name, a@b", "AT&T; Q&A", "{siehe unten}", "{",
        "eine 5 %ige Lösung, 5 %-ig", "__fett__", "Ke$ha, A$AP", "%%s", "www. http:// https://", "© 1 ™", "%",
        "5 l'un", "file_2024", "Enflasyon %5 arttı", "<Ihr Name>, <Strg> und <E-Mail>", "a <b und c> d, x <3 und y> 5",
        "Müller &Co; Söhne", "5 $US, $CA und $five", "5 %er und 5 %nahe",
        "Attention : danger, Achtung:wichtig, 5:name, ::x, :)",
        "{siehe, unten} {n, plural, one {# file}", "[[zwei Worte]] [x]", "@name, a@b@", "<!-- kein Ende",
    ],
)  # fmt: skip
def test_other_text_has_no_items(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("[hier](https://x.de/a). (Siehe www.x.de?)", ["https://x.de/a", "www.x.de"]),
        ("https://x.de/a। https://x.de/b۔ https://x.de/c։", ["https://x.de/a", "https://x.de/b", "https://x.de/c"]),
        ("<https://x.de>, https://y.de/a,b!", ["https://x.de", "https://y.de/a,b"]),
        ("Mail: <info@x.de>. 25 m.meier@x.de", ["info@x.de", "25", "m.meier@x.de"]),
        ("<b>12</b>&nbsp;%", ["<b>", "12", "</b>", "&nbsp;"]),
        ("%dx%d, 100%ige und 100 %ige 10 %-ige", ["%d", "%d", "100", "100", "10"]),
        ("50-60, 90er, 24/7, COVID-19, 2024.", ["50", "60", "90", "24", "19", "2024"]),
        ("5 km, 5 Hunde und 5km", ["5 km", "5km"]),
        ("😀😀🇩🇪🇫🇷", ["😀", "😀", "🇩🇪", "🇫🇷"]),
        ("제25회는 https://x.de에서", ["25", "https://x.de"]),
        ("ꦲ25ꦲ https://x.deꦲ", ["25", "https://x.de"]),
        (":name, (:id) und :smile: 12:30", [":name", ":id", ":smile:", "12:30"]),
        ("<x>Wort</x> <y>", ["<x>", "</x>"]),
        ("%1 und %2, %L3", ["%1", "%2", "%L3"]),
        ("%s%d und %ld%d, %s%%, 10 %er", ["%s", "%d", "%ld", "%d", "%s", "10"]),
    ],
)
def test_items_end_where_the_text_around_them_begins(text: str, items: list[str]) -> None:
    assert [item.text for item in find_items(text)] == items


@exactly
@given(texts)
def test_items_and_the_gaps_between_them_make_up_the_text(text: str) -> None:
    rebuilt, position = "", 0
    for item in find_items(text):
        assert position <= item.start < item.end
        assert text[item.start : item.end] == item.text
        rebuilt += text[position : item.start] + item.text
        position = item.end
    assert rebuilt + text[position:] == text


@settings(derandomize=True, deadline=None, max_examples=100)
@given(texts)
def test_a_text_with_an_item_has_a_sign_of_one(text: str) -> None:
    assert SIGN_OF_ITEM.search(text) or not PATTERN.search(text)


@exactly
@given(st.lists(st.sampled_from(every_item), max_size=8))
def test_items_may_change_places_but_none_may_go_or_come(chosen: list[tuple[str, str]]) -> None:
    source = " und ".join(item for _, item in chosen)
    assert compare_items(source, " and ".join(item for _, item in reversed(chosen))) == SAME
    fewer = " and ".join(item for _, item in chosen[:-1])
    missing, added = compare_items(source, fewer)
    assert missing == Counter((item.kind, item.canonical) for item in find_items(source)[-1:])
    assert not added
    assert compare_items(fewer, source) == (Found(), missing)


@pytest.mark.parametrize(
    "same",
    [
        ["1,000.50", "1.000,50 €", "$1 000.50", "1'000,50", "١٬٠٠٠٫٥٠"],
        ["3.5 km", "3,5", "3,5 %"],
        ["1,000", "1.000", "1 000", "1\u202f000", "1000 EUR"],
        ["1,00,000", "100.000", "100000"],
        ["12:30", "12.30"],
        ["07:30", "7.30"],
        ["2024-01-31", "31.1.2024", "31.01.2024", "1/31/2024", "31-01-2024"],
        ["25 %", "25%", "25", "٢٥", "２５"],
        ["❤️", "❤", "❤\ufe0e"],
    ],
)
def test_what_languages_write_differently_is_the_same(same: list[str]) -> None:
    for text in same:
        for other in same:
            assert compare_items(text, other) == SAME, (text, other)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("3.5", "35"), ("1.000,5", "1,000,500"), ("12:30", "1230"), ("1.2.3", "1.3.2"), ("12:30:15", "15:30:12"),
        ("25", "25 25"), ("https://x.de", "https://X.de"), ("25", "{25}"),
    ],
)  # fmt: skip
def test_what_differs_is_missing_and_added(text: str, other: str) -> None:
    assert compare_items(text, other) != SAME
    assert compare_items(other, text) != SAME


@exactly
@given(st.integers(0, 10**12), st.integers(0, 99))
def test_a_number_is_the_same_in_english_german_and_swiss_writing(whole: int, cents: int) -> None:
    english = f"{whole:,}.{cents:02}"
    german = english.translate(str.maketrans(",.", ".,"))
    assert compare_items(english, german) == SAME
    assert compare_items(english, english.replace(",", "'")) == SAME
    assert compare_items(english, f"{whole + 1:,}.{cents:02}") != SAME


# What a text begins with, and what then comes again and again.
HOSTILE = {
    "": [
        "a", "a.", "a@", "a@a.", "<", "<a ", "<a \"<a' ", "{", "{{a", "%", "%(", "%1", "$a", "_", "__A", "&a", "1",
        "1,", "1 ", "1234 ", "123'", "12/", "1-", "http://", "http://a)", "www.a!", "5 €", "👍", "👍\u200d", "🇩", "日",
        "EUR", "<!--", "<?", "<![CDATA[", "{n, plural,", "@a", "%a", " :a", ":a:", "[[", "<a>",
    ],
    "a@": ["a-"], "a@a.": ["1."], "<a": [" b=c"], "<a ": [" ", "disabled "], '<a b="': ['<a "'], "{{": [" "],
    "{n, plural,": ["{"], "%": ["0"], "%(": ["a"], "http://a": ["(", "!"], "🏴": ["\U000e0067"], "<!--": ["-"],
}  # fmt: skip


@pytest.mark.parametrize(("start", "unit"), [(start, unit) for start, units in HOSTILE.items() for unit in units])
def test_time_is_linear_in_the_length_of_hostile_text(start: str, unit: str) -> None:
    text = start + unit * (100_000 // len(unit))
    begin = time.process_time()
    find_items(text)
    assert time.process_time() - begin < 4  # 0.3 s at most on an idle core; quadratic time is 5 seconds to hours
