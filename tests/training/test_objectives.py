"""Objectives: what a model reads and must predict, how runs learn it, and what their models and reports say."""

import json
import math
from collections import Counter
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.config import OBJECTIVES, Config, TokenizerConfig
from nmt.data.batches import Batch, Pairs, PlannedBatch
from nmt.data.copies import noise
from nmt.data.copies.false_pairs import FALSE, TRUE, PieceKinds
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.extras import typed
from nmt.model.contract import Model
from nmt.training.data import TrainingData
from nmt.training.delivery import describe, measure_tests, write_model
from nmt.training.loop import Trainer, make_trainer
from nmt.training.objectives import Denoising, LanguageModel, MaskedPieces, Objective, TruePairs
from nmt.translation.pair_scorer import PairScorer
from nmt.translation.translator import Translator
from nmt.vocabulary import BOS, EOS, FIRST_PIECE, PAD, UNK
from tests.data.test_batches import as_pairs
from tests.training.reversal import NO_DROPOUT, SHORT, corpus, losses, records, require_equal, run

VOCAB = 60
ids = st.lists(st.integers(FIRST_PIECE, VOCAB - 1), min_size=1, max_size=12)
corpora = st.lists(st.tuples(ids, ids), min_size=1, max_size=6)
seeds = st.integers(0, 1000)
KINDS = PieceKinds.of(["▁" * (i % 3 == 0) + "Aa1"[i % 3] for i in range(VOCAB)])
KINDS_OF_BATCHES: list[Objective] = [Objective(), LanguageModel(), MaskedPieces(VOCAB), Denoising(), TruePairs(KINDS)]


def texts(rows: list[tuple[list[int], list[int]]]) -> Pairs:
    return as_pairs([([], target) for _, target in rows])


def everything(objective: Objective, pairs: Pairs, seed: int = 1) -> Batch:
    """All pairs as one batch."""
    return objective.batch(objective.pairs(pairs), torch.arange(len(pairs.target)), generator(seed))


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(corpora, st.sampled_from(KINDS_OF_BATCHES), seeds)
def test_batches_repeat_mark_padding_and_have_as_many_targets_as_predicted(
    rows: list[tuple[list[int], list[int]]], objective: Objective, seed: int
) -> None:
    pairs = as_pairs(rows) if type(objective) in (Objective, TruePairs) else texts(rows)
    batch, again = everything(objective, pairs, seed), everything(objective, pairs, seed)
    assert all(a.equal(b) for a, b in zip(vars(batch).values(), vars(again).values(), strict=True))
    index_B = torch.arange(len(rows))
    known, lengths = objective.lengths(pairs.source.lengths_N, pairs.target.lengths_N), objective.pairs(pairs).lengths
    assert all(map(torch.equal, known, lengths)), "also without the ids"
    assert batch.target_tokens == objective.predictions(objective.pairs(pairs), index_B)
    assert not isinstance(objective, Denoising) or [row[0] for row in batch.tgt_in_BT.tolist()] == [BOS] * len(rows)
    assert (batch.src_BS != PAD).equal(batch.src_mask_BS)
    assert not (batch.tgt_out_BT[batch.tgt_mask_BT] == PAD).any()
    assert batch.src_BS.size(1) == 0 or (batch.src_BS == EOS).sum(1).tolist() == [
        2 if isinstance(objective, TruePairs) else 1
    ] * len(rows)


def test_a_language_model_reads_no_source() -> None:
    pairs = LanguageModel().pairs(texts([([], [7, 8]), ([], [9])]))
    batch = everything(LanguageModel(), pairs)
    assert batch.src_BS.shape == batch.src_mask_BS.shape == (2, 0)
    assert batch.tgt_in_BT.tolist() == [[BOS, 7, 8], [BOS, 9, PAD]]
    assert batch.tgt_out_BT.tolist() == [[7, 8, EOS], [9, EOS, PAD]]
    assert [lengths.tolist() for lengths in pairs.lengths] == [[0, 0], [3, 2]]


