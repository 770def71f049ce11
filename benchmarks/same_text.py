"""Does a change of the code change translations? Lines of all kinds flow out, or the differences of two outputs.

    python -m benchmarks.same_text > lines.jsonl
    python -m nmt.translate --model RUN --format jsonl --alignments --precision fp32 lines.jsonl > before
    … the same with the changed code … > after
    python -m benchmarks.same_text before after
    python -m nmt.translate … --force-decode --format jsonl after > forced # the scores must be the same
    python -m benchmarks.same_text after forced --member score

The lines are test sentences of the phrasebook, changed as `benchmarks.text_kinds` says, also with constraints.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.real_text import make_cases
from benchmarks.text_kinds import lexicon, make_kinds, sentence_of
from nmt.data.phrasebook import phrasebook

MEMBERS = ("translation", "score", "flags", "fallback", "alignment", "error")
CLOSE = 2e-3  # scores that differ by less are equal: they are printed with four decimals
EACH, SHOWN = 10, 3  # lines of a kind; differences of a kind and member that are shown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outputs", nargs="*", type=Path, help="two outputs of nmt.translate; none: make lines for it")
    parser.add_argument("--member", action="append", choices=MEMBERS, help="compare this; repeatable; default: all")
    args = parser.parse_args()
    if args.outputs:
        before, after = args.outputs
        return compare(before, after, args.member or MEMBERS)
    for line in make_lines():
        print(json.dumps(line, ensure_ascii=False))
    return 0


def make_lines() -> Iterator[dict[str, Any]]:
    book = phrasebook()
    meanings = lexicon(book.train[:6000])
    sentences = [sentence_of(pair, meanings) for pair in book.test]
    for name, kind in make_kinds("de", "en").items():
        rng = Random(name)
        for case in make_cases(name, kind, sentences, EACH):
            yield {"kind": name, "text": case.line}
            words = case.right[0].split() or ["the"]
            wanted: list[dict[str, Any]] = [{"must": [rng.choice(words)]}, {"must_not": [rng.choice(words)]}]
            wanted.append({"prefix": words[0]})
            yield {"kind": f"{name}, constrained", "text": case.line} | rng.choice(wanted)


def compare(before: Path, after: Path, members: Sequence[str]) -> int:
    """Print the differences; exit status 1 if there are any."""
    outputs = ([json.loads(line) for line in file.read_text(encoding="utf8").splitlines()] for file in (before, after))
    differing = Counter[tuple[str, str]]()
    for old, new in zip(*outputs, strict=True):
        for member in members:
            if not are_equal(old.get(member), new.get(member)):
                differing[old["kind"], member] += 1
                if differing[old["kind"], member] <= SHOWN:
                    print(f"{old['kind']}: {old['text']!r}\n  {member}: {old.get(member)!r} → {new.get(member)!r}")
    for (kind, member), count in sorted(differing.items()):
        print(f"{count:5}  {member:12} {kind}")
    return int(bool(differing))


def are_equal(old: Any, new: Any) -> bool:
    if isinstance(old, float | int) and isinstance(new, float | int):
        return abs(old - new) < CLOSE
    return bool(old == new)


if __name__ == "__main__":
    raise SystemExit(main())
