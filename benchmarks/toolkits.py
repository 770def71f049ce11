"""JoeyNMT and Eole train a translator for some minutes, by recipes near their own. Used by `small_corpora`; and what
trainings of Eole have in common.

Their recipes are for more time and text, so both get smaller ones: that of JoeyNMT for IWSLT14 and
that of Eole for WMT17, with the shape that nmt chooses for Multi30k, dropout 0.1, batches of 1,024 tokens, and a rate
that rises in 200 steps, then falls with the root of their number. Eole uses bf16 where the processor has it, and
JoeyNMT can't. The minutes begin with the first epoch.
"""

import argparse
import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from string import Template
from typing import Any

import yaml

from benchmarks.rows import describe_machine
from benchmarks.setup import REQUIREMENTS, python_of
from nmt.config import ModelConfig
from nmt.files import write_lines

PIECES, WIDTH, INNER, LAYERS, HEADS = 4000, 128, 256, 4, 4  # nmt's for Multi30k
BATCH_TOKENS, VALIDATED, EVERY, BEAM = 1024, 100, 100, 5
WARMUP, PEAK_RATE, DROPOUT, LABEL_SMOOTHING = 200, 2e-3, 0.1, 0.1
MODEL = ModelConfig(
    d_model=WIDTH, n_heads=HEADS, encoder_layers=LAYERS, decoder_layers=LAYERS, d_ff=INNER, dropout=DROPOUT
)
NEVER = 10**6
BEGINS = re.compile("EPOCH 1|Start training loop|Step 1/")


def run_joeynmt(corpus: Path, scratch: Path, args: argparse.Namespace) -> list[str]:
    """The translations of the test set by the checkpoint that is best by BLEU on `val`."""
    config = scratch / "joeynmt.yaml"
    config.write_text(joeynmt_config(corpus, scratch, args), encoding="utf8")
    program = [str(python_of("joeynmt")), "-m", "joeynmt"]
    train([*program, "train", str(config), "--skip-test"], scratch, args)
    test = (corpus / f"test.{args.direction.split('-')[0]}").open(encoding="utf8")
    command = [*program, "translate", str(config)]
    done = subprocess.run(
        command, stdin=test, stdout=subprocess.PIPE, encoding="utf8", check=True, env=environment(args)
    )
    return done.stdout.removesuffix("\n").split("\n")


def run_eole(corpus: Path, scratch: Path, args: argparse.Namespace) -> list[str]:
    """The translations of the test set by the last checkpoint."""
    config = scratch / "eole.yaml"
    config.write_text(json.dumps(eole_config(corpus, scratch, args)), encoding="utf8")  # JSON is YAML too
    program = str(python_of("eole").with_name("eole"))
    train([program, "train", "--config", str(config)], scratch, args)
    out, source = scratch / "out", corpus / f"test.{args.direction.split('-')[0]}"
    last = max((scratch / "model").glob("step_*"), key=lambda folder: int(folder.name.partition("_")[2]))
    options = {"--model_path": last, "--src": source, "--output": out, "--beam_size": BEAM, "--batch_size": 32}
    command = [program, "predict", *(str(part) for option in options.items() for part in option)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment(args))
    return out.read_text(encoding="utf8").removesuffix("\n").split("\n")


RUN: dict[str, Callable[[Path, Path, argparse.Namespace], list[str]]] = {"joeynmt": run_joeynmt, "eole": run_eole}


def train(command: Sequence[str], scratch: Path, args: argparse.Namespace) -> None:
    """Run a training, and end it when its minutes are over."""
    log = scratch / "log"
    with log.open("w", encoding="utf8") as written:
        process = subprocess.Popen(command, stdout=written, stderr=subprocess.STDOUT, env=environment(args))
        while not BEGINS.search(log.read_text(encoding="utf8")) and process.poll() is None:
            time.sleep(1)
        try:
            process.wait(timeout=60 * args.minutes)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        else:
            raise ValueError(f"the training ended too early: see {log}")


