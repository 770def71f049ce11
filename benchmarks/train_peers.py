"""A peer trains a model of the reference's size on the text that `train_speed.py` prepared. Started by that script.

    PYTHON -m benchmarks.train_peers transformers --run FOLDER --dtype fp32 --steps 20 --warmup 6 --batch-tokens 4096

Runs in the peer's own environment (see `setup.py`). transformers: a MarianMTModel in a plain PyTorch loop, on the very
batches that nmt trains on. Eole: `eole train` on the same text and pieces, in batches of its own with the same budget;
the figures are those of its log.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.setup import REFERENCE
from benchmarks.toolkits import eole_settings
from nmt.config import ModelConfig
from nmt.data.store.prepared import Prepared
from nmt.data.tokenizer import Tokenizer, encode_pairs
from nmt.vocabulary import SPECIAL_PIECES

SEED = 1
# The base model of the paper (Vaswani et al. 2017, table 3), pre-norm.
BASE = ModelConfig(
    d_model=512, n_heads=8, encoder_layers=6, decoder_layers=6, d_ff=2048, dropout=0.1, norm_position="pre"
)
SIZES = ("reference", "base")
# Of `eole train`, which reports each step: its sentences, target tokens, and target tokens a second.
STEP = re.compile(r"Step +(\d+)/.*sents: +(\d+); bsz: +\d+/ *(\d+)/.*?/ *(\d+) tok/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--run", type=Path, required=True, help="folder of a prepared run")
    parser.add_argument("--dtype", choices=["fp32", "bf16"], required=True)
    for name in ("--steps", "--warmup", "--batch-tokens"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--model", choices=SIZES, default="reference")
    args = parser.parse_args()
    about = {"system": args.peer, "dtype": args.dtype, "version": version(args.peer)}
    print(json.dumps(about | speeds_of(*PEERS[args.peer](args))))


def speeds_of(sentences: float, tokens: float, seconds: float) -> dict[str, float]:
    return {"sentences_per_second": sentences / seconds, "target_tokens_per_second": tokens / seconds}


def model_of(size: str) -> ModelConfig:
    """The settings of a model. Without nmt.commands.options, which needs packages that a peer's environment lacks."""
    import yaml

    if size == "base":
        return BASE
    settings = yaml.safe_load(REFERENCE.read_text(encoding="utf8"))
    return ModelConfig(**settings["model"])


def clock_for(threads: int) -> Callable[[], float]:
    """Seconds of this process. With one thread, those that a processor worked for it: so other programs on the machine
    matter little."""
    return time.process_time if threads == 1 else time.perf_counter


def read_text(run: Path) -> tuple[list[str], list[str]]:
    """Source and target lines of the training text."""
    source, target = zip(*Prepared.load(run).train, strict=True)
    return list(source), list(target)


def transformers(args: argparse.Namespace) -> tuple[float, float, float]:
    """Sentences, target tokens and seconds of the timed steps."""
    import torch

    from benchmarks.marian import new_marian, update
    from nmt.data.batches import make_batch, plan_batches

    torch.manual_seed(SEED)
    if args.threads:
        torch.set_num_threads(args.threads)
    tokenizer = Tokenizer.load(args.run / "tokenizer")
    pairs = encode_pairs(tokenizer, list(zip(*read_text(args.run), strict=True)))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("high")  # TF32, as nmt's; without effect on a CPU
    model = new_marian(model_of(args.model), tokenizer.tgt_vocab_size).train().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    plan = plan_batches(pairs.lengths, args.batch_tokens, SEED, epoch=0)
    clock = clock_for(args.threads)
    sentences, tokens, started = 0, 0, clock()
    for step in range(args.warmup + args.steps):
        if step == args.warmup:
            sentences, tokens, started = 0, 0, clock()
        batch = make_batch(pairs, plan[step % len(plan)])
        loss = update(model, optimizer, batch, args.dtype)
        sentences, tokens = sentences + len(batch.src_BS), tokens + batch.target_tokens
    float(loss)  # which waits for a GPU
    return sentences, tokens, clock() - started


def eole(args: argparse.Namespace) -> tuple[float, float, float]:
    """Sentences, target tokens and seconds of the timed steps."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "eole.yaml")
        config.write_text(json.dumps(eole_config(args, Path(folder))), encoding="utf8")  # JSON is YAML too
        environment = os.environ | ({"OMP_NUM_THREADS": str(args.threads)} if args.threads else {})
        command = [str(Path(sys.executable).with_name("eole")), "train", "--config", str(config)]
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(command, env=environment, text=True, check=False, **output)  # type: ignore[call-overload]
    steps = [tuple(map(int, found)) for found in STEP.findall(done.stdout)]
    timed = [figures for step, *figures in steps if step > args.warmup]
    if done.returncode or len(timed) != args.steps:
        sys.exit(
            f"{done.stdout[-2000:]}\ntrain_peers: eole ended with status {done.returncode}, {len(timed)} steps timed"
        )
    return sum(n for n, _, _ in timed), sum(n for _, n, _ in timed), sum(n / speed for _, n, speed in timed)


def eole_config(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Settings for `eole train`; writes the text as pieces, and the vocabulary, into the folder."""
    tokenizer, steps = Tokenizer.load(args.run / "tokenizer"), args.warmup + args.steps
    for side, lines in zip(("src", "tgt"), read_text(args.run), strict=True):
        pieces = (" ".join(tokenizer.source_pieces(ids)) for ids in tokenizer.encode_source(lines))
        (folder / f"train.{side}").write_text("".join(f"{line}\n" for line in pieces), encoding="utf8")
    training = {
        "train_steps": steps, "valid_steps": steps + 1, "save_checkpoint_steps": steps + 1,
        "bucket_size": 100_000,  # more than Multi30k has: batches of similar lengths from the whole text, as nmt's are
        "batch_size": args.batch_tokens, "compute_dtype": args.dtype, "learning_rate": 1, "warmup_steps": 1000,
    }  # fmt: skip
    pieces_V = tokenizer.source_pieces(range(len(SPECIAL_PIECES), tokenizer.src_vocab_size))
    text = {"path_src": str(folder / "train.src"), "path_tgt": str(folder / "train.tgt")}
    about = {"seed": SEED, "report_every": 1, "data": {"corpus": text, "valid": text}}
    return eole_settings(folder, pieces_V, tokenizer.src_vocab_size, model_of(args.model), training) | about


PEERS = {"transformers": transformers, "eole": eole}

if __name__ == "__main__":
    main()
