"""How real text comes through: for each kind of line that people paste, how many translations are right, flagged, or
wrong without a flag.

    python -m benchmarks.real_text --model runs/de-en-phrasebook

The lines are test sentences whose plain translation equals the reference, changed as `benchmarks.text_kinds` says: what
goes wrong is due to the change. They go through `nmt.translate --format jsonl`; an error counts as a flag.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, run_script
from benchmarks.text_kinds import Case, Kind, Sentence, lexicon, make_kinds, sentence_of
from nmt.config import DataConfig
from nmt.data.cleaning.cleaner import Pair
from nmt.data.corpora import Corpus, load_corpus
from nmt.fields import require
from nmt.translation.model_folder import ModelInfo, read_info, require_model

LEAST = 50  # sentences with a right plain translation
AT_ONCE = 20  # sentences that a kind may use
EXAMPLES = 2  # kept in a row


@dataclass(frozen=True)
class Answer:
    """A translation with its flags."""

    text: str
    flags: tuple[str, ...]


Translate = Callable[[Sequence[str]], list[Answer]]


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--model", type=Path, default=Path("runs/de-en-phrasebook"), help="run or model folder")
    corpora = "as nmt.train's --data.corpus: its first test set is used"
    parser.add_argument("--corpus", default="phrasebook", help=corpora)
    parser.add_argument("--lines", type=int, default=100, help="of each kind")
    parser.add_argument("--kind", action="append", metavar="KIND", help="only this; repeatable")
    args = parser.parse_args()
    info, corpus = corpus_of(args.model, args.corpus)
    kinds = make_kinds(info.source, info.target)
    unknown = set(args.kind or ()) - set(kinds)
    require(not unknown, f"--kind {' '.join(sorted(unknown))}: the kinds are {', '.join(kinds)}")
    translate = partial(run_translate, args.model, ())
    sentences = right_sentences(translate, next(iter(corpus.tests.values())), lexicon(corpus.train))
    cases = {name: make_cases(name, kinds[name], sentences, args.lines) for name in args.kind or kinds}
    answers = iter(translate([case.line for made in cases.values() for case in made]))
    keep([row_of(name, made, list(islice(answers, len(made)))) for name, made in cases.items() if made], args)
    return 0


def corpus_of(model: Path, name: str) -> tuple[ModelInfo, Corpus]:
    """What is known of a model, and a corpus in its languages."""
    info, _ = read_info(require_model(model) / "config.json")
    return info, load_corpus(DataConfig(corpus=name, source=info.source, target=info.target))


def own_sentences(corpus: Corpus, translate: Callable[[Sequence[str]], Sequence[str]]) -> list[Sentence]:
    """The sentences of all test sets; what the model makes of them counts as right."""
    sources = list(dict.fromkeys(source for test in corpus.tests.values() for source, _ in test))
    meanings = lexicon(corpus.train)
    return [sentence_of(pair, meanings) for pair in zip(sources, translate(sources), strict=True)]


def run_translate(folder: Path, options: Sequence[str], lines: Sequence[str]) -> list[Answer]:
    """Translate lines with the command, in fp32."""
    command = [sys.executable, "-m", "nmt.translate", "--model", str(folder)]
    command += ["--format", "jsonl", "--precision", "fp32", *options]
    given = "".join(json.dumps({"text": line}) + "\n" for line in lines)
    done = subprocess.run(command, input=given, stdout=subprocess.PIPE, encoding="utf8", check=False)
    require(done.returncode == 0, f"nmt.translate ended with exit status {done.returncode}")
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    return [Answer(made.get("translation", ""), tuple(made.get("flags", ["error"]))) for made in objects]


def right_sentences(translate: Translate, pairs: Sequence[Pair], meanings: dict[str, str]) -> list[Sentence]:
    """The sentences that are translated like the reference, without a flag."""
    answers = translate([source for source, _ in pairs])
    right = [pair for pair, answer in zip(pairs, answers, strict=True) if answer == Answer(pair[1], ())]
    problem = f"{len(right)} of {len(pairs)} plain translations equal the reference"
    require(len(right) >= LEAST, f"{problem}, but {LEAST} are needed: take a model that has learned this corpus")
    return [sentence_of(pair, meanings) for pair in right]


def make_cases(name: str, kind: Kind, sentences: list[Sentence], most: int) -> list[Case]:
    """At most so many lines of a kind: they don't depend on the other kinds."""
    rng = Random(f"1 {name}")
    made: list[Case] = []
    for first in rng.sample(sentences, len(sentences)):
        others = [sentence for sentence in rng.sample(sentences, AT_ONCE) if sentence != first]
        case = kind([first, *others[: AT_ONCE - 1]], rng)
        made += [case] if case and len(made) < most else []
    return made


def row_of(kind: str, cases: Sequence[Case], answers: Sequence[Answer]) -> Row:
    """The figures of a kind. `silent`: the translations that are wrong and have no flag."""
    wrong = [(case, answer) for case, answer in zip(cases, answers, strict=True) if not case.accepts(answer.text)]
    silent = [(case, answer) for case, answer in wrong if not answer.flags]
    flagged = len(wrong) - len(silent)
    return {
        "benchmark": "real_text",
        "kind": kind,
        "lines": len(cases),
        "right": len(cases) - len(wrong),
        "right_flagged": sum(bool(answer.flags) for answer in answers) - flagged,
        "flagged": flagged,
        "silent": len(silent),
        "flags": dict(Counter(flag for _, answer in wrong for flag in answer.flags).most_common()),
        "examples": [[case.line, answer.text] for case, answer in silent[:EXAMPLES]],
    }


if __name__ == "__main__":
    run_script(main)
