"""Ways to adapt a model to another domain, trained as in `benchmarks.quality`: what each costs, gains and forgets.

    python -m benchmarks.adaptation benchmarks/experiments/lora.yaml --folder base=MODEL --before DIR/test_2016_flickr

The folder `base` is the model that is adapted; --before is a test set of its own domain (without its language code).
All models translate both test sets with the settings in their own folders. The first seed of the experiment counts.
"""

import json
from pathlib import Path

from benchmarks.quality import Experiment, experiment_options
from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, megabytes, run_script

Lines = list[list[str]]


def main() -> int:
    parser = benchmark_parser(__doc__)
    experiment_options(parser)
    parser.add_argument("--before", type=Path, required=True, metavar="FILES", help="test set of the base's domain")
    args = parser.parse_args()
    experiment = Experiment(args)
    experiment.train()
    keep(measure(experiment, args.before), args, args.experiment.stem)
    return 0


def measure(experiment: Experiment, before: Path) -> list[Row]:
    """A row for the base as it is, and for each way to adapt it."""
    import torch

    from nmt.scoring.evaluation import read_test_sets
    from nmt.translation.model_folder import read_info

    torch.set_num_threads(1)
    base, seed = Path(experiment.folders["base"]), experiment.seeds[0]
    info, _ = read_info(base / "config.json")
    source, target = (f"{before}.{language}" for language in (info.source, info.target))
    old = next(iter(read_test_sets(base, source, [target]).values()))
    runs = {variant: experiment.last(variant, seed) for variant in experiment.variants}
    new = next(iter(read_test_sets(next(iter(runs.values())) / "model", None, []).values()))
    scores = {"bleu": bleu(base, new), "bleu_before": bleu(base, old)}
    rows = [{"variant": "nothing: the base", **scores, "megabytes": megabytes(base)}]
    for variant, run in runs.items():
        report = json.loads((run / "report.json").read_text())
        scores = {"val_bleu": val_bleu(run), "bleu": report["bleu"], "bleu_before": bleu(run / "model", old)}
        memory = int((experiment.runs / f"{run.name}.memory").read_text())
        cost = {"mebibytes": memory / 1024, "minutes": experiment.seconds(variant, seed, 1) / 60}
        delivered = run / "adapter" if (run / "adapter").is_dir() else run / "model"
        rows.append({"variant": variant, **scores, **cost, "megabytes": megabytes(delivered)})
    return [{"benchmark": "adaptation", "sentences": len(new[0]), **row} for row in rows]


def bleu(folder: Path, lines: Lines) -> float:
    """BLEU of a model on sources and their references."""
    from nmt.scoring.evaluation import evaluate
    from nmt.translation.translator import Translator

    return evaluate(Translator.load(folder, "cpu"), *lines, metrics=["bleu"]).scores[0].value


def val_bleu(run: Path) -> float:
    """The best BLEU on the validation text."""
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return max(float(line["validation/bleu"]) for line in lines if "validation/bleu" in line)


if __name__ == "__main__":
    run_script(main)