@given(st.lists(ids | st.just([]), min_size=1, max_size=6), seeds)
def test_masked_pieces_are_predicted_and_others_stay(rows: list[list[int]], seed: int) -> None:
    batch = everything(MaskedPieces(VOCAB), texts([([], text) for text in rows]), seed)
    for text, read, real, whole, hidden in zip(
        rows, batch.src_BS, batch.src_mask_BS, batch.tgt_out_BT, batch.tgt_mask_BT, strict=True
    ):
        assert whole[real].tolist() == [BOS, *text, EOS]
        assert read[~hidden].equal(whole[~hidden])
        n = int(hidden.sum())
        assert abs(n - 0.15 * len(text)) <= 0.5 + 1e-4 or n == 1
        assert (n > 0) == (len(text) > 0)
        assert not (hidden & ((whole == BOS) | (whole == EOS) | (whole == PAD))).any()


def test_the_label_of_a_pair_says_whether_it_was_spoiled() -> None:
    rows = [([10 + i, 20 + i, 21 + i], [30 + i, 31 + i, 42]) for i in range(10)]
    objective = TruePairs(KINDS)
    labels: Counter[int] = Counter()
    for seed in range(200):
        batch = everything(objective, as_pairs(rows), seed)
        assert batch.tgt_mask_BT[:, 0].all()
        assert batch.target_tokens == 10
        for row, real, label, pair in zip(
            batch.src_BS, batch.src_mask_BS, batch.tgt_out_BT[:, 0].tolist(), rows, strict=True
        ):
            true = row[real].tolist() == [BOS, *pair[0], EOS, BOS, *pair[1], EOS]
            assert label == (TRUE if true else FALSE)
            labels[label] += 1
    assert labels[FALSE] / 2000 == pytest.approx(0.5, abs=0.03)


def test_a_single_pair_is_spoiled_with_others_of_the_corpus() -> None:
    rows = [([10], [11]), ([20], [21]), ([30], [31])]
    objective = TruePairs(KINDS)
    pairs = objective.pairs(as_pairs(rows))
    batches = [objective.batch(pairs, torch.tensor([0]), generator(seed)) for seed in range(100)]
    read = [batch.src_BS[0].tolist() for batch in batches]
    assert [BOS, 10, EOS, BOS, 21, EOS] in read
    assert [BOS, 10, EOS, BOS, 31, EOS] in read


@given(corpora, seeds)
def test_false_pairs_fit_the_positions_of_the_model(rows: list[tuple[list[int], list[int]]], seed: int) -> None:
    most = max(len(source) + len(target) for source, target in rows)
    batch = everything(TruePairs(KINDS, most), as_pairs(rows), seed)
    assert batch.src_BS.size(1) <= most + 4


def test_noise_depends_on_the_place_of_a_batch_in_the_run_and_on_nothing_else() -> None:
    objective = MaskedPieces(VOCAB)
    pairs = objective.pairs(texts([([], [*range(10, 40)])] * 4))

    def noised(seed: int = 1, epoch: int = 0, number: int = 0, part: int = 0) -> list[list[int]]:
        planned = PlannedBatch(pairs, torch.arange(4), epoch, number, part)
        torch.rand(3)
        return objective.batch(pairs, planned.index_B, planned.generator(seed)).src_BS.tolist()

    assert noised() == noised()
    others = [noised(epoch=1), noised(number=1), noised(part=1), noised(seed=2)]
    assert all(other != noised() for other in others)
    planned = PlannedBatch(pairs, torch.arange(4), 0, 0)
    torch.manual_seed(planned.seed(1))
    assert not torch.rand(9).equal(torch.rand(9, generator=planned.generator(1))), "noise and dropout differ"


# Runs.


def settings(objective: Any, **changes: Any) -> Config:
    usual = {"objective": objective, "best_metric": "auto", "label_smoothing": "auto"}
    training = replace(SHORT, **{**usual, **changes})
    family: Any = OBJECTIVES[training.objective].families[0]
    return Config(model=replace(NO_DROPOUT, family=family), training=training)


