"""Export: nothing that exists is touched, nothing half is left, and the card says how to run what was written."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from zipfile import ZipFile

import pytest
import torch

from nmt.config import SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.export import main
from nmt.files import check_sums
from nmt.interop import ctranslate2 as form
from nmt.interop import export as interop
from nmt.interop.convert import card, convert
from nmt.interop.export import MOST_LINES, export, packed, real_lines
from nmt.text.normalise import tidy
from nmt.translation.model_folder import EXPORTED, Facts, ModelInfo, read_info, save_model
from nmt.translation.translator import Translator
from nmt.vocabulary import BOS, EOS, UNK
from tests.interop.foreign import marian, nllb
from tests.tiny import PAIRS, SHORT, TINY, Stderr, make_model, save_tiny

LINES = [source for source, _ in PAIRS]
INFO = ModelInfo("fi", "sv", "three pairs", TINY, SHORT, Facts())


def alone(folder: Path, text: str, *options: str) -> "subprocess.CompletedProcess[str]":
    """What an unpacked zip file makes of a text, in a process without nmt."""
    command = [sys.executable, *options] if "translate.py" in options else [sys.executable, "translate.py", *options]
    return subprocess.run(command, cwd=folder, input=text, capture_output=True, encoding="utf8")


def in_ctranslate2(folder: Path, search: SearchConfig, lines: list[str]) -> list[str]:
    return Translator.load(folder, "cpu", search, backend="ctranslate2").translate(lines)


def test_an_export_has_tokenizer_settings_hashes_and_a_card_that_runs(
    model_folder: Path, tokenizer: Tokenizer, lines: Path, tmp_path: Path
) -> None:
    pytest.importorskip("ctranslate2")
    target = tmp_path / "new" / "exported"
    assert main([str(model_folder), str(target), "--to", "ctranslate2", "--check", str(lines)]) == 0
    check_sums(target, "README.md", "config.json", "model.bin", EXPORTED)
    assert Tokenizer.load(target).same_as(tokenizer)
    assert read_info(target / EXPORTED) == read_info(model_folder / "config.json")
    text = (target / "README.md").read_text(encoding="utf8")
    assert text.startswith((model_folder / "README.md").read_text(encoding="utf8"))
    assert "Compared with nmt on 4 sentences" in text
    program = "\n".join(line.removeprefix("    ") for line in text.partition("without nmt:")[2].splitlines())
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, cwd=target, input=LINES[0], capture_output=True, text=True, check=True)
    search = SearchConfig(beam_size=2, max_length=256, max_length_ratio=100, guard=False)
    assert [tidy(run.stdout)] == in_ctranslate2(target, search, LINES[:1])


def test_what_exists_is_not_touched(model_folder: Path, lines: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    for file in (tmp_path / "mine", lines):
        with pytest.raises(ValueError, match=f"{file.name} exists already"):
            export(model_folder, file, "ctranslate2", check=lines)
    assert not any((tmp_path / "mine").iterdir())


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, OSError])
def test_an_export_that_ends_early_leaves_nothing(
    model_folder: Path, lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    pytest.importorskip("ctranslate2")
    monkeypatch.setattr(form, "check", Mock(side_effect=error))
    with pytest.raises(error):
        export(model_folder, tmp_path / "out", "ctranslate2", check=lines)
    assert [*tmp_path.iterdir()] == [lines]


@pytest.mark.parametrize("case", [("float32", "TOLERANCE", "differs by"), ("int8", "MOST_MEAN", "on average, more")])
def test_an_export_that_differs_too_much_is_refused(
    model_folder: Path, lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: tuple[str, str, str]
) -> None:
    pytest.importorskip("ctranslate2")
    quantization, limit, message = case
    monkeypatch.setattr(interop, limit, -1.0)
    with pytest.raises(ValueError, match=message):
        export(model_folder, tmp_path / "out", "ctranslate2", quantization, lines)
    assert [*tmp_path.iterdir()] == [lines]


def test_all_obstacles_are_named(tokenizer: Tokenizer, tmp_path: Path) -> None:
    config = replace(TINY, activation="relu2", qk_norm=True)
    folder = save_tiny(tmp_path / "model", make_model(tokenizer, config=config), tokenizer)
    for name, obstacles in (("ctranslate2", r"qk_norm True; model\.activation relu2"), ("hf", "express this.*qk_norm")):
        with pytest.raises(ValueError, match=obstacles):
            export(folder, tmp_path / "out", name)
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["ctranslate2", "onnx", "html", "zip"])
def test_what_is_no_translator_is_none_elsewhere(tokenizer: Tokenizer, lines: Path, tmp_path: Path, name: str) -> None:
    folder = save_tiny(tmp_path / "model", make_model(tokenizer), tokenizer, objective="denoise")
    with pytest.raises(ValueError, match=r"is no translator: .* denoise, not translation; start a translator from it"):
        export(folder, tmp_path / "out", name, check=lines)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give --to"),
        (["--to", "ctranslate3"], "--to is ctranslate3"),
        (["--to", "zip"], "out is not the name of a zip file"),
        (["--to", "ctranslate2", "--quantization", "int4"], "--quantization is int4: ctranslate2 takes one of float32"),
        (["--to", "ctranslate2", "--check", "missing.de"], "missing.de: No such file"),
    ],
)
def test_wrong_options(
    model_folder: Path, tmp_path: Path, stderr_of: Stderr, arguments: list[str], message: str
) -> None:
    assert message in stderr_of(main, [str(model_folder), str(tmp_path / "out"), *arguments])
    assert not any(tmp_path.iterdir())


def test_lines_to_check_are_of_a_file_a_run_or_the_phrasebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    folder, file = tmp_path / "model", tmp_path / "mine.txt"
    with pytest.raises(ValueError, match="none in fi beside the model: give --check FILE"):
        real_lines(folder, INFO)
    (german, english) = (real_lines(folder, replace(INFO, source=language)) for language in ("de", "en"))
    assert len(german) == len(english) >= 36
    assert german != english
    for name in ("test", "test_b"):
        (tmp_path / "data" / f"{name}.src").write_text(f"of {name}\n\n \u00a0\n", encoding="utf8")
        (tmp_path / "data" / f"{name}.tgt").write_text(f"text of {name}\n\n \n", encoding="utf8")
    assert real_lines(folder, INFO) == ["of test", "of test_b"]
    assert real_lines(folder, replace(INFO, objective="lm")) == ["text of test", "text of test_b"]
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert real_lines(Path(), INFO) == ["of test", "of test_b"]
    file.write_text("\n".join(map(str, range(MOST_LINES + 1))), encoding="utf8")
    assert real_lines(folder, INFO, file) == [*map(str, range(MOST_LINES))]
    file.write_text(" \n", encoding="utf8")
    with pytest.raises(ValueError, match="has no line of text"):
        real_lines(folder, INFO, file)


def test_a_zip_file_translates_without_nmt(model_folder: Path, lines: Path, tmp_path: Path) -> None:
    """Each line as nmt does without its guard; blank lines and lines that the model can't read come back."""
    file = tmp_path / "new" / "mine.zip"
    command = [str(model_folder), str(file), "--to", "zip", "--quantization", "float32", "--check", str(lines)]
    assert main(command) == 0
    with ZipFile(file) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "mine"
    check_sums(folder, "translate.py", "translate.json", "LICENCE.txt", "README.md", "model.bin")
    assert "python translate.py" in (folder / "README.md").read_text("utf8")
    assert "three pairs" in (folder / "LICENCE.txt").read_text("utf8")
    about = json.loads((folder / "translate.json").read_text("utf8"))
    search = SearchConfig(beam_size=2, max_length=40, max_length_ratio=100, guard=False)
    expected = in_ctranslate2(folder, search, LINES[:2])
    limits = {"longest": 40, "max_length": 40, "length_ratio": 100}
    (folder / "translate.json").write_text(json.dumps(about | limits), "utf8")
    text = "\n".join(["\ufeff" + LINES[0].replace("ä", "a\u0308"), LINES[1].replace(" ", "\t"), "", "Hund " * 100])
    done = alone(folder, text, "-X", "importtime", "translate.py", "--beam-size", "2", "--threads", "1")
    assert not re.search(r"\| +(nmt|torch|transformers)$", done.stderr, re.MULTILINE)
    assert "line 4 is too long for the model" in done.stderr
    assert [tidy(line) for line in done.stdout.splitlines()] == [*expected, "", tidy("Hund " * 100)]
    refused = alone(folder, "", "--beam-size", "0")
    assert (refused.returncode, "Traceback" in refused.stderr) == (2, False)
    left = ["sh", "-c", f"{sys.executable} translate.py | true"]
    assert subprocess.run(left, cwd=folder, input=LINES[0], capture_output=True, text=True).stderr == ""
    assert main(command) == 2, "the file exists"


