"""ONNX: the graphs give the model's log-probabilities and greedy translations, whole, step by step and in batches."""

import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
import torch

from nmt.data.tokenizer import Tokenizer
from nmt.data.tokenizer.languages import Languages
from nmt.data.tokenizer.mapped import mapped_models
from nmt.decode.beam import force_score, search
from nmt.decode.pytorch import pad
from nmt.export import main
from nmt.interop import onnx as form
from nmt.interop.export import GREEDY, Export
from nmt.model.contract import GenerativeModel
from nmt.translation.model_folder import ModelInfo
from nmt.vocabulary import BOS, FIRST_PIECE
from tests.interop.foreign import noise
from tests.tiny import PAIRS, SHORT, TINY, make_model, save_tiny

for name in ("onnx", "onnxruntime", "onnxscript"):
    pytest.importorskip(name)

CPU = torch.device("cpu")
# Writing the graphs takes seconds, so one model has many of the settings that differ in them.
SIZES = replace(TINY, n_heads=4, n_kv_heads=2, d_ff=24, tied_embeddings="decoder")
CONFIG = replace(
    SIZES, norm="rms", norm_position="pre", positions="rotary", activation="swiglu", bias=False, qk_norm=True
)
INFO = ModelInfo("de", "en", "three pairs", CONFIG, SHORT)
IDS = [([5, 9, 110, 7, 6, 20], [4, 9, 9, 120]), ([8], []), ([*range(100, 240)], [*range(200, 215)])]


@pytest.fixture(scope="module")
def model(tokenizer: Tokenizer) -> GenerativeModel:
    return noise(make_model(tokenizer, config=CONFIG), 0.2)


@pytest.fixture(scope="module")
def folder(model: GenerativeModel, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("onnx")
    (folder / "lines").write_text("\n".join(source for source, _ in PAIRS))
    made = save_tiny(folder / "model", model, tokenizer)
    assert main([str(made), str(folder / "out"), "--to", "onnx", "--check", str(folder / "lines")]) == 0
    return folder / "out"


def test_the_graphs_give_the_same_log_probabilities_and_translations(model: GenerativeModel, folder: Path) -> None:
    graphs = form.Graphs(folder)
    for (source, target), log_probs in zip(IDS, graphs.score(IDS), strict=True):
        ours = force_score(model, *pad([source], CPU), *pad([target], CPU))[0]
        torch.testing.assert_close(torch.tensor(log_probs), ours, atol=1e-4, rtol=0)
    sources = [source for source, _ in IDS[:2]]
    expected = search(model, *pad(sources, CPU), GREEDY)
    assert graphs.greedy(sources) == [best.ids for best, *_ in expected]


def test_steps_of_any_length_give_the_logits_of_the_whole_in_a_batch(model: GenerativeModel, folder: Path) -> None:
    graphs = form.Graphs(folder)
    src_BS, src_mask_BS = pad([IDS[0][0], IDS[1][0]], CPU)
    tgt_BT = torch.tensor([[BOS, 7, 8, 9, 10, 11], [BOS, 20, 30, 40, 50, 60]])
    with torch.no_grad():
        expected_BTV = model(src_BS, src_mask_BS, tgt_BT).numpy()
    mask_BS = src_mask_BS.long().numpy()
    [states] = graphs.encoder.run(None, {"input_ids": src_BS.numpy(), "attention_mask": mask_BS})
    inputs = {"encoder_hidden_states": states, "encoder_attention_mask": mask_BS}
    past = [x.name for x in graphs.decoder.get_inputs() if x.name.startswith("past_key_values")]
    assert past[:4] == [f"past_key_values.0.{kind}" for kind in form.KINDS]
    inputs |= {name: np.zeros((2, 2, 0, 4), np.float32) for name in past}
    start = 0
    for n in (3, 1, 2):
        logits, *present = graphs.decoder.run(None, {**inputs, "input_ids": tgt_BT[:, start : start + n].numpy()})
        np.testing.assert_allclose(logits, expected_BTV[:, start : start + n], atol=1e-4)
        inputs |= dict(zip(past, present, strict=True))
        start += n


def test_int8_is_smaller_and_near(model: GenerativeModel, folder: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    small = tmp_path / "small"
    copytree(folder, small)
    (small / f"{form.DECODER}.data").write_bytes(b"as large graphs have it")
    form.quantise(small)
    parity = form.check(Export(model, tokenizer, INFO, "int8"), small, [source for source, _ in PAIRS])
    assert 0 < parity.largest < 2
    assert "chrF between both" in parity.figures[1]
    assert (small / form.DECODER).stat().st_size < (folder / form.DECODER).stat().st_size
    assert {file.name for file in small.iterdir()} == {file.name for file in folder.iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("is_mapped", [False, True])
def test_the_program_of_the_card_translates_with_onnxruntime_alone(
    model: GenerativeModel, folder: Path, tokenizer: Tokenizer, tmp_path: Path, is_mapped: bool
) -> None:
    if is_mapped:  # as a converted model: its ids are not those of SentencePiece
        folder = Path(copytree(folder, tmp_path / "mapped"))
        (folder / "joint.model").unlink()
        proto, names = tokenizer.source.serialized_model_proto(), tokenizer.source_pieces(range(model.vocab_size))
        pieces = [*names[:FIRST_PIECE], *reversed(names[FIRST_PIECE:])]
        tokenizer = Tokenizer(*mapped_models((proto, proto), (pieces, pieces), Languages()))
        tokenizer.save(folder)
    program = form.about(Export(model, tokenizer, INFO, "float32")).usage
    assert "nmt" not in program
    line = PAIRS[0][0]
    command = [sys.executable, "-c", textwrap.dedent(program)]
    run = subprocess.run(command, cwd=folder, input=line, capture_output=True, text=True, check=True)
    [[best]] = search(model, *pad(tokenizer.encode_source([line]), CPU), GREEDY)
    assert run.stdout.rstrip("\n").strip() == tokenizer.decode_target([best.ids])[0].strip()
