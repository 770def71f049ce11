"""The reader's table agrees with reading byte by byte, and the way out of a forbidden phrase is the shortest."""

import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.decode.byte_automaton import DEAD, ByteAutomaton
from nmt.decode.surfaces import Surfaces
from nmt.text.scripts import Phrase

SPECIAL = ["<unk>", "<s>", "</s>", "<pad>"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
WORDS = ["a", "b", "ab", "▁a", "▁b", "▁", ".", "ü", "日"]
many = settings(max_examples=100, deadline=None, derandomize=True)
phrases = st.lists(st.text("ab ü日", min_size=1, max_size=4).filter(str.strip), max_size=3)


def reader(required: list[str], forbidden: list[str], pieces: list[str]) -> ByteAutomaton:
    constraints = [1 << k for k in range(len(required))] + [0] * len(forbidden)
    return ByteAutomaton(Surfaces([*SPECIAL, *pieces]), list(map(Phrase.parse, [*required, *forbidden])), constraints)


@many
@given(required=phrases, forbidden=phrases, text=st.text("ab ü日.", max_size=6))
def test_a_row_has_the_state_after_the_bytes_of_each_piece(
    required: list[str], forbidden: list[str], text: str
) -> None:
    automaton = reader(required, forbidden, [*BYTES, *WORDS])
    state = automaton.read(automaton.start, text.encode())
    after = [automaton.read(state, word.replace("▁", " ").encode()) for word in WORDS]
    assert automaton.row(state)[-len(WORDS) :].tolist() == after
    assert automaton.row(state)[4:260].tolist() == [automaton.read(state, bytes([byte])) for byte in range(256)]


@many
@given(forbidden=phrases, text=st.text("ab ü日.", max_size=6), separated=st.booleans())
def test_the_fewest_pieces_that_settle_a_text_are_found(forbidden: list[str], text: str, separated: bool) -> None:
    automaton = reader([], forbidden, WORDS)
    state = automaton.read(automaton.start, text.encode())
    if state == DEAD:
        return
    expected = math.inf
    for n in range(3, -1, -1):
        for words in product(WORDS, repeat=n):
            if not (separated and words and words[0] in ("a", "b", "ab", "ü")):
                rest = "".join(words).replace("▁", " ") + " "
                expected = n if automaton.read(state, rest.encode()) == automaton.settled else expected
    assert automaton.pieces_to_settle(state, separated) == expected


@pytest.mark.parametrize(
    ("text", "pieces"), [(b"", 0), (b"the", 1), (b"the ", 1), (b"\xe2", 2), (b"the\xf0", 3), (b"\xf0\x9f", 2)]
)
def test_an_unfinished_character_is_finished_first(text: bytes, pieces: int) -> None:
    automaton = reader(["cat"], ["the house"], BYTES)
    state = automaton.read(automaton.start, text)
    assert automaton.pieces_to_settle(state) == pieces
    assert automaton.pieces_to_settle(state, separated=True) == (pieces if text[-1:] < b"\x80" else math.inf)
