"""Copies with placeholders: at corresponding places of both sides, each once, and nothing else changed."""

import re
from dataclasses import replace
from pathlib import Path
from random import Random

from nmt.config import DataConfig
from nmt.data.cleaning.cleaner import Pair
from nmt.data.copies.placeholders import Aligner, add_placeholders, with_placeholders
from nmt.vocabulary import ITEMS
from tests.data.corpus_files import prepared_of, write_corpus

WORDS = {"rote": "red", "alte": "old", "kleine": "small", "Hund": "dog", "Mann": "man", "Fisch": "fish", "Hut": "hat"}
PAIRS = [
    (f"Der {a} {n} sieht den {b} {m}.", f"The {WORDS[a]} {WORDS[n]} sees the {WORDS[b]} {WORDS[m]}.")
    for a in ("rote", "alte", "kleine")
    for b in ("rote", "alte", "kleine")
    for n in ("Hund", "Mann", "Fisch", "Hut")
    for m in ("Hund", "Mann", "Fisch", "Hut")
    if a != b and n != m
]
MARKS = re.compile(f"[{''.join(ITEMS)}]")


def neighbours(text: str) -> dict[str, tuple[str, str]]:
    """For each placeholder, the words before and after it."""
    words = ["", *re.findall(rf"\w+|{MARKS.pattern}|[^\w\s]", text), ""]
    return {word: (words[i - 1], words[i + 1]) for i, word in enumerate(words) if MARKS.fullmatch(word)}


def test_words_are_linked_to_their_translations() -> None:
    aligner = Aligner(PAIRS)
    for n, (source, target) in enumerate(PAIRS):
        found = {(source.split()[i].strip("."), target.split()[j].strip(".")) for i, j in aligner.links(n) if i < 7}
        assert {link for link in found if link[0] in WORDS} <= set(WORDS.items())
    assert len(aligner.links(0)) >= 4


def test_words_with_combining_marks_are_linked_whole_and_take_placeholders() -> None:
    """Yorùbá writes tones, Hindi vowels as marks."""
    spelled = {"Hund": "ẹ̀kọ́", "Mann": "लड़का", "Fisch": "लड़की", "Hut": "ọ̀rọ̀"}
    pairs = [(re.sub("|".join(spelled), lambda word: spelled[word[0]], source), target) for source, target in PAIRS]
    linked = {(pairs[n][0].split()[i].strip("."), j) for n in range(len(pairs)) for i, j in Aligner(pairs).links(n)}
    assert set(spelled.values()) <= {word for word, _ in linked}
    assert with_placeholders(("ẹ̀kọ́", "school"), [(0, 0)], Random(1))


def test_a_word_that_occurs_twice_and_an_empty_side_have_no_links() -> None:
    aligner = Aligner([*PAIRS, ("Hund Hund", "dog dog"), ("", "dog"), ("...", "dog")])
    assert [aligner.links(len(PAIRS) + n) for n in (0, 1)] == [[], []]


def test_both_sides_have_the_same_placeholders_each_once_and_the_rest_stays() -> None:
    copies = add_placeholders(PAIRS, 0.9)
    assert len(copies) == round(0.9 * len(PAIRS))
    assert copies == add_placeholders(PAIRS, 0.9)
    sources = {source for source, _ in PAIRS}
    ways = set()
    for source, target in copies:
        marks = MARKS.findall(source)
        assert sorted(marks) == sorted(MARKS.findall(target)) == sorted(set(marks)) != []
        bare = re.sub(rf"{MARKS.pattern} | {MARKS.pattern}", "", source)
        ways.add((len(marks), bare in sources))
        assert "  " not in source + target
    assert {(2, True), (1, False), (3, False)} <= ways, "beside words, and instead of words"
    assert {mark for source, _ in copies for mark in MARKS.findall(source)} == set(ITEMS)


def test_placeholders_stand_where_the_translations_are() -> None:
    unlike = [(f"Ja, {source}", target) if n % 3 else (source, target) for n, (source, target) in enumerate(PAIRS)]
    for source, target in add_placeholders(unlike, 0.5):
        there = neighbours(target)
        for mark, (before, _) in neighbours(source).items():
            if before in WORDS:
                assert there[mark][0] == WORDS[before]


def test_what_stands_between_words_goes_with_the_word_before_it() -> None:
    pair: Pair = ("Eine Frau steht.", "A woman is standing.")
    copies = [with_placeholders(pair, [(1, 1), (2, 3)], Random(seed)) for seed in range(100)]
    between = {target for source, target in filter(None, copies) if re.fullmatch(r"Eine Frau . steht\.", source)}
    assert len(between) > 1
    assert all(re.fullmatch(r"A woman . is standing\.", target) for target in between)


def test_marks_beside_words_leave_the_punctuation_where_it_is() -> None:
    pair: Pair = ("(Hund)", "(dog)")
    found = {with_placeholders(pair, [(0, 0), (1, 1), (2, 2)], Random(seed)) for seed in range(40)}
    shown = {tuple(MARKS.sub("X", text) for text in copy) for copy in found if copy}
    assert shown == {("(X)", "(X)"), ("X (Hund)", "X (dog)"), ("(Hund X)", "(dog X)")}
    assert with_placeholders(pair, [(0, 0)], Random(1)) is None, "no word is linked"


def test_the_tokenizer_has_a_piece_for_each_placeholder(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "dogs", train=PAIRS[:50], val=PAIRS[50:60], test=PAIRS[60:])
    data = DataConfig(corpus=str(corpus), placeholders=0.5)
    prepared = prepared_of(data, tmp_path / "run", 320)
    assert prepared.tokenizer.has_placeholders
    assert len(prepared.train) == 50 + 25
    [ids] = prepared.tokenizer.encode_target([f"a {ITEMS[0]} b{ITEMS[5]}"])
    assert ITEMS[0] in prepared.tokenizer.target_pieces(ids)
    assert prepared.tokenizer.decode_target([ids]) == [f"a {ITEMS[0]} b{ITEMS[5]}"]
    plain = prepared_of(replace(data, placeholders=0.0), tmp_path / "plain", 320)
    assert not plain.tokenizer.has_placeholders


def test_two_words_are_never_linked_to_the_same_word() -> None:
    pairs = [(f"ein sehr kleiner {n} {n}e", f"a tiny {m}") for n, m in WORDS.items()] * 3
    aligner = Aligner(pairs)
    for n in range(len(pairs)):
        linked = [j for _, j in aligner.links(n)]
        assert len(linked) == len(set(linked)) > 0
