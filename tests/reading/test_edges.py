"""Lines are read without what stands around their text, which comes back (see also tests/text/test_edges.py)."""

import re

import pytest
from hypothesis import given

from nmt.data.tokenizer import Tokenizer
from nmt.reading.loop import Reading
from nmt.reading.request import Constraints, Request, Term
from nmt.reading.spelling import inside
from nmt.text.edges import quotes_of
from tests.reading.pretended import Pretended, asked_of, context_of, text_of
from tests.text.test_edges import lines, many


@pytest.mark.parametrize(
    ("line", "final", "read", "translation", "expected"),
    [
        ("Das Haus…", "", "Das Haus.", "The house.", "The house…"),
        ("Das Haus ...", "", "Das Haus.", "The house", "The house ..."),
        ("Ja!!!", "", "Ja!", "Yes!", "Yes!!!"),
        ("(Was?!)", "", "Was?", "What？", "(What?!)"),
        ("Das Haus", ".", "Das Haus.", "The house.", "The house"),
        ("Das Haus.", ".", "Das Haus.", "The house.", "The house."),
        ("# Das Haus", ".", "Das Haus.", "The house", "# The house"),
        ("Die USA", ".", "Die USA.", "The U.S.", "The U.S."),
        ("Das Haus [1]", ".", "Das Haus.", "家。", "家 [1]"),
        ("Das Haus", ".", "Das Haus.", "", ""),
        ("Das Haus 12", ".", "Das Haus 12", "The house 12.", "The house 12."),
        ("Das Haus von https://x.org", ".", "Das Haus von https://x.org", "The house.", "The house."),
        ("„Das Haus.“", "", "Das Haus.", "La maison.", "«La maison.»"),
        ('"Das Haus."', "", "Das Haus.", "La maison.", '"La maison."'),
    ],
)
def test_the_model_reads_the_text_and_users_the_marks_around_it(
    tokenizer: Tokenizer, line: str, final: str, read: str, translation: str, expected: str
) -> None:
    model, context = Pretended(lambda _: translation), context_of(tokenizer, final_mark=final, quotes=quotes_of("fr"))
    assert text_of(line, [inside], context, model).text == expected
    assert model.asked == [read]
    assert not translation or translation in asked_of(line, expected, [inside], context) or translation[-1] in "？。"


@many
@given(lines)
def test_an_unchanged_text_gives_the_line(tokenizer: Tokenizer, line: str) -> None:
    for final in ("", *([] if re.search(r"\.\w\Z", line) else ["."])):  # a last dot as of "U.S." stays
        assert text_of(line, [inside], context_of(tokenizer, final_mark=final)).text == line


@pytest.mark.parametrize(
    ("constraints", "prefix", "must"),
    [
        (Constraints("- The"), "The", 0),
        (Constraints("The"), None, 0),
        (Constraints(must_not=("[1]",)), None, 0),
        (Constraints(must_not=("dog",), must=(Term(("[1]",)), Term(("house",)))), "", 1),
    ],
)
def test_edges_meet_constraints_or_stay(
    tokenizer: Tokenizer, constraints: Constraints, prefix: str | None, must: int
) -> None:
    taken = inside(Reading.of(Request("- Das Haus [1]", constraints)), context_of(tokenizer))
    assert (taken and taken.readings[0].constraints.prefix) == prefix
    assert taken is None or len(taken.readings[0].constraints.must) == must


def test_a_long_line_takes_no_longer(tokenizer: Tokenizer) -> None:
    for line in ("> " * 50_000 + "a", "a" + " :)" * 50_000, "(" * 50_000 + "a" + ")" * 50_000, "a" + "!" * 100_000):
        assert text_of(line, [inside], context_of(tokenizer)).text == line
