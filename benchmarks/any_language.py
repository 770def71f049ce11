"""What formatting costs a translator of any language: for each kind of changed line, the chrF that it loses.

    python -m benchmarks.any_language --of runs/chr-en-cherokee ../corpora/chr-en --of runs/ja-en ../corpora/ja-en

A model of a few thousand pairs translates hardly a sentence like its reference. So the lines of
`benchmarks.real_text` are made twice: of the references, and of the model's own plain translations. The loss is the
chrF of the second minus the chrF of what the model makes of the changed line, both against the first. Kinds that no
sentence of the language suits (its case, its marks, its words) are left out.
"""

import argparse
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from sacrebleu.metrics.chrf import CHRF

from benchmarks.real_text import AT_ONCE, corpus_of, run_translate
from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, run_script
from benchmarks.text_kinds import Case, Kind, Sentence, lexicon, make_kinds, normalised, sentence_of

LEAST = 10  # lines of a kind that are worth a figure


Changed = tuple[Case, Case]
"""A changed line: what it would be in the best case, and what the model would make of it at best."""


def main() -> int:
    parser = benchmark_parser(__doc__)
    corpus = "a run or model folder, and its corpus, as nmt.train's --data.corpus: the first test set is used"
    parser.add_argument("--of", nargs=2, action="append", metavar=("MODEL", "CORPUS"), required=True, help=corpus)
    parser.add_argument("--lines", type=int, default=50, help="of each kind")
    parser.add_argument("--options", default="--beam-size 1", help="of nmt.translate, as one string")
    args = parser.parse_args()
    keep([row for model, corpus in args.of for row in measure(Path(model), Path(corpus), args)], args)
    return 0


def measure(model: Path, folder: Path, args: argparse.Namespace) -> list[Row]:
    """The rows of a model, which is tested on a corpus."""
    info, corpus = corpus_of(model, str(folder))
    pairs, meanings = next(iter(corpus.tests.values()))[: 4 * args.lines], lexicon(corpus.train)
    options = shlex.split(args.options)
    plain = [answer.text for answer in run_translate(model, options, [source for source, _ in pairs])]
    sides = (
        [sentence_of(pair, meanings) for pair in pairs],
        [sentence_of((source, text), meanings) for (source, _), text in zip(pairs, plain, strict=True)],
    )
    kinds = {
        name: [*changed(kind, *sides)][: args.lines] for name, kind in make_kinds(info.source, info.target).items()
    }
    kinds = {name: made for name, made in kinds.items() if len(made) >= LEAST}
    answers = iter(run_translate(model, options, [reference.line for made in kinds.values() for reference, _ in made]))
    about = {"benchmark": "any_language", "languages": f"{info.source}-{info.target}", "corpus": folder.name}
    rows = list[Row]()
    for name, made in kinds.items():
        found = [next(answers) for _ in made]
        row = {"kind": name, "lines": len(made), "flagged": sum(bool(answer.flags) for answer in found)}
        row["plain"] = quality(made, [plain.right[0] for _, plain in made])
        row["chrf"] = quality(made, [answer.text for answer in found])
        rows.append(about | row)
    return rows


def changed(kind: Kind, references: Sequence[Sentence], plain: Sequence[Sentence]) -> Iterator[Changed]:
    """The lines of a kind, where both texts suit it alike."""
    for i in range(len(references) - AT_ONCE):
        first, second = (kind(side[i : i + AT_ONCE], Random(i)) for side in (references, plain))
        if first and second and first.line == second.line:
            yield first, second


def quality(made: Sequence[Changed], texts: Sequence[str]) -> float:
    """The chrF of translations of these lines, spelled as `normalised` has it."""
    found, references = list[str](), list[str]()
    for text, (reference, _) in zip(texts, made, strict=True):
        both = (text, reference.right[0])
        spelled = [normalised(side.casefold() if reference.any_case else side) for side in both]
        found.append(spelled[0])
        references.append(spelled[1])
    return round(CHRF().corpus_score(found, [references]).score, 2)


if __name__ == "__main__":
    run_script(main)
