r"""Spoil a corpus in ten ways, to measure what the profiles of cleaning save of a translator.

    python -m benchmarks.spoiled_corpus spoiled --clean multi30k --clean tatoeba --languages fr,cs
    python -m nmt.train --data.corpus spoiled/raw --cleaning.profile crawled --config recipes/multi30k.yaml \
        --data.placeholders 0 --tokenizer.vocab_size 8000 --training.batch_tokens 4096 --training.max_steps 2000 \
        --training.warmup_steps 300

Writes two corpora with the same pairs for validation and test: `raw`, all pairs with spoiled copies between them, and
`oracle`, the pairs without them: what a perfect filter would keep. Each way spoils as many pairs (`--share` of the
clean ones), which are drawn at random; a clean pair may be spoiled in several ways, and stays itself too. The clean
corpora are folders with train.de and train.en; the first also has val and test files. `--languages`: of the first
folder, the endings of other target files.
"""

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.rows import read_pairs
from tests.data.corpus_files import write_corpus

Pair = tuple[str, str]
Spoil = Callable[[random.Random, Sequence[Pair], int], Pair]
SEED, HELD_OUT = 1, 1000


def wrongly_decoded(rng: random.Random, pairs: Sequence[Pair], i: int) -> Pair:
    """UTF-8 that was read as Latin-1, twice, on both sides. Quotes make sure that something is read wrongly."""
    both = (f"„{text}“" for text in pairs[i])
    source, target = (text.encode().decode("latin-1").encode().decode("latin-1") for text in both)
    return source, target


def half(rng: random.Random, pairs: Sequence[Pair], i: int) -> Pair:
    words = pairs[i][1].split()
    return pairs[i][0], " ".join(words[: max(1, len(words) // 2)])


def stutter(rng: random.Random, pairs: Sequence[Pair], i: int) -> Pair:
    words = pairs[i][1].split()
    return pairs[i][0], " ".join([*words[:2] * rng.randrange(4, 12), *words[2:]])


WAYS: dict[str, Spoil] = {
    # Two sentences that have nothing to do with each other.
    "other pair": lambda rng, pairs, i: (pairs[i][0], rng.choice(pairs)[1]),
    "slipped by one": lambda rng, pairs, i: (pairs[i][0], pairs[(i + 1) % len(pairs)][1]),
    "copy": lambda rng, pairs, i: (pairs[i][0], pairs[i][0]),
    "half": half,
    "one more sentence": lambda rng, pairs, i: (pairs[i][0], f"{pairs[i][1]} {rng.choice(pairs)[1]}"),
    "wrongly decoded": wrongly_decoded,
    # One that only the source has, and one that only the target has.
    "other numbers": lambda rng, pairs, i: (
        f"{rng.randrange(10, 999)} {pairs[i][0]}",
        f"{pairs[i][1]} {rng.randrange(10, 999)}",
    ),
    "parts of pages": lambda rng, pairs, i: (
        pairs[i][0],
        f"Home | Login | {pairs[i][1]} | www.example.com/p?id={rng.randrange(10**6)} | © 2019",
    ),
    "repetition": stutter,
}
"""The tenth way, another language, takes its text from other files."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--clean", type=Path, action="append", required=True, help="a folder; repeatable")
    parser.add_argument("--languages", default="", help="such as fr,cs")
    parser.add_argument("--share", type=float, default=0.06, help="of the clean pairs, for each way")
    args = parser.parse_args()
    rng, first = random.Random(SEED), args.clean[0]
    test = min(file.stem for file in first.glob("test*.de"))  # such as test_2016_flickr
    held_out = {"val": read_pairs(first, "val", "de", "en"), "test_captions": read_pairs(first, test, "de", "en")}
    parts = [read_pairs(folder, "train", "de", "en") for folder in args.clean]
    for folder, part in zip(args.clean[1:], parts[1:], strict=True):
        # Pairs with one source come one after another, so the last lines share no source with the first ones.
        held_out[f"test_{folder.name}"] = part[-HELD_OUT:]
        del part[-HELD_OUT:]
    clean = [pair for part in parts for pair in part]
    n = round(len(clean) * args.share)
    spoiled = [way(rng, clean, i) for way in WAYS.values() for i in rng.sample(range(len(clean)), n)]
    languages = filter(None, args.languages.split(","))
    others = [pair for language in languages for pair in read_pairs(first, "train", "de", language)]
    spoiled += rng.sample(others, min(n, len(others)))
    raw = [*clean, *spoiled]
    rng.shuffle(raw)
    for name, train in (("raw", raw), ("oracle", clean)):
        write_corpus(args.output / name, train=train, **held_out)
    print(f"{len(clean):,} clean pairs and {len(spoiled):,} spoiled ones, {n:,} of each way: {', '.join(WAYS)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
