"""The automaton agrees with regular expressions on the text, however it is segmented, and always leads to an end."""

import random
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmt.decode.byte_automaton import DEAD
from nmt.decode.phrases import Automaton
from nmt.decode.surfaces import Surfaces, surface

SPECIAL = ["<unk>", "<s>", "</s>", "<pad>"]
BYTES = {f"<0x{byte:02X}>": byte for byte in range(256)}
many = settings(max_examples=100, deadline=None, derandomize=True)

# Letters of one and two bytes, a mark and a digit; then separators of up to four bytes: signs, Han, kana, emoji.
LETTERS = "abüж\u0301١"
OTHERS = " .»本き😀"
texts = st.text(st.sampled_from("aabb " + LETTERS + OTHERS), max_size=8)
cores = st.text(st.sampled_from("aabb " + LETTERS + OTHERS), min_size=1, max_size=4).filter(
    lambda text: text.strip() != "" and "\u0301" not in text
)
phrases = st.tuples(st.sampled_from(["", "", "", "*"]), cores, st.sampled_from(["", "", "*"])).map("".join)
musts = st.lists(st.lists(phrases, min_size=1, max_size=2), max_size=3)
must_nots = st.lists(phrases, max_size=3)
vocabularies = st.lists(texts.filter(bool), max_size=25).map(
    lambda words: [*SPECIAL, *BYTES, "▁", *dict.fromkeys(word.replace(" ", "▁") for word in words)]
)


def occurs(phrase: str, text: str) -> bool:
    """The definition, of a text over the letters above (and a to z)."""
    core = " ".join(phrase.strip().strip("*").split())
    letter = f"[a-zA-Z{LETTERS}]"
    left = f"(?<!{letter})" if re.match(letter, core) and phrase.strip()[0] != "*" else ""
    right = f"(?!{letter})" if re.match(letter, core[-1]) and phrase.strip()[-1] != "*" else ""
    return re.search(left + re.escape(core) + right, re.sub(" +", " ", text)) is not None


def keeps(text: str, must: Sequence[Sequence[str]], must_not: Sequence[str]) -> bool:
    return all(any(occurs(phrase, text) for phrase in alternatives) for alternatives in must) and not any(
        occurs(phrase, text) for phrase in must_not
    )


def consistent(must: Sequence[Sequence[str]], must_not: Sequence[str]) -> list[str]:
    """The forbidden phrases that no required one contains."""
    required = [phrase.strip().strip("*").strip() for alternatives in must for phrase in alternatives]
    return [ban for ban in must_not if not any(occurs(ban, phrase) for phrase in required)]


def segment(text: bytes, pieces: Sequence[str], seed: int) -> list[int]:
    """Ids of random pieces that spell the text."""
    chance, ids, rest = random.Random(seed), [], text
    surfaces = [surface(piece) for piece in pieces]
    while rest:
        ids.append(chance.choice([i for i in range(len(SPECIAL), len(pieces)) if rest.startswith(surfaces[i])]))
        rest = rest[len(surfaces[ids[-1]]) :]
    return ids


def spell(ids: Sequence[int], pieces: Sequence[str]) -> bytes:
    return b"".join(surface(pieces[i]) for i in ids)


def follow(automaton: Automaton, ids: Sequence[int]) -> int:
    """The state after the pieces, or DEAD."""
    state = automaton.start
    for i in ids:
        state = int(automaton.row(state)[i])
        if state == DEAD:
            break
    return state


@many
@given(pieces=vocabularies, text=texts, must=musts, must_not=must_nots, seed=st.integers(0, 2**16))
@example([*SPECIAL, *BYTES], "a housewife", [["housewife"]], ["house", "wife", "use*"], 0)
def test_the_verdict_on_a_text_is_that_of_regular_expressions_however_it_is_segmented(
    pieces: list[str], text: str, must: list[list[str]], must_not: list[str], seed: int
) -> None:
    must_not = consistent(must, must_not)
    automaton = Automaton(Surfaces(pieces), must, must_not)
    state, other = (follow(automaton, segment(text.encode(), pieces, seed + n)) for n in range(2))
    assert state == other
    assert (state != DEAD and automaton.may_end(state)) == keeps(text, must, must_not)


