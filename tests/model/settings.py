"""Tiny models with any of the settings that there are, for property tests. A new setting is one line in OPTIONS."""

import random
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from hypothesis import assume
from hypothesis import strategies as st
from torch import Tensor

from nmt.config import ModelConfig
from nmt.model.contract import GenerativeModel
from tests.tiny import build_generative_model

VOCAB = 23
OPTIONS: dict[str, tuple[Any, ...]] = {
    "family": ("encoder-decoder", "decoder-only"),
    "source_attention": ("bidirectional", "causal"),
    "norm": ("layer", "rms"),
    "norm_epsilon": (None, 1e-3),
    "norm_position": ("pre", "post"),
    "bias": (True, False),
    "positions": ("sinusoidal", "fairseq", "learned", "rotary"),
    "activation": ("relu", "gelu", "silu", "relu2", "swiglu", "geglu"),
    "n_kv_heads": (None, 2, 1),
    "qk_norm": (False, True),
    "tied_embeddings": ("three-way", "decoder", "none"),
    "output_bias": (False, True),
    "embedding_norm": (False, True),
    "source_end": (True, False),
    "scale_embeddings": (True, False),
    "encoder_layers": (1, 2),
    "decoder_layers": (1, 2, 3),
}
NEEDS: dict[str, dict[str, Any]] = {  # the other settings without which a setting has no effect, and is refused
    "source_attention": {"family": "decoder-only"},
    "source_end": {"family": "encoder-decoder"},
}


def config(**changes: Any) -> ModelConfig:
    """A tiny encoder–decoder without dropout, with these changes."""
    tiny = ModelConfig(
        d_model=16, n_heads=4, encoder_layers=2, decoder_layers=1, d_ff=24, max_positions=40, dropout=0.0
    )
    return replace(tiny, **changes)


def allowed(changes: dict[str, Any]) -> bool:
    """Whether these settings can be combined."""
    try:
        config(**changes)
    except ValueError:
        return False
    return True


def with_needs(changes: dict[str, Any]) -> dict[str, Any]:
    """Settings, and those that they need."""
    return {name: value for change in changes for name, value in NEEDS.get(change, {}).items()} | changes


def useful(changes: dict[str, Any]) -> dict[str, Any]:
    """Settings without those that have no effect beside the others."""
    return {
        name: value
        for name, value in changes.items()
        if all(changes[need] == needed for need, needed in NEEDS.get(name, {}).items())
    }


@st.composite
def combinations(draw: st.DrawFn) -> ModelConfig:
    """Any settings that can be combined."""
    changes = useful({name: draw(st.sampled_from(values), label=name) for name, values in OPTIONS.items()})
    assume(allowed(changes))
    return config(**changes)


@cache
def some_combinations(n: int) -> list[ModelConfig]:
    """The same `n` random combinations each time; the first have each value of each setting once, and what it needs."""
    single = [with_needs({name: value}) for name, values in OPTIONS.items() for value in values]
    generator = random.Random(1)
    mixed = (useful({name: generator.choice(values) for name, values in OPTIONS.items()}) for _ in iter(int, 1))
    chosen = [config(**changes) for changes in single if allowed(changes)]
    while len(chosen) < n:
        changes = next(mixed)
        if allowed(changes):
            chosen.append(config(**changes))
    return chosen


def make(config: ModelConfig, seed: int) -> GenerativeModel:
    """A random model in evaluation mode; where it may, the target has more pieces than the source."""
    torch.manual_seed(seed)
    model = build_generative_model(config, VOCAB, VOCAB if config.one_vocabulary else VOCAB + 5).eval()
    if model.output.bias is not None:
        torch.nn.init.normal_(model.output.bias)  # it begins with zeros, whose absence no test would notice
    return model


def sentences(seed: int, lengths: list[int]) -> tuple[Tensor, Tensor]:
    """Random ids with padding of random ids, so that any look at padding shows; and the mask of real positions."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, VOCAB, (len(lengths), max(lengths)), generator=generator)
    return ids, torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
