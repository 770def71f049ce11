"""Quality of variants: trains each variant with each seed through nmt.train, and compares their scores and speeds.

    python -m benchmarks.quality benchmarks/experiments/families.yaml

An experiment (YAML) has `corpus` (of --data.corpus), `seeds`, `settings` (options of nmt.train that all variants have)
and `variants`: for each its name, and the options of its trainings, one after another. In options, {1} is the model
folder of the first training of the same variant and seed, {2} of the second; with `few: N`, {few} is a corpus with only
the first N training pairs; with --folder NAME=DIR, {NAME} is that folder. A finished training is not repeated. Scores
are those of the test set, with the settings of the model; speeds are measured at the end, in turn, in fp32.
"""

import argparse
import json
import math
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import yaml

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, run_script, spread

EXPERIMENTS = Path(__file__).parent / "experiments"
STEPS, SENTENCES = 10, 200  # of a round of training and of decoding


def main() -> int:
    parser = benchmark_parser(__doc__)
    experiment_options(parser)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the speeds; 0: none")
    args = parser.parse_args()
    experiment = Experiment(args)
    experiment.train()
    speeds = experiment.speeds(args.rounds) if args.rounds else {}
    rows = [experiment.row(variant) | speeds.get(variant, {}) for variant in experiment.variants]
    keep(rows, args, experiment.name)
    return 0


def experiment_options(parser: argparse.ArgumentParser, default: Path | None = None) -> None:
    """The options of commands that measure an experiment."""
    given = "?" if default else None
    parser.add_argument("experiment", type=Path, metavar="FILE", nargs=given, default=default, help="the experiment")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of the run folders")
    parser.add_argument("--corpus", help="instead of the experiment's")
    parser.add_argument("--folder", action="append", default=[], metavar="NAME=DIR", help="a folder; repeatable")


class Experiment:
    """An experiment file, and the run folders of its trainings."""

    def __init__(self, args: argparse.Namespace) -> None:
        settings = yaml.safe_load(args.experiment.read_text(encoding="utf8"))
        self.name, self.runs = args.experiment.stem, args.runs
        self.seeds: list[int] = settings["seeds"]
        self.variants: dict[str, list[str]] = settings["variants"]
        self.settings: str = settings["settings"]
        self.corpus = args.corpus or settings["corpus"]
        self.folders = dict(given.split("=", 1) for given in args.folder)
        self.few = self.runs / f"{self.name}-few" / Path(self.corpus).name
        if "few" in settings:
            write_few(Path(self.corpus), self.few, settings["few"])

    def folder(self, variant: str, seed: int, stage: int) -> Path:
        number = list(self.variants).index(variant) + 1
        return self.runs / f"{self.name}-{number}-{stage}-seed{seed}"

    def last(self, variant: str, seed: int) -> Path:
        return self.folder(variant, seed, len(self.variants[variant]))

    def train(self) -> None:
        """Do the trainings that are not finished. Raises ValueError if one fails."""
        for seed in self.seeds:
            for variant in self.variants:
                self.train_variant(variant, seed)

    def train_variant(self, variant: str, seed: int) -> None:
        stages = self.variants[variant]
        models = [str(self.folder(variant, seed, i + 1) / "model") for i in range(len(stages))]
        for i, options in enumerate(stages):
            run = self.folder(variant, seed, i + 1)
            if (run / "report.json").exists():
                continue
            filled = f"{self.settings} {options}".format("", *models, few=self.few, **self.folders)
            corpus = [] if "--data.corpus" in filled else ["--data.corpus", self.corpus]
            place = ["--runs", str(self.runs), "--name", run.name, "--training.seed", str(seed), "--resume"]
            command = [sys.executable, "-m", "nmt.train", *shlex.split(filled), *corpus, *place]
            print(f"{variant}, seed {seed}, training {i + 1} of {len(stages)}: {run}", file=sys.stderr, flush=True)
            self.runs.mkdir(parents=True, exist_ok=True)
            with (self.runs / f"{run.name}.log").open("a", encoding="utf8") as log:
                process = subprocess.Popen(command, stdout=log, stderr=log)
                _, process.returncode, used = os.wait4(process.pid, 0)
                if process.returncode:
                    raise ValueError(f"{run.name} failed: see {log.name}")
            (self.runs / f"{run.name}.memory").write_text(f"{used.ru_maxrss}\n")  # KiB at most

    def row(self, variant: str) -> Row:
        """The scores of a variant over all seeds, its size, and the time of all its trainings."""
        reports = [json.loads((self.last(variant, seed) / "report.json").read_text()) for seed in self.seeds]
        minutes = [
            sum(self.seconds(variant, seed, i + 1) for i in range(len(self.variants[variant]))) / 60
            for seed in self.seeds
        ]
        figures = {name: spread([report[name] for report in reports]) for name in ("bleu", "chrf")}
        nll = spread([nll_per_piece(self.last(variant, seed)) for seed in self.seeds])
        about = {"benchmark": "quality", "variant": variant, "seeds": len(self.seeds)}
        return {**about, "parameters": reports[0]["parameters"], **figures, "nll": nll, "minutes": spread(minutes)}

    def seconds(self, variant: str, seed: int, stage: int) -> float:
        report = json.loads((self.folder(variant, seed, stage) / "report.json").read_text())
        return float(report["seconds"]["train"])

    def speeds(self, rounds: int) -> dict[str, Row]:
        """For each variant the speeds of training and decoding, in sentences a second, measured in turn."""
        clocks: dict[str, dict[str, Callable[[], float]]] = {}
        with tempfile.TemporaryDirectory() as scratch:
            for variant in self.variants:
                run = self.last(variant, self.seeds[0])
                clocks[variant] = {"training_speed": training_clock(run, Path(scratch)), **decoding_clocks(run)}
            for clock in (clock for kinds in clocks.values() for clock in kinds.values()):
                clock()  # not counted: the first round is slow
            found: dict[str, dict[str, list[float]]] = {v: {kind: [] for kind in kinds} for v, kinds in clocks.items()}
            for _ in range(rounds):
                for variant, kinds in clocks.items():
                    for kind, clock in kinds.items():
                        found[variant][kind].append(clock())
        return {v: {kind: spread(rates) for kind, rates in kinds.items()} for v, kinds in found.items()}


