"""What a run delivers: when a translation is called unsure, and the command that uses the model."""

import shlex
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from nmt.config import Config, ObjectiveName
from nmt.config.recipes import make_config
from nmt.training.data import TrainingData
from nmt.training.delivery import describe, measure_facts, unsure_below
from tests.training.reversal import new_trainer

CONFIDENCES = [0.9, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.25, 0.91, 0.92, 0.93, 0.94, 0.95]


@pytest.mark.parametrize(
    ("poor", "below"),
    [
        ({0.1, 0.2}, [0.1, 0.2, 0.25]),
        ({0.2}, [0.1, 0.2]),
        ({0.1}, [0.1, 0.2]),
        ({0.25, 0.3}, []),
        ({*CONFIDENCES}, [0.1, 0.2, 0.25]),
        (set(), []),
    ],
)
def test_unsure_translations_are_more_likely_poor_than_not_and_few(poor: set[float], below: list[float]) -> None:
    scores = [39.9 if confidence in poor else 40.0 for confidence in CONFIDENCES]
    least = unsure_below(CONFIDENCES, scores)
    assert sorted(confidence for confidence in CONFIDENCES if confidence < least) == below
    assert unsure_below(CONFIDENCES[:1], [0.0]) == pytest.approx(0.9, abs=1e-3)


def test_of_a_model_that_is_nearly_always_right_the_few_others_are_unsure() -> None:
    assert unsure_below(CONFIDENCES, [80.0 if c in {0.1, 0.2} else 100.0 for c in CONFIDENCES]) > 0.25
    assert unsure_below(CONFIDENCES, [95.0 if c in {0.1, 0.2} else 100.0 for c in CONFIDENCES]) < 0.2


def test_a_model_is_delivered_even_if_targets_are_very_short(data: TrainingData, tmp_path: Path) -> None:
    model = new_trainer(data, tmp_path).model.eval()
    assert measure_facts(model, replace(data, validation_text=[("ab " * 100, "a")]), Config()).length_ratio == 0.01


@pytest.mark.parametrize("objective", ["mlm", "translation"])
def test_the_command_that_uses_the_model_works_as_it_is_printed(objective: ObjectiveName) -> None:
    """Another text than the model's is read without data.corpus, and with another recipe, which may have placeholders:
    the tokenizer of other models than translators has none."""
    corpus, folder = "my corpus", Path("runs/de-fi-my corpus")
    given = {"data.corpus": corpus, "data.target": "fi", "training.objective": objective}
    config = make_config(given | ({"model.family": "encoder-only"} if objective == "mlm" else {}))
    *_, last = describe({"tests": {}, "seconds": {}, "settings": asdict(config)}, folder)
    words, model = shlex.split(last), str(folder / "model")
    start = ["--training.start_from", model, "--tokenizer.folder", model]
    start = ["--data.corpus", corpus, "--data.source", "de", "--data.target", "fi", "--data.placeholders", "0", *start]
    used = start if objective == "mlm" else ["--model", model]
    assert words[-len(used) :] == used
