"""Does training in bf16 learn what training in fp32 learns? Both from the same start, validated at equal updates.

    python -m benchmarks.bf16_loss --corpus CORPUS --config recipes/multi30k.yaml --updates 1000 --every 250 --seeds 3

On a machine without bf16 instructions its products are computed in fp32 from operands rounded to bf16, and rounded
again: what the instructions do, which multiply bf16 and add up in fp32; only slowly.

Dropout takes the same random bits in both, so that the difference is not one of luck.
"""

import argparse
import contextlib
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, run_script
from nmt.config import Config
from nmt.config.recipes import load_config
from nmt.data.store.prepared import Prepared
from nmt.data.store.preparing import prepare
from nmt.model import layers
from nmt.model.device import choose_device, choose_precision
from nmt.training.data import TrainingData
from nmt.training.loop import make_trainer
from nmt.training.monitor import Window

PRODUCTS = {getattr(torch.ops.aten, name).default for name in ("mm", "addmm", "bmm", "baddbmm")}


class RoundedProducts(TorchDispatchMode):
    """Takes matrix products of bf16 operands in fp32, and rounds them to bf16."""

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if func not in PRODUCTS or args[-1].dtype != torch.bfloat16:
            return func(*args, **(kwargs or {}))
        wide = [arg.float() if isinstance(arg, torch.Tensor) else arg for arg in args]
        return func(*wide, **(kwargs or {})).bfloat16()


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
    emulated = dtype == "bf16" and choose_precision("auto", choose_device(training.device)) == "fp32"
    print(f"{dtype}{', rounded products' if emulated else ''}: {trainer.numerics}", file=sys.stderr)
    found = {}
    with RoundedProducts() if emulated else contextlib.nullcontext():  # type: ignore[no-untyped-call]
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
