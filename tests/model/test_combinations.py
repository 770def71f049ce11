"""Every two settings of a model together: it trains, translates, and is saved and loaded again."""

import itertools
import random
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
from nmt.training.loss import Learner
from nmt.training.optim import make_optimizer
from nmt.translation.model_folder import load_model
from tests.model.settings import OPTIONS, allowed, config, with_needs
from tests.tiny import PAIRS, make_model, save_tiny

Choice = tuple[str, Any]
Combination = dict[str, Any]
CANDIDATES = 10  # of which the best is taken
N_COMBINATIONS = 33  # that `covering` finds: it takes seconds, which collecting the tests would take each time


def pairs_of(combination: Combination) -> set[frozenset[Choice]]:
    return {frozenset(pair) for pair in itertools.combinations(combination.items(), 2)}


def all_pairs() -> list[frozenset[Choice]]:
    """Every value of a setting with every value of another one."""
    choices = [(name, value) for name, values in OPTIONS.items() for value in values]
    return [frozenset(pair) for pair in itertools.combinations(choices, 2) if pair[0][0] != pair[1][0]]


def complete(pair: frozenset[Choice], generator: random.Random) -> Combination | None:
    """A combination with this pair, what it needs, and random values of the other settings, where these allow them;
    None if the pair is refused, also beside any third value."""
    names = [name for name in OPTIONS if name not in dict(pair)]
    generator.shuffle(names)
    thirds = ({name: value} for name in names for value in OPTIONS[name])
    combination = next(
        (found for third in [{}, *thirds] if allowed(found := with_needs({**third, **dict(pair)}))), None
    )
    if combination is None:
        return None
    for name in (name for name in names if name not in combination):
        values = generator.sample(OPTIONS[name], len(OPTIONS[name]))
        combination |= next(({name: value} for value in values if allowed(combination | {name: value})), {})
    return combination


@cache
def covering() -> tuple[list[Combination], list[frozenset[Choice]]]:
    """Combinations in which every pair occurs that can, and the pairs that are refused. For each pair in turn, the one
    with the most new pairs is taken of some random combinations."""
    generator, chosen, refused = random.Random(1), list[Combination](), list[frozenset[Choice]]()
    missing = dict.fromkeys(all_pairs())
    while missing:
        pair = next(iter(missing))
        found = [combination for _ in range(CANDIDATES) if (combination := complete(pair, generator))]
        if found:
            chosen.append(max(found, key=lambda combination: len(pairs_of(combination) & missing.keys())))
        else:
            refused.append(pair)
        for covered in pairs_of(chosen[-1]) if found else [pair]:
            missing.pop(covered, None)
    return chosen, refused


def test_every_pair_of_values_occurs_or_is_refused_with_a_sentence() -> None:
    combinations, refused = covering()
    assert len(combinations) == N_COMBINATIONS
    covered = set().union(*map(pairs_of, combinations))
    assert covered | set(refused) == set(all_pairs())
    assert not covered & set(refused)
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
    settings: ModelConfig = replace(config(**covering()[0][number]), max_positions=100, dropout=0.1)
    model = make_model(tokenizer, number, settings)
    model.recompute(number % 2 == 0)
    optimizer: Any = "muon" if number % 4 == 0 else "adamw"
    precision: Any = "bf16" if number % 3 == 0 else "fp32"
    train_two_steps(model, tokenizer, TrainingConfig(optimizer=optimizer, learning_rate=1e-3, precision=precision))
    expected = translations(model, tokenizer)
    assert len(expected) == 2 * len(PAIRS)
    loaded, _, info = load_model(save_tiny(tmp_path / "model", model, tokenizer))
    assert info.model == settings
    assert isinstance(loaded, GenerativeModel)
    assert translations(loaded, tokenizer) == expected
