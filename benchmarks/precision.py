"""What fp32, bf16 and int8 give and cost: the speed of translation, and BLEU on a validation text.

    python -m benchmarks.precision --model runs/reference --source val.de --reference val.en

One process has the model in all precisions, and lets them work in turn, with one thread. Speeds are sentences for each
second of processor time, the best of the rounds: so other programs on the machine matter little. BLEU is that of the
whole text; "same" are the percent of its lines that are those of PyTorch in fp32.
"""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, rounded, run_script
from nmt.config import SearchConfig
from nmt.scoring.metrics import score
from nmt.translation.translator import Translator, find_model

Precision = Literal["fp32", "bf16", "int8"]
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16", "int8")
SENTENCES = {1: 40, 64: 192}  # timed, by batch size


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--model", type=Path, action="append", required=True, help="run or model folder; repeatable")
    parser.add_argument("--source", type=Path, required=True, help="validation text")
    parser.add_argument("--reference", type=Path, required=True, help="its translation")
    parser.add_argument("--sentences", type=int, help="for BLEU; otherwise all")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    texts = (path.read_text(encoding="utf8").splitlines()[: args.sentences] for path in (args.source, args.reference))
    sources, references = texts
    rows = [row for model in args.model for row in measure(model, sources, references, args.rounds)]
    keep(({"benchmark": "precision", **row, "rounds": args.rounds} for row in rows), args)
    return 0


def measure(model: Path, sources: list[str], references: list[str], rounds: int) -> list[Row]:
    """A row for each beam size."""
    torch.set_num_threads(1)
    translators = {name: Translator.load(find_model(str(model)), precision=name) for name in PRECISIONS}
    exact = Translator.load(find_model(str(model)), precision="fp32", backend="pytorch")
    plain: Any = exact.model
    size = {"parameters": sum(p.numel() for p in plain.parameters()), "width": plain.config.d_model}
    rows: list[Row] = []
    for beam in (5, 1):
        expected = exact.translate(sources, searching(exact, beam, 64))
        outputs = {name: t.translate(sources, searching(t, beam, 64)) for name, t in translators.items()}
        bleu = {name: score(output, references, metrics=["bleu"]) for name, output in outputs.items()}
        same = {
            name: rounded(100 * sum(map(str.__eq__, output, expected)) / len(expected))
            for name, output in outputs.items()
        }
        speeds = {str(batch): fastest(translators, sources, (beam, batch), rounds) for batch in SENTENCES}
        scores = {name: rounded(scored[0].value) for name, scored in bleu.items()}
        rows.append({**size, "beam": beam, "bleu": scores, "same": same, "speeds": speeds})
    return rows


def searching(translator: Translator, beam: int, batch: int) -> SearchConfig:
    return replace(translator.search, beam_size=beam, batch_size=batch)


def fastest(
    translators: dict[Precision, Translator], sources: list[str], setting: tuple[int, int], rounds: int
) -> dict[Precision, float]:
    """Sentences a second by precision, for a beam size and a batch size."""
    beam, batch = setting
    text, best = sources[: SENTENCES[batch]], dict.fromkeys(translators, float("inf"))
    for _ in range(rounds):
        for name, translator in translators.items():
            started = time.process_time()
            for first in range(0, len(text), batch):
                translator.translate(text[first : first + batch], searching(translator, beam, batch))
            best[name] = min(best[name], time.process_time() - started)
    return {name: rounded(len(text) / seconds) for name, seconds in best.items()}


if __name__ == "__main__":
    run_script(main)
