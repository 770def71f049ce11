"""Kinds of self-attention: what their caches store, and how fast models with random weights decode and train.

    python -m benchmarks.attention_cache

Decoding computes all steps with a full beam whose hypotheses continue random ones; training computes logits and
gradients. All models have rotary positions, and the same sizes except for attention. Speeds are those of one thread on
a CPU, by the CPU time of the process, so that other processes matter less. The kinds run in turn, since the speed of a
shared machine drifts: a ratio is taken within a round.
"""

import argparse
import sys
import time
from typing import Any

import torch

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, ratios, run_script, spread
from nmt.config import ModelConfig
from nmt.fields import require
from nmt.model.build import build_model
from nmt.model.contract import GenerativeModel
from nmt.model.device import keep_freed_memory

KINDS: dict[str, dict[str, Any]] = {
    "multi-head": {},
    "grouped-query, 2 heads": {"n_kv_heads": 2},
    "multi-query": {"n_kv_heads": 1},
}
VOCAB = 8000
Speeds = dict[str, list[tuple[float, float]]]
"""Of each kind, in each round: tokens a second of decoding and of training."""


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--d-model", type=int, default=512, help="width of the models; heads are 64 wide")
    parser.add_argument("--layers", type=int, default=6, help="layers of the encoder, and of the decoder")
    parser.add_argument("--batch", type=int, default=64, help="sentences of a batch")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60, help="pieces that are decoded")
    parser.add_argument("--length", type=int, default=25, help="pieces of a source, and of a target in training")
    parser.add_argument("--rounds", type=int, default=2, help="times that each row is measured")
    args = parser.parse_args()
    require(args.d_model % 64 == 0 and args.d_model > 0, f"--d-model is {args.d_model}: take a multiple of 64")
    torch.set_num_threads(1)
    keep_freed_memory()
    models = {kind: make(changes, args) for kind, changes in KINDS.items()}
    training_speed(next(iter(models.values())), args)  # memory is fetched from the system at first
    speeds: Speeds = {kind: [] for kind in KINDS}
    for number in range(1, args.rounds + 1):
        for kind, model in models.items():
            speeds[kind].append((decoding_speed(model, args), training_speed(model, args)))
            print(f"round {number}, {kind}: {speeds[kind][-1][0]:,.0f} tokens/s decoded", file=sys.stderr, flush=True)
    keep((row(kind, models, speeds, args.rounds) for kind in KINDS), args)
    return 0


def make(changes: dict[str, Any], args: argparse.Namespace) -> GenerativeModel:
    torch.manual_seed(1)
    config = ModelConfig(
        d_model=args.d_model,
        n_heads=args.d_model // 64,
        d_ff=4 * args.d_model,
        encoder_layers=args.layers,
        decoder_layers=args.layers,
        positions="rotary",
        **changes,
    )
    model = build_model(config, VOCAB, VOCAB)
    assert isinstance(model, GenerativeModel)
    return model


@torch.inference_mode()
def decoding_speed(model: GenerativeModel, args: argparse.Namespace) -> float:
    """Target tokens of the best hypotheses in a second, the reading of the sources included."""
    model.eval()
    source, mask = ids(args)
    shape = args.batch, args.beam
    start = time.process_time()
    cache = model.start(source, mask, args.steps, args.beam)
    for _ in range(args.steps):
        model.step(torch.randint(4, VOCAB, shape), cache).log_softmax(-1)
        cache.reorder(torch.randint(0, args.beam, shape))
    return args.batch * args.steps / (time.process_time() - start)


def training_speed(model: GenerativeModel, args: argparse.Namespace) -> float:
    """Target tokens in a second."""
    model.train().zero_grad()
    (source, mask), (target, _) = ids(args), ids(args)
    start = time.process_time()
    model(source, mask, target).logsumexp(-1).mean().backward()
    return target.numel() / (time.process_time() - start)


def ids(args: argparse.Namespace) -> tuple[torch.Tensor, torch.Tensor]:
    found = torch.randint(4, VOCAB, (args.batch, args.length))
    return found, torch.ones_like(found, dtype=torch.bool)


def row(kind: str, models: dict[str, GenerativeModel], speeds: Speeds, rounds: int) -> Row:
    first = next(iter(KINDS))
    bytes_of = {name: model.cache_bytes() for name, model in models.items()}
    found: Row = {"benchmark": "attention_cache", "kind": kind, "cache_bytes": bytes_of[kind], "rounds": rounds}
    found["cache_ratio"] = bytes_of[kind]["target"] / bytes_of[first]["target"]
    for number, name in enumerate(("decoding", "training")):
        speed, plain = ([measured[number] for measured in speeds[one]] for one in (kind, first))
        found[name] = spread(speed)
        found[f"{name}_ratios"] = {first: ratios(speed, plain)} if kind != first else {}
    return found


if __name__ == "__main__":
    run_script(main)
