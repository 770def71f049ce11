"""Texts are cut into lines, and these into spans that fit, at the best places; breaks and blanks are kept."""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.data.tokenizer import Tokenizer
from nmt.reading.items import tags
from nmt.reading.lines import best_joins, by_clauses, cut_points, cut_sentences, cut_text, each_sentence, label
from nmt.reading.loop import Limits, Reading
from nmt.reading.request import Constraints, Request, Term, Translation
from nmt.text.items import find_items, tag_pairs
from nmt.text.words import Words
from nmt.translation.repair import USUAL
from nmt.translation.translator import Translator
from tests.reading.pretended import Pretended, asked_of, context_of, text_of
from tests.text.test_markup import texts
from tests.tiny import SHORT

BREAKS = ["\t", "\n", "\r\n", "\r", "\n\n", "\n \r\n\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"]
SENTENCES = ["Der kleine Hund läuft über die Wiese.", "Wo ist der Tisch?", "Ja!"]

pieces_of_text = st.lists(
    min_size=1,
    max_size=80,
    elements=st.sampled_from(
        ["▁Der", "▁Hund", "e", "n", ".", "!", '"', "。", "▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"]
    ),
)


@pytest.mark.parametrize("between", [*BREAKS, " \n\u3000 ", "\r\n\u2028" * 5_000], ids=lambda text: repr(text[:9]))
def test_each_line_of_a_text_is_translated_alone_and_the_breaks_stay(translator: Translator, between: str) -> None:
    first, second = translator.translate(["Hund.", "Kaffee."])
    text = f"Hund.{between}Kaffee."
    assert translator.translate([text, f" \n{text} \n"]) == [f"{first}{between}{second}"] * 2
    assert asked_of(text, f"Dog.{between}Coffee.", [], context_of(translator.tokenizer))[::2][:1] == ["Dog."]


def test_every_rank_of_an_n_best_list_has_all_lines(translator: Translator) -> None:
    search = replace(SHORT, beam_size=3, n_best=3)
    first, second, whole = translator.translate_n_best(["Hund.", "Kaffee.", "Hund.\n\nKaffee."], search)
    assert [one.text for one in whole] == [f"{a.text}\n\n{b.text}" for a, b in zip(first, second, strict=True)]
    assert whole[0].score == pytest.approx((first[0].score + second[0].score) / 2)
    (marked,) = translator.translate_n_best(["<p>Hund.</p><p>Kaffee.</p>"], search)
    pairs = zip(first, second, strict=True)
    assert [one.text for one in marked] == [f"<p>{a.text}</p><p>{b.text}</p>" for a, b in pairs]
    ids = [[part.hypothesis.ids for part in one.parts] for one in (first[0], second[0], whole[0])]
    assert ids[2] == ids[0] + ids[1]


@pytest.mark.parametrize("first", ["Der Hund <b>läuft</b>.", "\u00a7", "\u2022 Der \u200e Hund.", "1) Ein {x} Hund"])
def test_the_words_of_all_lines_are_aligned(translator: Translator, first: str) -> None:
    search, lines = replace(SHORT, guard=True), [first, "Zwei Männer."]
    *alone, whole = (best for best, *_ in translator.translate_n_best([*lines, "\n".join(lines)], search))
    links, n_source, n_target = list[tuple[int, int]](), 0, 0
    for line, one in zip(lines, alone, strict=True):
        links += [(n_source + i, n_target + j) for i, j in translator.align(line, one)]
        n_source, n_target = n_source + len(line.split()), n_target + len(one.text.split())
    assert translator.align("\n".join(lines), whole) == links


def test_constraints_go_to_the_line_that_they_are_for(tokenizer: Tokenizer) -> None:
    term, other = Term(("dog",), "Hund"), Term(("x",))
    request = Request("\n Eine Katze.\n\nEin Hund.", Constraints("A", (term, other), ("bad",)))
    taken = cut_text(Reading.of(request), context_of(tokenizer))
    assert taken
    assert [(line.text, line.constraints) for line in taken.readings] == [
        ("Eine Katze.", Constraints("A", (other,), ("bad",))),
        ("", Constraints(must_not=("bad",))),
        ("Ein Hund.", Constraints("", (term,), ("bad",))),
    ]


