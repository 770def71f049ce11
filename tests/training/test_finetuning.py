"""Training with another model: what is taken over from it or learned from it, what is refused, what stays still."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt.config import Config, DataConfig, ModelConfig, TokenizerConfig, TrainingConfig
from nmt.data.batches import Pairs, Sequences, make_batch
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.model.build import build_model
from nmt.model.contract import GenerativeModel
from nmt.training.data import TrainingData
from nmt.training.distributed import Processes
from nmt.training.finetuning import freeze, load_teacher, start_from
from nmt.training.loop import make_trainer
from nmt.training.loss import Learner
from nmt.training.run import Run
from tests.tiny import build_generative_model, make_model, make_tokenizer, save_tiny
from tests.training.reversal import NO_DROPOUT, SHORT, TINY, require_same_end

PAIRS = [
    (f"der {adjective} {noun}", f"the {word} {thing}")
    for adjective, word in (("alte", "old"), ("rote", "red"), ("neue", "new"), ("gute", "good"))
    for noun, thing in (("Hund", "dog"), ("Mann", "man"), ("Fisch", "fish"), ("Hut", "hat"))
]
CONFIG = ModelConfig(d_model=16, n_heads=2, encoder_layers=1, decoder_layers=1, d_ff=16, dropout=0.0)


def trained_on(folder: Path, pairs: list[tuple[str, str]], joint: bool = True) -> Tokenizer:
    return train_tokenizer(pairs, TokenizerConfig(vocab_size=40, byte_fallback=False, joint=joint), folder, "de", "en")


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return trained_on(tmp_path_factory.mktemp("words"), PAIRS)


def new_model(config: ModelConfig, words: Tokenizer, seed: int) -> GenerativeModel:
    torch.manual_seed(seed)
    return build_generative_model(config, words.src_vocab_size, words.tgt_vocab_size).eval()


@pytest.mark.parametrize("tied", ["three-way", "decoder", "none"])
def test_with_the_same_vocabulary_the_new_model_is_the_old(tmp_path: Path, tied: str) -> None:
    words = trained_on(tmp_path / "words", PAIRS, joint=tied == "three-way")
    config = replace(CONFIG, tied_embeddings=tied)  # type: ignore[arg-type]
    old = new_model(config, words, 1)
    folder = save_tiny(tmp_path / "model", old, words)
    model = new_model(replace(config, dropout=0.3), words, 2)
    start_from(model, words, folder)
    batch = make_batch(Pairs(Sequences.of([[5, 6]]), Sequences.of([[7, 8, 9]])), torch.tensor([0]))
    expected, logits = (m(batch.src_BS, batch.src_mask_BS, batch.tgt_in_BT) for m in (old, model))
    assert torch.equal(expected, logits)


def test_with_a_new_vocabulary_shared_pieces_keep_their_embedding(tmp_path: Path) -> None:
    old_words = trained_on(tmp_path / "old", PAIRS)
    words = trained_on(tmp_path / "new", [*PAIRS[:8], *((f"das Pferd {n}", f"the zebra {n}") for n in range(9))])
    old, model = new_model(CONFIG, old_words, 1), new_model(CONFIG, words, 2)
    first = model.get_parameter("tgt_embedding.weight").detach().clone()
    said = start_from(model, words, save_tiny(tmp_path / "model", old, old_words))
    kept = 0
    for i in range(words.tgt_vocab_size):
        there = old_words.target.piece_to_id(piece := words.target.id_to_piece(i))
        is_kept = old_words.target.id_to_piece(there) == piece
        expected = old.get_parameter("tgt_embedding.weight")[there] if is_kept else first[i]
        kept += is_kept
        assert torch.equal(model.get_parameter("tgt_embedding.weight")[i], expected), piece
    assert 10 < kept < words.tgt_vocab_size
    assert f"embeddings {kept / words.tgt_vocab_size:.1%}, encoder 100.0%, decoder 100.0%" in said
    name = "decoder.0.cross_attention.kv.weight"
    assert torch.equal(model.get_parameter(name), old.get_parameter(name))


def test_another_architecture_is_refused_by_its_settings(words: Tokenizer, tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "model", new_model(CONFIG, words, 1), words)
    with pytest.raises(ValueError, match=r"model\.d_ff is 32, there 16; model\.norm is 'rms', there 'layer'"):
        start_from(new_model(replace(CONFIG, d_ff=32, norm="rms"), words, 2), words, folder)


def test_a_shallower_model_starts_with_the_first_layers(words: Tokenizer, tmp_path: Path) -> None:
    old = new_model(replace(CONFIG, encoder_layers=2, decoder_layers=3), words, 1)
    model = new_model(replace(CONFIG, encoder_layers=2), words, 2)
    said = start_from(model, words, save_tiny(tmp_path / "model", old, words))
    assert "embeddings 100.0%, encoder 100.0%, decoder 100.0%" in said
    kept = dict(old.named_parameters())
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, kept[name]), name
    deeper = new_model(replace(CONFIG, encoder_layers=2, decoder_layers=4), words, 2)
    assert "decoder 75" in start_from(deeper, words, tmp_path / "model")


def test_a_run_folder_will_do_and_a_wrong_one_is_noticed_before_anything_is_prepared(
    words: Tokenizer, here: Path
) -> None:
    save_tiny(here / "run" / "model", new_model(CONFIG, words, 1), words)
    assert "encoder 100.0%" in start_from(new_model(CONFIG, words, 2), words, here / "run")
    for start, message in (("nowhere", "no such folder"), ("run", "trained with other settings")):
        config = Config(name="new", training=TrainingConfig(start_from=start))
        with pytest.raises(ValueError, match=message):
            Run(config, Processes(), None).carry_out(resume=False)
    assert not Path("runs/new/data").exists()


@pytest.mark.parametrize(("family", "part"), [("encoder-only", "encoder"), ("decoder-only", "decoder")])
@pytest.mark.parametrize("tied", ["three-way", "decoder"])
def test_a_translator_starts_with_the_parts_that_another_family_has(
    words: Tokenizer, tmp_path: Path, family: str, part: str, tied: str
) -> None:
    torch.manual_seed(1)
    sizes = words.src_vocab_size, words.tgt_vocab_size
    old = build_model(replace(CONFIG, family=family, encoder_layers=2, decoder_layers=1), *sizes)  # type: ignore[arg-type]
    folder = save_tiny(tmp_path / "model", old, words)
    model = new_model(replace(CONFIG, encoder_layers=2, tied_embeddings=tied), words, 2)  # type: ignore[arg-type]
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    said = start_from(model, words, folder)
    kept = dict(old.named_parameters())
    separate = family == "decoder-only" and tied == "decoder"  # a decoder has no embedding of sources
    for name, parameter in model.named_parameters():
        # The other family's only embedding is its output layer too.
        if "embedding" in name and not (separate and name.startswith("src")):
            assert torch.equal(parameter, old.output.weight), name
        elif name in kept:
            assert torch.equal(parameter, kept[name]), name
        else:
            assert torch.equal(parameter, before[name]), name
    shares = dict(re.findall(r"(encoder|decoder|embeddings) (\d+\.\d)%", said))
    assert shares["embeddings"] == ("50.0" if separate else "100.0")
    assert (shares[part] == "100.0") == (part == "encoder")
    assert float(shares[part]) > 50


def test_the_parts_that_are_not_frozen_learn(words: Tokenizer) -> None:
    """`test_optim.py` sees that the others don't move."""
    model = new_model(CONFIG, words, 1)
    freeze(model, ("embeddings", "encoder"))
    assert {name.split(".")[0] for name, p in model.named_parameters() if p.requires_grad} == {"decoder"}


