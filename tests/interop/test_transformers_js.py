"""transformers.js: the folder has what it reads and, where npm is, Node writes the translations of nmt."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from nmt.config import ModelConfig, TokenizerConfig
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.decode.beam import search
from nmt.decode.pytorch import pad
from nmt.interop import onnx
from nmt.interop import transformers_js as form
from nmt.interop.export import Export
from nmt.interop.parity import GREEDY
from nmt.text.normalise import tidy
from nmt.translation.model_folder import ModelInfo
from tests.interop.foreign import noise
from tests.tiny import PAIRS, SHORT, TINY, make_model

PACKAGE = "@huggingface/transformers"
START = 30  # characters of a translation that are compared


def info_of(config: ModelConfig) -> ModelInfo:
    return ModelInfo("de", "en", "three pairs", config, SHORT)


def make_export(tokenizer: Tokenizer, config: ModelConfig) -> Export:
    return Export(noise(make_model(tokenizer, config=config), 0.2), tokenizer, info_of(config), "float32")


def test_settings_are_those_of_keys_and_values(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx, "write", lambda export, folder: (folder / onnx.ENCODER).touch())
    config = replace(TINY, n_kv_heads=1)
    form.write(make_export(tokenizer, config), tmp_path)
    names = ("config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json")
    assert {path.name for path in tmp_path.iterdir()} == {*names, form.GRAPHS}
    read, generation = (json.loads((tmp_path / name).read_text(encoding="utf8")) for name in names[:2])
    assert (read["decoder_attention_heads"], read["d_model"]) == (1, config.d_head)
    assert read["decoder_start_token_id"] == 1
    assert generation["bad_words_ids"] == [[0], [1], [3]]


def test_what_cannot_be_expressed_is_named(tokenizer: Tokenizer, tmp_path: Path) -> None:
    assert form.obstacles(info_of(TINY), tokenizer) == []
    separate = TokenizerConfig(vocab_size=330, joint=False)
    other = train_tokenizer(PAIRS * 5, separate, tmp_path / "tokenizer", "de", "en")
    config = replace(TINY, family="decoder-only")
    assert form.obstacles(info_of(config), other) == ["model.family decoder-only", "tokenizer.joint false"]


@pytest.mark.services
def test_node_writes_the_same(tokenizer: Tokenizer, tmp_path: Path) -> None:
    for name in ("onnx", "onnxruntime", "onnxscript"):
        pytest.importorskip(name)
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("needs node and npm")
    install = ["npm", "install", "--ignore-scripts", PACKAGE]
    if subprocess.run(install, cwd=tmp_path, capture_output=True, timeout=300).returncode:
        pytest.skip(f"npm can't install {PACKAGE}")
    task = make_export(tokenizer, replace(TINY, norm_position="pre", n_kv_heads=1))
    (tmp_path / "exported").mkdir()
    form.write(task, tmp_path / "exported")
    (tmp_path / "translate.mjs").write_text(form.USAGE, encoding="utf8")
    lines = [source for source, _ in PAIRS]
    ids = tokenizer.encode_source([tidy(line)[0] for line in lines])
    expected = search(task.model, *pad(ids, torch.device("cpu")), GREEDY)  # type: ignore[arg-type]
    texts = tokenizer.decode_target([best.ids for best, *_ in expected])
    for line, text in zip(lines, texts, strict=True):
        program = ["node", "translate.mjs"]
        run = subprocess.run(program, cwd=tmp_path, input=line, capture_output=True, text=True, check=True)
        # A random model writes bytes that are no text, and doesn't end: both sides stop at lengths of their own.
        assert run.stdout.strip()[:START] == text.strip()[:START]
