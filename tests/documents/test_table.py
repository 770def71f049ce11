"""Columns are chosen by name or number; cells are quoted where they need it."""

import csv
import io

import pytest

from nmt.documents.base import Answer
from tests.documents.samples import read, translated

TEXT = 'id,text,"other"\n1,Hund,"Hut"\n2,"Ei ""x""",Tee\n'


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (("text",), ["Hund", 'Ei "x"']),
        (("3", "text"), ["Hund", "Hut", 'Ei "x"', "Tee"]),
        (("3",), ["other", "Hut", "Tee"]),
    ],
)
def test_columns_have_names_or_numbers(columns: tuple[str, ...], expected: list[str]) -> None:
    answers = [f'{text}, "\n{text}' for text in expected]
    found, joined = translated(TEXT, "csv", *answers, columns=columns)
    assert found == expected
    cells = [cell for row in csv.reader(io.StringIO(joined, newline="")) for cell in row]
    assert [cell for cell in cells if "\n" in cell] == answers


def test_a_table_without_quotes_gets_none() -> None:
    _, joined = translated("1\tHund\n2\tHut", "csv", "a\tb\nc", '"x" y', columns=("2",))
    assert joined == '1\ta b c\n2\t "x" y'
    assert translated("a,b\rx;y;z;,Hund\r", "csv", "dog", columns=("b",)) == (["Hund"], "a,b\rx;y;z;,dog\r")


@pytest.mark.parametrize("line", ["sep=;\r\n", '"sep=;"\n', "sep=;\r"])
def test_a_first_line_states_the_separator(line: str) -> None:
    document = read(f"{line}a,b,c;text\n1;Hund\n", "csv", columns=("text",))
    assert [(unit.text, unit.place) for unit in document.units] == [("Hund", "line 3")]
    assert document.join([Answer("dog; cat")]).decode() == f'{line}a,b,c;text\n1;"dog; cat"\n'


@pytest.mark.parametrize(
    ("name", "text", "columns", "message"),
    [
        ("csv", TEXT, (), "which columns are translated .of id, text, other"),
        ("csv", TEXT, ("words",), "--columns words: the first line has id, text, other"),
        ("csv", TEXT, ("4",), "--columns 4: the first line has 3 columns"),
        ("csv", 'a,b\n1,"c', ("b",), "line 2: a quote has no end"),
        ("csv", 'a,b\n1,"c"d', ("b",), "line 2: text after a closing quote: 'd'"),
        ("json", '{"a": "x", "c": {"d": ["y"]}}', ("a", "b"), "--columns b: no text has this key; there are a, d"),
        ("yaml", "a: x\nc: 5\n", ("a", "b"), "--columns b: no text has this key; there are a"),
        ("properties", "a=x\nc=\n", ("b",), "--columns b: no text has this key; there are a"),
    ],
)
def test_what_is_no_table_gets_a_sentence(name: str, text: str, columns: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(text, name, columns=columns)
