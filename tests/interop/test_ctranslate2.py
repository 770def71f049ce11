"""CTranslate2: each setting gives the same there, or is refused; quantisation leaves the model as it was."""

from pathlib import Path

import pytest
import torch

from nmt.config import ModelConfig, SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.pytorch import TorchEngine
from nmt.interop import ctranslate2 as form
from nmt.interop.export import Export
from nmt.translation.exported import run_exported
from nmt.translation.model_folder import ModelInfo
from tests.interop.foreign import noise
from tests.model.settings import some_combinations
from tests.tiny import PAIRS, SHORT, TINY, make_model

pytest.importorskip("ctranslate2")

IDS = [([5, 9, 110, 7, 6, 20], [4, 9, 9, 120]), ([8], []), ([*range(100, 120)], [*range(200, 215)])]
VNNI = any(value for name, value in torch.cpu.get_capabilities().items() if "vnni" in name)
needs_vnni = pytest.mark.skipif(not VNNI, reason="without VNNI, CTranslate2's int8 products overflow in random models")


def info_of(config: ModelConfig) -> ModelInfo:
    return ModelInfo("de", "en", "three pairs", config, SHORT)


@pytest.mark.parametrize("config", [config for config in some_combinations(90) if not form.obstacles(info_of(config))])
def test_each_setting_computes_the_same(config: ModelConfig, tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = noise(make_model(tokenizer, config=config), 0.2)
    form.write(Export(model, tokenizer, info_of(config), "float32"), tmp_path)
    theirs = run_exported(tmp_path, tokenizer, info_of(config))
    ours = TorchEngine.make([model])
    assert len(theirs.target) == model.vocab_size
    for pair, log_probs in zip(IDS, theirs.score(IDS), strict=True):
        [expected_T] = ours.score([pair])
        assert log_probs == pytest.approx(expected_T, abs=1e-4)
    for theirs_TS, ours_TS in zip(theirs.attention(IDS), ours.attention(IDS), strict=True):
        torch.testing.assert_close(theirs_TS, ours_TS, atol=1e-4, rtol=0)
    assert [tuple(weights_TS.shape) for weights_TS in theirs.attention([([8, 9], [])])] == [(0, 2)]
    greedy, sources = SearchConfig(beam_size=1, max_length=12), [source for source, _ in IDS]
    expected, found = (engine.search(sources, greedy) for engine in (ours, theirs))
    assert [best.ids for best, *_ in found] == [best.ids for best, *_ in expected]
    assert [best.finished for best, *_ in found] == [best.finished for best, *_ in expected]


@needs_vnni
@pytest.mark.parametrize("quantization", form.QUANTIZATIONS[1:])
def test_quantisation_is_measured_and_alters_no_model(quantization: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = make_model(tokenizer).eval()
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    task = Export(model, tokenizer, info_of(TINY), quantization)
    form.write(task, tmp_path)
    assert all(torch.equal(weight, before[name]) for name, weight in model.named_parameters())
    parity = form.check(task, tmp_path, [source for source, _ in PAIRS])
    assert 0 < parity.largest < 0.5
    assert parity.sentences == 4  # one line has two
    assert "chrF between both" in parity.figures[1]
