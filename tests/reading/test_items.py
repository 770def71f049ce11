"""Items reach the model as placeholders, if it has learned to copy them, and come back in their places."""

from collections.abc import Callable, Sequence

import pytest

from nmt.config import SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.text.marking import Mark, mark
from nmt.text.normalise import tidy
from nmt.text.restore import SINGLE, flatten
from nmt.text.words import Words
from nmt.translation.markup import translate_markup
from nmt.translation.placeholders import as_written, mark_request, name_request, put_back, translate_marked
from nmt.reading.request import Constraints, Request, Term, Translation
from nmt.translation.translator import Translator
from nmt.vocabulary import CLOSINGS, ITEMS, OPENINGS
from tests.tiny import SHORT

FIRST, SECOND, *_ = ITEMS


class Pretended:
    """Translates by a function of the text, and remembers what it was asked."""

    def __init__(self, *answers: Callable[[str], str]) -> None:
        self.answers, self.asked = answers, list[list[str]]()

    def __call__(self, requests: Sequence[Request]) -> list[list[Translation]]:
        self.asked.append([request.text for request in requests])
        return [[Translation(answer(one.text), -1.0, ()) for answer in self.answers] for one in requests]


def translate(tokenizer: Tokenizer, lines: Sequence[str], pretended: Pretended, **options: bool) -> list[list[str]]:
    requests = list(map(Request, lines))
    marked = [mark_request(request, tokenizer) for request in requests]
    n_best = translate_marked(requests, marked, pretended, whole_lists=options.get("whole_lists", False))
    return [[translation.text for translation in translations] for translations in n_best]


def test_the_model_reads_placeholders_and_users_their_items(tokenizer: Tokenizer) -> None:
    pretended = Pretended(lambda text: text.upper())
    found = translate(tokenizer, ["ein {name} im haus", "kein hut", "ein <b>hut</b>."], pretended)
    assert found == [["EIN {name} IM HAUS"], ["KEIN HUT"], ["EIN <b>HUT</b>."]]
    assert pretended.asked == [[f"ein {FIRST} im haus", "kein hut", f"ein {OPENINGS[0]} hut {CLOSINGS[0]}."]]


def test_a_line_whose_placeholder_is_lost_is_translated_as_it_is(tokenizer: Tokenizer) -> None:
    pretended = Pretended(lambda text: text.replace(FIRST, ""))
    assert translate(tokenizer, ["ein hut", "ein {name} da"], pretended) == [["ein hut"], ["ein {name} da"]]
    assert pretended.asked == [["ein hut", f"ein {FIRST} da"], ["ein {name} da"]]


def test_of_ranked_translations_those_without_placeholders_are_left_out_but_no_sample_is(tokenizer: Tokenizer) -> None:
    answers = (lambda text: text.replace(FIRST, ""), str, str.upper)
    assert translate(tokenizer, ["ein {x} da"], Pretended(*answers)) == [["ein {x} da", "EIN {x} DA"]]
    found = translate(tokenizer, ["ein {x} da"], Pretended(*answers), whole_lists=True)
    assert found == [["ein {x} da", "ein {x} da", "EIN {X} DA"]]


def test_constraints_with_items_leave_a_line_as_it_is(tokenizer: Tokenizer) -> None:
    assert mark_request(Request("ein {x} da", Constraints("Hello")), tokenizer)
    assert mark_request(Request("ein {x} da", Constraints("Hello {x}")), tokenizer) is None
    assert mark_request(Request("ein {x} da", Constraints(must=(Term(("{x}",)),))), tokenizer) is None


