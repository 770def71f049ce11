"""False pairs: the ids of a true pair flow in, those of a pair that is no good translation flow out.

`WAYS` names the ways to spoil a pair. A way that can't change a pair (there is no number in it, say) returns the same.
Pairs as a pair scorer reads them, and its labels, are here too: training and scoring share them.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from nmt.data.batches import Pairs, Sequences, join
from nmt.vocabulary import BOS, EOS, FIRST_PIECE, SPACE, UNK

IdPair = tuple[list[int], list[int]]  # source and target, without BOS and EOS
TRUE, FALSE = BOS, UNK  # labels of pairs: pieces that never stand for text, so that no other output layer is needed


def as_read(pairs: Pairs) -> Sequences:
    """Each pair as `<s> source </s> <s> target`, without the last EOS. The label is predicted at the first position."""
    return join(BOS, pairs.source, EOS, BOS, pairs.target)


@dataclass(frozen=True)
class PieceKinds:
    """The ids of some kinds of pieces of a vocabulary."""

    plain: list[int]
    """All but the special pieces and the bytes."""
    starts: frozenset[int]
    capitals: frozenset[int]
    """Pieces with which a word with a capital letter begins."""
    numbers: dict[int, list[int]]
    """For each piece of digits, the others with as many digits."""

    @classmethod
    def of(cls, pieces: Sequence[str]) -> "PieceKinds":
        """`pieces`: the whole vocabulary, in the order of ids."""
        plain = [i for i, piece in enumerate(pieces) if i >= FIRST_PIECE and not re.fullmatch("<0x..>", piece)]
        starts = [i for i in plain if pieces[i].startswith(SPACE)]
        capitals = [i for i in starts if pieces[i][1:2].isupper()]
        shapes = defaultdict(list)
        for i in plain:
            if pieces[i].removeprefix(SPACE).isdecimal():
                shapes[len(pieces[i]), pieces[i][0] == SPACE].append(i)
        several = (same for same in shapes.values() if len(same) > 1)
        numbers = {i: [other for other in same if other != i] for same in several for i in same}
        return cls(plain, frozenset(starts), frozenset(capitals), numbers)


@dataclass(frozen=True)
class Material:
    """What the ways need besides the pair."""

    other: IdPair
    kinds: PieceKinds
    random: Random


def random_pieces(source: list[int], target: list[int], material: Material) -> IdPair:
    """Replace a tenth to a half of the target's pieces."""
    share, random = material.random.uniform(0.1, 0.5), material.random
    chosen = random.sample(range(len(target)), min(len(target), max(1, round(share * len(target)))))
    return source, [random.choice(material.kinds.plain) if n in chosen else i for n, i in enumerate(target)]


def swapped_words(source: list[int], target: list[int], material: Material) -> IdPair:
    """Swap a fifth of the target's words, at least two: or pieces, if the text has no spaces."""
    words = split_words(target, material.kinds)
    words = words if len(words) > 1 else [[i] for i in target]
    for _ in range(max(1, len(words) // 10) if len(words) > 1 else 0):
        a, b = material.random.sample(range(len(words)), 2)
        words[a], words[b] = words[b], words[a]
    return source, [i for word in words for i in word]


def other_number(source: list[int], target: list[int], material: Material) -> IdPair:
    """Replace the digits in one piece of the target."""
    numbers = material.kinds.numbers
    where = material.random.choice([n for n, i in enumerate(target) if i in numbers] or [-1])
    return source, [material.random.choice(numbers[i]) if n == where else i for n, i in enumerate(target)]


def other_name(source: list[int], target: list[int], material: Material) -> IdPair:
    """Replace a capitalised word of the target by one of another target, neither of them the first word."""
    kinds = material.kinds
    words, others = split_words(target, kinds), split_words(material.other[1], kinds)
    where = [n for n, word in enumerate(words) if n and word[0] in kinds.capitals]
    names = [word for word in others[1:] if word[0] in kinds.capitals]
    if where and names:
        words[material.random.choice(where)] = material.random.choice(names)
    return source, [i for word in words for i in word]


def repeated_part(source: list[int], target: list[int], material: Material) -> IdPair:
    """Write up to a half of the target twice."""
    size = material.random.randint(1, max(1, len(target) // 2))
    end = material.random.randint(min(size, len(target)), len(target))
    return source, target[:end] + target[max(0, end - size) :]


def added_part(source: list[int], target: list[int], material: Material) -> IdPair:
    """Add the end of another target."""
    other = material.other[1]
    return source, target + other[material.random.randint(0, max(0, len(other) - 1)) :]


WAYS: dict[str, Callable[[list[int], list[int], Material], IdPair]] = {
    "other_target": lambda source, target, material: (source, material.other[1]),
    "short_target": lambda source, target, material: (source, shortened(target, material.random)),
    "short_source": lambda source, target, material: (shortened(source, material.random), target),
    "copied_source": lambda source, target, material: (source, source),
    "random_pieces": random_pieces,
    "swapped_words": swapped_words,
    "other_number": other_number,
    "other_name": other_name,
    "repeated_part": repeated_part,
    "added_part": added_part,
}


def spoil(pair: IdPair, material: Material, most: int) -> tuple[str, IdPair] | None:
    """Spoil a pair in a random way that changes it: the name of the way, and the false pair. None if no way does.
    `most`: pieces of both sides together; the end of a longer target is cut."""
    for name in material.random.sample([*WAYS], len(WAYS)):
        source, target = WAYS[name](*pair, material)
        spoiled = source, target[: max(0, most - len(source))]
        if spoiled != pair:
            return name, spoiled
    return None


def shortened(ids: list[int], random: Random) -> list[int]:
    """A fifth to four fifths of a text: from its beginning or, as often, without a run of pieces before its last piece,
    so that a missing full stop doesn't give all cuts away."""
    kept = max(1, int(len(ids) * random.uniform(0.2, 0.8)))
    start = kept if random.random() < 0.5 else random.randrange(kept)
    return ids[:start] + ids[start + len(ids) - kept :]


def split_words(ids: list[int], kinds: PieceKinds) -> list[list[int]]:
    words: list[list[int]] = []
    for n, i in enumerate(ids):
        if n == 0 or i in kinds.starts:
            words.append([])
        words[-1].append(i)
    return words
