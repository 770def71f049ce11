"""Folders are whole or absent, and what was altered or is missing is refused by name."""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from nmt.config import ModelConfig, SearchConfig, TokenizerConfig
from nmt.data.tokenizer import train_tokenizer
from nmt.files import check_sums, sha256, whole_folder
from nmt.model.encoder_decoder import Transformer
from nmt.model.weights import read_tensors, write_tensors
from nmt.translation.model_folder import ModelInfo, load_model, save_model


def test_a_folder_with_an_altered_or_missing_file_is_refused(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "whole") as draft:
        (draft / "weights").write_bytes(b"weights")
        (draft / "card").write_bytes(b"card")
    check_sums(tmp_path / "whole")
    file = tmp_path / "whole" / "weights"
    file.write_bytes(b"weighty")
    with pytest.raises(ValueError, match="weights is damaged or was altered"):
        check_sums(tmp_path / "whole")
    file.unlink()
    with pytest.raises(ValueError, match="weights is missing"):
        check_sums(tmp_path / "whole")


def test_another_folder_is_no_model_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a model folder"):
        load_model(tmp_path)


def test_a_draft_that_fails_changes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "whole"

    def fill(content: str) -> None:
        with whole_folder(target) as draft:
            (draft / "file").write_text(content)
            if content == "bad":
                raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fill("bad")
    assert list(tmp_path.iterdir()) == []
    for content in ("first", "second"):
        fill(content)
        assert (target / "file").read_text() == content
    with pytest.raises(OSError, match="full"):
        fill("bad")
    assert (target / "file").read_text() == "second"
    assert list(tmp_path.iterdir()) == [target]
    check_sums(target)


def test_a_folder_is_there_after_a_crash_at_any_moment(tmp_path: Path) -> None:
    """The process ends, without a word, before each system call that changes the disk; a next attempt may fail too."""
    code = (
        "import os, sys; from pathlib import Path; import nmt.files as f\n"
        "calls = [int(sys.argv[2])]\n"
        "def dying(call):\n"
        "    def die(*a, **k):\n"
        "        calls[0] -= 1\n"
        "        if not calls[0]: os._exit(9)\n"
        "        return call(*a, **k)\n"
        "    return die\n"
        "for name in ('replace', 'write_text', 'mkdir'): setattr(Path, name, dying(getattr(Path, name)))\n"
        "f.shutil.rmtree, f.flush_to_disk = dying(f.shutil.rmtree), dying(f.flush_to_disk)\n"
        "with f.whole_folder(Path(sys.argv[1])) as draft: (draft / 'file').write_text('new')\n"
    )
    for crash in range(1, 100):
        target = tmp_path / str(crash) / "whole"
        with whole_folder(target) as draft:
            (draft / "file").write_text("old")
        ended = subprocess.run([sys.executable, "-c", code, str(target), str(crash)], check=False).returncode
        with pytest.raises(OSError, match="full"), whole_folder(target):
            raise OSError("full")
        check_sums(target, "file")
        assert (target / "file").read_text() in (("new",) if ended == 0 else ("old", "new"))
        if ended == 0:
            break
    assert 8 < crash < 99


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    pairs = [("Der kleine Hund läuft.", "The little dog runs.")] * 5
    tokenizer = train_tokenizer(pairs, TokenizerConfig(vocab_size=290), tmp_path / "tokenizer", "de", "en")
    config = ModelConfig(d_model=16, n_heads=2, encoder_layers=1, decoder_layers=1, d_ff=32)
    model = Transformer(config, tokenizer.src_vocab_size, tokenizer.tgt_vocab_size)
    save_model(
        tmp_path / "model",
        dict(model.named_parameters()),
        tokenizer,
        ModelInfo("de", "en", "x", config, SearchConfig()),
        "",
    )
    return tmp_path / "model"


def with_sums(folder: Path) -> Path:
    """The folder with the hashes of what is in it now."""
    names = [line.split("  ")[1] for line in (folder / "SHA256SUMS").read_text().splitlines()]
    (folder / "SHA256SUMS").write_text("".join(f"{sha256(folder / name)}  {name}\n" for name in names))
    return folder


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        ("model", "positions", "x"),
        ("model", "d_model", "16"),
        ("model", "n_heads", True),
        ("model", "tied", 1),
        ("decoding", "batch_size", 1.5),
        ("decoding", "guard", "no"),
        ("decoding", "mbr", "x"),
        ("decoding", "beam_size", 0),
        ("", "tgt_vocab_size", 10**13),
        ("", "src_vocab_size", "290"),
        ("", "source", 5),
        ("", "model", None),
    ],
)
def test_settings_that_can_t_be_are_named(model_folder: Path, section: str, name: str, value: Any) -> None:
    assert load_model(with_sums(model_folder))
    config = json.loads((model_folder / "config.json").read_text())
    (config[section] if section else config)[name] = value
    (model_folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"config.json is not one that nmt") as error:
        load_model(with_sums(model_folder))
    assert (name if value is not None else "None stands where") in str(error.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'"model"', b"[" * 100_000])
def test_settings_that_are_no_json_are_refused_with_their_file(model_folder: Path, content: bytes) -> None:
    (model_folder / "config.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"config.json is not one that nmt"):
        load_model(with_sums(model_folder))


@pytest.mark.parametrize("damage", [lambda w: w * math.nan, lambda w: w * math.inf, lambda w: w.int()])
def test_weights_that_are_no_numbers_are_refused(model_folder: Path, damage: Callable[[Tensor], Tensor]) -> None:
    weights = read_tensors(model_folder / "model.safetensors")
    name = min(weights)
    write_tensors(model_folder / "model.safetensors", weights | {name: damage(weights[name])})
    with pytest.raises(ValueError, match="the weights in"):
        load_model(with_sums(model_folder))


def test_hashes_must_be_there(model_folder: Path) -> None:
    for content in (b"", b"\xff"):
        (model_folder / "SHA256SUMS").write_bytes(content)
        with pytest.raises(ValueError, match=r"SHA256SUMS is damaged: it doesn't list config"):
            load_model(model_folder)
