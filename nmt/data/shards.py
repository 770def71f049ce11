"""Shards of training text: what was read flows in; clean pairs, and then their ids, flow out, one shard at a time.

A pair goes to shard `key mod S`, where the key is a hash of the pair without case, digits and punctuation, and each
shard is sorted by it. So every shard is a uniform sample of the corpus, repeated pairs meet in one shard, and the
result does not depend on who worked on which shard, and when.

The folder of a preparation that is not finished yet has:

    read/       the pairs as they were read, in files of equal size
    parts/      the same files, each with one group of rows for each shard
    clean/      the pairs of each shard that its cleaning kept
    bands/      with cleaning.near: hashes of the pairs of each shard
    signatures/ the same
    near/       the places of pairs that are dropped, for each part of the hashes in bands/
    distinct/   the pairs of each shard that are left
    tokenizer/
    data/       ids and text of each shard, and the text of val and tests
    reports/    the ledger of each finished file: it is written last, so what has a report is finished
"""

import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import compress, groupby, islice
from pathlib import Path
from typing import Any

import numpy as np

from nmt.config import Config
from nmt.data.cleaning import EXAMPLES, Examples, Ledger, Pair
from nmt.data.filters import alike, digest
from nmt.data.near import CAUSE, find_near, rows_in, save, sketch
from nmt.data.portions import cleaners_for, ledger_for, portions_of, starts_of
from nmt.data.store import Shard, Side, small
from nmt.data.texts import Row, read_rows, write_rows
from nmt.data.tokenizer import Tokenizer, encode_side
from nmt.data.variants import make_typos, make_variants
from nmt.files import flush_to_disk, iterate_lines, partial_path, write_json
from nmt.messages import say

Scorer = Callable[[Sequence[Pair]], Sequence[float | None]]
"""The probability that each pair is true; None for pairs that are too long to be scored."""

SHARD = 1 << 17  # a shard has about so many of the pairs that were read, or fewer
SCORED_AT_ONCE = 20_000  # pairs between two messages
AT_ONCE = 5_000  # pairs that are encoded, or written, together


def shards_for(pairs: int) -> int:
    """The number of shards: a power of two."""
    return 1 << max(0, (pairs - 1).bit_length() - (SHARD - 1).bit_length())


def stored_name(n: int, size: int) -> str:
    """The name of a shard in data/, without its ending."""
    return f"train-{n:05}-of-{size:05}"


def key_of(pair: Pair) -> int:
    return int.from_bytes(digest(f"{alike(pair[0])}\n{alike(pair[1])}"), "big")


def order(pair: Pair) -> tuple[int, Pair]:
    """The order of pairs in a shard, and of all pairs for the tokenizer: by their hashes."""
    return key_of(pair), pair


def row_order(row: Row) -> tuple[int, Pair]:
    """The same as `order`."""
    return row.key, row.pair


