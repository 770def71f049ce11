"""Entries of a glossary are found by the words of a line, become constraints, and are counted."""

import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.decode.phrases import Automaton
from nmt.decode.surfaces import Surfaces
from nmt.reading.lines import place_of
from nmt.reading.request import Term
from nmt.text.scripts import phrase_text
from nmt.translation.glossary import Entry, Glossary, make_entry

BYTES = Surfaces(["<unk>", "<s>", "</s>", "<pad>", *(f"<0x{byte:02X}>" for byte in range(256))])
# Half-width katakana, Tibetan, Thai, Han, kana, Hangul, combining marks, digits, joiners, other letters, and signs.
NASTY = "ｶﾞデカཀིกั日かー한ﾡ\u0301\u30991١²_\u200d\u00adaaüжन .-*\u00a0’😀\ufe0f"
stars = st.sampled_from(["", "", "*"])
nasty_phrases = st.tuples(stars, st.text(NASTY, max_size=3), stars).map("".join)


def glossary(*entries: tuple[str, str]) -> Glossary:
    return Glossary([Entry(source, tuple(target.split("|"))) for source, target in entries])


def sources(found: Iterable[Entry]) -> list[str]:
    return [entry.source for entry in found]


@pytest.mark.parametrize(
    ("entries", "line", "expected"),
    [
        (["Hund"], "Der Hund bellt.", ["Hund"]),
        (["hund"], "Hund!", ["hund"]),
        (["New York", "York"], "In New York und York", ["New York", "York"]),
        (["New York", "York"], "In New York", ["New York"]),
        (["essen", "Essen"], "Wir essen. Das Essen ist da.", ["essen", "Essen"]),
        (["Essen", "essen"], "ESSEN", ["essen"]),
        (["Hund*", "Hund"], "Hund", ["Hund"]),
        (["b", "a"], "a b a", ["a", "b"]),
        (["犬"], "白い犬が走る", ["犬"]),
        (["ısı", "istanbul"], "ISI, İSTANBUL", ["ısı", "istanbul"]),
        ([".NET", "C++"], "C++ und .NET.", ["C++", ".NET"]),
    ],
)
def test_entries_are_found_as_whole_words_the_longest_first(entries: list[str], line: str, expected: list[str]) -> None:
    assert sources(glossary(*((entry, "t") for entry in entries)).entries_in(line)) == expected


@settings(max_examples=100, deadline=None, derandomize=True)
@given(written=nasty_phrases, text=st.text(NASTY, max_size=5), around=st.text(NASTY, max_size=2))
def test_the_glossary_and_the_search_agree_on_where_a_phrase_occurs(written: str, text: str, around: str) -> None:
    if not phrase_text(written):
        return
    for line in (text, around + written.strip("*") + text):
        found = written in sources(glossary((written, "t")).entries_in(line))
        ids = [4 + byte for byte in line.encode()]
        assert (Automaton(BYTES, [[written]], []).lacking(ids) == []) == found
        assert (Automaton(BYTES, [], [written]).lacking(ids) is None) == found


@pytest.mark.parametrize(
    ("phrase", "texts", "place"),
    [
        ("Hund", ["Ein Hundehaus.", "Ein hund."], 1),
        ("Essen", ["Wir essen.", "Das Essen ist da."], 1),
        ("Hund", ["Eine Katze.", "Ein Hundehaus.", "Ein Haus."], 1),
        ("ｶﾒﾗ", ["か", "デジｶﾒﾗ"], 1),
        ("नमस", ["नमस्ते", "नमस"], 1),
        ("Hund", ["Eine Katze."], 0),
        ("", ["a", "b."], 0),
    ],
)
def test_a_term_goes_to_the_part_of_a_line_that_has_its_source(phrase: str, texts: list[str], place: int) -> None:
    assert place_of(phrase, texts) == place


def test_terms_become_constraints_and_are_counted() -> None:
    words = glossary(("Hund", "dog|dogs"), ("Wiese", "meadow"), ("Katze", "cat"))
    assert glossary(("hund", "dog")).terms_in("Hundehütte. HUND. Hund.") == (Term(("dog",), "HUND"),)
    assert words.terms_in("Der Hund auf der Wiese") == (Term(("dog", "dogs"), "Hund"), Term(("meadow",), "Wiese"))
    words.count("Der Hund auf der Wiese", "The dogs on the field")
    words.count("Ein Hund", "A dog.")
    assert words.report() == (
        "Glossary: 2 of 3 terms met; 2 of 3 entries occurred\n  Hund → dog | dogs: 2 of 2\n  Wiese → meadow: 0 of 1"
    )
    alone = glossary(("Hund", "dog"))
    alone.count("Der Hund", "The dog")
    assert alone.report().startswith("Glossary: 1 of 1 term met; 1 of 1 entry occurred\n")


def test_a_term_does_not_go_over_the_end_of_a_line_or_segment() -> None:
    found = glossary(("rotes haus", "red building"))
    assert found.terms_in("Ein rotes  Haus\nam See")
    assert not found.terms_in("Ein rotes\nHaus am See")
    found.count("Ein rotes\nHaus am See", "A red building")
    assert not found.occurred


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf# animals\nder  Hund\tdog| dogs\r\n\n**Katze \tcat",
        b"der Hund\tdog\n*Katze\tcat\nder Hund\tdogs|dog\n",
    ],
)
def test_a_file_has_comments_alternatives_on_any_lines_and_any_line_ends(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "g.tsv").write_bytes(content)
    expected = [Entry("der Hund", ("dog", "dogs")), Entry("*Katze", ("cat",))]
    assert Glossary.load(str(tmp_path / "g.tsv")).entries == expected


@pytest.mark.parametrize(
    "line",
    [
        "Hund", "Hund\t", "\tdog", "*\tdog", "* *\tdog", "*\u3000*\tdog", "Hund\t*", "Hund\t* *", "Hund\tdog\tx",
        "Hund\t|", "Hund\t\ufffd",
    ],
)  # fmt: skip
def test_a_line_that_is_no_entry_is_an_error_with_its_number(line: str, tmp_path: Path) -> None:
    (tmp_path / "g.tsv").write_text(f"Katze\tcat\n{line}\n")
    with pytest.raises(ValueError, match=r"g.tsv, line 2: .* is no entry: .*, in UTF-8"):
        Glossary.load(tmp_path / "g.tsv")


def test_a_file_without_entries_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "g.tsv").write_text("# nothing\n")
    with pytest.raises(ValueError, match="has no entries"):
        Glossary.load(tmp_path / "g.tsv")


def test_thousands_of_terms_in_a_line_take_linear_time() -> None:
    everywhere = ["*" * n + "a" * (1 + n // 4) + "*" for n in range(1, 1000)]
    for entries, line, n in ((["Hund", "Katze"], "Hund Katze " * 20_000, 2), (everywhere, "a" * 10_000, 1)):
        words = Glossary([*filter(None, (make_entry(entry, "t") for entry in entries))])
        begin = time.process_time()
        assert len(words.entries_in(line)) == n
        assert time.process_time() - begin < 4  # 0.3 s; quadratic time is minutes, and gigabytes
