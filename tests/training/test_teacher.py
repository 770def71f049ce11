"""A student learns the probabilities of its teacher, in every way of training; what doesn't fit is refused early."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt.config import Config, DataConfig, ModelConfig, TokenizerConfig
from nmt.data.batches import make_batch
from nmt.data.tokenizer import Tokenizer
from nmt.training.data import TrainingData
from nmt.training.distributed import Processes
from nmt.training.finetuning import load_teacher
from nmt.training.loop import make_trainer
from nmt.training.loss import Learner
from nmt.training.run import Run
from tests.tiny import make_model, make_tokenizer, save_tiny
from tests.training.reversal import NO_DROPOUT, SHORT, TINY, require_same_end

WIDE = replace(TINY, d_model=48, n_heads=4, tied_embeddings="decoder", output_bias=True)
WITHOUT_DROPOUT: Any = {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}
DECODER_ONLY = replace(TINY, family="decoder-only", encoder_layers=0, norm_position="pre", max_positions=64)


@pytest.fixture(scope="module")
def teachers(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Teachers that are wider than the students, and of both families."""
    folder = tmp_path_factory.mktemp("teachers")
    models = [make_model(tokenizer, seed, model) for seed, model in enumerate((WIDE, DECODER_ONLY))]
    return [str(save_tiny(folder / str(n), model, tokenizer)) for n, model in enumerate(models)]


def settings(teacher: Any, model: ModelConfig = TINY, **changes: Any) -> Config:
    data = DataConfig(source="de", target="en")
    return Config(name="x", data=data, model=model, training=replace(SHORT, teacher=teacher, **changes))


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("student", [NO_DROPOUT, replace(DECODER_ONLY, **WITHOUT_DROPOUT)])
def test_the_loss_is_the_cross_entropy_with_the_teacher(
    data: TrainingData, teachers: list[str], tmp_path: Path, student: ModelConfig, number: int
) -> None:
    """That of the logits, whatever the families of the student and its teacher."""
    trainer: Any = make_trainer(settings(teachers[number], student, teacher_weight=1.0), data, tmp_path)
    pairs = trainer.data.train.chosen(torch.arange(100))
    batch = make_batch(pairs, torch.arange(20))
    mask, source = batch.tgt_mask_BT, (batch.src_BS, batch.src_mask_BS, batch.tgt_in_BT)
    with torch.no_grad():
        taught = trainer.learner.teacher.model(*source)[mask].softmax(-1)
        expected = -(taught * trainer.model(*source)[mask].log_softmax(-1)).sum()
        loss = trainer.learner.train()(batch)
        usual = Learner(trainer.model, trainer.config, trainer.numerics).train()(batch)
    torch.testing.assert_close(loss.smoothed, expected, atol=1e-2, rtol=1e-4)
    assert torch.equal(loss.nll, usual.nll)
    assert not torch.equal(loss.smoothed, usual.smoothed)
    assert torch.equal(trainer.learner.eval()(batch).smoothed, usual.smoothed), "validation asks no teacher"


def test_a_stop_changes_no_bit(data: TrainingData, teachers: list[str], tmp_path: Path) -> None:
    config = settings(teachers[0], accumulate=2, r_drop=2.0, ema=0.9, max_steps=8)
    whole, _ = require_same_end(lambda folder: make_trainer(config, data, folder), tmp_path, 7)
    assert not any("teacher" in name for name, _ in whole.learner.named_parameters()), "no checkpoint has the teacher"


def test_a_teacher_has_no_dropout_and_draws_no_number(data: TrainingData, teachers: list[str], tmp_path: Path) -> None:
    """So a student with a teacher of no weight would see the dropout that it sees without a teacher."""
    trainer = make_trainer(settings(teachers[0]), data, tmp_path)
    teacher = load_teacher(settings(teachers[0]), data, trainer.numerics)
    assert teacher
    batch = make_batch(data.train.chosen(torch.arange(100)), torch.arange(10))
    torch.manual_seed(1)
    state = torch.get_rng_state()
    one, two = teacher.lesson(batch), teacher.lesson(batch)
    assert torch.equal(one.probabilities(0, 99), two.probabilities(0, 99))
    assert torch.equal(torch.get_rng_state(), state)


def test_what_does_not_fit_is_refused_before_anything_is_prepared(
    data: TrainingData, teachers: list[str], here: Path
) -> None:
    make_tokenizer(here / "other")
    own = TokenizerConfig(folder=teachers[0])
    cases = [
        (settings(teachers[0]), "give its folder as tokenizer.folder too"),
        (replace(settings("nowhere"), tokenizer=own), "no such folder"),
        (replace(settings("[[a]]"), tokenizer=own), r"\[\[a\]\]: there is no such folder"),  # text on a command line
        (replace(settings(teachers[0]), tokenizer=TokenizerConfig(folder="other")), "another tokenizer than this run"),
        (replace(settings(teachers[0]), tokenizer=own, data=DataConfig(source="en", target="de")), "not from en to de"),
        (replace(settings(teachers[0], objective="denoise", best_metric="nll"), tokenizer=own), "has learned"),
    ]
    for config, message in cases:
        with pytest.raises(ValueError, match=message):
            Run(config, Processes(), None).carry_out(resume=False)
    assert not Path("runs/x/data").exists()
    long = TrainingData.encode(data.tokenizer, [("ab " * 90, "cd")], [("ab", "cd")])
    learned = make_model(data.tokenizer, 1, replace(TINY, positions="learned", max_positions=50))
    folder = str(save_tiny(here / "learned", learned, data.tokenizer))
    with pytest.raises(ValueError, match="reads at most 50 positions, and a training sequence takes"):
        make_trainer(settings(folder), long, here)
