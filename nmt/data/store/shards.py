"""Shards of training text: what was read flows in; clean pairs, and then their ids, flow out, one shard at a time.

A pair goes to shard `key mod S`, where the key is a hash of the pair without case, digits and punctuation, and each
shard is sorted by it. So every shard is a uniform sample of the corpus, repeated pairs meet in one shard, and the
result does not depend on who worked on which shard, and when.

The folder of a preparation that is not finished yet has a folder for each of its stages (see `nmt.data.store.stages`):

    read/       the pairs as they were read, in files of equal size; text/ has val and the tests
    buckets/    the pairs divided: files by task, and by shard or, of many shards, by several shards together
    parts/      of many shards: the files of each several divided again, by shard
    clean/      the pairs of each shard that its cleaning kept
    tokenizer/
    data/       ids and text of each shard
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import accumulate, compress, groupby, islice
from math import ceil
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from nmt.config import Config
from nmt.data.cleaning.cleaner import Examples, Ledger, Pair
from nmt.data.cleaning.filters import HeldOut, alike_key
from nmt.data.copies.lexicon import Ids
from nmt.data.copies.placeholders import add_placeholders
from nmt.data.copies.typos import make_typos
from nmt.data.sections import Section, Tally, cleaners_for, starts_of
from nmt.data.store.facts import WORDS_SOURCES, count_words
from nmt.data.store.ids import Shard, joined, small
from nmt.data.store.record import read_json
from nmt.data.store.stages import task
from nmt.data.texts import Row, divide_rows, read_rows, write_rows
from nmt.data.tokenizer import Tokenizer, encode_side
from nmt.files import iterate_lines
from nmt.messages import say

Scorer = Callable[[Sequence[Pair]], Sequence[float | None]]
"""The probability that each pair is true; None for pairs that are too long to be scored."""

SHARD = 1 << 17  # a shard has about so many of the pairs that were read, or fewer
SCORED_AT_ONCE = 20_000  # pairs between two messages
AT_ONCE = 5_000  # pairs that are encoded, or written, together
MOST_TASKS, MOST_FILES = 32, 64  # tasks of dividing, and files that a task divides into if there are no more shards
STATE = "state.json"  # in a draft: what was read


def shards_for(pairs: int) -> int:
    """The number of shards: a power of two; at least two of more than half of SHARD, so that two processes work."""
    return 1 << max(int(pairs > SHARD // 2), (pairs - 1).bit_length() - (SHARD - 1).bit_length())


def stored_name(n: int, size: int) -> str:
    """The name of a shard in data/, without its ending."""
    return f"train-{n:05}-of-{size:05}"


def key_of(pair: Pair) -> int:
    return int.from_bytes(alike_key(pair), "big")


def order(pair: Pair) -> tuple[int, Pair]:
    """The order of pairs in a shard, and of all pairs for the tokenizer: by their hashes."""
    return key_of(pair), pair


row_order: Callable[[Row], Any] = itemgetter(*map(Row._fields.index, ("key", "source", "target")))
"""The same as `order`, for rows."""


@dataclass(frozen=True)
class Draft:
    """The folder of a preparation that is not finished yet; its functions can run in any process."""

    folder: Path
    config: Config
    sections: Sequence[Section]
    size: int
    tasks: int
    """Number of tasks that divide what was read."""

    @property
    def buckets(self) -> int:
        """Number of files that each task of `divide` makes: one for each shard or, of more than MOST_FILES, about
        their root. So about 5 S files are opened for S shards; if each shard read the files of all tasks, S²."""
        return self.size if self.size <= MOST_FILES else 1 << self.size.bit_length() // 2

    @property
    def state(self) -> dict[str, Any]:
        """What was read: the contents of STATE."""
        return dict(read_json(self.folder / STATE, self.folder))

    def file(self, stage: str, n: int, ending: str = "parquet") -> Path:
        """What a stage leaves of a shard."""
        name = stored_name(n, self.size) if stage == "data" else f"{n:05}"
        return self.folder / stage / f"{name}.{ending}"

    @property
    def held_out(self) -> HeldOut:
        return held_out_in(self.folder, (self.folder / STATE).stat().st_mtime_ns)

    def files(self, stage: str) -> list[Path]:
        return [self.file(stage, n) for n in range(self.size)]

    def divided(self, n: int) -> list[Path]:
        """The files that have the pairs of a shard, in the order in which they were read."""
        if self.buckets < self.size:
            return [self.file("parts", n)]
        return [self.folder / "buckets" / f"{k:05}-{n:05}.parquet" for k in range(self.tasks)]

    def divide(self, n: int) -> None:
        """Repair the pairs of some of the files that were read, and divide them by buckets."""
        data, files = self.config.data, sorted((self.folder / "read").glob("*.parquet"))
        cleaners = cleaners_for(data, self.sections, self.config.cleaning, HeldOut({}))
        repaired, shards = [Counter[str]() for _ in self.sections], self.size // self.buckets

        def keyed(rows: Iterable[Row]) -> Iterator[Row]:
            for row in rows:
                pair = cleaners[row.corpus].repaired(row.pair, repaired[row.corpus])
                yield Row(*pair, row.corpus, row.line, key_of(pair))

        with task(self.folder, "buckets", n) as (working, report):
            several = files[n * len(files) // self.tasks : (n + 1) * len(files) // self.tasks]
            places = [working / f"{n:05}-{bucket:05}.parquet" for bucket in range(self.buckets)]
            rows = keyed(row for file in several for row in read_rows(file))
            divide_rows(rows, lambda row: row.key % self.size // shards, places)
            report["repaired"] = repaired

    def divide_bucket(self, bucket: int) -> None:
        shards = self.size // self.buckets
        first = bucket * shards
        files = [self.folder / "buckets" / f"{k:05}-{bucket:05}.parquet" for k in range(self.tasks)]
        with task(self.folder, "parts", bucket) as (working, _):
            places = [working / self.file("parts", n).name for n in range(first, first + shards)]
            rows = (row for file in files for row in read_rows(file))
            divide_rows(rows, lambda row: row.key % self.size - first, places)

    def clean(self, n: int, scorer: Scorer | None = None) -> None:
        """Clean the pairs of a shard, add changed copies, and sort all."""
        data = self.config.data
        cleaners = cleaners_for(data, self.sections, self.config.cleaning, self.held_out)
        tally, rows = Tally(self.sections, data.unit), list[Row]()
        for row in (row for file in self.divided(n) for row in read_rows(file)):
            tally.count(row)
            if cause := cleaners[row.corpus].cause(row.pair):
                tally.drop(row, cause)
            else:
                rows.append(row)
        if scorer:
            pairs = [row for row in rows if row.source]
            rows = drop_doubtful(pairs, scorer, data.least_quality, tally) + [row for row in rows if not row.source]
        rows.sort(key=row_order)
        rows = sorted(rows + self.copies(rows), key=row_order)
        with task(self.folder, "clean", n) as (working, report):
            write_rows(working / self.file("clean", n).name, rows, at_once=AT_ONCE)
            report |= tally.as_dict()

    def copies(self, rows: Sequence[Row]) -> list[Row]:
        """Changed copies of pairs, of each corpus by itself; they have no line."""
        data = self.config.data
        if not (data.typos or data.placeholders):
            return []
        copies, pairs_alone = list[Row](), (row for row in rows if row.source)
        for corpus, group in groupby(sorted(pairs_alone, key=lambda row: row.corpus), key=lambda row: row.corpus):
            pairs = [row.pair for row in group]
            made = make_typos(pairs, data.typos) + add_placeholders(pairs, data.placeholders)
            copies += [Row(*copy, corpus, 0, key_of(copy), True) for copy in made]
        return copies

    def encode(self, n: int) -> None:
        """Encode the pairs of a shard, and drop long ones."""
        tokenizer, most = Tokenizer.load(self.folder / "tokenizer"), self.config.data.max_pieces
        tally, starts = Tally(self.sections, self.config.data.unit), starts_of(tokenizer, self.sections)
        source, target, kept = [Ids.of([])], [Ids.of([])], list[Row]()
        restored = [section.text != "pairs" for section in self.sections]
        for rows in chunks(read_rows(self.file("clean", n)), AT_ONCE):
            first = [starts[row.corpus] for row in rows]
            pairs = [(row.target, row.target) if restored[row.corpus] else row.pair for row in rows]
            sides = [encode_side(tokenizer, side, [pair[side] for pair in pairs], first) for side in (0, 1)]
            fits = [max(map(len, pair)) <= most for pair in zip(*sides, strict=True)]
            for row, is_kept in zip(rows, fits, strict=True):
                if not row.changed:
                    tally.count(row)
                    if not is_kept:
                        tally.drop(row, f"longer than {most:,} pieces")
            kept += compress(rows, fits)
            for parts, ids in zip((source, target), sides, strict=True):
                parts.append(Ids.of([*compress(ids, fits)]))
        corpora = small(np.array([row.corpus for row in kept], np.int32))
        shard = Shard(*joined(source), *joined(target), corpora)
        with task(self.folder, "data", n) as (working, report):
            shard.write(working / self.file("data", n, "safetensors").name)
            write_rows(working / self.file("data", n).name, kept, at_once=AT_ONCE)
            report |= tally.as_dict() | {"pairs": len(kept)}
            report["sections"] = np.bincount(corpora, minlength=len(self.sections)).tolist()
            lengths = zip(shard.source_lengths.tolist(), kept, strict=True)
            report["longest_source"] = max((length for length, row in lengths if row.source), default=0)
            # Misspelled words, which are in changed copies, are no words.
            sources = (row.source for row in kept if row.source and not row.changed)
            report["words"] = vars(count_words(tokenizer, islice(sources, ceil(WORDS_SOURCES / self.size))))


@lru_cache(maxsize=1)
def held_out_in(folder: Path, changed_at: int) -> HeldOut:
    """The text of val and the tests of a draft, val first, made once. `changed_at`: tells it from other drafts."""
    files = sorted((folder / "text").glob("*.src"), key=lambda file: (file.stem != "val", file.stem))
    sides = ((iterate_lines(file.with_suffix(end)) for end in (".src", ".tgt")) for file in files)
    splits = {file.stem: list(zip(*lines, strict=True)) for file, lines in zip(files, sides, strict=True)}
    return HeldOut(splits, read_json(folder / STATE, folder)["chosen"])


def drop_doubtful(rows: Sequence[Row], scorer: Scorer, least: float, tally: Tally) -> list[Row]:
    """The rows whose quality is at least `least`; the tally counts the dropped ones."""
    kept, scored = list[Row](), 0
    for chunk in chunks(rows, SCORED_AT_ONCE):
        for row, quality in zip(chunk, scorer([row.pair for row in chunk]), strict=True):
            if quality is not None and quality >= least:
                kept.append(row)
            else:
                tally.drop(row, "too long for data.scorer" if quality is None else f"quality below {least:g}")
        scored += len(chunk)
        say(f"Scored {scored:,} of {len(rows):,} pairs, kept {len(kept):,}")
    return kept


def chunks(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    rows = iter(rows)
    while chunk := list(islice(rows, size)):
        yield chunk


def least_pairs(files: Iterable[Path], characters: int, *, paired: bool = True) -> list[Pair]:
    """The pairs of sorted shards with the least keys, in their order: as many as have so many characters, and the next
    one. Of each shard only those that may be among them are read. `paired`: False for texts without translations."""
    import pyarrow

    kept, held, bound = list[tuple[int, str, str]](), 0, (1 << 64, "", "")
    for file in files:
        for row in read_rows(file):
            if (placed := row_order(row)) > bound:
                break
            if bool(row.source) != paired:
                continue
            kept.append(placed)
            held += len(row.source) + len(row.target)
            if held > 1.5 * characters:
                kept = first_pairs(kept, characters)
                held, bound = sum(len(a) + len(b) for _, a, b in kept), kept[-1]
    pyarrow.default_memory_pool().release_unused()  # training the tokenizer comes next, and needs much
    return [(source, target) for _, source, target in first_pairs(kept, characters)]


def first_pairs(pairs: list[tuple[int, str, str]], characters: int) -> list[tuple[int, str, str]]:
    """The pairs with the least keys that have so many characters, at least one, and the next one."""
    pairs = sorted(pairs)
    ends = list(accumulate(len(source) + len(target) for _, source, target in pairs))
    return pairs[: max(1, bisect_right(ends, characters)) + 1]


def total(reports: Iterable[dict[str, Any]]) -> tuple[Ledger, Examples]:
    """The ledger of all shards together, and the examples with the least hashes."""
    examples, ledgers = Examples(), list[Ledger]()
    for report in reports:
        ledgers.append(Ledger.from_dict(report["ledger"]))
        examples.add_all(report["dropped"])
    return reduce(Ledger.beside, ledgers), examples