@pytest.fixture
def copier(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> Translator:
    """A translator whose translations are its sources, with placeholders."""

    def attempt(requests: Sequence[Request], search: SearchConfig, *_: object, **__: object) -> list[list[Translation]]:
        plain = Translator.attempt(translator, [Request(f"wort {i}") for i, _ in enumerate(requests)], search)
        texts = (tidy(request.text)[0] for request in requests)
        return [[Translation(text, -1.0, best.parts)] for text, (best, *_) in zip(texts, plain, strict=True)]

    monkeypatch.setattr(translator, "attempt", attempt)
    monkeypatch.setattr(translator, "has_placeholders", True)
    return translator


def test_links_of_mark_up_count_the_words_that_were_taken_off_its_edges() -> None:
    line = "1) Ein <b>roter</b> Hut"
    marked = mark(flatten(line))
    assert marked
    found = put_back(Translation(marked.text, -1.0, (), words_around=(1, 0)), marked)
    assert found
    assert found.moved
    assert found.text == line
    # The words with placeholders are 1) Ein X roter Y Hut, those of the parts begin after the first.
    assert found.moved.links([(0, 0), (2, 2), (4, 4)]) == [(1, 1), (2, 2), (3, 3)]
    assert found.words_around == (0, 0)


def test_a_translator_uses_them_for_plain_text_and_for_mark_up(copier: Translator) -> None:
    lines = ["Der {x} Hut", 'Der <a href="x &amp; y">rote &amp; <i>alte</i></a> Hut: https://x.org<br>']
    plain, marked = copier.translate(lines, SHORT), translate_markup(copier, [Request(line) for line in lines], SHORT)
    assert plain[0] == marked[0][0].text == "Der {x} Hut"
    assert marked[1][0].text == lines[1]
    assert marked[0][0].moved
    links = copier.align(lines[0], marked[0][0])
    assert all(0 <= i < 3 and 0 <= j < 3 for i, j in links)


def test_placeholders_that_a_model_invents_are_removed(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translator, "has_placeholders", True)
    monkeypatch.setattr(Tokenizer, "decode_target", lambda self, ids: [f"A {FIRST} dog {SECOND}."] * len(ids))
    assert translator.translate(["Ein Hund.", f"Ein {SECOND} Hund."], SHORT) == ["A dog.", f"A dog {SECOND}."]


def named(tokenizer: Tokenizer) -> Tokenizer:
    return tokenizer.with_words(Words(frozenset(), (), (), ("Anna", "Karl"), (("Frau", "Weber"), ("nach", "Rom"))))


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("{name} schläft", "Anna schläft"),
        ('Anna und "%s" schlafen', "Anna und Karl schlafen"),
        ("${x}, wo ist %(place)s?", "Anna, wo ist Karl?"),
        ("Frau {name} fährt nach {place}", "Frau Weber fährt nach Rom"),
        ("Frau {name} und Frau {other}", "Frau Weber und Frau Anna"),
        ("Frau Weber und Frau {name}", "Frau Weber und Frau Anna"),
        ("Das Haus ({name}) schläft", None),
        ("<b>{name}</b> schläft", None),
        ("{name}s Hund", None),
        ("{a}, {b} und {c}", None),
        ("Siehe https://example.org", None),
        ("Der Hund", None),
    ],
)
def test_names_stand_for_placeholders_in_the_place_of_words(tokenizer: Tokenizer, line: str, read: str | None) -> None:
    found = name_request(Request(line), named(tokenizer))
    assert (found and found.text) == read
    assert name_request(Request(line), tokenizer) is None


@pytest.mark.parametrize(
    ("answer", "text", "flags"),
    [
        (lambda text: text.replace("und", "and"), 'Karl and "%s" x', ()),
        (lambda text: text.replace("Anna", "Annas"), 'Karl und "%s" x', ("items",)),
        (lambda text: f"{text} Anna", 'Karl und "%s" x Anna', ("items",)),
    ],
)
def test_a_name_that_is_lost_or_repeated_is_flagged(
    tokenizer: Tokenizer, answer: Callable[[str], str], text: str, flags: tuple[str, ...]
) -> None:
    request = Request('Karl und "%s" x')
    marked = [name_request(request, named(tokenizer))]
    ((best,),) = translate_marked([request], marked, Pretended(answer), whole_lists=False)
    assert (best.text, best.flags) == (text, flags)


@pytest.mark.parametrize(
    ("read", "line", "written"),
    [
        ("'%s'", 'Der "%s" läuft', '"%s"'),
        ("'%s'", "Der „%s“ läuft", "„%s“"),
        ("%s", 'Der "%s" läuft', "%s"),
        ("'%s'", "Der %s läuft", "'%s'"),
        ("(%s)", "Der (%s) läuft", "(%s)"),
    ],
)
def test_quotes_around_an_item_come_back_as_they_were_written(read: str, line: str, written: str) -> None:
    assert as_written(Mark(read, SINGLE, (False, False)), line).text == written
