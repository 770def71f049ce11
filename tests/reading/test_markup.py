"""Mark-up comes back whole: with an unchanged text byte for byte, else with every tag once and well nested."""

import re
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.config import SearchConfig
from nmt.text.items import find_items, tag_pairs
from nmt.translation.alignment import Aligner
from nmt.translation.markup import translate_markup
from nmt.reading.request import Constraints, Request, Term, Translation
from nmt.translation.translator import Translator
from tests.text.test_markup import texts
from tests.tiny import SHORT

many = settings(max_examples=500, deadline=None, derandomize=True)


class Pretended:
    """Translates by a function of words, and knows the alignment: the n-th word of the answer is of word `order[n]`."""

    def __init__(self, order: Callable[[int], Sequence[int]], change: Callable[[str], str] = str) -> None:
        self.order, self.change = order, change
        self.has_placeholders = False
        self.aligner = Aligner(None, None)  # type: ignore[arg-type]

    def translate_n_best(
        self, lines: Sequence[str | Request], search: SearchConfig | None = None
    ) -> list[list[Translation]]:
        self.asked = [line.text if isinstance(line, Request) else line for line in lines]
        return [[self.answer(text)] for text in self.asked]

    def answer(self, text: str) -> Translation:
        words = text.split(" ")
        order = self.order(len(words))
        links = tuple((i, n) for n, i in enumerate(order))
        return Translation(self.change(" ".join(words[i] for i in order)), -1.0, (), links=links)


def translate(text: str, pretended: Pretended) -> Translation:
    ((best,),) = translate_markup(pretended, [Request(text)], mode="html")
    return best


@many
@given(texts)
def test_an_unchanged_translation_leaves_every_byte(text: str) -> None:
    text = re.sub("[\ud800-\udfff]|\r\\Z", "", text)
    assert translate(text, Pretended(range)).text == text


nested = st.recursive(
    st.sampled_from(["Hut", "der Hund", "(", ").", " ", ", ", "12", "&amp;", "<img>", "<br>", "日本"]),
    lambda inner: st.builds(
        lambda name, parts: f"<{name}>{''.join(parts)}</{name}>", st.sampled_from("abip"), st.lists(inner, max_size=4)
    ),
    max_leaves=15,
)


@many
@given(st.lists(nested, max_size=6).map(" ".join), st.randoms(use_true_random=False))
def test_every_tag_comes_back_once_and_well_nested_in_any_order_of_words(text: str, random: object) -> None:
    order = lambda n: random.sample(range(n), n)  # type: ignore[attr-defined]  # noqa: E731
    best = translate(text, Pretended(order, str.upper))
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
def test_tags_follow_their_words(text: str, order: list[int], expected: str) -> None:
    best = translate(text, Pretended(lambda n: order[:n], str.upper))
    assert (best.text, best.flags) == (expected, ())


def test_text_inside_tags_is_translated_and_words_stay_linked() -> None:
    text = "Ein <b title='rot und'>Hut</b> <img alt=\"Hunde\"> da"
    done = translate(text, Pretended(range, str.upper))
    assert done.text == "EIN <b title='ROT UND'>HUT</b> <img alt=\"HUNDE\"> DA"
    assert {(0, 0), (3, 3), (6, 6)} <= set(done.links or ())
    longer = translate(text, Pretended(range, lambda line: line.replace(" und", " und auch").replace("da", "hier")))
    assert longer.text == "Ein <b title='rot und auch'>Hut</b> <img alt=\"Hunde\"> hier"
    assert {(0, 0), (3, 4), (6, 7)} <= set(longer.links or ())


def test_an_attribute_whose_translation_is_too_long_stays_and_is_flagged() -> None:
    done = translate('<p title="Hut">Hund</p>', Pretended(range, lambda line: line.replace("Hut", "Hut" * 5000)))
    assert done.text == '<p title="Hut">Hund</p>'
    assert done.flags == ("items",)


def test_a_pair_that_would_lose_its_words_keeps_its_place_and_is_flagged() -> None:
    best = translate("ein <b>roter</b> Hut", Pretended(lambda n: [0, 2, 2], str.upper))
    assert (best.text, best.flags) == ("EIN <b>HUT</b> HUT", ("items",))


def test_other_lines_are_translated_as_without_markup(translator: Translator) -> None:
    lines = ["Der Hund läuft.", "x <3 und <y>", "", "Ein &uuml; Hut"]
    requests = [Request(line) for line in lines]
    assert translate_markup(translator, requests, SHORT) == translator.translate_n_best(lines, SHORT)


def test_constraints_go_to_the_segment_that_they_are_for(translator: Translator) -> None:
    constraints = Constraints("The", (Term(("dog",), "Hund"), Term(("table",), "Tisch")), ("men",))
    request = Request("<p>Zwei Männer am Tisch</p><p>Der Hund</p>", constraints)
    ((best, *_),) = translate_markup(translator, [request], SHORT)
    first, second = re.findall("<p>(.*?)</p>", best.text)
    assert first.startswith("The")
    assert "table" in first
    assert "dog" in second
    assert "men" not in best.text


def test_several_translations_scores_and_alignments_are_of_the_whole_text(translator: Translator) -> None:
    search = SearchConfig(beam_size=3, n_best=3, max_length_ratio=0.3, guard=False)
    (found,) = translate_markup(translator, [Request("<p>Der <b>Hund</b></p> Zwei Männer")], search)
    assert len(found) == 3
    for one in found:
        assert len(one.parts) == 2
        assert one.text.startswith("<p>")
        assert one.links is not None
        assert all(j < len(one.text.split(" ")) for _, j in one.links)
    single = [translator.translate_n_best([text], search)[0][0] for text in ("Der Hund", "Zwei Männer")]
    assert found[0].score == pytest.approx(sum(one.score for one in single) / 2)