def environment(args: argparse.Namespace) -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": str(args.threads), "CUDA_VISIBLE_DEVICES": ""}


def learn_pieces(corpus: Path, scratch: Path, languages: Sequence[str]) -> tuple[str, str]:
    """The file of joint pieces, and that of their names."""
    from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

    model = str(scratch / "joint")
    SentencePieceTrainer.train(
        input=[str(corpus / f"train.{language}") for language in languages], model_prefix=model, vocab_size=PIECES,
        character_coverage=1.0, minloglevel=2, hard_vocab_limit=False,
    )  # fmt: skip
    pieces = SentencePieceProcessor(model_file=f"{model}.model")
    names = scratch / "names"
    write_lines(names, (pieces.id_to_piece(n) for n in range(3, len(pieces))))
    return f"{model}.model", str(names)


def validated(corpus: Path, scratch: Path, languages: Sequence[str]) -> Path:
    """The first lines of `val`, so that validation takes little of the time: the start of the names of its files."""
    for language in languages:
        lines = (corpus / f"val.{language}").read_text(encoding="utf8").split("\n")[:VALIDATED]
        write_lines(scratch / f"few.{language}", lines)
    return scratch / "few"


def joeynmt_config(corpus: Path, scratch: Path, args: argparse.Namespace) -> str:
    source, target = languages = args.direction.split("-")
    model, names = learn_pieces(corpus, scratch, languages)
    validated(corpus, scratch, languages)
    recipe = Template((REQUIREMENTS / "joeynmt.yaml").read_text(encoding="utf8"))
    files = {"corpus": corpus, "scratch": scratch, "model": model, "names": names}
    return recipe.substitute(files, source=source, target=target, seed=args.seed)


def eole_config(corpus: Path, scratch: Path, args: argparse.Namespace) -> dict[str, Any]:
    source, target = languages = args.direction.split("-")
    model, names = learn_pieces(corpus, scratch, languages)
    few, n_pairs = validated(corpus, scratch, languages), (corpus / f"train.{source}").read_bytes().count(b"\n")
    files = {
        name: {"path_src": f"{start}.{source}", "path_tgt": f"{start}.{target}"}
        for name, start in (("corpus", corpus / "train"), ("valid", few))
    }
    training = {
        "train_steps": NEVER, "valid_steps": EVERY, "save_checkpoint_steps": EVERY, "keep_checkpoint": 2,
        "bucket_size": n_pairs, "batch_size": BATCH_TOKENS, "adam_beta2": 0.998,
        "compute_dtype": "bf16" if describe_machine()["bf16"] else "fp32",
        "learning_rate": PEAK_RATE * (WIDTH * WARMUP) ** 0.5, "warmup_steps": WARMUP,
    }  # fmt: skip
    pieces = Path(names).read_text(encoding="utf8").split()
    return eole_settings(scratch, pieces, len(pieces), MODEL, training) | {
        "seed": args.seed,
        "report_every": EVERY,
        "data": files,
        "transforms": ["sentencepiece", "filtertoolong"],
        "transforms_configs": {
            "sentencepiece": {"src_subword_model": model, "tgt_subword_model": model},
            "filtertoolong": {"src_seq_length": 256, "tgt_seq_length": 256},
        },
    }


def eole_settings(
    folder: Path, pieces: Sequence[str], size: int, model: ModelConfig, training: dict[str, Any]
) -> dict[str, Any]:
    """Settings for `eole train` that don't depend on the text; writes the vocabulary into the folder. `size`: the most
    pieces that Eole takes of it."""
    write_lines(folder / "vocabulary", (f"{piece}\t1" for piece in pieces))
    recipe = Template((REQUIREMENTS / "eole.yaml").read_text(encoding="utf8"))
    settings: dict[str, Any] = yaml.safe_load(recipe.substitute(asdict(model), folder=folder, size=size))
    settings["training"] |= training
    return settings
