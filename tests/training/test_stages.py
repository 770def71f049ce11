"""Weights of corpora that change at a step: an epoch ends there, and a run that resumes there goes on bit for bit."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt.config import Config, DataConfig, TrainingConfig
from nmt.config.data import CorpusConfig
from nmt.config.names import fixed_settings
from nmt.config.recipes import dump_config, load_config
from nmt.config.training import StageConfig
from nmt.data.batches import Batch, Pairs, PlannedBatch
from nmt.data.sections import sections_of
from nmt.training.data import TrainingData
from nmt.training.loop import Trainer, make_trainer
from tests.training.reversal import SHORT, TINY, require_same_end, run

DATA = DataConfig(corpus="main", more=(CorpusConfig(corpus="crawl", weight=2),))
STAGES = (StageConfig(step=5, weights={"crawl": 0}), StageConfig(step=9, weights={"main": 0, "crawl": 0.5}))
Seen = list[tuple[int, int, list[int]]]


@pytest.fixture
def two(data: TrainingData) -> TrainingData:
    """Two corpora: 60 and 40 pairs."""
    assert isinstance(data.train, Pairs)
    train = replace(data.train, portion_N=(torch.arange(100) >= 60).long())
    return replace(data, train=train, portions=sections_of(DATA))


def trainer_of(data: TrainingData, folder: Path, stages: Any = STAGES, steps: int = 12) -> Trainer:
    settings = replace(SHORT, stages=stages, max_steps=steps, validate_every=100)
    return make_trainer(Config(data=DATA, model=TINY, training=settings), data, folder)


def watched(trainer: Trainer, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> Trainer:
    """The trainer, which notes the step, the epoch and the pairs of each batch that it takes."""
    take = trainer.feed.take

    def noted(planned: PlannedBatch) -> Batch:
        seen.append((trainer.progress.step, planned.epoch, planned.index_B.tolist()))
        return take(planned)

    monkeypatch.setattr(trainer.feed, "take", noted)
    return trainer


def test_a_stage_begins_after_its_step_with_a_new_epoch(
    two: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: Seen = []
    run(watched(trainer_of(two, tmp_path), seen, monkeypatch))
    assert len(seen) == 12
    corpora = [{int(n >= 60) for n in pairs} for _, _, pairs in seen]
    assert set().union(*corpora[:5]) == {0, 1}
    assert set().union(*corpora[5:9]) == {0}
    assert set().union(*corpora[9:]) == {1}
    epochs = [epoch for _, epoch, _ in seen]
    assert epochs[4] < epochs[5]
    assert epochs[8] < epochs[9]
    counts = Counter(n for _, epoch, pairs in seen if epoch == epochs[9] for n in pairs)
    assert set(counts.values()) == {1}


@pytest.mark.parametrize("stop_after", [4, 5, 6, 9])
def test_a_run_that_stops_near_a_stage_goes_on_bit_for_bit(
    two: TrainingData, tmp_path: Path, stop_after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Seen] = {"whole": [], "parts": []}

    def make(folder: Path) -> Trainer:
        return watched(trainer_of(two, folder), seen[folder.name], monkeypatch)

    whole, resumed = require_same_end(make, tmp_path, stop_after)
    assert seen["whole"] == seen["parts"]
    assert resumed.progress.epoch == whole.progress.epoch


def test_a_stage_that_keeps_all_weights_changes_no_pair_of_its_epoch(two: TrainingData) -> None:
    """What an epoch takes depends on the weights, the seed and the epoch alone."""
    same = Config(data=DATA, training=TrainingConfig(stages=(StageConfig(step=3, weights={"crawl": 2}),)))
    read = two.as_read(same)
    first, later = read.mixture_after(2), read.mixture_after(3)
    assert first
    assert later
    assert torch.equal(first.times(1, 4), later.times(1, 4))


def test_a_recipe_has_stages_and_a_run_records_them(tmp_path: Path) -> None:
    recipe = "training: {stages: [{step: 5, weights: {crawl: 0}}, {step: 9, weights: {main: 0, crawl: 0.5}}]}"
    (tmp_path / "recipe.yaml").write_text(f"data: {{corpus: main, more: [{{corpus: crawl}}]}}\n{recipe}\n")
    config = load_config(tmp_path / "recipe.yaml")
    assert config.training.stages == STAGES
    (tmp_path / "config.yaml").write_text(dump_config(config))
    assert load_config(tmp_path / "config.yaml") == config
    assert fixed_settings(config) == fixed_settings(replace(config, training=replace(config.training, stages=())))


@pytest.mark.parametrize(
    ("stages", "problem"),
    [
        (STAGES[::-1], "begin after the steps 9, 5: each must be above"),
        ((StageConfig(step=1, weights={"news": 1}),), "weight to news, but the corpora are called main, crawl"),
    ],
)
def test_stages_that_are_wrong_are_refused(stages: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Config(data=DATA, training=TrainingConfig(stages=stages))
    for weight in (-1.0, float("nan")):
        with pytest.raises(ValueError, match=r"the weight .*: it must be at least 0, and finite"):
            StageConfig(step=1, weights={"crawl": weight})