@many
@given(
    text=st.lists(
        st.sampled_from([b"a", b" ", *(bytes([byte]) for byte in b"\xc3\xbc\xe6\x9c\xac\xf0\x9f\x98\x80")]), max_size=6
    ),
    must=musts,
    must_not=must_nots,
)
def test_an_output_is_utf_8(text: list[bytes], must: list[list[str]], must_not: list[str]) -> None:
    must_not = consistent(must, must_not)
    pieces = [*SPECIAL, *BYTES]
    automaton = Automaton(Surfaces(pieces), must, must_not)
    state = follow(automaton, [len(SPECIAL) + byte for byte in b"".join(text)])
    try:
        expected = keeps(b"".join(text).decode(), must, must_not)
    except UnicodeDecodeError:
        expected = False
    assert (state != DEAD and automaton.may_end(state)) == expected


@many
@given(pieces=vocabularies, must=musts, must_not=must_nots, seed=st.integers(0, 2**16), steps=st.integers(0, 6))
def test_from_wherever_a_search_gets_to_advance_leads_to_an_allowed_end_within_the_distance(
    pieces: list[str], must: list[list[str]], must_not: list[str], seed: int, steps: int
) -> None:
    must_not = consistent(must, must_not)
    automaton, chance = Automaton(Surfaces(pieces), must, must_not), random.Random(seed)
    state, ids = automaton.start, []
    for _ in range(steps):
        ids.append(chance.choice(np.flatnonzero(automaton.row(state) != DEAD).tolist()))
        state = int(automaton.row(state)[ids[-1]])
    while not automaton.may_end(state):
        distance, advance = automaton.distance(state), automaton.advance(state)
        ids.append(chance.choice(advance.tolist()))
        state = int(automaton.row(state)[ids[-1]])
        assert 0 <= automaton.distance(state) < distance
    assert automaton.distance(state) == 0 == len(automaton.advance(state))
    assert keeps(spell(ids, pieces).decode(), must, must_not)


def test_distance_counts_the_longest_pieces_that_fit() -> None:
    pieces = [*SPECIAL, *BYTES, "▁New", "▁York", "▁Yor", "k", "▁Nebraska", "house"]
    automaton = Automaton(Surfaces(pieces), [["New York", "Nebraska City"], ["house"]], [])
    assert automaton.distance(automaton.start) == 2 + 2
    state = follow(automaton, [pieces.index("▁New")])
    assert automaton.distance(state) == 1 + 2
    assert [pieces[i] for i in automaton.advance(state)] == ["▁York"]
    state = follow(automaton, [pieces.index("▁New"), pieces.index("▁York")])
    assert automaton.distance(state) == 2
    assert [pieces[i] for i in automaton.advance(state)] == ["<0x20>"]
    state = follow(automaton, [pieces.index("▁New"), pieces.index("▁York"), pieces.index("<0x20>")])
    assert [pieces[i] for i in automaton.advance(state)] == ["house"]
    begun = follow(automaton, [len(SPECIAL) + byte for byte in "😀".encode()[:2]])
    assert automaton.distance(begun) == 2 + 2 + 2, "a character is finished before a phrase is begun"
    assert [BYTES[pieces[i]] for i in automaton.advance(begun)] == [*range(0x80, 0xC0)]


