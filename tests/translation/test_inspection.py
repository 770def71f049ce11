"""A report tells what the model is: every weight once, the settings, and the facts of the folder."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from nmt import __version__
from nmt.config import ModelConfig
from nmt.model.build import build_model
from nmt.model.contract import Model
from nmt.translation.inspection import inspect, list_parts
from nmt.upgrade import FORMAT
from tests.model.settings import VOCAB, config, make, some_combinations
from tests.tiny import SHORT, TINY

FAMILIES = {"encoder-decoder": "translation", "decoder-only": "lm", "encoder-only": "mlm"}


def models() -> Iterator[Model]:
    yield from (make(config, 1) for config in some_combinations(30))
    for tied in ("three-way", "none"):
        yield build_model(config(family="encoder-only", tied_embeddings=tied), VOCAB, VOCAB)


@pytest.fixture(params=FAMILIES)
def recipe(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A small model of a family, with the family's objective."""
    sizes = "d_model: 16, n_heads: 2, encoder_layers: 1, decoder_layers: 2, d_ff: 32"
    objective = f"training: {{objective: {FAMILIES[request.param]}}}\n"
    (tmp_path / "recipe.yaml").write_text(
        f"model: {{family: {request.param}, {sizes}}}\n{objective}tokenizer: {{vocab_size: 300}}\n"
    )
    return tmp_path / "recipe.yaml"


@pytest.mark.parametrize("model", [*models()])
def test_parts_have_every_weight_and_count_it_once(model: Model) -> None:
    parts = list(list_parts(model))
    assert sum(part.parameters for part in parts) == sum(p.numel() for p in model.parameters())
    named = dict(model.named_parameters(remove_duplicate=False))
    outside = {weight.name: weight for part in parts if not part.blocks for weight in part.weights}
    n_blocks = sum(len(part.blocks) for part in parts)
    assert n_blocks == len(model.blocks())
    assert len(outside) + sum(len(part.blocks) * len(part.weights) for part in parts if part.blocks) == len(named)
    for name, weight in outside.items():
        assert weight.shape == tuple(named[name].shape)
        first = named[weight.tied_to or name]
        assert first is named[name]
        assert weight.parameters == (0 if weight.tied_to else first.numel())
    assert outside["output.weight"].tied_to is None or model.config.tied_embeddings != "none"


def test_a_folder_tells_its_facts(model_folder: Path, tmp_path: Path) -> None:
    report = inspect(model_folder)
    (tmp_path / "model").symlink_to(model_folder.absolute())
    assert asdict(inspect(tmp_path)) | {"model": str(model_folder)} == asdict(report)  # a run folder
    saved = json.loads((model_folder / "config.json").read_text())
    assert (report.source, report.target, report.corpus) == ("de", "en", "three pairs")
    assert report.objective == "translation"
    assert report.vocabulary == {"source": saved["src_vocab_size"], "target": saved["tgt_vocab_size"]}
    assert report.special_ids == {"<unk>": 0, "<s>": 1, "</s>": 2, "<pad>": 3}
    assert (report.facts, report.format, report.version) == (saved["facts"], FORMAT, __version__)
    assert report.changed["model.d_model"] == ModelConfig().d_model
    assert report.settings["search.beam_size"] == SHORT.beam_size
    assert "model.norm" not in report.changed
    assert {name.partition(".")[0] for name in report.settings} == {"model", "search"}
    assert json.loads(json.dumps(asdict(report)))["settings"]["model.d_ff"] == TINY.d_ff


def test_a_recipe_is_a_model_without_data(recipe: Path) -> None:
    report = inspect(recipe)
    assert report.vocabulary == {"source": 300, "target": 300}
    assert (report.facts, report.format, report.version) == (None, None, None)
    assert report.changed["tokenizer.vocab_size"] == "auto"
    embedding = next(part for part in report.parts if part.name == "embeddings").weights[0]
    assert embedding.shape == (300, 16)
    writes = report.settings["model.family"] != "encoder-only"
    assert (report.cache_bytes is not None) == writes