def write_few(corpus: Path, folder: Path, n: int) -> None:
    """Write a corpus folder with the first n training pairs of another, and its other files as they are."""
    if folder.is_dir():
        return
    folder.mkdir(parents=True)
    for file in sorted(corpus.iterdir()):
        lines = file.read_text(encoding="utf8").splitlines(keepends=True)
        kept = lines[:n] if file.name.startswith("train.") else lines
        (folder / file.name).write_text("".join(kept), encoding="utf8")


def nll_per_piece(run: Path) -> float:
    """The negative log-likelihood of the first test set's references, in nats a piece, in fp32."""
    from nmt.data.store.prepared import Prepared
    from nmt.translation.translator import Translator

    pairs = next(iter(Prepared.load(run).tests.values()))
    scored = Translator.load(run / "model", precision="fp32").scorer().score(pairs)
    log_probs = [log_prob for translation in scored if translation for log_prob in translation.token_log_probs]
    return -math.fsum(log_probs) / len(log_probs)


def training_clock(run: Path, scratch: Path) -> Callable[[], float]:
    """A function that takes some training steps with the settings of a run, and returns sentences a second."""
    from nmt.config.recipes import load_config
    from nmt.data.store.prepared import Prepared
    from nmt.training.data import TrainingData
    from nmt.training.loop import make_trainer
    from nmt.training.monitor import Window

    config = load_config(run / "config.yaml")
    config = replace(config, training=replace(config.training, max_steps=10**6))
    prepared = Prepared.load(run)
    data = TrainingData.load(prepared)
    trainer = make_trainer(config, data, scratch / run.name)

    def clock() -> float:
        window, started = Window(), time.perf_counter()
        for _ in range(STEPS):
            trainer.step(window)
        return window.sentences / (time.perf_counter() - started)

    return clock


def decoding_clocks(run: Path) -> dict[str, Callable[[], float]]:
    """Functions that translate some test sentences, greedily and with a beam, and return sentences a second."""
    from nmt.data.store.prepared import Prepared
    from nmt.translation.translator import Translator

    translator = Translator.load(run / "model", precision="fp32")
    sources = [source for source, _ in next(iter(Prepared.load(run).tests.values()))][:SENTENCES]

    def clock(beam_size: int) -> float:
        search = replace(translator.search, beam_size=beam_size, guard=False)
        started = time.perf_counter()
        translator.translate(sources, search)
        return len(sources) / (time.perf_counter() - started)

    return {"greedy_speed": lambda: clock(1), "beam_5_speed": lambda: clock(5)}


if __name__ == "__main__":
    run_script(main)
