"""Runs of several processes, started by torchrun: they learn what one process learns. After a fault of one of them,
training goes on or ends with a message, and no process is left hanging."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from safetensors.torch import load_file
from torch import Tensor

from nmt.train import main
from nmt.training.loop import Trainer
from nmt.training.monitor import Window
from nmt.upgrade import FORMAT

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
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
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},  # of scripts too
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


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("distributed") / "numbers")


def test_the_number_of_processes_changes_nothing_that_is_learned(corpus: Path) -> None:
    """Dropout, hidden pieces and the moving average included; also where a run goes on with another number of them."""
    often = ["--training.validate_every", "2", "--training.keep_checkpoints", "5"]
    train(corpus, 0, "one", *often, "--training.max_steps", "6")
    output = train(corpus, 4, "many", *often, "--training.max_steps", "4")
    assert output.count("minutes: validation") == 2, "the first process alone speaks"
    assert 0 < difference(saved(corpus, "one", 4), saved(corpus, "many", 4)) < 1e-5

    runs = corpus.parent / "runs"
    (runs / "many" / "report.json").unlink()
    (runs / "many" / "model").rename(runs / "many" / "model-of-step-4")
    output = train(corpus, 2, "many", *often, "--training.max_steps", "6")
    assert "Resuming after step 4" in output
    assert difference(saved(corpus, "one", 6), saved(corpus, "many", 6)) < 1e-5
    one_text, many_text = ((runs / name / "translations" / "test.en").read_text() for name in ("one", "many"))
    assert one_text == many_text


def test_processes_see_the_same_pairs_of_mixed_corpora(corpus: Path, tmp_path: Path) -> None:
    """Of two corpora with weights, pairs with weights, and a stage that begins within an epoch: each process must plan
    the same batches, of which it takes its own."""
    more, main = write_corpus(tmp_path / "more"), write_corpus(tmp_path / "mixed")
    for folder in (more, main):
        (folder / "train.quality").write_text("".join(f"{1 + n % 3 / 2}\n" for n in range(60)))
    steps = ["--data.weights", "quality", "--training.max_steps", "4", "--training.validate_every", "4"]
    steps += ["--data.more", f"[{{corpus: {more}, weight: 0.5, weights: quality}}]", "--data.max_pieces", "600"]
    steps += ["--training.stages", "[{step: 2, weights: {more: 2}}]"]
    train(main, 0, "mixed", *steps)
    train(main, 2, "mixed in two", *steps)
    assert difference(saved(main, "mixed", 4), saved(main, "mixed in two", 4)) < 1e-5


def test_processes_skip_layers_as_one_does_and_compute_them_twice(corpus: Path) -> None:
    """Some layers are skipped in every batch of a step, others in the batches of one process only."""
    deep = ["--training.max_steps", "6", "--training.validate_every", "6", "--training.recompute", "true"]
    deep += ["--model.layer_drop", "0.6", "--model.encoder_layers", "3", "--model.decoder_layers", "2"]
    train(corpus, 0, "skipping", *deep, "--training.recompute", "false")
    train(corpus, 2, "skipping-together", *deep)
    assert difference(saved(corpus, "skipping", 6), saved(corpus, "skipping-together", 6)) < 1e-5


@pytest.mark.parametrize("balance", ["loss", "bias"])
def test_the_number_of_processes_changes_no_expert(corpus: Path, balance: str) -> None:
    experts = shlex.split(f"--model.experts 4 --model.shared_experts 1 --model.expert_balance {balance}")
    more = [*experts, *shlex.split("--training.balance_rate 0.01 --training.max_steps 3")]
    train(corpus, 0, f"{balance} in one", *more)
    one = saved(corpus, f"{balance} in one", 3)
    biases = [tensor for name, tensor in one.items() if name.startswith("model") and "choice_bias" in name]
    assert len(biases) == (2 if balance == "bias" else 0)
    assert all(tensor.abs().sum() > 0 for tensor in biases)
    train(corpus, 2, f"{balance} in two", *more)
    assert difference(one, saved(corpus, f"{balance} in two", 3)) < 1e-5


KINDS = {
    "decoder-only": "--model.family decoder-only",
    "lm": "--model.family decoder-only --training.objective lm",
    "mlm": "--model.family encoder-only --training.objective mlm",
    "pair": "--model.family encoder-only --training.objective pair",
    "denoise": "--training.objective denoise",
}


# Runs each of several command lines. In torchrun's store, each has names of its own, as after a restart.
EACH = """
import json, os, sys
from nmt.train import main
for n, arguments in enumerate(json.loads(sys.argv[1])):
    os.environ["TORCHELASTIC_RESTART_COUNT"] = str(n)
    assert main(arguments) == 0
