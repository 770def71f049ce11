"""What each step of reading, and each retry of the guard, is worth: right translations that lines lose without it.

    python -m benchmarks.steps --model runs/de-en-phrasebook

The lines are those of `benchmarks.real_text`: test sentences whose plain translation is right, changed as
`benchmarks.text_kinds` says. Without a step, only the lines that it takes something from are translated again. The loss
of a kind is weighed by how often such lines occur in text that people wrote (`results/line_kinds.jsonl`): "of 1,000
lines" is the number of right translations that 1,000 lines of a genre lose, in the language and genre that lose most.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

from benchmarks.real_text import Answer, make_cases, right_sentences
from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import RESULTS, Row, run_script
from benchmarks.text_kinds import Case, lexicon, make_kinds
from nmt.config import DataConfig
from nmt.data.corpora import load_corpus
from nmt.reading import items, lines, spelling
from nmt.reading.loop import Reading, Step, grow
from nmt.reading.request import Request
from nmt.translation import repair
from nmt.translation.model_folder import read_info, require_model
from nmt.translation.translator import Translator

STEPS: dict[str, tuple[Step, ...]] = {
    "marks around a line": (spelling.inside,),
    "quotes inside a line": (items.quotes,),
    "known words": (spelling.known_words,),
    "known characters": (spelling.readable,),
    "placeholders for items": (items.items,),
}
RETRIES = ("sentences", "items", "lower case", "plain", "no repeats", "shorter spans")
PLANS = ("USUAL", "AS_WRITTEN", "CLAUSES", "HALVES", "LIFTED", "LOWERED")
# Names of the same kinds in `benchmarks.line_kinds`, where these differ.
COUNTED = {"word in quotes „…“": ("word in quotes „…“", "word in quotes “…”", 'word in quotes "…"')}

Cases = dict[str, list[Case]]
Outcome = tuple[bool, bool]
"""Whether a translation is right, and whether it is wrong without a flag."""


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--model", type=Path, default=Path("runs/de-en-phrasebook"))
    parser.add_argument("--corpus", default="phrasebook", help="as nmt.train's --data.corpus")
    parser.add_argument("--lines", type=int, default=30, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    translator = Translator.load(args.model, "cpu", precision="fp32")
    info, _ = read_info(require_model(args.model) / "config.json")
    source, target = info.source, info.target
    corpus = load_corpus(DataConfig(corpus=args.corpus, source=source, target=target))
    pairs = Random(args.seed).sample(tests := next(iter(corpus.tests.values())), min(1000, len(tests)))
    sentences = right_sentences(lambda lines: answers(translator, lines), pairs, lexicon(corpus.train))
    cases = {name: make_cases(name, kind, sentences, args) for name, kind in make_kinds(source, target).items()}
    usual = outcomes(translator, cases)
    rows: list[Row] = []
    for name, steps in STEPS.items():
        taken = {kind: [case for case in made if takes(translator, case, steps)] for kind, made in cases.items()}
        with without_steps(steps):
            rows.append(row_of(name, cases, usual, outcomes(translator, taken)))
    for name in RETRIES:
        with without_retry(name):
            rows.append(row_of(f"retry: {name}", cases, usual, outcomes(translator, cases)))
    taken = {kind: [case for case in made if "<" in case.line or "&" in case.line] for kind, made in cases.items()}
    rows.append(row_of("mark-up", cases, usual, outcomes(translator, taken, markup="none")))
    keep(rows, args)
    return 0


def answers(translator: Translator, lines: Sequence[str], markup: str = "auto") -> list[Answer]:
    found = translator.translate_n_best(lines, markup=markup)  # type: ignore[arg-type]
    return [Answer(best.text, best.flags) for best, *_ in found]


def outcomes(translator: Translator, cases: Cases, markup: str = "auto") -> dict[str, dict[str, Outcome]]:
    """By kind and line, what became of it."""
    found: dict[str, dict[str, Outcome]] = {}
    for kind, made in cases.items():
        given = answers(translator, [case.line for case in made], markup)
        pairs = zip(made, given, strict=True)
        found[kind] = {
            case.line: (case.accepts(answer.text), not case.accepts(answer.text) and not answer.flags)
            for case, answer in pairs
        }
    return found


def takes(translator: Translator, case: Case, steps: Sequence[Step]) -> bool:
    """Whether one of the steps takes something from a line."""
    context = translator.context(translator.search, "auto")
    whole = grow(Reading.of(Request(case.line)), (lines.mark_up, *repair.USUAL), context)
    without = tuple(step for step in (lines.mark_up, *repair.USUAL) if step not in steps)
    other = grow(Reading.of(Request(case.line)), without, context)
    return [leaf.text for leaf in whole.leaves()] != [leaf.text for leaf in other.leaves()]


@contextmanager
def without_steps(steps: Sequence[Step]) -> Iterator[None]:
    """All plans without some steps."""
    plans = {name: getattr(repair, name) for name in PLANS}
    for name, plan in plans.items():
        setattr(repair, name, tuple(step for step in plan if step not in steps))
    try:
        yield
    finally:
        for name, plan in plans.items():
            setattr(repair, name, plan)


@contextmanager
def without_retry(name: str) -> Iterator[None]:
    """The guard without a retry."""
    usual = repair.Guard.retry

    def retry(self: repair.Guard, other: str, *args: object) -> None:
        if other != name:
            usual(self, other, *args)  # type: ignore[arg-type]

    repair.Guard.retry = retry  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        repair.Guard.retry = usual  # type: ignore[method-assign]


def row_of(
    name: str, cases: Cases, usual: dict[str, dict[str, Outcome]], without: dict[str, dict[str, Outcome]]
) -> Row:
    """What is lost without a step, by kind, and weighed."""
    lost = dict.fromkeys(cases, (0.0, 0.0))
    for kind, found in without.items():
        n = max(1, len(cases[kind]))
        pairs = [(usual[kind][line], outcome) for line, outcome in found.items()]
        lost[kind] = (
            sum(before[0] - after[0] for before, after in pairs) / n,
            sum(after[1] - before[1] for before, after in pairs) / n,
        )
    genres = [json.loads(line) for line in (RESULTS / "line_kinds.jsonl").read_text(encoding="utf8").splitlines()]
    weighed = {
        f"{row['genre']}, {row['language']}": sum(
            row["per_1000"].get(counted, 0.0) * lost[kind][0] for kind in lost for counted in COUNTED.get(kind, (kind,))
        )
        for row in genres
    }
    most = max(weighed, key=weighed.__getitem__)
    kinds = {kind: [round(100 * share) for share in shares] for kind, shares in lost.items() if any(shares)}
    return {
        "benchmark": "steps",
        "step": name,
        "of_1000": round(weighed[most], 2),
        "where": most,
        "kinds": dict(sorted(kinds.items(), key=lambda item: -item[1][0])),
    }


if __name__ == "__main__":
    run_script(main)
