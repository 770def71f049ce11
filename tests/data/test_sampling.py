"""Random segmentations spell the text, follow their distribution, and are the same in every process."""

import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.config import Config, TokenizerConfig, TrainingConfig
from nmt.data.batches import Sequences
from nmt.data.sampling import SampledPairs, SampledText
from nmt.data.tokenizer import Tokenizer, segmentations, train_tokenizer

LINES = [
    f"der {adjective} {noun} läuft durch den {place}."
    for adjective in ("große", "kleine", "müde", "schöne")
    for noun in ("Hund", "Mann", "Junge", "Fuchs")
    for place in ("Park", "Wald", "Schnee", "Garten")
]
ODD = ["", "a  b ", "▁ a▁b", "日本 müde", "Hund"]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    pairs = [(line, line) for line in LINES]
    return train_tokenizer(pairs, TokenizerConfig(vocab_size=330), tmp_path_factory.mktemp("tokenizer"), "de", "en")


def lists(sequences: Sequences) -> list[list[int]]:
    return [
        sequences.flat[start : start + length].tolist()
        for start, length in zip(sequences.starts_N.tolist(), sequences.lengths_N.tolist(), strict=True)
    ]


def draw(text: SampledText, seed: int) -> list[list[int]]:
    return lists(text.draw(torch.Generator().manual_seed(seed)))


def test_draws_spell_the_text_and_differ(tokenizer: Tokenizer) -> None:
    text = SampledText(tokenizer.target, LINES + ODD, alpha=0.3, longest=1000)
    first, second = draw(text, 1), draw(text, 2)
    usual = tokenizer.encode_target(LINES + ODD)
    assert tokenizer.decode_target(first) == tokenizer.decode_target(second) == tokenizer.decode_target(usual)
    assert len({str(ids) for ids in (first, second, usual)}) == 3
    assert draw(text, 1) == first


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=5))
def test_any_text_is_spelled(tokenizer: Tokenizer, lines: list[str]) -> None:
    drawn = draw(SampledText(tokenizer.target, lines, alpha=0.1, longest=1000), 1)
    assert tokenizer.decode_target(drawn) == tokenizer.decode_target(tokenizer.encode_target(lines))


def test_a_large_alpha_and_long_lines_give_the_usual_segmentation(tokenizer: Tokenizer) -> None:
    usual = tokenizer.encode_source(LINES + ODD)
    assert draw(SampledText(tokenizer.source, LINES + ODD, alpha=1e6, longest=1000), 1) == usual
    assert draw(SampledText(tokenizer.source, LINES + ODD, alpha=0.3, longest=0), 1) == usual


def test_the_largest_draw_stays_within_its_word(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    """With many words, the largest number below 1 added to a word's number is rounded up to the next word's."""
    text = SampledText(tokenizer.source, [f"w{i}" for i in range(5000)], alpha=0.3, longest=1000)

    def largest(n: int, **settings: object) -> torch.Tensor:
        return torch.full((n,), 1 - 2**-53, dtype=torch.float64)

    monkeypatch.setattr(torch, "rand", largest)
    assert tokenizer.decode_source(draw(text, 1)) == [f"w{i}" for i in range(5000)]


def test_segmentations_are_drawn_in_proportion_to_their_probability_to_alpha(tokenizer: Tokenizer) -> None:
    word = "Schneehund"
    segmented = segmentations(tokenizer.source, [word], 32)[0]
    assert len(segmented) > 2
    options = [(ids, sum(tokenizer.source.get_score(i) for i in ids)) for ids in segmented]
    assert [score for _, score in options] == sorted((score for _, score in options), reverse=True)
    n, alpha = 20_000, 0.2
    drawn = draw(SampledText(tokenizer.source, [word] * n, alpha, longest=1000), 1)
    total = sum(math.exp(alpha * score) for _, score in options)
    for ids, score in options:
        p = math.exp(alpha * score) / total
        assert drawn.count(ids) == pytest.approx(n * p, abs=5 * math.sqrt(n * p) + 1)


def test_an_epoch_is_the_same_in_every_process(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path)
    pairs = SampledPairs(tokenizer, [(line, line) for line in LINES], alpha=0.3, longest=1000)
    script = (
        "import sys, pathlib\n"
        "from nmt.data.sampling import SampledPairs\n"
        "from nmt.data.tokenizer import Tokenizer\n"
        f"lines = {LINES!r}\n"
        "pairs = SampledPairs(Tokenizer.load(pathlib.Path(sys.argv[1])), [(l, l) for l in lines], 0.3, 1000)\n"
        "print(pairs.draw(5, 3).target.flat.tolist())"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent.parent.parent,
    )
    assert run.stdout.strip() == str(pairs.draw(5, 3).target.flat.tolist())
    assert pairs.draw(5, 3).target.flat.tolist() != pairs.draw(5, 4).target.flat.tolist()


def test_bpe_is_refused(tmp_path: Path) -> None:
    bpe = train_tokenizer(
        [(line, line) for line in LINES], TokenizerConfig(kind="bpe", vocab_size=330), tmp_path, "de", "en"
    )
    with pytest.raises(ValueError, match="needs a unigram tokenizer"):
        SampledPairs(bpe, [("der Hund", "der Hund")], alpha=0.3, longest=1000)
    with pytest.raises(ValueError, match=r"needs tokenizer\.kind unigram"):
        Config(tokenizer=TokenizerConfig(kind="bpe"), training=TrainingConfig(subword_sampling=0.5))