@dataclass(frozen=True)
class Draft:
    """The folder of a preparation that is not finished yet; its functions can run in any process."""

    folder: Path
    config: Config
    size: int
    """Number of shards."""

    @cached_property
    def names(self) -> list[str]:
        """Those of the portions, by their numbers."""
        return [portion.name for portion in portions_of(self.config.data)]

    @property
    def cleaned(self) -> str:
        """The part that has the pairs after all cleaning."""
        return "distinct" if self.config.cleaning.near else "clean"

    @property
    def read_files(self) -> list[Path]:
        return sorted((self.folder / "read").glob("*.parquet"))

    def file(self, part: str, n: int) -> Path:
        """The result: a file in parts/ or clean/, or the text beside encoded ids."""
        name = stored_name(n, self.size) if part == "data" else f"{n:05}"
        return self.folder / part / f"{name}.parquet"

    def files(self, part: str) -> list[Path]:
        return [self.file(part, n) for n in range(self.size)]

    def arrays(self, part: str) -> list[Path]:
        """The files in bands/, signatures/ or near/."""
        return [file.with_suffix(".npy") for file in self.files(part)]

    def report(self, part: str, n: int) -> Path:
        return self.folder / "reports" / f"{part}-{n:05}.json"

    def missing(self, part: str) -> list[int]:
        """The numbers of files that are not finished yet."""
        size = len(self.read_files) if part == "parts" else self.size
        return [n for n in range(size) if not self.report(part, n).exists()]

    def finish(self, part: str, n: int, report: dict[str, Any], groups: Iterable[Sequence[Row]]) -> None:
        file = self.file(part, n)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_rows(partial_path(file), groups, weighted=self.config.data.weighted)
        flush_to_disk(partial_path(file))
        partial_path(file).replace(file)
        write_json(self.report(part, n), report)

    def reports(self, part: str) -> list[dict[str, Any]]:
        files = sorted((self.folder / "reports").glob(f"{part}-*.json"))
        return [json.loads(file.read_text("utf-8")) for file in files]

    def splits(self) -> dict[str, list[Pair]]:
        """The text of val and the tests, by name, val first."""
        files = sorted((self.folder / "data").glob("*.src"), key=lambda file: (file.stem != "val", file.stem))
        sides = ((iterate_lines(file.with_suffix(end)) for end in (".src", ".tgt")) for file in files)
        return {file.stem: list(zip(*lines, strict=True)) for file, lines in zip(files, sides, strict=True)}

    def divide(self, n: int) -> None:
        """Repair the pairs of a file that was read, and divide them by shards."""
        cleaners, repaired = cleaners_for(self.config.data, self.config.cleaning, {}, 0), Counter[str]()
        groups: list[list[Row]] = [[] for _ in range(self.size)]
        for row in read_rows(self.read_files[n]):
            pair = cleaners[row.corpus].repaired(row.pair, repaired)
            key = key_of(pair)
            groups[key % self.size].append(Row(*pair, row.corpus, row.line, key, False, row.weight))
        self.finish("parts", n, {"repaired": repaired}, groups)

    def clean(self, n: int, scorer: Scorer | None = None) -> None:
        """Clean the pairs of a shard, add changed copies (with cleaning.near, `drop_near` does), and sort all."""
        files = sorted((self.folder / "parts").glob("*.parquet"))
        rows = [row for file in files for row in read_rows(file, n)]
        cleaners = cleaners_for(self.config.data, self.config.cleaning, self.splits(), EXAMPLES)
        ledger, names, examples = ledger_for(self.config.data), self.names, cleaners[0].examples
        for row in rows:
            ledger.count(names[row.corpus])
        rows = [row for row in rows if cleaners[row.corpus].keeps(row.pair, ledger, names[row.corpus])]
        if scorer:
            rows = drop_doubtful(rows, scorer, self.config.data.least_quality, ledger, examples, names)
        rows.sort(key=row_order)
        if near := self.config.cleaning.near:
            portions = portions_of(self.config.data)
            directions = [self.config.data.directions.index((p.source, p.target)) for p in portions]
            bands, signatures = sketch(rows, n, directions, near)
            save(self.arrays("bands")[n], bands)
            save(self.arrays("signatures")[n], signatures)
        else:
            rows += self.copies(rows)
            rows.sort(key=row_order)
        report = {"ledger": ledger.as_dict(), "dropped": examples.by_cause()}
        self.finish("clean", n, report, chunks(rows, AT_ONCE))

    def find_near(self, n: int) -> None:
        """Find pairs that are nearly the same as another one by one part of the hashes of all shards."""
        near = self.config.cleaning.near
        assert near
        save(self.arrays("near")[n], find_near(self.arrays("bands"), self.arrays("signatures"), n, near))
        write_json(self.report("near", n), {})

    def drop_near(self, n: int) -> None:
        """Drop the pairs of a shard that `find_near` found, add changed copies, and sort all."""
        ledger, examples, kept = ledger_for(self.config.data), Examples(EXAMPLES), list[Row]()
        dropped = set(rows_in(self.arrays("near"), n))
        for place, row in enumerate(read_rows(self.file("clean", n))):
            ledger.count(self.names[row.corpus])
            if place in dropped:
                ledger.drop(CAUSE, part=self.names[row.corpus])
                examples.add(CAUSE, row.pair)
            else:
                kept.append(row)
        kept += self.copies(kept)
        kept.sort(key=row_order)
        report = {"ledger": ledger.as_dict(), "dropped": examples.by_cause()}
        self.finish("distinct", n, report, chunks(kept, AT_ONCE))

    def copies(self, rows: Sequence[Row]) -> list[Row]:
        """Changed copies of pairs, of each corpus by itself; they have no line, and the weight of their pair."""
        data = self.config.data
        if not (data.variants or data.typos or data.placeholders or data.hints):
            return []
        from nmt.data.hints import add_hints  # only now: they import PyTorch
        from nmt.data.placeholders import add_placeholders
        from nmt.data.word_links import Aligner

        copies = list[Row]()
        for corpus, group in groupby(sorted(rows, key=lambda row: row.corpus), key=lambda row: row.corpus):
            weights = [(row.pair, row.weight) for row in group]
            pairs, weight_of = [pair for pair, _ in weights], dict(weights)
            made = make_variants(pairs, data) + make_typos(pairs, data.typos)
            if data.placeholders or data.hints:
                aligner = Aligner(pairs)
                made += add_placeholders(pairs, data.placeholders, aligner) + add_hints(pairs, data.hints, aligner)
            copies += [Row(*copy, corpus, 0, key_of(copy), True, weight_of[pair]) for copy, pair in made]
        return copies

    def encode(self, n: int) -> None:
        """Encode the pairs of a shard, and drop long ones."""
        tokenizer, most = Tokenizer.load(self.folder / "tokenizer"), self.config.data.max_pieces
        cause, examples, kept = f"longer than {most:,} pieces", Examples(EXAMPLES), list[Row]()
        ledger, starts = ledger_for(self.config.data), starts_of(tokenizer, portions_of(self.config.data))
        source, target = Side(), Side()
        for rows in chunks(read_rows(self.file(self.cleaned, n)), AT_ONCE):
            first = [starts[row.corpus] for row in rows]
            sides = [encode_side(tokenizer, side, [row.pair[side] for row in rows], first) for side in (0, 1)]
            fits = [max(map(len, pair)) <= most for pair in zip(*sides, strict=True)]
            for row, is_kept in zip(rows, fits, strict=True):
                if not row.changed:
                    ledger.count(self.names[row.corpus])
                if not (is_kept or row.changed):
                    ledger.drop(cause, part=self.names[row.corpus])
                    examples.add(cause, row.pair)
            kept += compress(rows, fits)
            source.add(compress(sides[0], fits))
            target.add(compress(sides[1], fits))
        corpora = small(np.array([row.corpus for row in kept], np.int32))
        weights = np.array([row.weight for row in kept], np.float32) if self.config.data.weighted else None
        shard = Shard(*source.arrays(), *target.arrays(), corpora, weights)
        shard.write(self.file("data", n).with_suffix(".safetensors"))
        report = {"ledger": ledger.as_dict(), "dropped": examples.by_cause(), "pairs": len(kept)}
        self.finish(
            "data", n, report | {"longest_source": int(max(shard.source_lengths, default=0))}, chunks(kept, AT_ONCE)
        )


