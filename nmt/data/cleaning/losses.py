"""Warnings: the ledgers of a corpus flow in; what was lost in masses flows out, in words, with the likely encoding of a
file that isn't UTF-8. And an error for training text whose sides are swapped.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from nmt.data.cleaning.cleaner import Ledger, Pair
from nmt.fields import require
from nmt.files import UNPACK, iconv, iterate_lines
from nmt.text.languages import USUAL, base_code, encodings_of, identifier
from nmt.text.normalise import INVALID

NO_UTF8 = re.compile("[\udc80-\udcff]")  # what decoding with `surrogateescape` makes of other bytes
SAMPLE, FAR = 1000, 0.8  # pairs that are looked at; the sides are swapped below so much in common
MASS = 0.05  # share of the lines from which a cause is told as a warning


def describe_losses(
    ledgers: Mapping[str, Ledger], files: Mapping[str, Sequence[Path]], languages: Sequence[str]
) -> Iterator[str]:
    """A sentence for each cause for which more than MASS of the lines of a split were dropped, or not decoded. `files`:
    the user's files, by split; `languages`: those of the text."""
    for split, ledger in ledgers.items():
        undecoded = {INVALID: ledger.repaired[INVALID]}
        for cause, count in {**ledger.dropped, **undecoded}.items():
            if count > MASS * ledger.read and not cause.startswith("held out"):
                verb = "have" if cause == INVALID else "were dropped:"
                share = f"{count:,} of {ledger.read:,} {split} {' and '.join(ledger.units)} ({count / ledger.read:.0%})"
                advice = [advise(file, languages) for file in files.get(split, ()) if "invalid UTF-8" in cause]
                if cause.startswith("nearly in "):
                    advice.append("To keep them, set cleaning.contamination to false.")
                yield " ".join([f"WARNING: {share} {verb} {cause}.", *filter(None, advice)])


def require_sides(train: Sequence[Pair], splits: Mapping[str, Sequence[Sequence[str]]], *languages: str) -> None:
    """Raise ValueError if most training sources are surely in the language of the targets, and the other way round, as
    from a table without language codes, or if held-out text is so, by runs of three characters."""
    table = "in a table, name the columns: the language codes, first line"
    trained = [grams(side) for side in zip(*train, strict=True)]
    for split, pairs in splits.items():
        held_out = [grams(side) for side in zip(*pairs[:SAMPLE], strict=True)]
        swapped = bool(held_out) and all(
            len(trained[side] & held_out[side]) < FAR * len(trained[1 - side] & held_out[side]) for side in (0, 1)
        )
        problem = f"the sources of train look like the targets of {split}, and the targets like the sources: swap them"
        require(not swapped, f"{problem} in one of the two or, {table}")
    if tells := identifier():
        source, target = map(base_code, languages)
        sides = Counter((tells.sure(first), tells.sure(second)) for first, second in train[:SAMPLE])
        problem = f"train has its sources in {target} and its targets in {source}: swap data.source and data.target or"
        is_swapped = source != target and (target, source) in dict(sides.most_common(1))
        require(not is_swapped, f"{problem}, {table}")


def grams(texts: Iterable[str]) -> set[str]:
    """The runs of three characters."""
    return {text[start : start + 3] for text in texts for start in range(len(text) - 2)}


def advise(file: Path, languages: Sequence[str]) -> str:
    """How to convert a file to UTF-8; empty if it is UTF-8."""
    for number, line in enumerate(iterate_lines(file, "surrogateescape"), start=1):
        if NO_UTF8.search(line):
            encoding = guess_encoding(file, line.encode("utf-8", "surrogateescape"), languages)
            where = f"{file} is not UTF-8 (line {number:,})"
            if encoding is None:
                return f"{where}: convert it with iconv."
            return f"{where}, but perhaps {encoding}: {iconv(file, encoding)}"
    return ""


def guess_encoding(file: Path, line: bytes, languages: Sequence[str]) -> str | None:
    """The likely encoding of this line of a file, whose ending may name its language; None if the line can't have it.
    Of several languages, the encoding that is only of some languages comes first."""
    ending = (file.stem if file.suffix in UNPACK else file.name).rpartition(".")[2]
    codes = [ending] if ending in languages else languages
    encodings = (encoding for code in codes for encoding in encodings_of(code))
    for encoding in sorted(encodings, key=USUAL.__eq__):
        with suppress(UnicodeDecodeError):
            line.decode(encoding)
            return encoding.upper().replace("CP125", "WINDOWS-125")
    return None
