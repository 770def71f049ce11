"""Mark-up comes back whole: with an unchanged text byte for byte, else with every tag once and well nested."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.data.tokenizer import Tokenizer
from nmt.reading.items import lifted_tags
from nmt.reading.request import Constraints, Request, Term, Translation
from nmt.text.items import find_items, tag_pairs
from nmt.translation.repair import USUAL
from nmt.translation.translator import Translator
from tests.reading.pretended import Pretended, context_of, text_of
from tests.text.test_markup import texts
from tests.tiny import SHORT

many = settings(max_examples=300, deadline=None, derandomize=True)


def translated(
    tokenizer: Tokenizer, text: str, order: Callable[[int], Sequence[int]] = range, change: Callable[[str], str] = str
) -> Translation:
    return text_of(text, [lifted_tags], context_of(tokenizer, mode="html"), Pretended(change, order=order))


@many
@given(texts)
def test_an_unchanged_translation_leaves_every_byte(tokenizer: Tokenizer, text: str) -> None:
    text = re.sub("[\ud800-\udfff]|\r\\Z", "", text)
    best = translated(tokenizer, text)
    assert best.text == text
    assert all(i == j for i, j in best.links)
    assert all(part.source_places == tuple(part.target_places) for part in best.parts)


nested = st.recursive(
    st.sampled_from(["Hut", "der Hund", "(", ").", " ", ", ", "12", "&amp;", "<img>", "<br>", "日本"]),
    lambda inner: st.builds(
        lambda name, parts: f"<{name}>{''.join(parts)}</{name}>", st.sampled_from("abip"), st.lists(inner, max_size=4)
    ),
    max_leaves=15,
)


@many
@given(st.lists(nested, max_size=6).map(" ".join), st.randoms(use_true_random=False))
def test_every_tag_comes_back_once_and_well_nested_in_any_order_of_words(
    tokenizer: Tokenizer, text: str, random: object
) -> None:
    order = lambda n: random.sample(range(n), n)  # type: ignore[attr-defined]  # noqa: E731
    best = translated(tokenizer, text, order, str.upper)
    tags = [Counter(item.text.lower() for item in find_items(t) if item.kind == "tag") for t in (text, best.text)]
    assert tags[0] == tags[1]
    assert len(tag_pairs(find_items(best.text))) == len(tag_pairs(find_items(text)))
    depth = 0
    for tag in re.findall("</?[abip]>", best.text):
        depth += 1 if tag[1] != "/" else -1
        assert depth >= 0
    assert Counter(re.sub("<[^>]*>|\\s", "", best.text).lower()) == Counter(re.sub("<[^>]*>|\\s", "", text).lower())


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("Ein <b>roter</b> Hut.", [0, 2, 1], "EIN HUT. <b>ROTER</b>"),
        ("<p>Eins.</p><p>Zwei.</p>", [0], "<p>EINS.</p><p>ZWEI.</p>"),
        ("Ein <a href=\"x\">Haus</a> <b>da</b>!", [2, 0, 1], "<b>DA</b>! EIN <a href=\"x\">HAUS</a>"),
        ("<b>ein Hut<br>zwei Hüte</b>", [1, 0], "<b>HUT EIN<br>HÜTE ZWEI</b>"),
        ("<b>ein <i>roter</i> Hut</b> da", [3, 2, 1, 0], "DA <b>HUT <i>ROTER</i> EIN</b>"),
        ("ein <img src=a> Hut", [1, 0], "HUT EIN <img src=a>"),
        ("ein <code>a b</code> Hut", [0, 1], "EIN <code>a b</code> HUT"),
        ("<img><b>ein</b> Hut", [0, 1], "<img><b>EIN</b> HUT"),
        ("Rat<b>haus</b> da", [1, 0], "DA <b>RATHAUS</b>"),
        ("(<b>ein</b> Hut)", [1, 0], "HUT) (<b>EIN</b>"),
        ("&lt;script&gt; da", [1, 0], "DA &lt;SCRIPT&gt;"),
        ("ein <b></b> Hut<i> </i>", [0, 1], "EIN <b></b> HUT<i> </i>"),
    ],
)  # fmt: skip
def test_tags_follow_their_words(tokenizer: Tokenizer, text: str, order: list[int], expected: str) -> None:
    best = translated(tokenizer, text, lambda n: order[:n], str.upper)
    assert (best.text, best.flags) == (expected, ())


def test_text_inside_tags_is_translated_and_words_stay_linked(tokenizer: Tokenizer) -> None:
    text = "Ein <b title='rot und'>Hut</b> <img alt=\"Hunde\"> da"
    changes = {"und": "und auch", "da": "hier"}
    each: list[Callable[[str], str]] = [str.upper, lambda word: changes.get(word, word)]
    for change in each:
        best = translated(tokenizer, text, lambda n: [*range(n)], change)
        words = {"rot": "rot", "Hut": "Hut", "Hunde": "Hunde", "da": change("da"), "Ein": "Ein"}
        origins = {j: i for part in best.parts for i, j in zip(part.source_places, part.target_places, strict=True)}
        found = {word: origins.get(best.text.lower().index(new.lower())) for word, new in words.items()}
        assert found == {word: text.index(word) for word in words}
    assert best.text == "Ein <b title='rot und auch'>Hut</b> <img alt=\"Hunde\"> hier"


def test_an_attribute_whose_translation_is_too_long_stays_and_is_flagged(tokenizer: Tokenizer) -> None:
    done = translated(tokenizer, '<p title="Hut">Hund</p>', change=lambda text: text.replace("Hut", "Hut" * 5000))
    assert done.text == '<p title="Hut">Hund</p>'
    assert done.flags == ("items",)


def test_a_pair_that_would_lose_its_words_keeps_its_place_and_is_flagged(tokenizer: Tokenizer) -> None:
    best = translated(tokenizer, "ein <b>roter</b> Hut", lambda n: [0, 2, 2], str.upper)
    assert (best.text, best.flags) == ("EIN <b>HUT</b> HUT", ("items",))


@pytest.mark.parametrize("line", ["Der Hund läuft.", "x <3 und <y>", "", "Ein &uuml; Hut"])
def test_other_lines_are_translated_as_without_markup(translator: Translator, line: str) -> None:
    assert translator.translate_n_best([line]) == translator.translate_n_best([line], markup="none")


def test_text_without_letters_is_copied_and_its_words_are_linked(tokenizer: Tokenizer) -> None:
    best = text_of("<p>12</p> <hr>", USUAL, context_of(tokenizer, mode="auto"))
    assert (best.text, best.parts, best.links) == ("<p>12</p> <hr>", (), ((0, 0), (10, 10)))


def test_constraints_go_to_the_segment_that_they_are_for(translator: Translator) -> None:
    constraints = Constraints("The", (Term(("dog",), "Hund"), Term(("table",), "Tisch")), ("men",))
    request = Request("<p>Zwei Männer am Tisch</p><p>Der Hund</p>", constraints)
    ((best, *_),) = translator.translate_n_best([request])
    first, second = re.findall("<p>(.*?)</p>", best.text)
    assert first.startswith("The")
    assert "table" in first
    assert "dog" in second
    assert "men" not in best.text


def test_several_translations_scores_and_alignments_are_of_the_whole_text(translator: Translator) -> None:
    search, line = replace(SHORT, beam_size=3, n_best=3), "<p>Der <b>Hund</b></p> Zwei Männer"
    (found,) = translator.translate_n_best([line], search)
    assert len(found) == 3
    for one in found:
        assert len(one.parts) == 2
        assert one.text.startswith("<p>")
        assert all(j < len(one.text.split()) for _, j in translator.align(line, one))
    single = [translator.translate_n_best([text], search)[0][0] for text in ("Der Hund", "Zwei Männer")]
    assert found[0].score == pytest.approx(sum(one.score for one in single) / 2)
