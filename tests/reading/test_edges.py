"""Lines are translated without what stands around their text (see also tests/text/test_edges.py)."""

from collections.abc import Sequence
from math import log

import pytest

from nmt.data.tokenizer import Tokenizer
from nmt.decode.hypothesis import Hypothesis
from nmt.translation.line_edges import translate_inside
from nmt.reading.request import Part, Request, Translation


def sure(text: str, confidence: float) -> Translation:
    value = log(confidence)
    return Translation(text, value, (Part((5,), Hypothesis([5], value, value, [value], finished=True)),))


@pytest.mark.parametrize(
    ("loud", "calm", "best"), [(0.9, 0.5, "loud!!!"), (0.5, 0.9, "calm!!!"), (0.7, 0.7, "loud!!!")]
)
def test_several_exclamation_marks_are_also_read_as_a_full_stop_and_the_surer_translation_is_taken(
    tokenizer: Tokenizer, loud: float, calm: float, best: str
) -> None:
    asked = list[str]()

    def translate(requests: Sequence[Request]) -> list[list[Translation]]:
        asked.extend(request.text for request in requests)
        return [[sure("loud!", loud) if "!" in one.text else sure("calm.", calm)] for one in requests]

    lines = ["Der Hund läuft!!!", "Der Hund läuft!", "Der Hund läuft?!"]
    found = translate_inside(list(map(Request, lines)), tokenizer, None, "", translate)
    assert found[0][0].text == best
    assert asked == ["Der Hund läuft!", "Der Hund läuft!", "Der Hund läuft?", "Der Hund läuft."]


def test_lines_without_a_final_mark_get_that_of_training_and_their_translations_lose_it(tokenizer: Tokenizer) -> None:
    asked = list[str]()

    def translate(requests: Sequence[Request]) -> list[list[Translation]]:
        asked.extend(request.text for request in requests)
        return [[sure("A dog.", 0.9)] for _ in requests]

    lines = ["Ein Hund", "Ein Hund.", "1) Ein Hund", "Ein Hund 12", "Der Hund von https://x.org"]
    found = translate_inside([*map(Request, lines)], tokenizer, None, ".", translate)
    assert asked == ["Ein Hund.", "Ein Hund.", "Ein Hund.", "Ein Hund 12", "Der Hund von https://x.org"]
    assert [row[0].text for row in found] == ["A dog", "A dog.", "1) A dog", "A dog.", "A dog."]
