"""A glossary's terms are found where they stand, become demands, and are counted."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from nmt.translation.glossary import Entry, Glossary
from nmt.translation.request import Request, Term


def glossary(*entries: tuple[str, str]) -> Glossary:
    return Glossary([Entry(source, tuple(target.split("|"))) for source, target in entries])


def sources(found: Iterable[Entry]) -> list[str]:
    return [entry.source for entry in found]


@pytest.mark.parametrize(
    ("entries", "line", "expected"),
    [
        (["Hund"], "Der Hund bellt.", ["Hund"]),
        (["Hund"], "Die Hundehütte, der Schoßhund", []),
        (["Hund*"], "Die Hundehütte", ["Hund*"]),
        (["*hund"], "Der Schoßhund", ["*hund"]),
        (["hund"], "Hund!", ["hund"]),
        (["HUND"], "Hund", []),
        (["New York", "York"], "In New York und York", ["New York", "York"]),
        (["New York", "York"], "In New York", ["New York"]),
        (["b", "a"], "a b a", ["a", "b"]),
        (["犬"], "白い犬が走る", ["犬"]),
        ([".NET", "C++"], "C++ und .NET.", ["C++", ".NET"]),
        (["Straße"], "Die Straße", ["Straße"]),
        (["x"], "", []),
    ],
)
def test_entries_are_found_as_whole_words_the_longest_first(entries: list[str], line: str, expected: list[str]) -> None:
    assert sources(glossary(*((entry, "t") for entry in entries)).entries_in(line)) == expected


def test_terms_become_demands_and_are_counted() -> None:
    words = glossary(("Hund", "dog|dogs"), ("Wiese", "meadow"), ("Katze", "cat"))
    request = words.apply(Request("Der Hund auf der Wiese", must=(Term(("x",)),)))
    assert request.must == (Term(("x",)), Term(("dog", "dogs"), "Hund"), Term(("meadow",), "Wiese"))
    words.count("Der Hund auf der Wiese", "The dogs on the field")
    words.count("Ein Hund", "A dog.")
    assert words.report() == (
        "Glossary: 2 of 3 terms met, of 2 entries\n  Hund → dog | dogs: 2 of 2\n  Wiese → meadow: 0 of 1"
    )


def test_a_term_names_what_stands_in_the_line() -> None:
    request = glossary(("hund", "dog")).apply(Request("Hundehütte. HUND. Hund."))
    assert request.must == (Term(("dog",), "HUND"),)


def test_a_file_has_comments_alternatives_and_any_line_ends(tmp_path: Path) -> None:
    (tmp_path / "g.tsv").write_bytes(b"\xef\xbb\xbf# animals\nHund\tdog| dogs\r\n\nKatze \tcat")
    assert Glossary.load(tmp_path / "g.tsv").entries == [Entry("Hund", ("dog", "dogs")), Entry("Katze", ("cat",))]


@pytest.mark.parametrize(
    "line",
    [
        "Hund",
        "Hund\t",
        "\tdog",
        "*\tdog",
        "* *\tdog",
        "Hund\t*",
        "Hund\t* *",
        "Hund\tdog\tx",
        "Hund\t|",
        "Hund\t\ufffd",
    ],
)
def test_what_is_no_entry_is_named_with_its_line(line: str, tmp_path: Path) -> None:
    (tmp_path / "g.tsv").write_text(f"Katze\tcat\n{line}\n")
    with pytest.raises(ValueError, match=r"g.tsv, line 2: .* is no entry"):
        Glossary.load(tmp_path / "g.tsv")


def test_targets_on_lines_of_their_own_are_alternatives(tmp_path: Path) -> None:
    (tmp_path / "g.tsv").write_text("Hund\tdog\nKatze\tcat\nHund\tdogs|dog\n")
    assert Glossary.load(tmp_path / "g.tsv").entries == [Entry("Hund", ("dog", "dogs")), Entry("Katze", ("cat",))]


def test_an_empty_file_is_no_glossary(tmp_path: Path) -> None:
    (tmp_path / "g.tsv").write_text("# nothing\n")
    with pytest.raises(ValueError, match="holds no entries"):
        Glossary.load(tmp_path / "g.tsv")


def test_thousands_of_entries_cost_little() -> None:
    words = glossary(*((f"wort{i} zwei", "t") for i in range(20_000)))
    line = " ".join(f"wort{i} zwei" for i in range(0, 2000, 10))
    assert len(words.entries_in(line)) == 200
