"""How fast a model trains on this machine, through the real training code, and beside peers.

    python -m benchmarks.train_speed --corpus CORPUS --rounds 3 --peer transformers --peer eole

Each system is a process of its own. They run in turn (A B A B …), since the speed of a shared machine drifts: a ratio
is taken within a round. A peer is transformers or eole (see `train_peers.py`), or any command whose last line is JSON
such as {"system": "NAME", "dtype": "bf16", "target_tokens_per_second": 4150, "sentences_per_second": 286}. Tokens are
real ones: padding is work, not output.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, ratios, run_script, spread
from benchmarks.setup import REFERENCE, TRAINERS, peer_command
from benchmarks.train_peers import SIZES, clock_for, model_of, speeds_of

if TYPE_CHECKING:
    import torch

    from nmt.training.loop import Trainer

ABOUT = ("system", "dtype", "version")  # what a system tells besides its figures
# Rows of the square matrices whose product is this machine's peak, and products a try: a GPU needs more to be full.
PEAK_ROWS, PEAK_PRODUCTS = {"cpu": 2048, "cuda": 8192}, {"cpu": 1, "cuda": 10}
PAPER_PIECES = "32000"  # of the base model: about as many as the paper's


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--corpus", default="multi30k", help="as nmt.train's --data.corpus")
    parser.add_argument("--model", choices=SIZES, default="reference", help="its size")
    parser.add_argument("--compile", action="store_true", help="as nmt.train's --training.compile")
    parser.add_argument("--dtype", choices=["auto", "fp32", "bf16"], default="auto", help="of nmt and the peers")
    parser.add_argument("--steps", type=int, default=20, help="timed steps of a round")
    parser.add_argument("--warmup", type=int, default=6, help="steps before them")
    parser.add_argument("--batch-tokens", type=int, default=4096, help="padded positions")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0: all cores; 1: in processor time")
    parser.add_argument("--rounds", type=int, default=1, help="times that each system runs")
    known = f"{', '.join(TRAINERS)} or a command; repeatable"
    parser.add_argument("--peer", action="append", default=[], metavar="PEER", help=known)
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)  # the prepared run: be the process that is timed
    args = parser.parse_args()
    for name in ("steps", "warmup", "batch_tokens", "rounds"):
        if getattr(args, name) < 1:
            parser.error(f"--{name.replace('_', '-')} is {getattr(args, name)}: it must be at least 1")
    if args.run:
        time_training(args)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        config = ["--config", str(REFERENCE), "--data.corpus", args.corpus, "--runs", folder, "--name", "run"]
        config += ["--tokenizer.vocab_size", PAPER_PIECES] if args.model == "base" else []
        if status := subprocess.run([sys.executable, "-m", "nmt.prepare", *config], check=False).returncode:
            return status  # and it has said why
        ours = [sys.executable, "-m", "benchmarks.train_speed", *sys.argv[1:], "--run", str(Path(folder, "run"))]
        commands = [ours, *(command_of(peer, args, Path(folder, "run")) for peer in args.peer)]
        rounds = [[measure(command) for command in commands] for _ in range(args.rounds)]
    peers = {figures["system"]: figures["version"] for figures in rounds[0] if "version" in figures}
    keep(make_rows(rounds), args, peers=peers)
    return 0


def command_of(peer: str, args: argparse.Namespace, run: Path) -> list[str]:
    """The command that times a peer on the prepared run."""
    if peer not in TRAINERS:
        return shlex.split(peer)
    from nmt.model.device import choose_device, choose_precision

    device = choose_device("auto")
    if peer == "eole" and device.type == "cuda":
        sys.exit("train_speed: eole is measured on a CPU: set CUDA_VISIBLE_DEVICES= to hide the GPU")
    dtype = choose_precision(args.dtype, device)
    names = ("steps", "warmup", "batch_tokens", "threads", "model")
    options = [part for name in names for part in (f"--{name.replace('_', '-')}", str(getattr(args, name)))]
    return [*peer_command("benchmarks.train_peers", peer), peer, "--run", str(run), "--dtype", dtype, *options]


def measure(command: list[str]) -> Row:
    """Run a system to its end: the figures of its last line, and the most memory of its process, data included."""
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    except OSError as error:
        sys.exit(f"train_speed: {shlex.join(command)} can't be started: {error.strerror}")
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"train_speed: {shlex.join(command)} ended with status {process.returncode}")
    figures: Row = json.loads(output.splitlines()[-1]) | {"peak_memory_mib": usage.ru_maxrss / 1024}
    print(figures, file=sys.stderr, flush=True)
    return figures


def time_training(args: argparse.Namespace) -> None:
    """The timed process: prepare nothing, train the model for some steps, print the speed."""
    import torch

    from nmt.config import Config, TrainingConfig
    from nmt.data.store.prepared import Prepared
    from nmt.training.data import TrainingData
    from nmt.training.loop import make_trainer
    from nmt.training.monitor import Window

    prepared = Prepared.load(args.run)
    shared = {name: getattr(args, name) for name in ("batch_tokens", "threads", "compile")}
    training = TrainingConfig(precision=args.dtype, learning_rate=1e-3, **shared)
    data = TrainingData.load(prepared)
    trainer = make_trainer(Config(model=model_of(args.model), training=training), data, args.run)
    clock = clock_for(args.threads)
    for _ in range(args.warmup):
        trainer.step(Window())
    window, started = Window(), clock()
    for _ in range(args.steps):
        trainer.step(window)
    if trainer.numerics.device.type == "cuda":
        torch.cuda.synchronize()
    seconds = clock() - started
    flop = flop_per_position(trainer) * window.positions
    peak = matrix_peak(trainer.numerics.device, trainer.numerics.dtype, clock)
    about = {"system": "nmt", "dtype": "bf16" if trainer.numerics.bf16 else "fp32", "peak_share": flop / seconds / peak}
    speeds = speeds_of(window.sentences, window.target_tokens, seconds)
    print(json.dumps(about | speeds))


def flop_per_position(trainer: "Trainer") -> float:
    """FLOP of matrix products for each position of a batch, padding included, in batches of their own: counting slows
    a step, and sees none that is recorded or compiled."""
    from torch.utils.flop_counter import FlopCounterMode

    from nmt.training.loss import Learner
    from nmt.training.monitor import Window

    learner = Learner(trainer.model, replace(trainer.config, compile=False), trainer.numerics).train()
    for stack in trainer.model.stacks():
        stack.compiled = []
    counted = Window()
    with FlopCounterMode(display=False) as counter:
        for planned in [planned for _ in range(4) for planned in trainer.feed.group(1)]:
            batch = trainer.feed.take(planned)
            loss = learner(batch)
            loss.smoothed.backward()
            counted.add(batch, loss, trainer.model.sequence_lengths(*batch.lengths))
    return counter.get_total_flops() / counted.positions


def matrix_peak(device: "torch.device", dtype: "torch.dtype", clock: Callable[[], float]) -> float:
    """FLOP a second of products of large square matrices, in the fastest of ten tries."""
    import torch

    rows, products = PEAK_ROWS[device.type], PEAK_PRODUCTS[device.type]
    a, b = (torch.randn(rows, rows, device=device).to(dtype) for _ in range(2))
    best = float("inf")
    for _ in range(10):
        started = clock()
        for _ in range(products):
            c = a @ b
        float(c[0, 0])  # which waits for a GPU
        best = min(best, clock() - started)
    return 2 * rows**3 * products / best


def make_rows(rounds: list[list[Row]]) -> list[Row]:
    """A row for each system; the ratios are nmt's speed to that of the system. In tokens too: a system that leaves long
    sentences out is the faster in sentences."""
    speeds = {"ratios": "sentences_per_second", "token_ratios": "target_tokens_per_second"}
    ours, rows = rounds[0][0], list[Row]()
    for series in zip(*rounds, strict=True):
        first = series[0]
        figures = {name: [one[name] for one in series] for name in first if name not in ABOUT}
        row = {"benchmark": "train_speed", "system": first["system"], "dtype": first["dtype"], "rounds": len(rounds)}
        row |= {name: spread(values) for name, values in figures.items()}
        if first is not ours:
            of_nmt = {name: [systems[0][name] for systems in rounds] for name in speeds.values()}
            row |= {kind: {"nmt": ratios(of_nmt[name], figures[name])} for kind, name in speeds.items()}
        rows.append(row)
    return rows


if __name__ == "__main__":
    run_script(main)
