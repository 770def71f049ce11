"""Items and quotes are read as placeholders, or not at all, and come back in their places."""

import re
from dataclasses import replace

import pytest

from nmt.data.tokenizer import Tokenizer
from nmt.reading.items import items, items_beside, lifted_items, quotes, tags
from nmt.reading.loop import Reading, Step
from nmt.reading.request import Constraints, Request, Term
from nmt.reading.spelling import readable
from nmt.text.words import Words
from nmt.translation.repair import USUAL
from nmt.translation.translator import Translator
from nmt.vocabulary import ITEMS
from tests.reading.pretended import Pretended, asked_of, context_of, text_of
from tests.tiny import PAIRS, SHORT

FIRST, SECOND, *_ = ITEMS
SOURCES = [source for source, _ in PAIRS]
ENGLISH = ("“", "”")
STEPS = (tags, items_beside, items)


@pytest.fixture
def copier(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> Tokenizer:
    """A tokenizer of a model that has learned placeholders."""
    monkeypatch.setattr(tokenizer, "has_placeholders", True)
    return tokenizer


@pytest.mark.parametrize(
    ("line", "read", "text"),
    [
        ("kein hut", "kein hut", "KEIN HUT"),
        ("ein <b>hut</b>, {name}.", f"ein hut, {FIRST}.", "EIN <b>HUT</b>, {name}."),
        ("der hut (https://x.org) im {x}", f"der hut im {FIRST}", "DER HUT (https://x.org) IM {x}"),
        (
            '<p>der <a href="x &amp; y">rote &amp; <i>alte</i></a> hut ({y}): {x}</p>',
            f"der rote & alte hut: {FIRST}",
            '<p>DER <a href="x &amp; y">ROTE &amp; <i>ALTE</i></a> HUT ({y}): {x}</p>',
        ),
    ],
)
@pytest.mark.parametrize("mode", ["auto", "none"])
def test_models_read_placeholders_users_items(copier: Tokenizer, line: str, read: str, text: str, mode: str) -> None:
    model, context = Pretended(str.upper), context_of(copier, mode=mode)
    if mode == "auto" or "&" not in line:
        best = text_of(line, STEPS, context, model)
        assert (best.text, model.asked) == (text, [read])
        assert model.asked[0].upper() in asked_of(line, text, STEPS, context)
        words = [text[j:].split()[0].lower() == line[i:].split()[0].lower() for i, j in best.links]
        assert all(words)
        assert FIRST not in read or (line.rindex("{"), text.rindex("{")) in best.links


def test_a_line_that_loses_a_placeholder_has_no_translation_so_far_nor_any_sample(copier: Tokenizer) -> None:
    answers, reading = (lambda text: text.replace(FIRST, ""), str, str.upper), Reading.of(Request("ein {x} da"))
    for search, texts in ((SHORT, ["ein {x} da", "EIN {x} DA"]), (replace(SHORT, samples=3), [])):
        taken = items(reading, context_of(copier, search))
        assert taken
        assert [best.text for best in taken.back(Pretended(*answers)(taken.readings))] == texts


def test_constraints_with_items_leave_a_line_as_it_is(copier: Tokenizer) -> None:
    def taken(constraints: Constraints) -> object:
        return items(Reading.of(Request("ein {x} da", constraints)), context_of(copier))

    assert taken(Constraints("Hello 12"))
    for constraints in (Constraints("Hello {x}"), Constraints(must=(Term(("{x}",)),)), Constraints(must_not=("{x}",))):
        assert taken(constraints) is None


def test_invented_placeholders_go(translator: Translator, copier: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tokenizer, "decode_target", lambda self, ids: [f"A {FIRST} dog {SECOND}."] * len(ids))
    assert translator.translate(["Ein Hund.", f"Ein {SECOND} Hund."]) == ["A dog.", f"A dog {SECOND}."]


@pytest.mark.parametrize("signs", ["„%s“", '"%s"', "'%s'", "(%s)", "%s", "\"{x}\" UND '{y}'"])
def test_signs_around_an_item_come_back_as_they_were_written(copier: Tokenizer, signs: str) -> None:
    """The vocabulary lacks „ and “, which are read as other quotes."""
    plans: list[list[Step]] = [[readable, items], [readable, lifted_items], [lifted_items, readable]]
    for steps in plans:
        model = Pretended(str.upper)
        assert text_of(f"Der {signs} läuft", steps, context_of(copier), model).text == f"DER {signs} LÄUFT"


@pytest.mark.parametrize(
    ("line", "order", "expected"),
    [
        ("Hallo {name} und wer?", [2, 1, 0], "WER? UND HALLO {name}"),
        ("{x} {y}", [0], "{x} {y}"),
        (
            "Ein <b>roter</b> Hut",
            [0, 2, 2],
            "EIN <b></b> HUT HUT",
        ),  # which isn't flagged, as a line of mark-up would be
    ],
)
def test_items_follow_the_words_beside_them(tokenizer: Tokenizer, line: str, order: list[int], expected: str) -> None:
    best = text_of(line, [lifted_items], context_of(tokenizer), Pretended(str.upper, order=lambda n: order[:n]))
    assert (best.text, best.flags) == (expected, ())


@pytest.mark.parametrize(
    ("line", "inside"),
    [
        ("Der 'kleine' Hund läuft.", "Der kleine Hund läuft."),
        ("Der ‚kleine‘ Hund (‘läuft’).", "Der kleine Hund (läuft)."),
        ("Der kleine Hund läuft 'n' und Anna's und 'läuft", ""),
        ('Der "kleine Hund" läuft.', "Der kleine Hund läuft."),
        ("Der («kleine») Hund, der “liest”.", "Der (kleine) Hund, der liest."),
        ('Das Brett ist 5" lang und 3" breit.', ""),
        ('Der "%s" und „{name}“ laufen.', ""),
        ("Der „kleine Hund läuft.", ""),
        ("Der {{ 'kleine' | x }} Hund {% x \"liest\" %}.", ""),
    ],
)
def test_only_pairs_of_quotes_around_words_are_taken_off(tokenizer: Tokenizer, line: str, inside: str) -> None:
    model, context = Pretended(), context_of(tokenizer.with_words(Words.learn(SOURCES)), quotes=ENGLISH)
    text = text_of(line, [quotes], context, model).text
    assert model.asked == [inside or line]
    assert re.sub("[\"“”„«»'‚‘’]", "", text) == re.sub("[\"“”„«»'‚‘’]", "", line)
    assert text == line or asked_of(line, text, [quotes], context) == [inside]
    assert text_of(line, [quotes], context_of(tokenizer), model).text == line, "what training had isn't known"


def test_quotes_of_training_and_those_that_constraints_forbid_stay(tokenizer: Tokenizer) -> None:
    def taken(words: Words, constraints: Constraints) -> object:
        request = Request("Der „kleine“ Hund läuft.", constraints)
        return quotes(Reading.of(request), context_of(tokenizer.with_words(words), quotes=ENGLISH))

    words = Words.learn(SOURCES)
    assert taken(words, Constraints("A", must_not=("dog", "„"))), "an English translation has other quotes"
    assert taken(words, Constraints(must_not=("“",))) is None
    assert taken(Words.learn([*SOURCES, "Der „große“ Hund."]), Constraints()) is None
    assert taken(Words.learn([*SOURCES * 50, "Der „große“ Hund."]), Constraints()), "1 in 50 has them, or more"


def test_a_translation_has_the_quotes_of_its_language_and_the_words_of_the_plain_one(translator: Translator) -> None:
    search = replace(SHORT, max_length_ratio=1.0)
    known = Translator(translator.model, translator.tokenizer.with_words(Words.learn(SOURCES)), search)
    known.quotes = ENGLISH
    plain, quoted, straight = (
        best for best, *_ in known.translate_n_best(["Der Hund läuft.", "Der „Hund“ läuft.", 'Der "Hund" läuft.'])
    )
    assert quoted.text.replace("“", "").replace("”", "").split() == plain.text.split()
    assert (quoted.text.count("“"), quoted.text.count("”")) == (1, 1)
    assert straight.text.count('"') == plain.text.count('"') + 2


@pytest.mark.parametrize("line", ["- 1) Ein Hut 🙂 🙂", " •  „Ein Hut“ 🙂 ", "„Ein Hut“", "Ein Hut"])
def test_words_of_the_edges_are_linked(copier: Tokenizer, line: str) -> None:
    best = text_of(line, USUAL, context_of(copier))
    starts = [[word.start() for word in re.finditer(r"\S+", text)] for text in (line, best.text)]
    at_edges = [(n, len(word)) for n, word in enumerate(line.split()) if not re.search("Ein|Hut", word)]
    assert sorted(best.links) == [(starts[0][n] + k, starts[1][n] + k) for n, length in at_edges for k in range(length)]
