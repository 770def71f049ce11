"""What the guard notices and repairs of the translations of hard input, and what time that takes.

    python -m benchmarks.hard_input --model runs/reference --corpus multi30k

Hard input is made up here, the same for the same seed: from sentences of the corpus's first test set, or of random
characters. Each kind is translated without the guard and with it, in one call each. A flag is no proof that a
translation is bad, nor the lack of one that it is good: `--answers` writes all lines with both translations.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from random import Random

from benchmarks.report import report
from benchmarks.rows import RESULTS, Row, add_rows, describe_run, rounded, run_script
from nmt.config import DataConfig
from nmt.data.cleaning import Pair
from nmt.data.corpora import load_corpus
from nmt.text.normalise import tidy
from nmt.text.suspicions import suspicions
from nmt.translation.model_folder import load_model
from nmt.translation.request import Translation
from nmt.translation.translator import Translator, find_model

# First and last letter: Latin; Cyrillic, Greek, Arabic, Devanagari; Han, hiragana, katakana.
LATIN = ("az",)
ALPHABETS = ("\u0430\u044f", "\u03b1\u03c9", "\u0627\u064a", "\u0905\u0939")
UNSPACED = ("\u4e00\u9fff", "\u3041\u3096", "\u30a1\u30fa")
LONG_WORD = 10_000
ITEMS = (
    "https://example.org/a/b?c=1&d=%20e",
    "www.example.org",
    "first.last@example.org",
    "{name}",
    "{{ count }}",
    "%s",
    "%(total)d",
    "<br/>",
    "&nbsp;",
    "<b>{}</b>",
    '<a href="https://example.org">{}</a>',
)
MARKUP = (
    "<div class='x'>",
    "</div>",
    "<p>",
    "</p",
    "<b>",
    "</i>",
    "<br/>",
    "<!-- x -->",
    "&amp;",
    "&nbsp;",
    "{% if x %}",
    "{{x}}",
    "[b](#c)",
    "**",
    "##",
    "|",
    "`x = 1;`",
    "\\n",
    "<<<",
    "/>",
)
EMOJI = ("😀", "🐶", "🎸", "👍\U0001f3fd", "🇩🇪", "👩\u200d🚀", "❤\ufe0f", "5\ufe0f\u20e3")
STRAY = b"\x00\x07\t\r\x1b\x7f\x80\xc3\xed\xff"


@dataclass(frozen=True)
class Answer:
    """A line and its translations, with their flags: without the guard and with it."""

    line: str
    plain: str
    plain_flags: tuple[str, ...]
    guarded: str
    guarded_flags: tuple[str, ...]
    fallback: str


@dataclass(frozen=True)
class Outcome:
    """What became of one kind of input."""

    kind: str
    plain_seconds: float
    guarded_seconds: float
    answers: list[Answer]


def word(rng: Random, pairs: Sequence[Pair]) -> str:
    return rng.choice(rng.choice(pairs)[0].split()).strip(".,")


def letters(rng: Random, scripts: Sequence[str], most_words: int, longest: int) -> str:
    """Words of random letters of one of the scripts."""
    first, last = map(ord, rng.choice(scripts))
    return " ".join(
        "".join(chr(rng.randint(first, last)) for _ in range(rng.randint(1, longest)))
        for _ in range(rng.randint(1, most_words))
    )


def long_word(rng: Random, pairs: Sequence[Pair]) -> str:
    glued = "".join(pair[0].replace(" ", "") for pair in rng.choices(pairs, k=LONG_WORD // 20))
    return (rng.choice((word(rng, pairs), glued, letters(rng, LATIN, 1, 26))) * LONG_WORD)[:LONG_WORD]


def with_item(rng: Random, pairs: Sequence[Pair]) -> str:
    """An item after the middle word, or around it."""
    words, item = rng.choice(pairs)[0].split(), rng.choice(ITEMS)
    middle = len(words) // 2
    words[middle] = item.replace("{}", words[middle]) if "{}" in item else f"{words[middle]} {item}"
    return " ".join(words)


def markup(rng: Random, pairs: Sequence[Pair]) -> str:
    parts = [*rng.choices(MARKUP, k=10), *rng.choice(pairs)[0].split()[:6]]
    return " ".join(rng.sample(parts, len(parts)))


def damaged(rng: Random, pairs: Sequence[Pair]) -> str:
    """Five stray bytes, decoded as `nmt.translate` does, and half an emoji, as JSON can spell it."""
    text = bytearray(rng.choice(pairs)[0].encode())
    for byte in rng.choices(STRAY, k=5):
        text.insert(rng.randrange(len(text)), byte)
    return text.decode("utf-8", "surrogateescape") + " \ud83d"


KINDS: dict[str, Callable[[Random, Sequence[Pair]], str]] = {
    "ordinary sentences": lambda rng, pairs: rng.choice(pairs)[0],
    "20 sentences on a line": lambda rng, pairs: " ".join(pair[0] for pair in rng.choices(pairs, k=20)),
    "sentences with an item": with_item,
    "ALL CAPITALS": lambda rng, pairs: rng.choice(pairs)[0].upper(),
    "no spaces": lambda rng, pairs: rng.choice(pairs)[0].replace(" ", ""),
    "stray bytes": damaged,
    "single words": word,
    "a word 20 to 60 times": lambda rng, pairs: " ".join([word(rng, pairs)] * rng.randint(20, 60)),
    "the target language": lambda rng, pairs: rng.choice(pairs)[1],
    "random letters": lambda rng, pairs: letters(rng, LATIN, 20, 12),
    "other alphabets": lambda rng, pairs: letters(rng, ALPHABETS, 12, 10),
    "Han, kana": lambda rng, pairs: letters(rng, UNSPACED, 2, 20),
    "digits, punctuation": lambda rng, pairs: "".join(rng.choices("0123456789.,:;-+/%()!? ", k=rng.randint(1, 60))),
    "emoji": lambda rng, pairs: rng.choice(("", " ")).join(rng.choices(EMOJI, k=rng.randint(1, 12))),
    "markup": markup,
    "random bytes": lambda rng, pairs: rng.randbytes(40).replace(b"\n", b"").decode("utf-8", "surrogateescape"),
    "a word of 10,000 letters": long_word,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=Path("runs/reference"), help="run or model folder")
    parser.add_argument("--corpus", default="multi30k", help="as nmt.train's --data.corpus")
    parser.add_argument("--lines", type=int, default=100, help="of each kind, but of long words a twentieth")
    parser.add_argument("--kind", action="append", choices=KINDS, metavar="KIND", help="only this; repeatable")
    parser.add_argument("--seed", type=int, default=1, help="of what is made up")
    file = RESULTS / "hard_input.jsonl"
    parser.add_argument("--json", type=Path, metavar="FILE", default=file, help="gets the rows")
    parser.add_argument("--answers", type=Path, metavar="FILE", help="write every line with both translations there")
    args = parser.parse_args()
    translator, pairs = load(args)
    translator.translate([source for source, _ in pairs[:20]])  # the first call is slower
    outcomes = []
    for kind in args.kind or KINDS:
        make = KINDS[kind]
        rng, count = Random(f"{args.seed} {kind}"), -(-args.lines // 20) if make is long_word else args.lines
        outcomes.append(measure(translator, kind, [make(rng, pairs) for _ in range(count)]))
        print(f"{kind}: {outcomes[-1].guarded_seconds:.0f} s", file=sys.stderr, flush=True)
    run = describe_run()
    rows = [row_of(outcome) | run for outcome in outcomes]
    print(report(rows))
    add_rows(args.json, rows)
    if args.answers:
        args.answers.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=2) + "\n")
    return 0


def load(args: argparse.Namespace) -> tuple[Translator, list[Pair]]:
    """The translator, and the pairs of the corpus's first test set."""
    folder = find_model(str(args.model))
    _, _, info = load_model(folder)
    corpus = load_corpus(DataConfig(corpus=args.corpus, source=info.source, target=info.target))
    return Translator.load(folder, precision="fp32"), next(iter(corpus.tests.values()))


