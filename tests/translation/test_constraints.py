"""Constraints are met where they can be, concern their own line only, and never cost a line its translation."""

from dataclasses import replace
from typing import Any
from unicodedata import normalize

import pytest

from nmt.config import SearchConfig
from nmt.decode.pytorch import TorchEngine
from nmt.reading.request import Constraints, Request, Term
from nmt.translation.translator import Translator
from tests.tiny import SHORT


def test_the_widest_beams_and_the_most_samples_go_with_phrases_and_the_guard(translator: Translator) -> None:
    wide = replace(SHORT, guard=True, beam_size=200, max_length=3)
    assert "dog" in translator.translate([Request("Hund", Constraints(must=(Term(("dog",)),)))], wide)[0]
    many = SearchConfig(samples=201, n_best=201, max_length=2, beam_size=1)  # the guard's beam can't be as wide
    assert 1 <= len(translator.translate_n_best(["Hund"], many)[0]) <= 201


def test_a_whole_translation_meets_its_constraints_or_not(translator: Translator) -> None:
    constraints = Constraints("A", (Term(("dog", "dogs")),), ("cat",))
    assert translator.compiler.are_met(constraints, "A dog.")
    assert translator.compiler.are_met(Constraints("A\u00a0 dog"), "A\u00a0dog runs"), "whatever their blanks"
    for text in ("The dog.", "A hound.", "A dog and a cat", "A dogged one", ""):
        assert not translator.compiler.are_met(constraints, text)
    automaton = translator.automata.find(constraints)  # made once for the same phrases
    assert automaton is translator.between().automata.find(replace(constraints, prefix="The"))


@pytest.mark.parametrize("guard", [False, True])
def test_what_has_no_hypothesis_is_flagged(
    translator: Translator, monkeypatch: pytest.MonkeyPatch, guard: bool
) -> None:
    find = TorchEngine.search

    def corner(engine: TorchEngine, sources: Any, search: SearchConfig, constraints: Any, stop: Any) -> Any:
        """A search that never meets what must occur."""
        results = find(engine, sources, search, constraints, stop)
        unmet = [c.phrases is not None and not c.phrases.may_end(c.phrases.start) for c in constraints]
        return [[] if failed else result for failed, result in zip(unmet, results, strict=True)]

    plain = translator.translate([Request("Hund", Constraints("The", must_not=("men",)))])
    monkeypatch.setattr(TorchEngine, "search", corner)
    lines = [Request("Hund", Constraints("The", (Term(("dog",)),), ("men",))), Request("Wiese")]
    (best, *_), (other, *_) = translator.translate_n_best(lines, replace(SHORT, guard=guard))
    assert "constraints" in best.flags
    assert guard or best.text == plain[0]
    assert other.text
    assert "constraints" not in other.flags


def test_every_translation_begins_with_exactly_its_prefix_wherever_that_ends(translator: Translator) -> None:
    text = 'A young man\'s "well-known" naïve dogs: 12.5 Ελλάδα 語 of 2026!'
    prefixes = [text[:end] for end in range(1, len(text) + 1)]
    for width in (1, 3):
        search = replace(SHORT, beam_size=width, n_best=width, batch_size=64)
        results = translator.translate_n_best([Request("Hund", Constraints(prefix)) for prefix in prefixes], search)
        for prefix, found in zip(prefixes, results, strict=True):
            # Decomposed: a random model may put an accent on the last letter.
            start = normalize("NFD", prefix.strip())
            assert all(normalize("NFD", best.text).startswith(start) for best in found)


def test_only_the_last_word_of_a_prefix_that_ends_with_a_letter_may_have_other_pieces(translator: Translator) -> None:
    def fixed(prefix: str) -> str:
        compiled = translator.compiler.compile(Constraints(prefix), 3, SHORT)
        (text,) = translator.tokenizer.decode_target([list(compiled.fixed)])
        assert translator.tokenizer.decode_target([list(compiled.prefix)]) == [prefix.strip()]
        return text

    assert [fixed(prefix) for prefix in ("The little do", "The", "The 12")] == ["The little", "", "The"]
    for prefix in ("The little,", "The 語"):
        assert fixed(prefix) == prefix


def test_after_a_blank_that_ends_a_prefix_another_word_begins_or_the_translation_ends(translator: Translator) -> None:
    search = replace(SHORT, beam_size=4, n_best=4, batch_size=64)
    prefixes = ["The little do ", "A", "A ", "a young man ", "- ", "The (b) ", "A, "]
    lists = translator.translate_n_best([Request("Hund", Constraints(prefix)) for prefix in prefixes], search)
    for prefix, found in zip(prefixes, lists, strict=True):
        assert all(best.text == prefix.strip() or best.text.startswith(prefix) for best in found)
    assert any(not best.text.startswith("A ") for best in lists[1]), "without a blank the word may go on"


def test_a_string_is_no_list_of_phrases_but_a_list_is_as_good_as_a_tuple(translator: Translator) -> None:
    for wrong in (lambda text: Term(targets=text), lambda text: Constraints(must_not=text)):
        with pytest.raises(TypeError, match="is the string 'bike': give a list of strings"):
            wrong("bike")
        with pytest.raises(TypeError, match="has 1, but a text must be a string"):
            wrong((1,))
    words: Any = ["dog"]
    with pytest.raises(TypeError, match="must has 'dog': give a Term"):
        Constraints(must=words)
    terms: Any = [Term(words)]
    wanted = Constraints(must=terms, must_not=words)
    assert wanted == Constraints(must=(Term(("dog",)),), must_not=("dog",))
    assert "dog" in translator.translate([Request("Hund", replace(wanted, must_not=()))])[0]
