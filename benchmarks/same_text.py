"""Does a change of the code change translations? Lines of all kinds flow in, differences of two outputs flow out.

    python -m benchmarks.same_text make --lines real.de > lines.jsonl
    python -m nmt.translate --model RUN --format jsonl --alignments --precision fp32 lines.jsonl > before
    … the same with the changed code … > after
    python -m benchmarks.same_text compare before after
    python -m nmt.translate … --force-decode --format jsonl after > forced # the scores must be the same
    python -m benchmarks.same_text compare after forced --member score

The lines are test sentences, changed as `benchmarks.text_kinds` says, some with constraints on their translations, and
the lines of a file as they are.
"""

import argparse
import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.text_kinds import lexicon, make_kinds, sentence_of
from nmt.config import DataConfig
from nmt.data.corpora import load_corpus

MEMBERS = ("translation", "score", "flags", "fallback", "alignment", "error")
CLOSE = 2e-3  # scores that differ by less are equal: they are printed with four decimals


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, dest="command")
    made = commands.add_parser("make", help="write lines for nmt.translate --format jsonl")
    made.add_argument("--corpus", default="phrasebook", help="as nmt.train's --data.corpus")
    made.add_argument("--source", default="de")
    made.add_argument("--target", default="en")
    made.add_argument("--each", type=int, default=10, help="lines of each kind")
    made.add_argument("--lines", type=Path, help="file with lines that are taken as they are")
    compared = commands.add_parser("compare", help="tell how two outputs differ")
    compared.add_argument("before", type=Path)
    compared.add_argument("after", type=Path)
    compared.add_argument("--member", action="append", choices=MEMBERS, help="default: all")
    compared.add_argument("--examples", type=int, default=3, help="of each kind and member")
    args = parser.parse_args()
    if args.command == "compare":
        return compare(args.before, args.after, args.member or MEMBERS, args.examples)
    for line in [*make_lines(args), *(real_lines(args.lines) if args.lines else ())]:
        print(json.dumps(line, ensure_ascii=False))
    return 0


def make_lines(args: argparse.Namespace) -> list[dict[str, Any]]:
    corpus = load_corpus(DataConfig(corpus=args.corpus, source=args.source, target=args.target))
    meanings = lexicon(corpus.train[:6000])
    sentences = [sentence_of(pair, meanings) for pair in next(iter(corpus.tests.values()))]
    lines: list[dict[str, Any]] = []
    for name, kind in make_kinds(args.source, args.target).items():
        rng = Random(name)
        starts = range(0, len(sentences) - 20, 7)
        cases = (case for start in starts if (case := kind(sentences[start : start + 20], rng)))
        for _, case in zip(range(args.each), cases, strict=False):
            lines.append({"kind": name, "text": case.line})
            words = case.right[0].split() or ["the"]
            wanted: list[dict[str, Any]] = [
                {"must": [rng.choice(words)]},
                {"must_not": [rng.choice(words)]},
                {"prefix": words[0]},
            ]
            lines.append({"kind": f"{name}, constrained", "text": case.line} | rng.choice(wanted))
    return lines


def real_lines(path: Path) -> list[dict[str, Any]]:
    return [{"kind": "real", "text": line} for line in path.read_text(encoding="utf8").splitlines()]


def compare(before: Path, after: Path, members: tuple[str, ...], examples: int) -> int:
    """Print the differences; exit status 1 if there are any."""
    pairs = list(zip(read(before), read(after), strict=True))
    differing, shown = Counter[str](), Counter[tuple[str, str]]()
    for old, new in pairs:
        for member in members:
            if are_equal(old.get(member), new.get(member)):
                continue
            differing[member] += 1
            shown[old["kind"], member] += 1
            if shown[old["kind"], member] <= examples:
                print(
                    f"{old['kind']}: {old['text']!r}\n  {member}: {old.get(member)!r}\n  {' ' * len(member)}→ ", end=""
                )
                print(f"{new.get(member)!r}" + (f"   {new.get('translation')!r}" if member != "translation" else ""))
    for (kind, member), count in sorted(shown.items()):
        print(f"{count:5}  {member:12} {kind}")
    print(f"{len(pairs)} lines; different: " + ", ".join(f"{member} {differing[member]}" for member in members))
    return int(any(differing.values()))


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf8").splitlines()]


def are_equal(old: Any, new: Any) -> bool:
    if isinstance(old, float | int) and isinstance(new, float | int):
        return abs(old - new) < CLOSE
    return bool(old == new)


if __name__ == "__main__":
    raise SystemExit(main())
