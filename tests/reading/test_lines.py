"""Texts of several lines: each line is translated as if it came alone, and its breaks and blanks are kept."""

from dataclasses import replace

import pytest

from nmt.reading.request import Constraints, Request, Term
from nmt.translation.text_lines import split_lines
from nmt.translation.translator import Translator
from tests.tiny import SHORT

BREAKS = ["\n", "\r\n", "\r", "\n\n", "\n \r\n\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"]


@pytest.mark.parametrize("between", BREAKS)
def test_each_line_of_a_text_is_translated_alone_and_the_breaks_stay(translator: Translator, between: str) -> None:
    first, second = translator.translate(["Hund.", "Kaffee."])
    assert translator.translate([f"Hund.{between}Kaffee."]) == [f"{first}{between}{second}"]


def test_blanks_of_inner_lines_stay_and_those_at_the_ends_of_the_text_go(translator: Translator) -> None:
    first, second = translator.translate(["Hund.", "Kaffee."])
    assert translator.translate([" \nHund. \n\u3000 Kaffee. \n"]) == [f"{first} \n\u3000 {second}"]


def test_a_text_of_ten_thousand_breaks_is_translated_too(translator: Translator) -> None:
    first, second = translator.translate(["Hund.", "Kaffee."])
    between = "\r\n\u2028" * 5_000
    assert translator.translate([f"Hund.{between}Kaffee."]) == [f"{first}{between}{second}"]


def test_every_rank_of_an_n_best_list_has_all_lines(translator: Translator) -> None:
    search = replace(SHORT, beam_size=3, n_best=3)
    first, second, whole = translator.translate_n_best(["Hund.", "Kaffee.", "Hund.\n\nKaffee."], search)
    assert [one.text for one in whole] == [f"{a.text}\n\n{b.text}" for a, b in zip(first, second, strict=True)]
    assert whole[0].score == pytest.approx((first[0].score + second[0].score) / 2)
    assert whole[0].parts == first[0].parts + second[0].parts


def test_the_words_of_all_lines_are_aligned_also_where_items_were_put_back(translator: Translator) -> None:
    search = replace(SHORT, guard=True)
    lines = "Der Hund <b>läuft</b>.", "Zwei Männer."
    one, other, whole = (some[0] for some in translator.translate_n_best([*lines, "\n".join(lines)], search))
    links = translator.align(lines[0], one)
    n_source, n_target = len(lines[0].split()), len(one.text.split())
    links += [(n_source + i, n_target + j) for i, j in translator.align(lines[1], other)]
    assert translator.align("\n".join(lines), whole) == links
    assert one.links is not None


@pytest.mark.parametrize("first", ["\u00a7 \u00a7 \u00a7", "\u2022 Der \u200e Hund."])
def test_the_words_of_copied_lines_and_of_lines_with_invisible_words_are_counted(
    translator: Translator, first: str
) -> None:
    search, lines = replace(SHORT, guard=True), [first, "Zwei Männer."]
    *alone, whole = (some[0] for some in translator.translate_n_best([*lines, "\n".join(lines)], search))
    links, n_source, n_target = list[tuple[int, int]](), 0, 0
    for line, one in zip(lines, alone, strict=True):
        links += [(n_source + i, n_target + j) for i, j in translator.align(line, one)]
        n_source, n_target = n_source + len(line.split()), n_target + len(one.text.split())
    assert alone[0].fallback == "copy" or any(alone[0].words_around)
    assert translator.align("\n".join(lines), whole) == links


def test_constraints_go_to_the_line_that_they_are_for() -> None:
    term, other = Term(("dog",), "Hund"), Term(("x",))
    requests = split_lines(Request("\n Eine Katze.\n\nEin Hund.", Constraints("A", (term, other), ("bad",))), str)
    assert [request.text.strip() for request in requests] == ["Eine Katze.", "", "Ein Hund."]
    assert [request.constraints.prefix for request in requests] == ["A", "", ""]
    assert [request.constraints.must for request in requests] == [(other,), (), (term,)]
    assert {request.constraints.must_not for request in requests} == {("bad",)}


@pytest.mark.parametrize("invisible", ["\xad", "\u200e", "\u202d\n\xa0", "\ufe0f"])
def test_a_prefix_is_for_the_first_line_that_the_model_can_see(translator: Translator, invisible: str) -> None:
    request = Request(f"{invisible}\nDer Hund.\nKaffee.", Constraints("The"))
    *unseen, first, second = split_lines(request, translator.tokenizer.readable)
    assert first.constraints.prefix == "The"
    assert not any(line.constraints for line in (*unseen, second))
