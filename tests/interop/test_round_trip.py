"""Models that cross several doors stay the same: ours → hf → ours → hf → ours → CTranslate2, and transformers → ours,
trained further, → hf → ours and CTranslate2."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from nmt import train
from nmt.config import Backend, ModelConfig, SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.interop.convert import convert
from nmt.interop.export import export
from nmt.translation.model_folder import load_model, read_info
from nmt.translation.translator import Translator
from tests.interop.foreign import marian, sides
from tests.interop.test_convert import FURTHER
from tests.interop.test_huggingface import LINES, PRE, TINY, save

pytest.importorskip("transformers", reason="needs transformers")
pytest.importorskip("ctranslate2", reason="needs ctranslate2")

SHORT = SearchConfig(beam_size=3, guard=False, max_length=12)


def greedy_translations(model: Path, lines: list[str], backend: Backend = "pytorch") -> list[str]:
    search = replace(SHORT, beam_size=1, split_above=1000)
    return Translator.load(model, "cpu", search, "fp32", backend).translate(lines)


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
@pytest.mark.parametrize(
    ("config", "tied"), [(TINY, "three-way"), (TINY, "decoder"), (TINY, "none"), (PRE, "three-way"), (PRE, "decoder")]
)
def test_models_go_there_and_back_twice(tmp_path: Path, tokenizer: Tokenizer, config: ModelConfig, tied: str) -> None:
    folders = [save(tmp_path, replace(config, tied_embeddings=tied), tokenizer)]  # type: ignore[arg-type]
    for n in range(2):
        export(folders[-1], tmp_path / f"hf-{n}", "hf", check=tmp_path / "lines.de")
        convert(tmp_path / f"hf-{n}", tmp_path / f"ours-{n}", "a test")
        folders.append(tmp_path / f"ours-{n}")
    translations = [Translator.load(folder, "cpu", SHORT, precision="fp32").translate(LINES[:3]) for folder in folders]
    assert translations[0] == translations[1] == translations[2]
    assert read_info(folders[2] / "config.json")[0].model.norm_position == config.norm_position
    first, second = (dict(load_model(folder)[0].named_parameters()) for folder in folders[1:])
    assert first.keys() == second.keys()
    changed = [name for name, tensor in first.items() if not torch.equal(tensor, second[name])]
    # Of Marian, a vocabulary of sources has no piece that starts a decoder: its rows move.
    assert changed == ([] if tied == "three-way" or config == PRE else ["src_embedding.weight"])
    export(folders[2], tmp_path / "ct2", "ctranslate2", check=tmp_path / "lines.de")
    assert greedy_translations(tmp_path / "ct2", LINES[:3], "ctranslate2") == greedy_translations(folders[0], LINES[:3])


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_a_model_of_transformers_is_trained_further_and_goes_out_again(folder: Path) -> None:
    marian(folder / "marian", spread=0.1)
    convert(folder / "marian", folder / "ours", "Marian", ("de", "en"))
    assert train.main(["--config", "ours/recipe.yaml", *FURTHER.split()]) == 0
    lines, trained = sides()[0][220:230], folder / "runs" / "further" / "model"
    for name in ("hf", "ctranslate2"):  # which compare logits, and greedy translations
        assert export(trained, folder / name, name, check=folder / "corpus" / "test.de").largest <= 1e-4
    convert(folder / "hf", folder / "back", "hf", ("de", "en"))
    found = greedy_translations(trained, lines)
    assert found != greedy_translations(folder / "ours", lines)
    assert found == greedy_translations(folder / "back", lines)
    assert found == greedy_translations(folder / "ctranslate2", lines, "ctranslate2")