def trainer_of(config: Config, tokenizer: Tokenizer, folder: Path) -> Trainer:
    return make_trainer(config, data_of(config, tokenizer), folder)


def data_of(config: Config, tokenizer: Tokenizer) -> TrainingData:
    return TrainingData.encode(tokenizer, rows_of(config, 200, 1), rows_of(config, 20, 2))


def rows_of(config: Config, n: int, seed: int) -> list[tuple[str, str]]:
    rows = corpus(n, seed)
    return rows if config.training.objective in ("translation", "pair") else [("", target) for _, target in rows]


BEST = math.log(6)  # nats of a word that could be any of the six


@pytest.mark.parametrize(
    ("objective", "steps", "best"),
    [
        ("lm", 100, 4 * BEST / 5),  # four words and EOS
        ("mlm", 100, BEST),
        ("denoise", 400, BEST / 5),  # one of four words is hidden, and EOS follows
    ],
)
def test_a_model_learns_all_that_the_text_tells(
    objective: Any, steps: int, best: float, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noise, "MASKED", 1.0)  # a piece that stayed would be told
    _, figures = learned(settings(objective), steps, tokenizer, tmp_path)
    assert figures["validation/nll"] == pytest.approx(best, rel=0.05)


def learned(config: Config, steps: int, tokenizer: Tokenizer, folder: Path) -> tuple[Model, dict[str, float]]:
    """The model of a run that takes so many steps, and its last validation."""
    changes: dict[str, Any] = {"max_steps": steps, "validate_every": steps, "log_every": steps}
    changes |= {"batch_tokens": 600, "learning_rate": 5e-3, "warmup_steps": 50, "label_smoothing": 0.0}
    config = replace(config, training=replace(config.training, **changes))
    data = TrainingData.encode(tokenizer, rows_of(config, 2000, 1), rows_of(config, 200, 2))
    trainer = run(make_trainer(config, data, folder))
    return trainer.model, trainer.validator.measure()[0]


def test_a_model_learns_to_tell_true_pairs_from_false_ones(tokenizer: Tokenizer, tmp_path: Path) -> None:
    model, figures = learned(settings("pair"), 600, tokenizer, tmp_path)
    assert figures["validation/accuracy"] > 80
    pairs = corpus(200, 3)
    false = [(source, target) for (source, _), (_, target) in pairwise(pairs)]
    true, other = (PairScorer(model, tokenizer).score(some) for some in (pairs, false))
    assert mean(map(float, filter(None, true))) > 0.7
    assert mean(map(float, filter(None, other))) < 0.3