@pytest.mark.parametrize("invisible", ["\xad", "\u200e", "\u202d\n\xa0", "\ufe0f"])
def test_a_prefix_is_for_the_first_line_that_the_model_can_see(tokenizer: Tokenizer, invisible: str) -> None:
    request = Request(f"{invisible}\nDer Hund.\nKaffee.", Constraints("The"))
    taken = cut_text(Reading.of(request), context_of(tokenizer))
    assert taken
    *unseen, first, second = taken.readings
    assert first.constraints.prefix == "The"
    assert not any(line.constraints for line in (*unseen, second))


def test_a_long_line_without_sentence_or_space_is_translated(translator: Translator, tokenizer: Tokenizer) -> None:
    for line in ("Hund " * 10_000, "Hund" * 3_000, "😀" * 500):
        (ids,) = tokenizer.encode_source([line.strip()])
        spans = spans_of(line.strip(), tokenizer, Limits(200, 200))
        assert [i for span in spans for i in span.ids or ()] == ids
        assert max(len(span.ids or ()) for span in spans) <= 200
        assert translator.translate([line])[0]


def spans_of(line: str, tokenizer: Tokenizer, limits: Limits, cut: object = cut_sentences) -> list[Reading]:
    taken = cut(Reading.of(Request(line)), context_of(tokenizer, limits=limits))  # type: ignore[operator]
    assert "".join("".join(part.text.split()) for part in taken.readings) == "".join(line.split())
    assert all(part.written(0, len(part.text)) == part.text for part in taken.readings)
    return [*taken.readings]


@settings(max_examples=100, derandomize=True)
@given(pieces=pieces_of_text, limit=st.integers(1, 30), split_above=st.integers(1, 40))
def test_cuts_cover_a_source_in_spans_that_fit(pieces: list[str], limit: int, split_above: int) -> None:
    ends = cut_points(pieces, limit, split_above)
    assert ends[-1] == len(pieces)
    assert all(0 < end - start <= limit for start, end in zip([0, *ends], ends, strict=False))
    assert len(pieces) > min(limit, split_above) or len(ends) == 1


def test_cuts_are_made_after_sentences_then_before_words_then_between_characters() -> None:
    def spans(text: str, limit: int) -> list[str]:
        pieces = text.split("|")
        ends = cut_points(pieces, limit, limit)
        return ["".join(pieces[start:end]) for start, end in zip([0, *ends], ends, strict=False)]

    assert spans('▁a|b|c|.|"|▁d|e|f|g|!|▁h', 5) == ['▁abc."', "▁defg!", "▁h"]
    assert spans("▁a|b|c|d|▁e|f|▁g|h", 5) == ["▁abcd", "▁ef▁gh"]
    assert spans("a|b|<0xE2>|<0x82>|<0xAC>|c", 4) == ["ab", "<0xE2><0x82><0xAC>c"]
    assert spans("▁z|.|▁B|." + "|▁x" * 14, 16) == ["▁z.▁B." + "▁x" * 12, "▁x" * 2]
    assert spans("|".join("日本語日本語日本語日。日本"), 12) == ["日本語日本語日本語日。", "日本"]
    assert spans("▁d|as|▁endet|.|▁e|r|▁geht|.|▁e|r|▁kommt|.|▁j|a", 11) == ["▁das▁endet.▁er▁geht.▁er", "▁kommt.▁ja"]
    assert spans("▁d|as|▁endet|▁heute|.|▁e|r|▁geht|▁jetzt|.|▁e|r", 11) == ["▁das▁endet▁heute.▁er▁geht▁jetzt.", "▁er"]
    assert spans("▁D|as|▁ist|▁der|▁neue|▁Herr|▁mit|▁Prof|essor|▁Dr|.|▁A|▁B", 12)[1:] == ["▁B"]


