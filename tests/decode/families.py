"""The family of models that the search tests use at the moment; the fixture `family` sets it."""

from dataclasses import replace
from typing import Any

from nmt.config import ModelConfig

FAMILIES: dict[str, dict[str, Any]] = {
    "encoder-decoder": {"family": "encoder-decoder"},
    "decoder-only": {"family": "decoder-only"},
}
current: dict[str, Any] = {}


def of_family(config: ModelConfig) -> ModelConfig:
    return replace(config, **current)
