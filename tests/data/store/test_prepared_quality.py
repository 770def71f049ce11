"""Training pairs that a pair scorer doubts are dropped and counted; a scorer that can't be used is told early."""

from pathlib import Path
from statistics import mean

import pytest

from nmt.config import Config
from nmt.config.data import CorpusConfig
from nmt.data.store import shards as module
from nmt.data.store.prepared import Prepared
from nmt.data.store.preparing import prepare
from nmt.data.store.shards import Scorer
from nmt.prepare import main
from nmt.translation.pair_scorer import PairScorer
from tests.data.corpus_files import write_corpus
from tests.data.store.test_prepared import config, corpus, pairs
from tests.tiny import Stderr


def settings(runs: Path, **data: object) -> Config:
    return config(runs, scorer="a-scorer", **data)


def doubt(config: Config) -> Scorer:
    """A stand-in for a pair scorer, which doubts every third pair, and can't read every 20th."""
    assert config.data.scorer == "a-scorer"
    return lambda scored: [None if n % 20 == 1 else 0.7 if n % 3 else 0.2 for n in range(len(scored))]


def test_pairs_of_low_quality_are_dropped_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SCORED_AT_ONCE", 60)
    prepared = prepare(corpus(), settings(tmp_path), tmp_path / "run", doubt)
    expected = [pair for n, pair in enumerate(pairs("eins")) if n % 3 and n % 20 != 1]
    assert sorted(prepared.train) == sorted(expected)
    ledger = prepared.ledgers["train"]
    assert (ledger.dropped["quality below 0.5"], ledger.dropped["too long for data.scorer"]) == (20, 3)
    assert ledger.kept == len(expected)
    assert (len(prepared.val), len(prepared.tests["test"])) == (8, 8)
    said = capsys.readouterr().err.splitlines()
    assert [s for s in said if "Scored" in s] == ["Scored 60 of 61 pairs, kept 38", "Scored 61 of 61 pairs, kept 38"]
    again = prepare(corpus(), settings(tmp_path), tmp_path / "run", lambda _: pytest.fail("it is not needed"))
    assert again.train == prepared.train
    with pytest.raises(ValueError, match=r"data.least_quality was 0.5, is 0.6"):
        prepare(corpus(), settings(tmp_path, least_quality=0.6), tmp_path / "run", doubt)
    with pytest.raises(ValueError, match=r"58 quality below 0.9.* data.least_quality"):
        prepare(corpus(), settings(tmp_path, least_quality=0.9), tmp_path / "none", doubt)


def test_a_doubted_pair_is_counted_for_its_corpus(tmp_path: Path) -> None:
    main = write_corpus(tmp_path / "main", train=pairs("train"), val=pairs("val"), test=pairs("test"))
    more = (CorpusConfig(corpus=str(write_corpus(tmp_path / "web", train=pairs("more")))),)
    chosen = settings(tmp_path, corpus=str(main), text="pairs", more=more)

    def doubt_web(_: Config) -> Scorer:
        return lambda scored: [0.2 if source.startswith("more") else 0.7 for source, _ in scored]

    ledger = prepare(None, chosen, tmp_path / "run", doubt_web).ledgers["train"]
    assert ledger.dropped["quality below 0.5"] == ledger.parts["web"].dropped["quality below 0.5"] > 0
    assert "quality below 0.5" not in ledger.parts["main"].dropped


def test_what_scorers_doubt_is_dropped(tmp_path: Path, scorer_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_corpus(tmp_path, **{split: pairs(split) for split in ("train", "val", "test")})
    qualities = [quality or 0.0 for quality in PairScorer.load(scorer_folder, "cpu", "fp32").score(pairs("train"))]
    least = mean(sorted(qualities)[29:31])
    expected = [pair for pair, quality in zip(pairs("train"), qualities, strict=True) if quality >= least]
    argv = ["--data.corpus", str(tmp_path), "--runs", str(tmp_path / "runs"), "--name", "x"]
    argv += ["--tokenizer.vocab_size", "320", "--training.device", "cpu", "--data.placeholders", "0"]
    assert main([*argv, "--data.scorer", str(scorer_folder.parent), "--data.least_quality", str(least)]) == 0
    prepared = Prepared.load(tmp_path / "runs" / "x")
    assert sorted(prepared.train) == sorted(expected)
    assert (len(expected), len(prepared.val)) == (30, 60)
    assert f"dropped: quality below {least:g}" in capsys.readouterr().err
    assert main([*argv, "--data.scorer", str(scorer_folder)]) == 2
    assert "was prepared with other settings: data.scorer was" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--data.scorer=nowhere", "nowhere: there is no such folder"),
        ("--data.scorer=MODEL", "is no pair scorer: it was trained with training.objective translation"),
        ("--data.scorer=SCORER --data.source=en --data.target=de", "knows de as source and en as target, not en and"),
        ("--data.scorer=SCORER --data.text=source", "data.scorer scores pairs, but data.text is source"),
        ("--data.scorer=SCORER --training.device=gpu", "'gpu' is not a device"),
    ],
)
def test_a_scorer_that_can_t_be_used_is_told_before_anything_is_read(
    option: str, told: str, scorer_folder: Path, model_folder: Path, tmp_path: Path, stderr_of: Stderr
) -> None:
    option = option.replace("SCORER", str(scorer_folder)).replace("MODEL", str(model_folder))
    captured = stderr_of(main, ["--data.corpus", "unread", "--runs", str(tmp_path), *option.split()])
    assert told in captured
    assert captured.count("\n") == 1
    assert [*tmp_path.iterdir()] == []