def measure(translator: Translator, kind: str, lines: list[str]) -> Outcome:
    """The lines translated without the guard and with it."""
    plain, plain_seconds = timed(translator, lines, guard=False)
    guarded, guarded_seconds = timed(translator, lines, guard=True)
    least = translator.facts.least_confidence
    flags = [
        suspicions(tidy(line)[0], best.text, finished=best.finished, sure=best.confidence >= least)
        for line, best in zip(lines, plain, strict=True)
    ]
    return Outcome(
        kind,
        plain_seconds,
        guarded_seconds,
        [
            Answer(line, before.text, tuple(wrong), after.text, after.flags, after.fallback)
            for line, before, wrong, after in zip(lines, plain, flags, guarded, strict=True)
        ],
    )


def timed(translator: Translator, lines: list[str], *, guard: bool) -> tuple[list[Translation], float]:
    """The best translation of each line, and the seconds that they took."""
    started = time.perf_counter()
    n_best = translator.translate_n_best(lines, replace(translator.search, guard=guard))
    return [best for best, *_ in n_best], time.perf_counter() - started


def row_of(outcome: Outcome) -> Row:
    """The row to be kept: counts of flags and fallbacks."""
    flags = {
        "before": [answer.plain_flags for answer in outcome.answers],
        "after": [answer.guarded_flags for answer in outcome.answers],
    }
    return {
        "benchmark": "hard_input",
        "kind": outcome.kind,
        "lines": len(outcome.answers),
        **{f"flagged_{when}": sum(map(bool, found)) for when, found in flags.items()},
        **{f"flags_{when}": dict(Counter(chain(*found)).most_common()) for when, found in flags.items()},
        "fallbacks": dict(Counter(answer.fallback for answer in outcome.answers if answer.fallback).most_common()),
        "plain_seconds": rounded(outcome.plain_seconds),
        "guarded_seconds": rounded(outcome.guarded_seconds),
        "time_ratio": rounded(outcome.guarded_seconds / outcome.plain_seconds),
    }


if __name__ == "__main__":
    run_script(main)
