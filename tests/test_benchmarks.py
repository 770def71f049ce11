"""The benchmarks run, and print what they measured; what the figures are is for a quiet machine to say."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from nmt.config import ModelConfig, SearchConfig, TokenizerConfig
from nmt.data.tokenizer import encode_pairs, train_tokenizer
from nmt.decode.shortlist import learn_shortlist
from nmt.model.build import build_model
from nmt.translation.model_folder import ModelInfo, save_model

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent
NOUNS = [("Haus", "house"), ("Boot", "boat"), ("Kind", "child"), ("Tier", "animal"), ("Brot", "bread")]
PEER = "print('loading …'); print('peer bf16: 20 target tokens/s, 2.0 sentences/s')"


def write_corpus(folder: Path) -> Path:
    folder.mkdir()
    for split, sizes in (("train", range(20)), ("val", range(20, 22)), ("test", range(22, 24))):
        for side, language in enumerate(("de", "en")):
            (folder / f"{split}.{language}").write_text(
                "".join(f"{noun[side]} {size}\n" for noun in NOUNS for size in sizes), encoding="utf8"
            )
    return folder


def run(benchmark: str, folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """Run a benchmark, which writes rows.json into the folder."""
    command = [sys.executable, f"benchmarks/{benchmark}.py", *options, "--json", str(folder / "rows.json")]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_train_speed_sets_nmt_beside_a_peer(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    peer = f'{sys.executable} -c "{PEER}"'
    settings = shlex.split("--steps 2 --warmup 1 --batch-tokens 64 --threads 1 --rounds 2 --dtype fp32")
    result = run("train_speed", tmp_path, "--corpus", str(corpus), *settings, "--peer", peer)
    assert result.returncode == 0, result.stderr
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [row["system"] for row in rows] == ["nmt", "peer"] * 2, "in turn"
    ours, peer = rows[:2]
    assert (peer["dtype"], peer["target_tokens_per_second"], peer["peak_share"]) == ("bf16", 20, None)
    assert 0 < ours["peak_share"] < 1
    assert 0 <= ours["data_share"] < 1
    assert ours["peak_memory_mib"] > peer["peak_memory_mib"] > 1
    assert ours["target_tokens_per_second"] > ours["sentences_per_second"] > 0
    assert " to " in result.stdout, "the ratio's range"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--rounds", "0"], "--rounds is 0: it must be at least 1"),
        (["--corpus", "/nowhere"], "'/nowhere': there is no such folder or file"),
        (["--batch-tokens", "2", "--model", "base"], "more than training.batch_tokens, 2"),
    ],
)
def test_train_speed_tells_a_mistake(tmp_path: Path, options: list[str], told: str) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    result = run("train_speed", tmp_path, "--corpus", str(corpus), "--dtype", "fp32", *options)
    assert result.returncode != 0
    assert told in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    tokenizer = train_tokenizer(NOUNS, TokenizerConfig(vocab_size=290), tmp_path / "tokenizer", "de", "en")
    config = ModelConfig(d_model=16, n_heads=2, encoder_layers=1, decoder_layers=1, d_ff=32)
    torch.manual_seed(1)
    random = build_model(config, tokenizer.src_vocab_size, tokenizer.tgt_vocab_size)
    info = ModelInfo("de", "en", "nouns", config, SearchConfig())
    shortlist = learn_shortlist(encode_pairs(tokenizer, NOUNS), tokenizer.src_vocab_size, tokenizer.tgt_vocab_size)
    save_model(tmp_path / "model", dict(random.named_parameters()), tokenizer, info, "A test.\n", shortlist)
    return tmp_path / "model"


def test_decode_speed_sets_nmt_beside_a_peer(model: Path, corpus: Path, tmp_path: Path) -> None:
    peer = tmp_path / "python"
    peer.write_text("""#!/bin/sh\necho '{"sentences_per_second": 2.0, "tokens_per_second": 20.0, "bleu": 1.5}'\n""")
    peer.chmod(0o755)
    settings = shlex.split("--dtype fp32 --dtype int8:9 --setting 2x4 --threads 1 --repeats 1 --rounds 2")
    folders = ["--model", str(model), "--corpus", str(corpus)]
    result = run(
        "decode_speed", tmp_path, *folders, *settings, "--peer", "ctranslate2-int8", "--peer-python", str(peer)
    )
    assert result.returncode == 0, result.stderr
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [(row["system"], row["dtype"]) for row in rows] == [
        ("nmt", "fp32"),
        ("nmt", "int8:9"),
        ("ctranslate2", "int8"),
    ] * 2, "in turn"
    assert all((row["beam"], row["batch"]) == (2, 4) and row["sentences_per_second"] > 0 for row in rows)
    assert rows[2]["tokens_per_second"] == 20
    assert "fp32" in result.stdout


def test_hard_input_is_translated_without_the_guard_and_with_it(model: Path, corpus: Path, tmp_path: Path) -> None:
    kinds = ["--kind", "ALL CAPITALS", "--kind", "stray bytes"]
    result = run("hard_input", tmp_path, "--model", str(model), "--corpus", str(corpus), "--lines", "2", *kinds)
    assert result.returncode == 0, result.stderr
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [(row["kind"], len(row["answers"])) for row in rows] == [("ALL CAPITALS", 2), ("stray bytes", 2)]
    assert all(answer["line"].isupper() for answer in rows[0]["answers"])
    assert any(answer["plain_flags"] for row in rows for answer in row["answers"])
