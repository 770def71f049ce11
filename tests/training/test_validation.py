"""Validation: its figures, and what becomes of a run in which it fails."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from nmt.config import Config, SearchConfig
from nmt.data.batches import make_batch
from nmt.data.sections import Section
from nmt.scoring.metrics import score
from nmt.training.data import TrainingData
from nmt.training.loop import make_trainer
from nmt.training.loss import Learner
from nmt.training.validation import Validator
from tests.training.reversal import SHORT, TINY, new_trainer, run, without_speed


def test_losses_are_means_of_tokens_and_scores_those_of_the_translations(data: TrainingData, tmp_path: Path) -> None:
    trainer = new_trainer(data, tmp_path, validation_sentences=5)
    figures, translations = trainer.validator.measure()
    batch = make_batch(data.validation, torch.arange(20))
    loss = Learner(trainer.model, trainer.config, trainer.numerics).eval()(batch)
    nll = float(loss.nll) / batch.target_tokens
    assert figures["validation/loss"] == pytest.approx(float(loss.smoothed.detach()) / batch.target_tokens)
    assert figures["validation/nll"] == pytest.approx(nll)
    assert figures["validation/perplexity"] == pytest.approx(math.exp(nll))
    references = [reference for _, reference in data.validation_text[:5]]
    assert len(translations) == 5
    for metric in score(translations, references):
        assert figures[f"validation/{metric.name.lower()}"] == metric.value


def test_each_set_is_measured_and_the_first_or_the_mean_decides(data: TrainingData, tmp_path: Path) -> None:
    sets = [Section("val", "de", "en", 8), Section("val-news", "de", "en", 12)]
    both = replace(data, val_sets=sets)
    figures, translations = new_trainer(both, tmp_path / "a").validator.measure()
    assert len(translations) == 20
    for name, value in figures.items():
        if name.startswith("validation/"):
            assert value == figures[name.replace("validation/", "") + "/val"]
    rows = [range(8), range(8, 20)]
    for one, part in zip(sets, rows, strict=True):
        alone = replace(
            data,
            validation=data.validation.chosen(torch.tensor([*part])),
            validation_text=data.validation_text[part.start :][: len(part)],
        )
        own, _ = new_trainer(alone, tmp_path / one.name).validator.measure()
        for name in ("nll", "bleu"):
            assert figures[f"{name}/{one.name}"] == pytest.approx(own[f"validation/{name}"])
    assert figures["nll/val"] != figures["nll/val-news"]
    trainer = new_trainer(both, tmp_path / "b", best_of="mean")
    mean = trainer.validator.measure()[0]
    assert mean["validation/nll"] == pytest.approx((mean["nll/val"] + mean["nll/val-news"]) / 2)
    shown = list(trainer.validator.describe(mean))
    assert shown[1].startswith(f"  val-news: loss {mean['loss/val-news']:.3f}, nll")


def test_bleu_goes_by_the_target_language_of_each_set(data: TrainingData, tmp_path: Path) -> None:
    both = replace(data, val_sets=[Section("val", "de", "th", 8), Section("val-news", "de", "", 12)])
    validator = new_trainer(both, tmp_path).validator
    figures, translations = validator.measure()
    references = [reference for _, reference in data.validation_text]
    for name, rows, language in zip(validator.names, (slice(8), slice(8, 20)), ("th", "en"), strict=True):
        bleu = score(translations[rows], references[rows], language=language)[0].value
        assert figures[f"bleu/{name}"] == bleu
        assert bleu != score(translations[rows], references[rows], language="en" if language == "th" else "th")[0].value


def test_search_settings_hold_in_validation_too(data: TrainingData, tmp_path: Path) -> None:
    """What is validated is what translation gives, but greedily and without the guard."""
    search = SearchConfig(max_length_ratio=0.01, no_repeat_ngram=2, samples=3, n_best=2)
    trainer = make_trainer(Config(model=TINY, training=SHORT, search=search), data, tmp_path)
    [translator] = trainer.validator.translators
    used = translator.search
    assert used == SearchConfig(max_length_ratio=0.01, no_repeat_ngram=2, beam_size=1, guard=False)
    assert translator.facts.longest_source == int(data.train.chosen(torch.arange(100)).source.lengths_N.max())
    longer = make_trainer(Config(model=TINY, training=SHORT, search=SearchConfig(max_length_ratio=5.0)), data, tmp_path)
    lengths = [
        [len(data.tokenizer.encode_target([text])[0]) for text in validator.measure()[1]]
        for validator in (trainer.validator, longer.validator)
    ]
    assert max(lengths[0]) <= 12 < max(lengths[1])


def test_a_broken_validation_counts_once(data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after its figures were written: the checkpoint, which is older, knows nothing of them."""
    whole = run(new_trainer(data, tmp_path / "whole"))

    def killed(*_: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(Validator, "add_samples", killed)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="killed"):
                run(new_trainer(data, tmp_path / "parts"))
    resumed = run(new_trainer(data, tmp_path / "parts"))
    assert without_speed(tmp_path / "whole") == without_speed(tmp_path / "parts")
    assert resumed.progress.validated == whole.progress.validated