# Teachers: a student learns their probabilities, in every way of training

WIDE = replace(TINY, d_model=48, n_heads=4, tied_embeddings="decoder", output_bias=True)
WITHOUT_DROPOUT: Any = {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}
DECODER_ONLY = replace(TINY, family="decoder-only", encoder_layers=0, norm_position="pre", max_positions=64)


@pytest.fixture(scope="module")
def teachers(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Teachers that are wider than the students, and of both families."""
    folder = tmp_path_factory.mktemp("teachers")
    models = [make_model(tokenizer, seed, model) for seed, model in enumerate((WIDE, DECODER_ONLY))]
    return [str(save_tiny(folder / str(n), model, tokenizer)) for n, model in enumerate(models)]


def with_teacher(teacher: Any, model: ModelConfig = TINY, **changes: Any) -> Config:
    data = DataConfig(source="de", target="en")
    return Config(name="x", data=data, model=model, training=replace(SHORT, teacher=teacher, **changes))


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("student", [NO_DROPOUT, replace(DECODER_ONLY, **WITHOUT_DROPOUT)])
def test_the_loss_is_the_cross_entropy_with_the_teacher(
    data: TrainingData, teachers: list[str], tmp_path: Path, student: ModelConfig, number: int
) -> None:
    """That of the logits, whatever the families of the student and its teacher."""
    trainer: Any = make_trainer(with_teacher(teachers[number], student, teacher_weight=1.0), data, tmp_path)
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
    config = with_teacher(teachers[0], accumulate=2, r_drop=2.0, ema=0.9, max_steps=8)
    whole, _ = require_same_end(lambda folder: make_trainer(config, data, folder), tmp_path, 7)
    assert not any("teacher" in name for name, _ in whole.learner.named_parameters()), "no checkpoint has the teacher"


def test_a_teacher_has_no_dropout_and_draws_no_number(data: TrainingData, teachers: list[str], tmp_path: Path) -> None:
    """So a student with a teacher of no weight would see the dropout that it sees without a teacher."""
    trainer = make_trainer(with_teacher(teachers[0]), data, tmp_path)
    teacher = load_teacher(with_teacher(teachers[0]), data, trainer.numerics)
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
    taught, own = with_teacher(teachers[0]), TokenizerConfig(folder=teachers[0])
    back, other = DataConfig(source="en", target="de"), TokenizerConfig(folder="other")
    cases = [
        (taught, "give its folder as tokenizer.folder too"),
        (replace(with_teacher("nowhere"), tokenizer=own), "no such folder"),
        (replace(with_teacher("[[a]]"), tokenizer=own), r"\[\[a\]\]: there is no such"),  # text on a command line
        (replace(taught, tokenizer=other), "another tokenizer than this run"),
        (replace(taught, tokenizer=own, data=back), "not from en to de"),
        (replace(with_teacher(teachers[0], objective="denoise", best_metric="nll"), tokenizer=own), "has learned"),
    ]
    for config, message in cases:
        with pytest.raises(ValueError, match=message):
            Run(config, Processes(), None).carry_out(resume=False)
    assert not Path("runs/x/data").exists()
    long = TrainingData.encode(data.tokenizer, [("ab " * 90, "cd")], [("ab", "cd")])
    learned = make_model(data.tokenizer, 1, replace(TINY, positions="learned", max_positions=50))
    folder = str(save_tiny(here / "learned", learned, data.tokenizer))
    with pytest.raises(ValueError, match="reads at most 50 positions, and a training sequence takes"):
        make_trainer(with_teacher(folder), long, here)
