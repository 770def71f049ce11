"""The way out of a forbidden phrase is the shortest; `test_phrases.py` has what else the reader of bytes does."""

import math
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.decode.byte_automaton import DEAD, ByteAutomaton
from nmt.decode.surfaces import Surfaces
from nmt.text.scripts import Phrase

SPECIAL = ["<unk>", "<s>", "</s>", "<pad>"]
WORDS = ["a", "b", "ab", "▁a", "▁b", "▁", ".", "ü", "日"]
many = settings(max_examples=100, deadline=None, derandomize=True)
phrases = st.lists(st.text("ab ü日", min_size=1, max_size=4).filter(str.strip), max_size=3)


def reader(required: list[str], forbidden: list[str], pieces: list[str]) -> ByteAutomaton:
    constraints = [1 << k for k in range(len(required))] + [0] * len(forbidden)
    return ByteAutomaton(Surfaces([*SPECIAL, *pieces]), list(map(Phrase.parse, [*required, *forbidden])), constraints)


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
