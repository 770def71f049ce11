"""Other words for a word of a translation: a source, the translation before the word flow in; the most probable words
flow out, each with the rest of the translation decoded anew.

Shapes: B candidates, T pieces of the target, V vocabulary.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch

from nmt.decode.engine import fits
from nmt.reading.items import Out, Placeheld
from nmt.reading.lines import cut_text
from nmt.reading.loop import Reading, Tree, grow
from nmt.reading.request import BLANK, Constraints, Request, Translation
from nmt.server.errors import Refused
from nmt.text.items import find_items
from nmt.text.normalise import BREAK, tidy
from nmt.text.sentences import split_sentences
from nmt.translation.repair import USUAL
from nmt.translation.translator import Translator
from nmt.vocabulary import EOS, FIRST_PIECE, SPACE

WORDS = 8  # that are answered
FIRST_PIECES = 16  # that words are begun with
LONGEST_WORD = 12  # pieces
NEXT = "a"  # stands for the words after a word
# Pieces of a sentence and of its translation together: all are read anew for each piece of a word.
LONGEST_SENTENCE = 256


@dataclass(frozen=True)
class Focus:
    """The sentence with the word, and what surrounds it."""

    source: str
    before: str
    """The translation before the sentence."""
    kept: str
    """The sentence of the translation, before the word."""
    after: str
    """The translation after the sentence."""


def focus(text: str, translation: str, word: int) -> Focus:
    """The sentence of a source whose translation has this word: the one with the same number, in the line with the
    same number, if both sides have equally many. Refused if the translation has fewer words."""
    words = list(re.finditer(r"\S+", translation))
    if word >= len(words):
        raise Refused(f"word is {word}: the translation has {len(words)} words, and the first has number 0")
    place = words[word].start()
    source, start, end = narrow(text, translation, place, 0, BREAK.split)
    source, start, end = narrow(source, translation[start:end], place, start, split_flat)
    return Focus(source.strip(), translation[:start], translation[start:place], translation[end:])


def split_flat(line: str) -> list[str]:
    """Sentences, each followed by its blanks."""
    return [part for pair in split_sentences(line) for part in pair][:-1]


def narrow(
    source: str, target: str, place: int, start: int, split: Callable[[str], Sequence[str]]
) -> tuple[str, int, int]:
    """The part of both texts in which a place is, as the source and where the target's begins and ends; both of them
    whole if they have different numbers of parts. `start`: where the target begins. `split` cuts a text into parts and
    what separates them."""
    parts, target_parts = split(source), split(target)
    if len(parts) != len(target_parts):
        return source, start, start + len(target)
    ends = [*accumulate(map(len, target_parts), initial=start)]
    n = bisect_right(ends, place) - 1
    return parts[n], ends[n], ends[n + 1]


def read(translator: Translator, source: str, kept: str) -> tuple[Tree, Reading] | None:
    """A sentence as the model reads it for a translation, and the part whose translation begins with the prefix. None
    if there is nothing to read, or if the model reads other words than the user, without tags or quotes."""
    reading = Reading.of(Request(source, Constraints(kept)))
    tree = grow(reading, (cut_text, *USUAL), translator.context(translator.search, "none"))
    leaves = [leaf for leaf in tree.leaves() if leaf.ids]
    has_items = any(item.kind != "number" for item in find_items(source))
    if not leaves or has_items or loses_signs(tree):
        return None
    return tree, next((leaf for leaf in leaves if leaf.constraints), leaves[0])


def put_back(tree: Tree, part: Reading, text: str) -> str:
    """The translation, as the user reads it, that begins with what the model wrote for the part."""
    # Another word follows, so that the marks at the end of the line don't go to the last one.
    going_on = [Translation(f"{text} {NEXT}", 0.0, ())]
    [whole] = tree.back(going_on if leaf is part else [BLANK] for leaf in tree.leaves())
    return whole.text


def loses_signs(tree: Tree) -> bool:
    return isinstance(tree.taken, (Out, Placeheld)) or any(map(loses_signs, tree.branches))


def likely_words(translator: Translator, source: str, kept: str) -> list[tuple[str, float]]:
    """The most probable next words of a translation that begins with `kept`, with their probabilities, best first; none
    if the model doesn't read the line's own words.

    Each of the most probable first pieces is continued greedily until the next piece begins another word.
    """
    engine = translator.engine
    if not engine.models:
        raise Refused("CTranslate2 runs this model, which can't tell alternatives of words", code="not_possible")
    tokenizer, found = translator.tokenizer, read(translator, source, kept)
    if found is None:
        return []
    tree, part = found
    ids, begun = part.ids or (), tidy(part.constraints.prefix)
    prefix = tokenizer.encode_target([begun])[0]
    n_pieces = len(prefix) + sum(len(leaf.ids or ()) for leaf in tree.leaves())
    if n_pieces > LONGEST_SENTENCE or not fits(engine, ids, [*prefix, *range(LONGEST_WORD)]):
        raise Refused("the sentence is too long: send a shorter one", status=413, code="too_long")

    def log_probs(rows: Sequence[Sequence[int]]) -> torch.Tensor:
        """Of the next piece (B, V), after each row."""
        return engine.next_log_probs(ids, [[*prefix, *row] for row in rows])

    pieces = tokenizer.target_pieces(range(tokenizer.tgt_vocab_size))
    begins = torch.tensor([piece.startswith(SPACE) or not prefix for piece in pieces], device=translator.device)
    begins[:FIRST_PIECE] = False
    first_V = log_probs([[]])[0].masked_fill(~begins, -math.inf)
    begun_with = first_V.topk(min(FIRST_PIECES, len(pieces)))
    scored = zip(begun_with.values.tolist(), begun_with.indices.tolist(), strict=True)
    open_rows = [(score, [piece]) for score, piece in scored if score > -math.inf]
    done: list[tuple[float, list[int]]] = []
    for _ in range(LONGEST_WORD):
        if not open_rows:
            break
        best_B = log_probs([row for _, row in open_rows]).max(-1)
        continued = zip(open_rows, best_B.values.tolist(), best_B.indices.tolist(), strict=True)
        open_rows = []
        for (score, row), gain, piece in continued:
            ends = piece == EOS or pieces[piece].startswith(SPACE)
            (done if ends else open_rows).append((score, row) if ends else (score + gain, [*row, piece]))
    texts = tokenizer.decode_target([[*prefix, *row] for _, row in done])
    n, best = len(tidy(kept).split()), dict[str, float]()
    for text, (score, _) in zip(texts, done, strict=True):
        if len((text := tidy(text)).split()) == len(begun.split()) + 1:
            for word in put_back(tree, part, text).split()[n : n + 1]:
                best[word] = best.get(word, 0.0) + math.exp(score)
    return sorted(best.items(), key=lambda item: -item[1])[:WORDS]
