"""How fast mixtures of experts train and decode, beside dense layers.

    python -m benchmarks.experts_speed --rounds 5

One dense model has as many active parameters (those that a piece uses) as the model with experts, the other as many in
total. The models are random encoder–decoders with the settings of reference.yaml but for d_ff, on random pieces, where
all experts are used about equally often. They run in turn, since the speed of a shared machine drifts. A training step
reads 64 pairs of 32 pieces; decoding takes 24 steps, of 64 sentences with 5 rows each, and of one row.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace

import torch

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, ratios, run_script, spread
from benchmarks.setup import REFERENCE
from nmt.config import ModelConfig, TrainingConfig
from nmt.config.recipes import load_config
from nmt.data.batches import Batch
from nmt.model.build import build_generative_model
from nmt.model.contract import GenerativeModel
from nmt.model.device import choose_numerics
from nmt.model.precision import with_precision
from nmt.training.loss import Learner
from nmt.training.optim import make_optimizer

VOCAB, PAIRS, LENGTH, STEPS = 8000, 64, 32, 24


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--experts", type=int, default=8, help="of a layer")
    parser.add_argument("--chosen", type=int, default=2, help="experts that a piece uses")
    parser.add_argument("--d-ff", type=int, default=512, help="width of an expert")
    parser.add_argument("--dtype", action="append", choices=["fp32", "bf16"], help="repeatable; otherwise all")
    parser.add_argument("--rounds", type=int, default=5, help="times that each figure is measured")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0: all cores")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    base = load_config(REFERENCE).model
    systems = {
        f"{args.experts} experts, {args.chosen} chosen": replace(
            base, d_ff=args.d_ff, experts=args.experts, experts_per_token=args.chosen
        ),
        "dense, as many active parameters": replace(base, d_ff=args.d_ff * args.chosen),
        "dense, as many parameters": replace(base, d_ff=args.d_ff * args.experts),
    }
    dtypes = args.dtype or ["fp32", "bf16"]
    keep((row for dtype in dtypes for row in measure(systems, dtype, args.rounds)), args)
    return 0


def measure(systems: dict[str, ModelConfig], dtype: str, rounds: int) -> list[Row]:
    """A row for each system; its ratios are the speed of the first, the experts, to its own."""
    tasks = {name: tasks_of(config, dtype) for name, config in systems.items()}
    kinds = list(next(iter(tasks.values()))[1])
    speeds: dict[str, dict[str, list[float]]] = {name: {kind: [] for kind in kinds} for name in systems}
    for number in range(rounds + 1):
        for kind in kinds:
            for name, (_, by_kind) in tasks.items():
                started = time.perf_counter()
                pieces = by_kind[kind]()
                if number:  # the first round is slow
                    speeds[name][kind].append(pieces / (time.perf_counter() - started))
        print(f"{dtype}: round {number} of {rounds}", file=sys.stderr, flush=True)
    experts, rows = next(iter(systems)), []
    for name, (parameters, _) in tasks.items():
        row: Row = {"benchmark": "experts_speed", "system": name, "dtype": dtype, "parameters": parameters}
        for kind in kinds:
            row[kind] = spread(speeds[name][kind])
            if name != experts:
                row[f"{kind}_ratios"] = {"experts": ratios(speeds[experts][kind], speeds[name][kind])}
        rows.append(row | {"rounds": rounds})
    return rows


def tasks_of(config: ModelConfig, dtype: str) -> tuple[int, dict[str, Callable[[], int]]]:
    """The number of parameters of a new model, and what is timed: each returns the number of pieces it processed."""
    torch.manual_seed(1)
    model = build_generative_model(config, VOCAB, VOCAB)
    translating = with_precision(build_generative_model(config, VOCAB, VOCAB).eval(), dtype)[0]  # type: ignore[arg-type]
    tasks = {"rows_320": lambda: decode(translating, 64, 5), "rows_1": lambda: decode(translating, 1, 1)}
    numerics = choose_numerics("cpu", dtype)
    learner = Learner(model, TrainingConfig(precision=dtype), numerics).train()  # type: ignore[arg-type]
    optimizer = make_optimizer(model, learner.config, numerics.bf16)
    tasks = {"training": lambda: train(learner, optimizer)} | tasks
    return sum(p.numel() for p in model.parameters()), tasks


def train(learner: Learner, optimizer: torch.optim.Optimizer) -> int:
    ids = torch.randint(4, VOCAB, (3, PAIRS, LENGTH))
    real = torch.ones(PAIRS, LENGTH, dtype=torch.bool)
    learner(Batch(ids[0], real, ids[1], ids[2], real)).smoothed.backward()
    optimizer.step()
    optimizer.zero_grad()
    return PAIRS * LENGTH


@torch.inference_mode()
def decode(model: GenerativeModel, sentences: int, width: int) -> int:
    ids = torch.randint(4, VOCAB, (sentences, LENGTH))
    cache = model.start(ids, torch.ones_like(ids, dtype=torch.bool), STEPS, width)
    for _ in range(STEPS):
        model.step(torch.randint(4, VOCAB, (sentences, width)), cache)
    return STEPS * sentences * width


if __name__ == "__main__":
    run_script(main)
