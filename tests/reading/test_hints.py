"""Terms reach a model that has learned hints instead of their words; users see neither hints nor other word numbers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from nmt.config import TokenizerConfig
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.translation.glossary import Entry, Glossary, add_terms
from nmt.translation.hints import give_hints, hinted, knows_hints
from nmt.reading.request import Constraints, Moved, Request, Term, Translation
from nmt.translation.span_search import SpanSearch
from nmt.translation.spans import Span, cut_lines
from nmt.translation.translator import Translator
from nmt.vocabulary import HINT, HINT_END, HINTS, ITEMS, PLACEHOLDERS
from tests.tiny import PAIRS, SHORT, make_model

DOG, HUND = Term(("dog", "hound"), "Hund"), f"{HINT} dog {HINT_END}"


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """A tokenizer of models that have learned hints and placeholders."""
    settings = TokenizerConfig(vocab_size=370, user_defined_symbols=(*HINTS, *PLACEHOLDERS))
    return train_tokenizer(PAIRS * 5, settings, tmp_path_factory.mktemp("taught"), "de", "en")


def read(line: str, *terms: Term) -> str:
    found = hinted(Request(line, Constraints(hints=terms)))
    return found.text if found else line


def test_hints_stand_for_each_occurrence_of_the_words() -> None:
    assert read("Der Hund, ein Hund!", DOG) == f"Der {HUND}, ein {HUND}!"
    assert read("Hundert Hunde", DOG) == "Hundert Hunde", "whole words only"
    assert read("Der Hund", Term(("dog",))) == "Der Hund", "no words are known"
    assert read("Der Hund", Term((" hound* ",), "Hund")) == f"Der {HINT} hound {HINT_END}"
    assert read("ein\tHund", DOG) == "ein\tHund"
    assert read(f"ein {HINT} Hund", DOG) == f"ein {HINT} Hund"
    both = Term(("police dog",), "Polizei Hund"), DOG
    assert read("Polizei Hund und Hund", *both) == f"{HINT} police dog {HINT_END} und {HUND}"


def test_each_place_of_a_line_with_hints_is_known() -> None:
    line = "  Der Hund, ein Hund!"
    found = hinted(Request(line, Constraints(must=(DOG,))))
    assert found
    assert found.line == line.strip()
    assert len(found.places) == len(found.text)
    shown = [found.line[place] for place, character in zip(found.places, found.text, strict=True)]
    assert "".join(shown).startswith("Der " + "H" * len(f"{HINT} dog {HINT_END}") + ", ein ")


def test_hints_are_given_to_models_that_know_them(taught: Tokenizer, tokenizer: Tokenizer) -> None:
    requests = [Request("Der Hund", Constraints(must=(DOG,))), Request("Der Hund")]
    assert (knows_hints(taught), knows_hints(tokenizer)) == (True, False)
    given, lines = give_hints(requests, taught)
    assert [one.text for one in given] == [f"Der {HUND}", "Der Hund"]
    assert given[0].constraints == Constraints(must=(replace(DOG, source=HUND),)), "the words that the model reads"
    assert [line is None for line in lines] == [False, True]
    assert give_hints(requests, tokenizer) == (requests, [None, None])


def test_a_translator_shows_hints_to_the_model_only(taught: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[str]()

    def find(self: SpanSearch, spans: Sequence[Span], *arguments: Any) -> object:
        spans = list(spans)
        seen.extend(taught.decode_source([span.ids for span in spans]))
        assert not any(span.constraints.hints for span in spans)
        return original(self, spans, *arguments)

    original = SpanSearch.find
    monkeypatch.setattr(SpanSearch, "find", find)
    translator = Translator(make_model(taught), taught, SHORT)
    line = "Der Hund da"
    for constraints in (Constraints(hints=(DOG,)), Constraints(must=(DOG,))):
        [[best]] = translator.translate_n_best([Request(line, constraints)])
        assert seen.pop() == f"Der {HUND} da"
        assert not set(best.text) & set(HINTS)
        assert "constraints" not in best.flags
        assert {i for i, _ in translator.align(line, best)} <= {0, 1, 2}
    assert "dog" in best.text or "hound" in best.text
    translator.translate([line])
    assert seen.pop() == line


def test_a_term_must_be_in_the_translation_of_its_sentence(taught: Tokenizer) -> None:
    lines = "Zwei Männer sitzen. Der Hund läuft.", "Der Hund läuft. Zwei Männer sitzen."
    search = replace(SHORT, split_above=1)
    limits = Translator(make_model(taught), taught, search).limits(search)
    for line, place in zip(lines, (1, 0), strict=True):
        given, _ = give_hints([Request(line, Constraints(must=(DOG,)))], taught)
        [spans] = cut_lines(given, taught, limits)
        assert [len(span.constraints.must) for span in spans] == [int(n == place) for n in (0, 1)]


def test_alignments_of_hints_are_those_of_their_words() -> None:
    line = hinted(Request("Der Hund da", Constraints(must=(DOG,))))
    assert line
    moved = line.of_line(Translation("The dog there", -1.0, ())).moved
    assert moved
    # the words read are Der, the mark, dog, the mark, da
    assert moved.links([(0, 0), (2, 1), (4, 2)]) == [(0, 0), (1, 1), (2, 2)]
    assert moved.links([(1, 1), (2, 1), (3, 1)]) == [(1, 1)]


def test_hints_beside_placeholders_keep_the_numbers_of_words() -> None:
    """A line with an item, whose inner text has a hint: `Ein {x} Hund` is read as `Ein ① ⟨ dog ⟩`."""
    inside = hinted(Request(f"Ein {ITEMS[0]} Hund", Constraints(must=(DOG,))))
    assert inside
    target = f"A {ITEMS[0]} dog"
    sources, targets = [*range(5), *range(7, 12)], [*range(3), *range(5, 9)]  # {x} has three characters
    outer = Moved("Ein {x} Hund", f"Ein {ITEMS[0]} Hund", sources, "A {x} dog", target, targets)
    moved = outer.around(inside.of_line(Translation(target, -1.0, ())).moved)
    assert moved.source == inside.text
    assert moved.links([(0, 0), (1, 1), (3, 2)]) == [(0, 0), (1, 1), (2, 2)]
    assert outer.around(None) is outer
    assert outer.around(replace(outer, line="another one")) is outer


def test_a_glossary_gives_hints_or_terms_that_must_occur(taught: Tokenizer, tokenizer: Tokenizer) -> None:
    glossary = Glossary([Entry("Hund", ("dog",))])
    translator = Translator(make_model(taught), taught, SHORT)
    request, note = add_terms(glossary, Request("Der Hund"), translator, SHORT, "none")
    assert (request.constraints, note) == (Constraints(must=(Term(("dog",), "Hund"),)), "")
    as_hints = replace(SHORT, terms="hint")
    request, note = add_terms(glossary, Request("Der Hund"), translator, as_hints, "none")
    assert (request.constraints, note) == (Constraints(hints=(Term(("dog",), "Hund"),)), "")
    translator.translate([request], as_hints)
    other = Translator(make_model(tokenizer), tokenizer, SHORT)
    with pytest.raises(ValueError, match=r"search\.terms is hint, but the model has learned no hints: take must"):
        other.translate([request], as_hints)