def test_a_zip_file_follows_the_search_and_reads_tidy_text(tokenizer: Tokenizer, lines: Path, tmp_path: Path) -> None:
    search = SearchConfig(beam_size=2, min_length=4, max_length=6, max_length_ratio=100, allow_unk=True, guard=False)
    given = replace(search, length_norm="gnmt", repetition_penalty=2.0)
    model: Any = make_model(tokenizer, config=replace(TINY, output_bias=True))
    text = ["Zwei M\u00e4nner", "\ufeffZwei\u00ad Ma\u0308n\u200bner\x07", "Hund.", "Hund"]
    for name, likely, n in (("long", BOS, 6), ("short", EOS, 4), ("unknown", UNK, 0)):
        model.output.bias.data = torch.zeros(model.vocab_size).index_fill(0, torch.tensor(likely), 100.0)
        info = ModelInfo("de", "en", "three pairs", model.config, given, Facts(final_mark="."))
        save_model(tmp_path / f"model-{name}", dict(model.named_parameters()), tokenizer, info, "A test.\n")
        export(tmp_path / f"model-{name}", tmp_path / name, "zip", "float32", lines)
        done = alone(tmp_path / name, "\n".join(text), "--threads", "1")
        found = [tidy(line) for line in done.stdout.split("\n")]
        assert [len(line) for line in found[:4]] == [n] * 4
        if n:  # <unk> is no text
            assert found[:4] == in_ctranslate2(tmp_path / name, search, text)
    lost = "The search there doesn't follow length_norm gnmt, repetition_penalty 2.0."
    assert lost in (tmp_path / name / "README.md").read_text("utf8")


