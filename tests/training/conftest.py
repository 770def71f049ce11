"""The tokenizer and the data of the reversal task, and a compiler that writes no kernels."""

import pytest
import torch

from nmt.config import TokenizerConfig
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.training import loss
from nmt.training.data import TrainingData
from tests.training.reversal import corpus


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    settings = TokenizerConfig(vocab_size=30, byte_fallback=False)
    return train_tokenizer(corpus(300, 1), settings, tmp_path_factory.mktemp("tokenizer"), "de", "en")


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[torch.nn.Module]:
    """Lets `training.compile` run what was traced as it is, since writing kernels takes minutes. The modules that are
    compiled."""
    compiled: list[torch.nn.Module] = []
    compile_module = torch.nn.Module.compile

    def trace(module: torch.nn.Module, **settings: object) -> None:
        compiled.append(module)
        compile_module(module, backend="eager", **settings)

    monkeypatch.setattr(torch.nn.Module, "compile", trace)
    monkeypatch.setattr(loss, "compiled_chunk_loss", lambda: torch.compile(loss.chunk_loss, backend="eager"))
    torch._dynamo.reset()
    return compiled


@pytest.fixture(scope="session")
def data(tokenizer: Tokenizer) -> TrainingData:
    return TrainingData.encode(tokenizer, corpus(100, 1), corpus(20, 2))
