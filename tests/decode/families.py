"""The family of models that the search tests use at the moment; the fixture `family` sets it."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from nmt.config import ModelConfig
from nmt.decode.pytorch import pad
from nmt.decode.stop import Late, Stop
from nmt.model.contract import GenerativeModel
from nmt.vocabulary import EOS
from tests.tiny import build_generative_model

FAMILIES = ("encoder-decoder", "decoder-only")
current: dict[str, Any] = {}
TINY = ModelConfig(d_model=16, n_heads=2, encoder_layers=1, decoder_layers=1, d_ff=32, tied_embeddings="none")


class Looks(Stop):
    """Ends a search that has looked at it so many times: its time is up, or (`error`) it is stopped."""

    def __init__(self, looks: int, error: type[Exception] = Late) -> None:
        super().__init__(10**6)
        self.looks, self.error = looks, error

    def check(self) -> None:
        self.looks -= 1
        if self.looks < 0:
            raise self.error


def of_family(config: ModelConfig) -> ModelConfig:
    return replace(config, **current)


def random_model(
    seed: int, vocab_size: int = 40, config: ModelConfig | None = None, all_weights: float = 1.5, end: float = 1.5
) -> GenerativeModel:
    """With larger weights than a fresh one, so that its choices differ between positions and hypotheses end."""
    torch.manual_seed(seed)
    model = build_generative_model(config or of_family(TINY), vocab_size, vocab_size).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(all_weights)
        model.output.weight[EOS] *= end
    return model


def batch(sentences: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Ids, each sentence with EOS, and mask."""
    return pad(sentences, torch.device("cpu"))