def test_the_card_of_an_export_has_no_commands_for_the_model_folder(tokenizer: Tokenizer) -> None:
    task = interop.Export(make_model(tokenizer), tokenizer, INFO, "float32")
    made = interop.exported_card(card(INFO, ["A sentence."]), form.about(task), task, interop.Parity("", 0.0, 0, ("",)))
    assert "A sentence.\n\n## Exported\n\nWritten by nmt" in made
    assert "nmt runs this folder with --backend ctranslate2." in made


def test_a_file_that_can_t_be_written_is_refused_before_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(os, "access", lambda place, mode: place != tmp_path)
    never = Mock(side_effect=AssertionError("the model was exported"))
    for name, problem in (
        ("..zip", "is not the name of a zip file"),
        ("file/new/mine.zip", "file is no folder"),
        ("new/mine.zip", "can't be written to"),
    ):
        with pytest.raises(ValueError, match=problem):
            packed(tmp_path / name, "zip", never, never)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_lines_of_a_zip_file_stay_lines_that_fit_into_memory(tokenizer: Tokenizer, lines: Path, tmp_path: Path) -> None:
    """The model spells line breaks in bytes, and has no limit of its own. A short line isn't allowed as many pieces as
    a long one of another batch."""
    model: Any = make_model(tokenizer, config=replace(TINY, positions="rotary", output_bias=True))
    model.output.bias.data[tokenizer.target.piece_to_id("<0x0A>")] = 100.0
    export(save_tiny(tmp_path / "model", model, tokenizer), tmp_path / "out", "zip", "float32", lines)
    assert json.loads((tmp_path / "out" / "translate.json").read_text("utf8"))["longest"] == 4095
    text = "\n".join(["Hund " * 50] * 64 + ["Hund"] * 64)
    found = alone(tmp_path / "out", text, "--beam-size", "1", "--threads", "1").stdout.split("\n")
    assert len(found) == 129
    assert 0 < len(found[64]) < len(found[0])


@pytest.mark.parametrize(("make", "pair"), [(marian, ("de", "en")), (nllb, ("deu_Latn", "eng_Latn"))])
def test_a_zip_file_of_a_converted_model_translates_as_nmt(
    lines: Path, tmp_path: Path, make: Callable[[Path], Any], pair: tuple[str, str]
) -> None:
    pytest.importorskip("transformers")
    make(tmp_path / "theirs")
    convert(tmp_path / "theirs", tmp_path / "ours", "a test", pair)
    export(tmp_path / "ours", tmp_path / "zip", "zip", "float32", lines)
    text = ["nicht rot alt Haus", "und Baum alt Haus"]
    search = replace(read_info(tmp_path / "zip" / EXPORTED)[0].search, guard=False)
    done = alone(tmp_path / "zip", "\n".join(text))
    assert done.stdout.splitlines() == in_ctranslate2(tmp_path / "zip", search, text), done.stderr