"""


@pytest.fixture(scope="module")
def runs(corpus: Path) -> Path:
    """The folder of runs "KIND in one", "KIND in two" (processes), and killed/"KIND in one", which goes on from what
    was on the disk after step 3 of the first one. With validation, a moving average, and an average of checkpoints."""
    runs, take_step = corpus.parent / "runs", Trainer.step

    def step_and_copy(trainer: Trainer, window: Window) -> None:
        take_step(trainer, window)
        if trainer.progress.step == 3:
            trainer.writer.finish()
            shutil.copytree(trainer.folder, runs / "killed" / trainer.folder.name)

    in_two = []
    for kind, settings in KINDS.items():
        more = shlex.split(f"{settings} --training.validate_every 2 --training.max_steps 6 --training.average 2")
        one, two = (arguments(corpus, f"{kind} in {number}", *more) for number in ("one", "two"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Trainer, "step", step_and_copy)
            assert main(one) == 0
        assert main([*one, "--runs", str(runs / "killed")]) == 0
        in_two.append(two)
    script = corpus.parent / "each.py"
    script.write_text(EACH)
    process = start([*torchrun(2), str(script), json.dumps(in_two)])
    output = finish(process)
    assert process.returncode == 0, output
    return runs


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_training_goes_on_after_a_kill_and_learns_the_same_in_two_processes(
    corpus: Path, runs: Path, kind: str
) -> None:
    one = saved(corpus, f"{kind} in one", 6)
    assert difference(one, saved(corpus, f"killed/{kind} in one", 6)) == 0
    assert difference(one, saved(corpus, f"{kind} in two", 6)) < 1e-5
    config = json.loads((runs / f"{kind} in two" / "model" / "config.json").read_text())
    objective = "translation" if kind == "decoder-only" else kind
    assert (config["format"], config["objective"]) == (FORMAT, objective)


def workers(torchrun: int) -> Iterator[int]:
    """The processes that torchrun started."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rsplit(") ", 1)[1].split()[1])
        except OSError:  # it has ended meanwhile
            continue
        if parent == torchrun:
            yield int(status.parent.name)


def kill_one_at(process: "subprocess.Popen[str]", beginning: str) -> None:
    """Kill the last of torchrun's processes when a line of the output begins so."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(beginning):
            os.kill(max(workers(process.pid)), signal.SIGKILL)
            return
    pytest.fail(f"no line began with {beginning!r}")


def test_a_process_that_dies_ends_the_job_and_a_restart_goes_on(corpus: Path) -> None:
    settings = ["--training.max_steps", "60", "--training.validate_every", "10"]
    forever = ["--training.max_steps", "1000000", "--training.validate_every", "1000000"]
    process = start(command(corpus, 2, "dead", *forever))
    kill_one_at(process, "step 5:")
    output = finish(process)  # long before a process gives up waiting for the dead one
    assert process.returncode != 0
    assert "SIGKILL" in output, "torchrun says what became of it"
    assert str(ROOT / "nmt") not in output, "and the other gives no traceback"

    process = start(command(corpus, 2, "restarted", *settings, restarts=1))
    kill_one_at(process, "step 25:")
    output = finish(process)
    assert process.returncode == 0, output
    assert "Resuming after step 20." in output
    train(corpus, 2, "whole", *settings)
    assert difference(saved(corpus, "restarted", 60), saved(corpus, "whole", 60)) == 0, "bit for bit"


def test_a_stop_by_the_system_is_orderly_in_all_processes(corpus: Path) -> None:
    process = start(command(corpus, 2, "stopped", "--training.max_steps", "1000000"))
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("step 5:"):
            break
    process.terminate()
    output = finish(process)
    assert output.count("all is saved") == 1
    assert str(ROOT / "nmt") not in output, "no traceback"
    assert list((corpus.parent / "runs" / "stopped" / "checkpoints").glob("step-????????"))


def test_a_step_needs_a_batch_for_each_process(corpus: Path) -> None:
    process = start(command(corpus, 2, "few", "--training.accumulate", "1"))
    assert "2 processes need at least 2 batches a step" in finish(process)
    assert process.returncode != 0


def start_patched(corpus: Path, name: str, patch: str, *more: str) -> "subprocess.Popen[str]":
    """The training command in two processes, each of which runs the Python code `patch` first."""
    script = corpus.parent / f"{name}.py"
    script.write_text(f"{patch}\nimport sys\nfrom nmt.train import main\nsys.exit(main(sys.argv[1:]))\n")
    return start([*torchrun(2), str(script), *arguments(corpus, name, *NO_DROPOUT, *more)])


# `auto` is this corpus for rank 0, and an error for the other.
AUTO = """
import os, sys
from dataclasses import replace
from nmt.data import corpora, resolve
from nmt.data.store import preparing
load_corpus = corpora.load_corpus
def decide(data):
    if os.environ["RANK"] != "0":
        sys.exit("another rank loads the corpus")
    return load_corpus(replace(data, corpus=CORPUS))