@pytest.mark.parametrize(
    ("limits", "cut", "gap", "n"),
    [
        (Limits(200, 200), cut_sentences, " ", 1),
        (Limits(200, 200, 3), cut_sentences, " ", 1),
        (Limits(200, 200, 1), cut_sentences, " ", 3),
        (Limits(200, 20), cut_sentences, " ", 3),
        (Limits(200, 200), by_clauses, " ", 3),
        (Limits(200, 200, 3), each_sentence, " ", 3),
        (Limits(200, 200, 1), cut_sentences, "\t", 3),
        (Limits(200, 200, 1), cut_sentences, "\u00a0", 3),
    ],
)
def test_long_lines_are_cut_into_sentences(tokenizer: Tokenizer, limits: Limits, cut: object, gap: str, n: int) -> None:
    line = gap.join(SENTENCES)
    assert [span.text for span in spans_of(line, tokenizer, limits, cut)] == ([line] if n == 1 else SENTENCES)
    context, steps = context_of(tokenizer, limits=limits), [cut]
    assert text_of(line, steps, context).text == line  # type: ignore[arg-type]
    assert asked_of(line, line, steps, context)[:n] == ([line] if n == 1 else SENTENCES)  # type: ignore[arg-type]


def test_spans_amid_a_sentence_are_joined_as_they_were(tokenizer: Tokenizer) -> None:
    taken = cut_sentences(Reading.of(Request("Hund Tischbein")), context_of(tokenizer, limits=Limits(2, 200)))
    assert taken.amid == (True,) * (len(taken.amid) - 1) + (False,)
    parts = (part.text + blank for part, blank in zip(taken.readings, taken.blanks, strict=True))
    assert "".join(parts) == "Hund Tischbein"


@pytest.mark.parametrize(
    ("line", "answer", "text"),
    [
        ("Wo ist der Tisch? Ja.", "你好。", "你好。你好。"),
        ("你是谁？我是。", "你好。", "你好。你好。"),
        ("Wo ist der Tisch?  Ja.", "Yes.", "Yes.  Yes."),
        ("Die Hunde laufen heute — Zwei Männer trinken Kaffee.", "They run", "They run — They run"),
    ],
)
def test_spans_are_joined_as_their_scripts_do_in_place(tokenizer: Tokenizer, line: str, answer: str, text: str) -> None:
    best = text_of(line, [by_clauses], context_of(tokenizer), Pretended(lambda _: answer))
    assert best.text == text
    assert [part.target_places[0] for part in best.parts] == [0, text.rindex(answer)]
    assert [text[j] for part in best.parts for j in part.target_places] == [*answer * 2]


def test_a_clause_ends_with_the_mark_that_all_training_sources_have(tokenizer: Tokenizer) -> None:
    line = "Sie sehen Hunde usw.; die Hunde laufen heute; zwei Männer trinken Kaffee?"
    answers = Pretended(lambda text: text[:-1] + "!")
    best = text_of(line, [by_clauses], context_of(tokenizer, final_mark="."), answers)
    assert answers.asked == ["Sie sehen Hunde usw.", "die Hunde laufen heute.", "zwei Männer trinken Kaffee?"]
    assert best.text == "Sie sehen Hunde usw! die Hunde laufen heute! zwei Männer trinken Kaffee!"
    read = [line[i] for part in best.parts for i in part.source_places]
    assert read == [*line.replace("; ", "", 1).replace("; ", ";")]


@pytest.mark.parametrize(
    ("line", "asked", "answer"),
    [
        ("Hund: Der Hund läuft.", ["Hund", "Der Hund läuft."], "HUND: DER HUND LÄUFT."),
        ("Anna: Der Hund läuft.", ["Der Hund läuft."], "Anna: DER HUND LÄUFT."),
        ("Hund：Der Hund.", ["Hund", "Der Hund."], "HUND：DER HUND."),
        ("Hund : Der Hund.", ["Hund", "Der Hund."], "HUND : DER HUND."),
        ("5.2 Der Hund.", ["Der Hund."], "5.2 DER HUND."),
        ("Hund: „Der Hund.“", ["Hund", "„Der Hund.“"], "HUND: „DER HUND.“"),
        ("Hund: {Der} Hund", ["Hund", "{Der} Hund"], "HUND: {DER} HUND"),
        ("Hund: 12", ["Hund: 12"], "HUND: 12"),
        ("„Hund: Der Hund.“", ["„Hund: Der Hund.“"], "„HUND: DER HUND.“"),
        ("http://a.de: Der", ["http://a.de: Der"], "HTTP://A.DE: DER"),
    ],
)
def test_a_label_is_read_alone_or_stays(tokenizer: Tokenizer, line: str, asked: list[str], answer: str) -> None:
    model = Pretended(str.upper)
    context = context_of(tokenizer.with_words(Words.learn(["Der Hund läuft."] * 5 + ["Nur 5.2 Meter, also 5 und 2."])))
    best = text_of(line, [label], context, model)
    assert (best.text, model.asked) == (answer, asked)
    assert "".join(line[i] for i, _ in best.links) == ("" if asked[0][:4] in line[:4] else line.removesuffix(asked[0]))
    assert [line[i] for part in best.parts for i in part.source_places] == [*"".join(asked)]
    assert asked_of(line, answer, [label], context) == [text.upper() for text in asked]