@pytest.mark.parametrize("objective", ["lm", "mlm", "denoise", "pair"])
def test_a_run_goes_on_bit_for_bit_and_its_card_is_right(objective: Any, tokenizer: Tokenizer, tmp_path: Path) -> None:
    config = settings(objective, max_steps=40, log_every=20, validate_every=20, accumulate=2)
    whole = run(trainer_of(config, tokenizer, tmp_path / "whole"))
    assert not (tmp_path / "whole" / "translations").exists()
    half = replace(config, training=replace(config.training, max_steps=20))
    run(trainer_of(half, tokenizer, tmp_path / "parts"))
    parts = run(trainer_of(config, tokenizer, tmp_path / "parts"))
    assert losses(tmp_path / "whole") == losses(tmp_path / "parts")
    require_equal(whole.model, parts.model)
    validated = [record for record in records(tmp_path / "whole") if "validation/nll" in record]
    measured = {tag.removeprefix("validation/") for tag in validated[0] if tag.startswith("validation/")}
    assert measured == {*OBJECTIVES[config.training.objective].metrics}
    assert whole.progress.best_value == -min(record["validation/nll"] for record in validated)

    weights, data = dict(whole.model.named_parameters()), data_of(config, tokenizer)
    write_model(tmp_path / "whole" / "model", weights, data, config, "reversal", torch.device("cpu"))
    info = json.loads((tmp_path / "whole" / "model" / "config.json").read_text())
    assert info["objective"] == objective
    with pytest.raises(ValueError, match=f"no translator: it was trained with training.objective {objective}"):
        Translator.load(tmp_path / "whole" / "model", "cpu")
    report = measure_tests(tmp_path / "whole", config, {"val": rows_of(config, 20, 2)})
    assert report["nll"] == pytest.approx(validated[-1]["validation/nll"], abs=1e-4)
    assert report["tests"]["val"]["sentences"] == 20
    said = "\n".join(describe(report | {"corpus": "reversal", "seconds": {}, "settings": asdict(config)}, tmp_path))
    assert f"val: nll {report['nll']:.3f}, perplexity" in said
    assert ("bits per character" in said) == (objective == "lm")
    assert ("accuracy" in said) == (objective in ("mlm", "pair"))
    uses = {"lm": typed("generate --model"), "pair": typed("translate --scorer")}
    assert f"{uses.get(objective, '--training.start_from')} {tmp_path / 'model'}" in said
    card = (tmp_path / "whole" / "model" / "README.md").read_text(encoding="utf8")
    assert ("nmt.translate --force-decode --scorer" in card) == (objective == "pair")
    assert "of reversal" in card


def test_noised_text_may_come_first(tokenizer: Tokenizer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trainer = trainer_of(settings("translation", denoise_steps=6, validate_every=4), tokenizer, tmp_path)
    run(trainer)
    assert [r["step"] for r in records(tmp_path) if "validation/nll" in r] == [8, 12], "before, it can't translate"
    said = capsys.readouterr().err
    steps = [line for line in said.splitlines() if "pieces/s" in line]
    assert ["(of noised text)" in line for line in steps] == [True, True, False, False]
    assert [r["step"] for r in records(tmp_path) if "train/nll" in r] == [4, 6, 8, 12], "no record has both tasks"
    feed, pairs = trainer.feed, trainer.data.train
    assert isinstance(pairs, Pairs)
    sources, targets = ({*map(tuple, side.rows(torch.arange(200)))} for side in (pairs.source, pairs.target))
    feed.go_to((0, 0))
    kinds = set()
    for step in range(1, 13):
        [planned] = feed.group(step)
        batch = feed.take(planned)
        written = [tuple(row[row > EOS].tolist()) for row in batch.tgt_out_BT]
        sides = [side for side in (sources, targets) if side.issuperset(written)]
        assert sides
        assert (UNK in batch.src_BS) == (step <= 6)
        halves = [half.tgt_out_BT for half in map(feed.make, planned.halves())]
        assert [tuple(row[row > EOS].tolist()) for half in halves for row in half] == written, "the same side"
        kinds |= {sides[0] is sources} if step <= 6 else set()
    assert kinds == {True, False}, "texts of both sides"


@pytest.mark.parametrize(
    ("objective", "steps", "tied", "message"),
    [
        ("denoise", 0, "decoder", "training.objective is denoise, which needs a joint tokenizer"),
        ("translation", 1, "decoder", "training.denoise_steps is 1, which needs a joint tokenizer"),
        ("translation", 0, "three-way", "a vocabulary for each language, but the model needs one vocabulary: take"),
    ],
)
def test_objectives_with_one_language_and_tied_embeddings_need_one_vocabulary(
    tmp_path: Path, objective: Any, steps: int, tied: Any, message: str
) -> None:
    config = settings(objective, denoise_steps=steps)
    config = replace(config, model=replace(config.model, tied_embeddings=tied))
    separate = TokenizerConfig(joint=False, vocab_size=30, byte_fallback=False)
    tokenizer = train_tokenizer(corpus(300, 1), separate, tmp_path, "de", "en")
    with pytest.raises(ValueError, match=message):
        trainer_of(config, tokenizer, tmp_path / "run")
