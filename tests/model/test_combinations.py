"""Every two settings of a model together: it trains, translates, and is saved and loaded again."""

import itertools
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt.config import ModelConfig, SearchConfig, TrainingConfig
from nmt.data.batches import make_batch
from nmt.data.tokenizer import Tokenizer, encode_pairs
from nmt.decode.beam import search
from nmt.decode.pytorch import pad
from nmt.model.contract import GenerativeModel
from nmt.model.device import choose_numerics
from nmt.model.weights import fill
from nmt.training.loss import Learner
from nmt.training.optim import make_optimizer
from nmt.translation.model_folder import load_model
from tests.model.settings import OPTIONS, config, some_combinations
from tests.tiny import PAIRS, make_model, save_tiny

Choice = tuple[str, Any]
N_COMBINATIONS = 29  # that `covering` finds: it takes seconds, which collecting the tests would take each time


def pairs_of(settings: ModelConfig) -> set[frozenset[Choice]]:
    return {
        frozenset(pair) for pair in itertools.combinations(((name, getattr(settings, name)) for name in OPTIONS), 2)
    }


@cache
def covering() -> tuple[list[ModelConfig], set[frozenset[Choice]]]:
    """Combinations in which every pair of values occurs that can, each with as many new pairs as possible; and the
    pairs that don't occur."""
    chosen, known = list[ModelConfig](), {settings: pairs_of(settings) for settings in some_combinations(2000)}
    missing = set().union(*known.values())
    while missing:
        chosen.append(max(known, key=lambda settings: len(known[settings] & missing)))
        missing -= known[chosen[-1]]
    choices = [(name, value) for name, values in OPTIONS.items() for value in values]
    pairs = (pair for pair in itertools.combinations(choices, 2) if pair[0][0] != pair[1][0])
    return chosen, set(map(frozenset, pairs)).difference(*known.values())


def test_every_pair_of_values_occurs_or_is_refused_with_a_sentence() -> None:
    combinations, refused = covering()
    assert len(combinations) == N_COMBINATIONS
    for pair in refused:
        with pytest.raises(ValueError, match=r"model\.\w+ .{15,}") as caught:
            config(**dict(pair))
        assert any(name in str(caught.value) for name, _ in pair), str(caught.value)


def train_two_steps(model: GenerativeModel, tokenizer: Tokenizer, settings: TrainingConfig) -> None:
    """Dropout is on; each loss must be a number, and each step must change the weights."""
    learner = Learner(model, settings, choose_numerics("cpu", settings.precision)).train()
    optimizer = make_optimizer(model, settings)
    batch = make_batch(encode_pairs(tokenizer, PAIRS), torch.arange(len(PAIRS)))
    for _ in range(2):
        before = [p.detach().clone() for p in model.parameters()]
        loss = learner(batch).smoothed
        assert loss.isfinite()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        assert any(not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    model.eval()


def translations(model: GenerativeModel, tokenizer: Tokenizer) -> list[tuple[list[int], float]]:
    """Pieces and log-probabilities, of greedy search and of a beam of 2."""
    source = pad(tokenizer.encode_source([text for text, _ in PAIRS]), model.device)
    options = (SearchConfig(beam_size=size, max_length_ratio=0.2) for size in (1, 2))
    found = [hypotheses for option in options for hypotheses in search(model, *source, option)]
    return [(h.ids, h.log_prob) for hypotheses in found for h in hypotheses]


@pytest.mark.parametrize("number", range(N_COMBINATIONS))
def test_combined_settings_train_translate_and_are_saved(number: int, tokenizer: Tokenizer, tmp_path: Path) -> None:
    settings: ModelConfig = replace(covering()[0][number], max_positions=100, dropout=0.1)
    model = make_model(tokenizer, number, settings)
    model.recompute(number % 2 == 0)
    optimizer: Any = "muon" if number % 4 == 0 else "adamw"
    precision: Any = "bf16" if number % 3 == 0 else "fp32"
    train_two_steps(model, tokenizer, TrainingConfig(optimizer=optimizer, learning_rate=1e-3, precision=precision))
    expected = translations(model, tokenizer)
    assert len(expected) == 2 * len(PAIRS)
    loaded, _, info = load_model(save_tiny(tmp_path / "model", model, tokenizer))
    assert info.model == settings
    for part in ("named_parameters", "named_buffers"):  # what modules share, they still share
        expected_there, there = (getattr(of, part)() for of in (model, loaded))
        for (name, one), (other_name, other) in zip(expected_there, there, strict=True):
            assert (name, one.requires_grad) == (other_name, other.requires_grad)
            assert torch.equal(one, other), name
    assert isinstance(loaded, GenerativeModel)
    assert translations(loaded, tokenizer) == expected
    fill(loaded, dict(model.named_parameters()), tmp_path)
    places = [{parameter.data_ptr() for parameter in of.parameters()} for of in (model, loaded)]
    assert places[0].isdisjoint(places[1]), "copies: the file that weights are read from may be replaced"