def test_without_byte_pieces_a_piece_with_no_way_out_is_forbidden() -> None:
    pieces = [*SPECIAL, "▁a", "▁b", "c", "▁c"]
    automaton = Automaton(Surfaces(pieces), [["b"]], ["a"])
    state = follow(automaton, [pieces.index("▁a")])
    assert [pieces[i] for i in automaton.advance(state)] == ["c"]
    automaton = Automaton(Surfaces([*SPECIAL, "▁a", "▁b", "▁c"]), [["b"]], ["a"])
    assert [i for i, after in enumerate(automaton.row(automaton.start)) if after != DEAD] == [5, 6]
    automaton = Automaton(Surfaces([*SPECIAL, "<0xC3>", "▁b"]), [["b"]], [])
    assert [i for i, after in enumerate(automaton.row(automaton.start)) if after != DEAD] == [5]


@pytest.mark.parametrize(
    ("must", "must_not", "message"),
    [
        ([["house"], [" "]], [], "must: the phrase ' ' is empty"),
        ([["house"], []], [], "a constraint without phrases"),
        ([["a\ud800"]], [], "half a surrogate pair"),
        ([["garden", "the house"]], ["dog", "house"], "must has 'the house', and must_not has 'house'"),
        ([["house*"]], ["house"], "must has 'house\\*', and must_not has 'house'"),
        ([["New  York"]], ["New York"], "must has 'New  York', and must_not has 'New York'"),
        ([["warehouse"]], ["*house"], "must has 'warehouse', and must_not has '\\*house'"),
    ],
)
def test_errors_name_what_is_wrong(must: list[list[str]], must_not: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Automaton(Surfaces([*SPECIAL, *BYTES]), must, must_not)


def test_a_phrase_that_the_vocabulary_cannot_write_is_named() -> None:
    surfaces = Surfaces([*SPECIAL, "▁a", "▁b", "c"])
    Automaton(surfaces, [["ac b"]], ["z"])
    with pytest.raises(ValueError, match="must has 'abc', which no pieces of the vocabulary spell"):
        Automaton(surfaces, [["ac"], ["abc"]], [])
    with pytest.raises(ValueError, match="must has 'a', after which must_not allows no pieces"):
        Automaton(Surfaces([*SPECIAL, "▁a", "▁b"]), [["a"]], ["a a", "a b"])


@pytest.mark.parametrize("again", range(3))
def test_threads_share_an_automaton(again: int) -> None:
    """A barrier lets all threads ask for new states at the same time; the table of states grows meanwhile."""
    words = [f"{a}{b}" for a in "abcdefgh" for b in "abcdefgh"]
    vocabulary = Surfaces([*SPECIAL, *BYTES, "▁", *words, *(f"▁{word}" for word in words)])
    must, must_not = [[f"{a} {b}"] for a, b in zip(words[:32:9], words[1:32:7], strict=False)], words[33::11]
    n_threads, barrier = 4, Barrier(4)
    shared = Automaton(vocabulary, must, must_not)

    def walk(automaton: Automaton, seed: int) -> list[tuple[float, int]]:
        """The distance and the number of allowed pieces after each of some pieces."""
        generator, state, found = random.Random(seed), automaton.start, list[tuple[float, int]]()
        for _ in range(40):
            allowed = np.flatnonzero(automaton.row(state) != DEAD)
            state = int(automaton.row(state)[generator.choice(allowed.tolist())])
            found.append((automaton.distance(state), len(automaton.advance(state))))
        return found

    def run(seed: int) -> list[tuple[float, int]]:
        barrier.wait()
        return walk(shared, seed)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(n_threads) as pool:
            together = [*pool.map(run, range(again, again + n_threads))]
    finally:
        sys.setswitchinterval(interval)
    assert together == [walk(Automaton(vocabulary, must, must_not), seed) for seed in range(again, again + n_threads)]


def test_only_states_that_are_reached_are_made() -> None:
    automaton = Automaton(Surfaces([*SPECIAL, *BYTES]), [[f"word{n} and more"] for n in range(500)], [])
    assert len(automaton.reader.states) < 10
    automaton.row(automaton.start)
    assert len(automaton.reader.states) < 80
