"""Terms reach a model that has learned hints instead of their words; users see neither hints nor other word numbers."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from nmt.config import TokenizerConfig
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.reading.items import items
from nmt.reading.lines import cut_sentences
from nmt.reading.loop import Limits, Reading, grow
from nmt.reading.request import Constraints, Request, Term
from nmt.reading.spelling import hints, knows_hints
from nmt.translation.glossary import Entry, Glossary, add_terms
from nmt.translation.span_search import Span, SpanSearch
from nmt.translation.translator import Translator
from nmt.vocabulary import HINT, HINT_END, HINTS, ITEMS, PLACEHOLDERS
from tests.reading.pretended import Pretended, context_of, text_of
from tests.tiny import PAIRS, SHORT, make_model

DOG, HUND = Term(("dog", "hound"), "Hund"), f"{HINT} dog {HINT_END}"


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """A tokenizer of models that have learned hints and placeholders."""
    settings = TokenizerConfig(vocab_size=370, user_defined_symbols=(*HINTS, *PLACEHOLDERS))
    return train_tokenizer(PAIRS * 5, settings, tmp_path_factory.mktemp("taught"), "de", "en")


def read(tokenizer: Tokenizer, request: Request) -> Reading:
    """What the model reads."""
    taken = hints(Reading.of(request), context_of(tokenizer))
    return taken.readings[0] if taken else Reading.of(request)


@pytest.mark.parametrize(
    ("line", "terms", "text"),
    [
        ("Der Hund, ein Hund!", [DOG], f"Der {HUND}, ein {HUND}!"),
        ("Hundert Hunde", [DOG], "Hundert Hunde"),  # whole words only
        ("Der Hund", [Term(("dog",))], "Der Hund"),  # no words are known
        ("Der Hund", [Term((" hound* ",), "Hund")], f"Der {HINT} hound {HINT_END}"),
        ("ein\tHund", [DOG], "ein\tHund"),
        (f"ein {HINT} Hund", [DOG], f"ein {HINT} Hund"),
        (
            "Polizei Hund und Hund",
            [Term(("police dog",), "Polizei Hund"), DOG],
            f"{HINT} police dog {HINT_END} und {HUND}",
        ),
    ],
)
def test_hints_stand_for_each_place_of_the_words(taught: Tokenizer, line: str, terms: list[Term], text: str) -> None:
    found = read(taught, Request(line, Constraints(hints=tuple(terms))))
    assert found.text == text
    for hint in re.finditer(f"{HINT}[^{HINT_END}]*{HINT_END}", text if text != line else ""):
        assert found.written(*hint.span()) in ("Hund", "Polizei Hund")


def test_hints_are_given_to_models_that_know_them(taught: Tokenizer, tokenizer: Tokenizer) -> None:
    request = Request("Der Hund", Constraints(must=(DOG,)))
    assert (knows_hints(taught), knows_hints(tokenizer)) == (True, False)
    assert read(taught, request).text == f"Der {HUND}"
    assert read(taught, request).constraints.must == (replace(DOG, source=HUND),), "the words that the model reads"
    assert read(tokenizer, request) == Reading.of(request)


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
    for line, place in (("Zwei Männer. Der Hund.", 1), ("Der Hund. Zwei Männer.", 0)):
        reading = Reading.of(Request(line, Constraints(must=(DOG,))))
        tree = grow(reading, [hints, cut_sentences], context_of(taught, limits=Limits(200, 1)))
        assert [len(leaf.constraints.must) for leaf in tree.leaves()] == [int(n == place) for n in (0, 1)]


@pytest.mark.parametrize("line", ["Der Hund da", "Ein {x} Hund", "- Ein {x}, Hund und Hund"])
def test_alignments_of_hints_are_those_of_their_words(taught: Tokenizer, line: str) -> None:
    """`Ein {x} Hund` is read as `Ein ① ⟨ dog ⟩`; the model copies the hint."""
    model, request = Pretended(), Request(line, Constraints(hints=(DOG,)))
    best = text_of(request, [items, hints], context_of(taught), model)
    assert model.asked == [line.replace("{x}", ITEMS[0]).replace("Hund", HUND)]
    pairs = [pair for part in best.parts for pair in zip(part.source_places, part.target_places, strict=True)]
    origins = [i for i, j in pairs if best.text[j : j + 3] == "dog"]
    assert {line[line.rfind(" ", 0, i + 1) + 1 :][:4] for i in origins} == {"Hund"}


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
