"""A run that trains an adapter: it resumes exactly, and its adapter on the base is the model that it delivers."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from nmt import Translator
from nmt.config import Config, LoraConfig, ModelConfig, TokenizerConfig
from nmt.data.tokenizer import Tokenizer
from nmt.training.checkpoint import choose_weights
from nmt.training.data import TrainingData
from nmt.training.delivery import write_model
from nmt.training.distributed import Processes
from nmt.training.loop import Trainer, make_trainer
from nmt.training.run import Run
from nmt.translation.model_folder import load_model
from tests.tiny import make_model, make_tokenizer, save_tiny
from tests.training.reversal import SHORT, TINY, ScriptedValidator, require_same_end, run

LORA = LoraConfig(rank=2, alpha=8)


@pytest.fixture(scope="module")
def base(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base") / "model"
    return save_tiny(folder, make_model(tokenizer, 1, TINY), tokenizer)


def settings(base: Path, model: ModelConfig = TINY, lora: LoraConfig = LORA, **changes: Any) -> Config:
    return Config(name="x", model=model, lora=lora, training=replace(SHORT, start_from=str(base), **changes))


def deliver(trainer: Trainer, config: Config, folder: Path) -> None:
    """Write the model folder."""
    _, weights = choose_weights(trainer.checkpoints, trainer.progress, trainer.model, trainer.processes)
    write_model(folder / "model", weights, trainer.data, config, "words", torch.device("cpu"))


@pytest.mark.parametrize("changes", [{}, {"ema": 0.9}, {"optimizer": "muon", "recompute": True}])
def test_a_stop_changes_no_bit(data: TrainingData, base: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    config = settings(base, **changes)
    whole, _ = require_same_end(lambda folder: make_trainer(config, data, folder), tmp_path, 7)
    start = dict(load_model(base)[0].named_parameters())
    for name, a in whole.model.named_parameters():
        plain = name.replace(".parametrizations.weight.original", ".weight")
        assert a.requires_grad == (plain not in start)
        assert plain not in start or torch.equal(a, start[plain]), name


def test_the_adapter_on_the_base_is_the_delivered_model(data: TrainingData, base: Path, tmp_path: Path) -> None:
    config = settings(base, learning_rate=0.05)
    trainer = make_trainer(config, data, tmp_path)
    trainer.validator = ScriptedValidator(trainer.validator, [1.0, 2.0, 3.0, 4.0])
    deliver(run(trainer), config, tmp_path)
    merged, _, info = load_model(tmp_path / "model")
    translator = Translator.load(base, "cpu", precision="fp32", adapter=tmp_path)
    for name, parameter in translator.model.named_parameters():
        assert torch.equal(parameter, merged.get_parameter(name)), name
    start = load_model(base)[0]
    assert any(not torch.equal(p, start.get_parameter(n)) for n, p in merged.named_parameters())
    assert info.model == TINY
    with pytest.raises(ValueError, match="was trained on another model"):
        Translator.load(tmp_path / "model", "cpu", adapter=tmp_path)
    with pytest.raises(ValueError, match="is not an adapter folder"):
        Translator.load(base, "cpu", adapter=base)
    with pytest.raises(ValueError, match="CTranslate2 adds no adapter"):
        Translator.load(base, "cpu", adapter=tmp_path, backend="ctranslate2")
    with pytest.raises(ValueError, match="2 models are given"):
        Translator.load([base, base], "cpu", adapter=tmp_path)
    size = (tmp_path / "adapter" / "adapter_model.safetensors").stat().st_size
    assert size < (tmp_path / "model" / "model.safetensors").stat().st_size
    shutil.copytree(tmp_path / "adapter", tmp_path / "damaged")
    file, sums = (tmp_path / "damaged" / name for name in ("adapter_model.safetensors", "SHA256SUMS"))
    file.write_bytes(file.read_bytes()[:-4] + b"abcd")
    with pytest.raises(ValueError, match="damaged or was altered"):
        Translator.load(base, "cpu", adapter=tmp_path / "damaged")
    sums.unlink()
    n = TINY.d_model
    for size_a, size_b in (([], [n, 2]), ([0, n], [n, 0]), ([2, n], [n, 2])):
        factors = {"A": torch.full(size_a, torch.nan), "B": torch.zeros(size_b)}
        name = "base_model.model.decoder.0.self_attention.out.lora_{}.weight"
        save_file({name.format(letter): factor for letter, factor in factors.items()}, file)
        with pytest.raises(ValueError, match=r"is damaged: its decoder\.0\.self_attention\.out doesn't fit"):
            Translator.load(base, "cpu", adapter=tmp_path / "damaged")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("peft_type", "IA3"),
        ("use_dora", True),
        ("r", 0),
        ("lora_alpha", 1e400),
        ("alpha_pattern", {"decoder.0.self_attention.out": [1]}),
        ("alpha_pattern", {"(.*)*(.*)*x": 1}),
    ],
)
def test_odd_peft_adapters_are_refused(data: TrainingData, base: Path, tmp_path: Path, key: str, value: object) -> None:
    config = settings(base, max_steps=0)
    deliver(make_trainer(config, data, tmp_path), config, tmp_path)
    file = tmp_path / "adapter" / "adapter_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))
    (tmp_path / "adapter" / "SHA256SUMS").unlink()
    with pytest.raises(ValueError, match=r"can't be (added|read)"):
        Translator.load(base, "cpu", adapter=tmp_path)


def test_another_vocabulary_or_model_is_refused(base: Path, here: Path) -> None:
    make_tokenizer(here / "other")
    family = replace(TINY, family="decoder-only", encoder_layers=2)
    cases = (TINY, "", r"give tokenizer\.folder"), (TINY, "other", r"give tokenizer\.folder")
    for model, folder, message in (*cases, (family, str(base), r"model\.family")):
        config = replace(settings(base, model), tokenizer=TokenizerConfig(folder=folder))
        with pytest.raises(ValueError, match=message):
            Run(config, Processes(), None).carry_out(resume=False)
    assert not Path("runs/x").exists()


def test_peft_reads_and_writes_the_format(data: TrainingData, base: Path, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    config = settings(base, learning_rate=0.05)
    deliver(run(make_trainer(config, data, tmp_path)), config, tmp_path)
    ids = torch.tensor([[5, 6, 7, 8]])
    batch = ids, ids > 0, ids, ids > 0
    expected = load_model(tmp_path / "model")[0].target_states(*batch)
    read = peft.PeftModel.from_pretrained(load_model(base)[0], tmp_path / "adapter")
    assert torch.allclose(read.get_base_model().target_states(*batch), expected, atol=1e-6)
    read.save_pretrained(tmp_path / "written")
    back = Translator.load(base, "cpu", precision="fp32", adapter=tmp_path / "written")
    assert torch.allclose(back.model.target_states(*batch), expected, atol=1e-6)
