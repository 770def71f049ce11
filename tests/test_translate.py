"""The command answers every line of any bytes by one line, as lines come, and ends quietly when it is told or left."""

import io
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from threading import Timer

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.config import ModelConfig, SearchConfig, TokenizerConfig
from nmt.data.tokenizer import train_tokenizer
from nmt.model.encoder_decoder import Transformer
from nmt.translate import main, read_chunks
from nmt.translation.formats import Demands, Text, Translating
from nmt.translation.model_folder import ModelInfo, save_model
from nmt.translation.translator import Translator

TINY = ModelConfig(d_model=16, n_heads=2, encoder_layers=1, decoder_layers=1, d_ff=32, tied_embeddings="none")
DECODING = SearchConfig(beam_size=2, max_length_ratio=0.2, batch_size=8, guard=False)
PAIRS = [
    ("Der kleine Hund läuft über die Wiese.", "The little dog runs across the meadow."),
    ("Zwei Männer trinken Kaffee.", "Two men drink coffee."),
]
# Ends of line for others, half a character, half a pair, a byte that is never UTF-8, and the separator of n-best lists.
ODD_LINES = [
    "a\u2028b\u2029c\u0085d".encode(),
    b"a\rb\r",
    b"a\x0bb\x0cc\x1cd",
    b"\xe2\x82",
    b"\xed\xa0\xbd",
    b"\xff\xfe",
    b"\x00",
    b"\t",
    b"",
    b" ",
    "👩‍👩‍👧".encode(),
    b"a ||| b",
    b"Hund " * 300,
    "ﬁ\u0308\ufeff".encode(),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder whose model folder holds a tiny model with random weights."""
    run = tmp_path_factory.mktemp("runs") / "tiny"
    tokenizer = train_tokenizer(PAIRS * 5, TokenizerConfig(vocab_size=330), run / "tokenizer", "de", "en")
    torch.manual_seed(1)
    model = Transformer(TINY, tokenizer.src_vocab_size, tokenizer.tgt_vocab_size)
    info = ModelInfo("de", "en", "two pairs", TINY, DECODING)
    save_model(run / "model", dict(model.named_parameters()), tokenizer, info, "A test.\n")
    (run / "report.json").write_text("{}")
    return run


@pytest.fixture(scope="module")
def translator(folder: Path) -> Translator:
    return Translator.load(folder / "model", "cpu", precision="fp32")


def translate_bytes(
    translator: Translator, data: bytes, size: int = 1 << 16, *, n_best: bool = False, scores: bool = False
) -> bytes:
    job = Translating(translator, Text(translator, n_best, scores), Demands())
    return b"".join(map(job.answer, read_chunks(io.BytesIO(data), size)))


def start_command(folder: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    """A real process, which is ended after a minute so that a test can't hang."""
    command = [
        sys.executable,
        "-m",
        "nmt.translate",
        "--model",
        str(folder),
        "--device",
        "cpu",
        "--precision",
        "fp32",
        *arguments,
    ]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    watchdog = Timer(60, process.kill)
    watchdog.daemon = True
    watchdog.start()
    return process


any_line = st.one_of(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")), st.sampled_from(ODD_LINES))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(lines=st.lists(any_line, max_size=12), ended=st.booleans(), size=st.integers(1, 400))
def test_as_many_lines_come_out_as_went_in_whatever_their_bytes(
    translator: Translator, lines: list[bytes], ended: bool, size: int
) -> None:
    data = b"".join(line + b"\n" for line in lines)
    if not ended and lines and lines[-1]:
        data = data[:-1]
    output = translate_bytes(translator, data, size)
    assert output == translate_bytes(translator, data)
    answers = output.decode("utf-8").split("\n")
    assert answers.pop() == ""
    assert len(answers) == len(lines)
    assert all(len(answer.splitlines()) <= 1 for answer in answers)
    assert all(answer == "" for line, answer in zip(lines, answers, strict=True) if not line.strip())


@settings(max_examples=200, derandomize=True)
@given(data=st.binary(max_size=60).map(lambda data: data.replace(b"\x00", b"\n")), size=st.integers(1, 20))
def test_reading_in_chunks_gives_the_lines(data: bytes, size: int) -> None:
    lines = [line for chunk in read_chunks(io.BytesIO(data), size) for line in chunk]
    assert lines == (data.removesuffix(b"\n").split(b"\n") if data else [])


def test_bytes_that_are_not_utf8_are_read_as_replacement_characters(translator: Translator) -> None:
    replaced = translate_bytes(translator, "Hund\ufffd und\n".encode(), scores=True)
    assert translate_bytes(translator, b"Hund\xff und\n", scores=True) == replaced
    assert translate_bytes(translator, b"Hund und\n", scores=True) != replaced


def test_n_best_and_scores_have_their_formats(translator: Translator) -> None:
    data = b"Hund\n\nKaffee"
    plain = translate_bytes(translator, data).decode().splitlines()
    scored = [line.split("\t") for line in translate_bytes(translator, data, scores=True).decode().splitlines()]
    assert [text for _, text in scored] == plain
    assert [float(score) <= 0 for score, _ in scored] == [True] * 3
    three = Translator(translator.model, translator.tokenizer, replace(DECODING, beam_size=3, n_best=3))
    best = [line.split(" ||| ") for line in translate_bytes(three, data, size=7, n_best=True).decode().splitlines()]
    assert [index for index, _, _ in best] == list("0001222")
    assert best[3][1] == ""


def test_files_are_translated_one_after_the_other_into_a_file(
    folder: Path, translator: Translator, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"Hund\n\nKaffee")
    (tmp_path / "b").write_bytes("Männer\r\n".encode())
    names = [str(tmp_path / "a"), "--input", str(tmp_path / "b"), "--output", str(tmp_path / "out")]
    assert main([*names, "--model", str(folder), "--batch-size", "1"]) == 0
    lines = ["Hund", "", "Kaffee", "Männer"]
    assert (tmp_path / "out").read_text("utf-8").split("\n") == [*translator.translate(lines), ""]


def test_decoding_options_go_before_the_model_s_own(folder: Path, translator: Translator, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("Hund\nKaffee\n", "utf-8")
    files = [str(tmp_path / "in"), "--output", str(tmp_path / "out"), "--model", str(folder / "model")]
    assert main([*files, "--n-best=2", "--beam-size=4", "--length-penalty=0", "--max-length-ratio=0.5"]) == 0
    decoding = replace(DECODING, beam_size=4, n_best=2, length_penalty=0.0, max_length_ratio=0.5)
    other = Translator(translator.model, translator.tokenizer, decoding)
    found = other.translate_n_best(["Hund", "Kaffee"])
    expected = [f"{i} ||| {best.text} ||| {best.score:.4f}" for i in range(2) for best in found[i]]
    assert (tmp_path / "out").read_text("utf-8").splitlines() == expected


def test_without_a_model_the_newest_finished_run_is_taken_and_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").write_text("Hund\n")
    monkeypatch.chdir(tmp_path)
    assert main(["in"]) == 2
    assert capfd.readouterr().err == (
        "nmt.translate: no model is given and runs/ has no finished run: give one with "
        "--model DIR, or train one with python -m nmt.train\n"
    )
    (tmp_path / "runs").symlink_to(folder.parent)
    assert main(["in"]) == 0
    output = capfd.readouterr()
    assert output.err == "Model: runs/tiny/model\n"
    assert len(output.out.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--beam-size", "0"], "decoding.beam_size is 0"),
        (["--beam-size", "two"], "beam_size"),
        (["--beem-size", "2"], "beem"),
        (["--n-best", "9"], "decoding.n_best is 9: it must be from 1 to decoding.beam_size, 2"),
        (["--device", "gpu"], "gpu"),
        (["nowhere.txt"], "nowhere.txt"),
        (["--model", "nowhere"], "nowhere is not a model folder"),
        (["--output", "in"], "is also an input"),
        (["--must", "cat", "--must-not", "cat|dog"], "can't be had: must has 'cat'"),
        (["--must", "|"], "empty"),
        (["--samples", "4", "--prefix", "The"], "don't go with decoding.samples"),
        (["--force-decode", "--must", "cat"], "--must is for what is translated"),
        (["--batch-size", "1000000000"], "decoding.batch_size is 1000000000: it must be from 1 to 10000"),
        (["--samples", "100000"], "it must be from 0 to 1000"),
    ],
)
def test_a_mistake_is_told_in_one_line_and_nothing_is_written(
    arguments: list[str],
    message: str,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").write_text("Hund\n")
    assert main(["in", "--model", str(folder), *arguments]) == 2
    output = capfd.readouterr()
    assert output.out == ""
    assert output.err.startswith("nmt.translate: ")
    assert message in output.err
    assert output.err.count("\n") == 1
    assert (tmp_path / "in").read_text() == "Hund\n"


def test_a_real_process_answers_every_line_of_the_worst_bytes(folder: Path, translator: Translator) -> None:
    data = b"\n".join(ODD_LINES)
    output, errors = start_command(folder).communicate(data)
    assert output == translate_bytes(translator, data)
    assert output.count(b"\n") == len(ODD_LINES)
    assert errors == b""


def test_a_line_is_answered_before_the_next_is_sent_and_ctrl_c_ends_it(folder: Path) -> None:
    with start_command(folder) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        for line in (b"Hund\n", b"\n", b"Kaffee und Hund\n"):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline().endswith(b"\n")
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert process.stderr.read().strip() == b""


def test_a_reader_that_leaves_early_ends_it_without_a_word(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"Hund\n" * 100_000)
    with start_command(folder, str(tmp_path / "in"), "--scores") as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline().endswith(b"\n")
        process.stdout.close()
        assert process.wait() == 141
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("closed", "told"), [("<&-", "standard input can't be read"), (">&-", "standard output can't be written to")]
)
def test_what_is_closed_is_named(folder: Path, closed: str, told: str) -> None:
    command = shlex.join([sys.executable, "-m", "nmt.translate", "--model", str(folder), "--device", "cpu"])
    done = subprocess.run(f"echo Ja | ({command} {closed})", shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_help_comes_at_once() -> None:
    seconds = []
    for _ in range(2):
        started = time.perf_counter()
        text = subprocess.run([sys.executable, "-m", "nmt.translate", "--help"], check=True, capture_output=True).stdout
        seconds.append(time.perf_counter() - started)
    assert b"--beam-size" in text
    assert min(seconds) < 1
