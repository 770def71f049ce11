"""Models that go to transformers and come back are the same: ours → hf → ours, and Marian → ours → hf → ours."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from nmt.config import SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.interop.convert import convert
from nmt.interop.export import export
from nmt.translation.model_folder import load_model
from nmt.translation.translator import Translator
from tests.interop.test_huggingface import LINES, TINY, few_pieces, save

pytest.importorskip("transformers", reason="needs transformers")
__all__ = ["few_pieces"]

SHORT = SearchConfig(beam_size=3, guard=False, max_length=12)


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
@pytest.mark.parametrize("tied", ["three-way", "decoder", "none"])
def test_a_model_goes_to_transformers_and_back_twice(tmp_path: Path, tokenizer: Tokenizer, tied: str) -> None:
    config = replace(TINY, tied_embeddings=tied)  # type: ignore[arg-type]
    folders = [save(tmp_path, config, tokenizer)]
    for n in range(2):
        export(folders[-1], tmp_path / f"hf-{n}", "hf", check=tmp_path / "lines.de")
        convert(tmp_path / f"hf-{n}", tmp_path / f"ours-{n}", "a test")
        folders.append(tmp_path / f"ours-{n}")
    translations = [Translator.load(folder, "cpu", SHORT, precision="fp32").translate(LINES[:3]) for folder in folders]
    assert translations[0] == translations[1] == translations[2]
    first, second = (dict(load_model(folder)[0].named_parameters()) for folder in folders[1:])
    assert first.keys() == second.keys()
    changed = [name for name, tensor in first.items() if not torch.equal(tensor, second[name])]
    # A vocabulary of sources has no piece that starts a decoder: its rows move.
    assert changed == ([] if tied == "three-way" else ["src_embedding.weight"])
