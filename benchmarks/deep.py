"""Deep models: how they learn, what computing layers twice saves, and how fast a shallow decoder translates.

    python -m benchmarks.deep curves --corpus multi30k
    python -m benchmarks.deep recompute
    python -m benchmarks.deep decode

`curves` trains a decoder-only model of 24 layers with each place of the normalisation: there, unlike in a deep encoder,
no prediction can go round the layers. `recompute` takes training steps of 6+6 layers with the width of the paper's base
model, each kind in a process of its own. `decode` searches with random weights, so that outputs have their greatest
length. All run in one thread, and times are CPU seconds, the best of some rounds.
"""

import argparse
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from benchmarks.report import origin
from benchmarks.rows import describe_run, run_script
from benchmarks.tables import markdown
from nmt.config import Config, DataConfig, ModelConfig, SearchConfig, TokenizerConfig, TrainingConfig
from nmt.data.store.prepared import Prepared
from nmt.data.store.preparing import prepare
from nmt.decode.beam import search
from nmt.model.build import build_generative_model
from nmt.model.device import choose_numerics, keep_freed_memory
from nmt.training.data import TrainingData
from nmt.training.loop import make_trainer
from nmt.training.loss import Learner
from nmt.training.monitor import Window

NARROW = ModelConfig(family="decoder-only", d_model=64, n_heads=4, encoder_layers=0, decoder_layers=24, d_ff=128)
RECIPE = ModelConfig(d_model=128, n_heads=4, d_ff=256, norm_position="pre")
VOCAB = 4000
LAYERS = [(3, 3), (4, 4), (6, 2), (8, 1), (12, 1)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("curves", "recompute", "decode"))
    parser.add_argument("--corpus", default="multi30k", help="of curves, as nmt.train's --data.corpus")
    parser.add_argument("--steps", type=int, default=300, help="of curves")
    parser.add_argument("--rounds", type=int, default=5, help="of recompute and decode")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print({"curves": curves, "recompute": recompute, "decode": decode}[args.what](args))
    print(f"\n{origin([describe_run()])}")
    return 0


def curves(args: argparse.Namespace) -> str:
    """Validation nll during training."""
    training = TrainingConfig(batch_tokens=512, learning_rate=2e-3, warmup_steps=100, precision="fp32", threads=1)
    config = Config(
        name="run",
        data=DataConfig(corpus=args.corpus, source="de", target="en"),
        tokenizer=TokenizerConfig(vocab_size=VOCAB),
        training=training,
    )
    with tempfile.TemporaryDirectory() as runs:
        prepared = prepare(None, replace(config, runs=runs), Path(runs) / "run")
        positions: Any = ("post", "pre")
        found = {position: curve(config, prepared, position, args.steps) for position in positions}
    steps = list(found["post"])
    lines = [[position, *(f"{found[position][step]:.2f}" for step in steps)] for position in found]
    return markdown(["model.norm_position", *(f"{step:,} steps" for step in steps)], lines)


def curve(config: Config, prepared: Prepared, position: Any, n_steps: int) -> dict[int, float]:
    data, found = TrainingData.load(prepared), {}
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(replace(config, model=replace(NARROW, norm_position=position)), data, Path(folder))
    for step in range(1, n_steps + 1):
        trainer.step(Window())
        if step % max(1, n_steps // 6) == 0:
            found[step] = trainer.validator.measure_loss()["nll"]
            print(f"{position}, {step:,} steps: validation nll {found[step]:.3f}", file=sys.stderr, flush=True)
    return found


def recompute(args: argparse.Namespace) -> str:
    """Seconds and memory of a training step, in turn: the speed of a shared machine drifts."""
    figures: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    for _ in range(args.rounds):
        for twice, found in figures.items():
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                found.append(pool.submit(training_step, ModelConfig(), twice).result())
    lines = []
    for twice, found in figures.items():
        seconds, mib = (min(values) for values in zip(*found, strict=True))
        lines.append([str(twice).lower(), f"{seconds:.2f}", f"{mib:,.0f}"])
    return markdown(["training.recompute", "seconds a step", "MiB above the weights"], lines)


def training_step(config: ModelConfig, twice: bool) -> tuple[float, float]:
    """The seconds of the faster of two steps of 64 pairs of 32 pieces, and the growth of peak memory in MiB."""
    torch.set_num_threads(1)
    keep_freed_memory()
    model = build_generative_model(config, VOCAB, VOCAB)
    model.recompute(twice)
    learner = Learner(model, TrainingConfig(), choose_numerics("cpu", "fp32")).train()
    ids, real = torch.randint(4, VOCAB, (64, 32)), torch.ones(64, 32, dtype=torch.bool)
    before, seconds = peak_mib(), []
    for _ in range(3):
        started = time.process_time()
        learner.model.target_states(ids, real, ids, real).sum().backward()
        seconds.append(time.process_time() - started)
    return min(seconds[1:]), peak_mib() - before


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def decode(args: argparse.Namespace) -> str:
    """Sentences a second of each depth, in turn."""
    settings = [(1, 64), (5, 64), (5, 1)]
    rounds: list[dict[Any, float]] = []
    models = {layers: random_model(*layers) for layers in LAYERS}
    for _ in range(args.rounds):
        rounds.append({(la, s): speed(model, *s) for s in settings for la, model in models.items()})
    lines = []
    for layers, model in models.items():
        speeds = [max(figures[layers, s] for figures in rounds) for s in settings]
        size = sum(p.numel() for p in model.parameters())
        lines.append(["+".join(map(str, layers)), f"{size / 1e6:.2f} million", *(f"{s:.3g}" for s in speeds)])
    heads = [f"beam {beam}, batch {batch}" for beam, batch in settings]
    return markdown(["layers", "parameters", *heads], lines)


def random_model(encoder_layers: int, decoder_layers: int) -> Any:
    torch.manual_seed(1)
    config = replace(RECIPE, encoder_layers=encoder_layers, decoder_layers=decoder_layers)
    return build_generative_model(config, VOCAB, VOCAB).eval()


def speed(model: Any, beam: int, batch: int) -> float:
    """Sentences a second: sources of 20 pieces, outputs of at most 20."""
    sources, options = torch.randint(4, VOCAB, (128, 20)), SearchConfig(beam_size=beam, max_length_ratio=0.5)
    sources = sources[: max(16, batch)]
    started = time.process_time()
    for part in sources.split(batch):
        search(model, part, torch.ones_like(part, dtype=torch.bool), options)
    return len(sources) / (time.process_time() - started)


if __name__ == "__main__":
    run_script(main)
