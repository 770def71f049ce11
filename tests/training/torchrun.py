"""Training in several processes, on a tiny corpus: started by torchrun, or forked from this one, which is cheap."""

import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from torch import Tensor

from nmt import messages
from nmt import train as train_command
from nmt.training import loop
from tests.data.corpus_files import write_corpus
from tests.forks import load_libraries

ROOT = Path(__file__).parent.parent.parent
FORK = get_context("fork")
# Key biases have a gradient of zero but for rounding, which AdamW would blow up to whole steps: no biases, and an
# epsilon above the rounding.
SETTINGS = shlex.split("""
    --tokenizer.vocab_size 60 --tokenizer.byte_fallback false --model.d_model 16 --model.n_heads 2 --model.d_ff 32
    --model.encoder_layers 1 --model.decoder_layers 1 --model.bias false --model.dropout 0.1 --model.positions rotary
    --training.epsilon 1e-5 --training.batch_tokens 60 --training.accumulate 4 --training.schedule constant
    --training.warmup_steps 0 --training.learning_rate 1e-3 --training.ema 0.9
    --training.validation_sentences 2 --training.threads 1 --training.log_every 1 --training.device cpu
    --training.precision fp32 --search.beam_size 2 --search.max_length 20 --resume
""")
NO_DROPOUT = shlex.split("--model.dropout 0 --training.denoise_steps 0 --training.accumulate 2 --training.max_steps 2")


def write_numbers(folder: Path, mark: str = ".") -> Path:
    """Write a corpus of pairs such as "eins und zwei ." / "one and two ."."""
    words = [("eins", "one"), ("zwei", "two"), ("drei", "three"), ("vier", "four"), ("fünf", "five")]
    pairs = [
        (f"{a} und {b} {mark * dots}", f"{c} and {d} {mark * dots}")
        for a, c in words
        for b, d in words
        for dots in (1, 2, 3)
    ]
    # One is beyond the first 512 positions: the process that meets it makes its table longer.
    pairs.insert(61, (("eins " * 540).strip(), ("one " * 540).strip()))
    return write_corpus(folder, train=pairs[:60], val=pairs[60:65], test=pairs[65:])


def options(corpus: Path, name: str, *more: str) -> list[str]:
    return ["--data.corpus", str(corpus), "--runs", str(corpus.parent / "runs"), "--name", name, *SETTINGS, *more]


def start(corpus: Path, name: str, *more: str, restarts: int = 0) -> subprocess.Popen[str]:
    """Let torchrun train in two processes."""
    torchrun = f"-m torch.distributed.run --nproc-per-node 2 --max-restarts {restarts} -m nmt.train".split()
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    command = [sys.executable, *torchrun, *options(corpus, name, *more)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, **output)  # type: ignore[call-overload]


def finish(process: "subprocess.Popen[str]") -> str:
    output, _ = process.communicate(timeout=240)
    return output


def train(corpus: Path, processes: int, name: str, *more: str, **other: Any) -> str:
    """`forked`, with the usual options and these."""
    return forked(options(corpus, name, *more), processes, corpus.parent / f"{name}.log", **other)


def forked(
    arguments: list[str], processes: int, log: Path, *, patch: Callable[[], object] = int, status: int = 0
) -> str:
    """Train in so many forks of this process, as if torchrun had started them (0: in one, as without torchrun). All of
    them must end with this status. Gives what they have printed; `patch`: what each of them does first."""
    log.write_text("")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def be_process(rank: int) -> None:
        if processes:
            places = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": processes, "LOCAL_WORLD_SIZE": processes}
            places |= {"MASTER_PORT": port, "TORCHELASTIC_RESTART_COUNT": 0}
            os.environ.update({variable: str(value) for variable, value in places.items()})
            os.environ.update({"MASTER_ADDR": "127.0.0.1", "TORCHELASTIC_RUN_ID": "forked"})
        messages.RANK = train_command.RANK = rank  # type: ignore[attr-defined]
        with log.open("a", buffering=1, encoding="utf8") as output:
            sys.stdout = sys.stderr = output
            patch()
            sys.exit(train_command.main(arguments))

    load_libraries()
    forks = [FORK.Process(target=be_process, args=(rank,)) for rank in range(max(1, processes))]
    for process in forks:
        process.start()
    for process in forks:
        process.join(240)
        if process.exitcode is None:
            process.kill()
    assert {process.exitcode for process in forks} == {status}, log.read_text("utf8")
    return log.read_text("utf8")


def die_after(step: int) -> None:
    """Lets this process be killed when it has taken so many steps."""
    take_step = loop.Trainer.step

    def step_or_die(trainer: loop.Trainer, *given: object) -> None:
        if trainer.progress.step == step:
            os.kill(os.getpid(), signal.SIGKILL)
        take_step(trainer, *given)  # type: ignore[arg-type]

    loop.Trainer.step = step_or_die  # type: ignore[method-assign, assignment]


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
