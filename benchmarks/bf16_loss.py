"""Does training in bf16 learn what training in fp32 learns? Both from the same start, validated at equal updates.

    python -m benchmarks.bf16_loss --corpus CORPUS --config recipes/multi30k.yaml --updates 1000 --every 250 --seeds 3

Dropout takes the same random bits in both, so that the difference is not one of luck.
"""

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, run_script
from nmt.config import Config
from nmt.config.recipes import load_config
from nmt.data.store.prepared import Prepared
from nmt.data.store.preparing import prepare
from nmt.model import layers
from nmt.training.data import TrainingData
from nmt.training.loop import make_trainer
from nmt.training.monitor import Window


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--corpus", default="multi30k", help="as nmt.train's --data.corpus")
    parser.add_argument("--config", type=Path, required=True, help="the recipe")
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--every", type=int, default=250, help="updates between validations")
    parser.add_argument("--seeds", type=int, default=1, help="pairs of trainings, each from its own start")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0: all cores")
    args = parser.parse_args()
    if args.seeds < 1:
        parser.error(f"--seeds is {args.seeds}: it must be at least 1")
    layers.TOLERANCE = 0.0
    config = load_config(args.config)
    config = replace(config, data=replace(config.data, corpus=args.corpus), name="run")
    with tempfile.TemporaryDirectory() as runs:
        config = replace(config, runs=runs)
        prepared = prepare(None, config, Path(runs) / "run")
        seeds = [replace(config, training=replace(config.training, seed=seed)) for seed in range(1, args.seeds + 1)]
        curves = {dtype: [curve(seed, prepared, dtype, args) for seed in seeds] for dtype in ("fp32", "bf16")}
    rows: list[Row] = [{"benchmark": "bf16_loss", "updates": step} for step in curves["fp32"][0]]
    for dtype, of_seeds in curves.items():
        for row in rows:
            row[dtype] = [losses[row["updates"]] for losses in of_seeds]
    keep(rows, args)
    return 0


def curve(config: Config, prepared: Prepared, dtype: Any, args: argparse.Namespace) -> dict[int, float]:
    """Validation nll by the number of updates."""
    training = replace(config.training, precision=dtype, threads=args.threads)
    data = TrainingData.load(prepared)
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(replace(config, training=training), data, Path(folder))
    found = {}
    for step in range(1, args.updates + 1):
        trainer.step(Window())
        if step % args.every == 0:
            trainer.model.eval()
            found[step] = trainer.validator.measure_loss()["nll"]
            told = f"{dtype}, seed {training.seed}, {step:,} updates: validation nll {found[step]:.4f}"
            print(told, file=sys.stderr, flush=True)
    return found


if __name__ == "__main__":
    run_script(main)
