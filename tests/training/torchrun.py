"""Training in processes that torchrun starts, on a tiny corpus."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from safetensors.torch import load_file
from torch import Tensor

from nmt.train import main

ROOT = Path(__file__).parent.parent.parent
# Key biases have a gradient of zero but for rounding, which AdamW would blow up to whole steps: no biases, and an
# epsilon above the rounding.
SETTINGS = shlex.split("""
    --tokenizer.vocab_size 60 --tokenizer.byte_fallback false --model.d_model 16 --model.n_heads 2 --model.d_ff 32
    --model.encoder_layers 1 --model.decoder_layers 1 --model.bias false --model.dropout 0.1 --model.positions rotary
    --training.epsilon 1e-5 --training.batch_tokens 60 --training.accumulate 4 --training.schedule constant
    --training.warmup_steps 0 --training.learning_rate 1e-3 --training.word_dropout 0.1 --training.ema 0.9
    --training.validation_sentences 2 --training.threads 1 --training.log_every 1 --training.device cpu
    --training.precision fp32 --search.max_length 12 --resume
""")
NO_DROPOUT = shlex.split("--model.dropout 0 --training.word_dropout 0 --training.accumulate 2 --training.max_steps 2")


def write_corpus(folder: Path) -> Path:
    """Write a corpus of pairs such as "eins und zwei ." / "one and two ."."""
    folder.mkdir()
    words = [("eins", "one"), ("zwei", "two"), ("drei", "three"), ("vier", "four"), ("fünf", "five")]
    pairs = [
        (f"{a} und {b} {'.' * dots}", f"{c} and {d} {'.' * dots}")
        for a, c in words
        for b, d in words
        for dots in (1, 2, 3)
    ]
    # One is beyond the first 512 positions: the process that meets it makes its table longer.
    pairs.insert(61, (("eins " * 540).strip(), ("one " * 540).strip()))
    for split, part in (("train", pairs[:60]), ("val", pairs[60:65]), ("test", pairs[65:])):
        for side, language in enumerate(("de", "en")):
            (folder / f"{split}.{language}").write_text("".join(p[side] + "\n" for p in part), encoding="utf8")
    return folder


def arguments(corpus: Path, name: str, *more: str) -> list[str]:
    return ["--data.corpus", str(corpus), "--runs", str(corpus.parent / "runs"), "--name", name, *SETTINGS, *more]


def torchrun(processes: int, restarts: int = 0) -> list[str]:
    options = f"-m torch.distributed.run --nproc-per-node {processes} --max-restarts {restarts}"
    return [sys.executable, *shlex.split(options)]


def command(corpus: Path, processes: int, name: str, *more: str, restarts: int = 0) -> list[str]:
    return [*torchrun(processes, restarts), "-m", "nmt.train", *arguments(corpus, name, *more)]


def start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        stderr=subprocess.STDOUT,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def finish(process: "subprocess.Popen[str]") -> str:
    output, _ = process.communicate(timeout=240)
    return output


def train(corpus: Path, processes: int, name: str, *more: str) -> str:
    """Train, and return what was said; without torchrun in this process, which has imported PyTorch already."""
    if not processes:
        assert main(arguments(corpus, name, *more)) == 0
        return ""
    process = start(command(corpus, processes, name, *more))
    output = finish(process)
    assert process.returncode == 0, output
    return output


def saved(corpus: Path, name: str, step: int) -> dict[str, Tensor]:
    checkpoint = corpus.parent / "runs" / name / "checkpoints" / f"step-{step:08d}"
    return {
        f"{file} {key}": tensor
        for file in ("model", "ema", "optimizer")
        for key, tensor in load_file(checkpoint / f"{file}.safetensors").items()
    }


def difference(one: dict[str, Tensor], other: dict[str, Tensor]) -> float:
    assert one.keys() == other.keys()
    return max(float((one[name] - other[name]).abs().max()) for name in one)