def drop_doubtful(
    rows: Sequence[Row], scorer: Scorer, least: float, ledger: Ledger, examples: Examples, names: Sequence[str]
) -> list[Row]:
    """The rows whose quality is at least `least`; the ledger counts the dropped ones. `names`: of the portions."""
    kept, scored = list[Row](), 0
    for chunk in chunks(rows, SCORED_AT_ONCE):
        for row, quality in zip(chunk, scorer([row.pair for row in chunk]), strict=True):
            if quality is not None and quality >= least:
                kept.append(row)
            else:
                cause = "too long for data.scorer" if quality is None else f"quality below {least:g}"
                ledger.drop(cause, part=names[row.corpus])
                examples.add(cause, row.pair)
        scored += len(chunk)
        say(f"Scored {scored:,} of {len(rows):,} pairs, kept {len(kept):,}")
    return kept


def chunks(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    rows = iter(rows)
    while chunk := list(islice(rows, size)):
        yield chunk


def by_key(files: Iterable[Path]) -> Iterator[Row]:
    """The rows of sorted shards, the least keys first. If it is closed, the memory for reading is given back."""
    import pyarrow

    try:
        yield from heapq.merge(*map(read_rows, files), key=row_order)
    finally:
        pyarrow.default_memory_pool().release_unused()


def total(reports: Iterable[dict[str, Any]]) -> tuple[Ledger, Examples]:
    """The ledger of all shards together, and the examples with the least hashes."""
    examples, ledgers = Examples(EXAMPLES), list[Ledger]()
    for report in reports:
        ledgers.append(Ledger.from_dict(report["ledger"]))
        for cause, pairs in report["dropped"].items():
            for source, target in pairs:
                examples.add(cause, (source, target))
    return reduce(Ledger.beside, ledgers), examples