preparing.load_corpus = resolve.load_corpus = decide
"""


def test_rank_0_alone_loads_the_corpus_and_decides_what_auto_is(corpus: Path) -> None:
    patch = AUTO.replace("CORPUS", repr(str(corpus)))
    process = start_patched(corpus, "decided", patch, "--data.corpus", "auto", "--name", "")
    output = finish(process)
    assert process.returncode == 0, output
    report = json.loads((corpus.parent / "runs" / "de-en-numbers" / "report.json").read_text())
    assert report["settings"]["data"]["corpus"] == report["corpus"] == "numbers"
    assert "2 processes" in output


# The loss of one process's first batch goes wrong.
SABOTAGED = """
import os, torch
from nmt.training.loss import Learner, Loss
forward, calls = Learner.forward, []
def sabotaged(self, batch):
    if self.training and os.environ["RANK"] == RANK and not calls:
        calls.append(batch)
        ACTION
    return forward(self, batch)
Learner.forward = sabotaged
"""
OUT_OF_MEMORY = 'raise torch.OutOfMemoryError("CUDA out of memory")'
NOT_A_NUMBER = "return Loss(forward(self, batch).smoothed * float('nan'), torch.zeros(()), torch.zeros(()))"


def sabotage(corpus: Path, rank: int, action: str, name: str, *more: str) -> "subprocess.Popen[str]":
    return start_patched(corpus, name, SABOTAGED.replace("== RANK", f"== '{rank}'").replace("ACTION", action), *more)


def test_a_process_without_memory_for_its_batch_halves_it_while_the_others_wait(corpus: Path) -> None:
    train(corpus, 0, "roomy", *NO_DROPOUT)
    process = sabotage(corpus, 0, OUT_OF_MEMORY, "tight")
    output = finish(process)
    assert process.returncode == 0, output
    assert difference(saved(corpus, "roomy", 2), saved(corpus, "tight", 2)) < 1e-5


def test_the_batch_to_blame_is_named_whichever_process_had_it(corpus: Path) -> None:
    process = sabotage(corpus, 1, NOT_A_NUMBER, "blamed")
    output = finish(process)
    assert process.returncode != 0
    assert "nmt.train: the loss is not finite at step 1, of batch 2 of epoch 1 (pairs " in output
    assert str(ROOT / "nmt") not in output, "no traceback"


def test_all_processes_skip_the_same_batches(corpus: Path) -> None:
    process = sabotage(corpus, 1, NOT_A_NUMBER, "skipped", "--training.skip_nonfinite", "1")
    output = finish(process)
    assert process.returncode == 0, output
    assert output.count("of batch 2 of epoch 1 (pairs ") == output.count("These batches are skipped.") == 1
    assert saved(corpus, "skipped", 2)
