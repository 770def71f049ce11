"""The command answers every line in order, writes text as it is sampled, and tells a mistake in one line."""

import io
import math
import re
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest
import torch

from nmt.config import SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.generate import main
from nmt.translation.language_model import LanguageModel
from nmt.vocabulary import EOS
from tests.tiny import SHORT, TINY, Stderr, make_model, save_tiny

PROMPTS = ["The little dog", "", "Two men", "Kaffee €"]


@pytest.fixture(scope="module")
def folder(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny random language model."""
    model = make_model(tokenizer, 3, replace(TINY, family="decoder-only"))
    with torch.no_grad():
        model.output.weight[EOS] *= 1.5
    return save_tiny(
        tmp_path_factory.mktemp("lm") / "model", model, tokenizer, replace(SHORT, max_length=9), objective="lm"
    )


@pytest.fixture(scope="module")
def lm(folder: Path) -> LanguageModel:
    return LanguageModel.load(folder, "cpu", precision="fp32")


def run(folder: Path, *arguments: str) -> int:
    return main(["--model", str(folder), "--device", "cpu", "--precision", "fp32", *arguments])


def lines_of(text: str) -> list[str]:
    lines = text.split("\n")
    assert lines.pop() == ""
    return lines


@pytest.fixture
def prompts(tmp_path: Path) -> str:
    (tmp_path / "prompts").write_text("".join(f"{prompt}\n" for prompt in PROMPTS), "utf-8")
    return str(tmp_path / "prompts")


def one_line(text: str) -> str:
    return "".join(
        " " if c in "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x85" else c for c in text if c.isprintable() or c.isspace()
    )


def test_continuations_come_in_the_order_of_the_prompts(
    folder: Path, lm: LanguageModel, prompts: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, prompts, "--samples", "2", "--seed", "5", "--top-k", "20", "--batch-size", "2") == 0
    search = replace(lm.search, samples=2, seed=5, top_k=20)
    expected = [one_line(c.text) for found in lm.generate(PROMPTS, search) for c in found]
    assert lines_of(capfd.readouterr().out) == expected
    assert len(expected) == 8


@pytest.mark.parametrize("option", [["--greedy"], ["--temperature", "0"]])
def test_greedy_takes_the_most_probable_pieces(
    folder: Path, lm: LanguageModel, prompts: str, option: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, prompts, *option, "--max-length", "4") == 0
    expected = [one_line(c.text) for [c] in lm.generate(PROMPTS, SearchConfig(max_length=4))]
    assert lines_of(capfd.readouterr().out) == expected


def test_a_stop_string_ends_a_continuation(folder: Path, lm: LanguageModel, capfd: pytest.CaptureFixture[str]) -> None:
    [[whole]] = lm.generate(["The"], replace(lm.search, seed=2))
    stop = whole.text[2:4]
    assert run(folder, "--prompt", "The", "--seed", "2", "--stop", "never", "--stop", stop) == 0
    assert capfd.readouterr().out == one_line(whole.text.partition(stop)[0]) + "\n"


def test_invalid_utf8_is_told_and_the_output_can_be_a_file(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").write_bytes(b"The\nStra\xdfe\n")
    options = [str(tmp_path / "in"), "--greedy"]
    assert run(folder, *options) == 0
    printed = capfd.readouterr()
    assert printed.err.startswith("line 2: not valid UTF-8")
    assert run(folder, *options, "--output", str(tmp_path / "out"), "--verbose") == 0
    assert (tmp_path / "out").read_text("utf-8") == printed.out
    assert capfd.readouterr().err.startswith(f"{folder}: fp32 on cpu, 1 thread\n")
    assert run(folder, str(tmp_path / "in"), str(tmp_path / "in"), "--score") == 0
    assert f"{tmp_path / 'in'}, line 2: not valid UTF-8" in capfd.readouterr().err


def test_scores_are_lines_of_figures_and_a_summary(
    folder: Path, lm: LanguageModel, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    texts = ["The little dog.", "", "dog " * 5000, "Kaffee €"]
    (tmp_path / "in").write_text("\n".join(texts), "utf-8")
    assert run(folder, str(tmp_path / "in"), "--score") == 0
    captured = capfd.readouterr()
    first, blank, long, last = lines_of(captured.out)
    assert (blank, long) == ("", "nan\tnan\tnan\tnan")
    scores = [score for score in lm.score([texts[0], texts[3]]) if score]
    for line, text, score in zip((first, last), (texts[0], texts[3]), scores, strict=True):
        bits = -score.log_prob / math.log(2) / (len(text) + 1)
        figures = [score.log_prob, score.mean, math.exp(-score.mean), bits]
        assert [*map(float, line.split("\t"))] == pytest.approx(figures, abs=1e-3)
    total, n_pieces = sum(s.log_prob for s in scores), sum(len(s.token_log_probs) for s in scores)
    assert "line 3: too long to be scored" in captured.err
    assert f"2 of 4 lines scored; with their ends {n_pieces:,} pieces and 25 characters: perplexity " in captured.err
    told = re.search(r"perplexity (\d+\.\d{4}), (\d+\.\d{4}) bits", captured.err)
    assert told
    assert [*map(float, told.groups())] == pytest.approx(
        [math.exp(-total / n_pieces), -total / math.log(2) / 25], abs=1e-3
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--prompt", "a", "file"], "--prompt is a prompt, and so are the lines of a FILE"),
        (["--prompt", "a", "--stop", ""], "--stop is empty"),
        (["--prompt", "a", "--samples", "0"], "--samples is 0: it must be at least 1"),
        (["--prompt", "a", "--samples", "2", "--greedy"], "--samples is 2: --greedy gives only one"),
        (["--prompt", "a", "--top-p", "0"], "--top-p is 0"),
        (["--prompt", "a", "--greedy", "--top-p", "0.9", "--seed", "3"], "--top-p, --seed: used only where"),
        (["--score", "--prompt", "a"], "--prompt is for continuations: it doesn't go with --score"),
        (["no-such-file"], "no-such-file: there is no such file"),
    ],
)
def test_a_mistake_is_one_line(folder: Path, arguments: list[str], message: str, stderr_of: Stderr) -> None:
    said = stderr_of(run, folder, *arguments)
    assert message in said
    assert said.count("\n") == 1


def test_a_prompt_alone_is_answered_in_parts_and_prompts_before_more_are_read(
    folder: Path, lm: LanguageModel, prompts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chunks(*_: object) -> Iterator[list[bytes]]:
        for n in range(3):
            yield [b"Two men", b"A dog"]
            assert pipe.seen[-1].count(b"\n") == 1 + 2 * (n + 1), "they are answered now"

    class Pipe(io.BytesIO):
        """What has reached the reader."""

        def __init__(self) -> None:
            super().__init__()
            self.seen = list[bytes]()

        def flush(self) -> None:
            self.seen.append(self.getvalue())

    pipe = Pipe()
    monkeypatch.setattr("nmt.generate.open_output", lambda *_: nullcontext(pipe))
    assert run(folder, "--prompt", "Two men") == 0
    parts = [one_line(part) for part in lm.stream("Two men")]
    assert len(parts) > 1
    assert [seen.decode() for seen in pipe.seen] == [*accumulate(parts), "".join(parts) + "\n"]
    monkeypatch.setattr("nmt.generate.read_chunks", chunks)
    assert run(folder, prompts) == 0
    assert len(pipe.seen) == len(parts) + 1 + 6
