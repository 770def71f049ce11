"""The tokenizer and the data of the reversal task."""

import pytest

from nmt.config import TokenizerConfig
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.training.data import TrainingData
from tests.training.reversal import corpus


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    settings = TokenizerConfig(vocab_size=30, byte_fallback=False)
    return train_tokenizer(corpus(300, 1), settings, tmp_path_factory.mktemp("tokenizer"), "de", "en")


@pytest.fixture(scope="session")
def data(tokenizer: Tokenizer) -> TrainingData:
    return TrainingData.encode(tokenizer, corpus(100, 1), corpus(20, 2))