def test_constraints_are_for_the_text_after_a_label_unless_they_name_it(tokenizer: Tokenizer) -> None:
    context = context_of(tokenizer.with_words(Words.learn(["Der Hund läuft."] * 5)))
    name, other = Term(("Anne",), "Anna"), Term(("meadow",))

    def terms(line: str, *must: Term, must_not: tuple[str, ...] = ()) -> list[tuple[str, tuple[Term, ...]]]:
        taken = label(Reading.of(Request(line, Constraints("", must, must_not))), context)
        return [(reading.text, reading.constraints.must) for reading in taken.readings] if taken else []

    assert terms("Anna: Der Hund", name, other) == [("Anna", (name,)), ("Der Hund", (other,))]
    assert terms("Hund: Der Vogel", other) == [("Hund", ()), ("Der Vogel", (other,))]
    assert terms("Anna: Der Hund", must_not=("Anna",)) == []


@given(st.lists(st.lists(st.integers(-4, 0), min_size=1, max_size=4), max_size=4), st.integers(1, 9))
def test_the_best_joins_of_spans_are_those_of_all_combinations(scores: list[list[int]], n_best: int) -> None:
    lists = [
        [Translation(f"{i} {k}", score, ()) for k, score in enumerate(sorted(row, reverse=True))]
        for i, row in enumerate(scores)
    ]
    combinations = sorted(map(list, product(*lists)), key=lambda chosen: -sum(h.score for h in chosen))
    joins = best_joins(lists, n_best)
    assert [sum(h.score for h in join) for join in joins] == [sum(h.score for h in c) for c in combinations[:n_best]]
    assert all(join in combinations for join in joins)
    assert len({tuple(h.text for h in join) for join in joins}) == len(joins)


def test_a_given_translation_of_more_sentences_is_grouped_in_all_ways(tokenizer: Tokenizer) -> None:
    context = context_of(tokenizer, limits=Limits(200, 200, 1))
    asked = asked_of("Wo? Da.", "Where? Here. Look.", [cut_sentences], context)
    assert asked == ["Where?", "Here. Look.", "Where? Here.", "Look."]
    assert asked_of("Wo? Da.", "Here", USUAL, replace(context, limits=Limits(200, 200, math.inf))) == ["Here"]


many = settings(max_examples=100, deadline=None, derandomize=True)


def translated(
    tokenizer: Tokenizer, text: str, order: Callable[[int], Sequence[int]] = range, change: Callable[[str], str] = str
) -> Translation:
    return text_of(text, [tags], context_of(tokenizer, mode="html"), Pretended(change, order=order))


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
def test_tags_come_back_well_nested_in_any_order_of_words(tokenizer: Tokenizer, text: str, random: object) -> None:
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
        ("ein <code>a b</code> Hut", [0, 1], "EIN <code>a b</code> HUT"),
        ("<img><b>ein</b> Hut", [0, 1], "<img><b>EIN</b> HUT"),
        ("Rat<b>haus</b> da", [1, 0], "DA <b>RATHAUS</b>"),
        ("(<b>ein</b> Hut)", [1, 0], "HUT) (<b>EIN</b>"),
        ("&lt;script&gt; da", [1, 0], "DA &lt;SCRIPT&gt;"),
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


def test_what_would_be_lost_or_too_long_stays_and_is_flagged(tokenizer: Tokenizer) -> None:
    long = translated(tokenizer, '<p title="Hut">Hund</p>', change=lambda text: text.replace("Hut", "Hut" * 5000))
    assert (long.text, long.flags) == ('<p title="Hut">Hund</p>', ("items",))
    lost = translated(tokenizer, "ein <b>roter</b> Hut", lambda n: [0, 2, 2], str.upper)
    assert (lost.text, lost.flags) == ("EIN <b>HUT</b> HUT", ("items",))


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
