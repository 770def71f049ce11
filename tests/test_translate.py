"""The command answers every line of any bytes by one line, as lines come, and ends quietly when it is told or left."""

import io
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from nmt.commands.documents import document_format
from nmt.commands.streams import read_chunks
from nmt.config import SearchConfig
from nmt.translate import main, make_translate_parser
from nmt.translation.formats import Text
from nmt.translation.jobs import Translating
from nmt.translation.translator import Translator
from tests import forks
from tests.documents.office_samples import docx
from tests.tiny import SHORT, Stderr

PLAIN = ["--device", "cpu", "--precision", "fp32"]
# Ends of line for others, half a character, half a pair, a byte that is never UTF-8, and the separator of n-best lists.
ODD_LINES = [
    "a\u2028b\u2029c\u0085d".encode(), b"a\rb\r", b"a\x0bb\x0cc\x1cd", b"\xe2\x82", b"\xed\xa0\xbd", b"\xff\xfe",
    b"\x00", b"\t", b"", b" ", "👩‍👩‍👧".encode(), b"a ||| b", b"Hund " * 300, "ﬁ\u0308\ufeff".encode(),
]  # fmt: skip


def translate_bytes(
    translator: Translator, data: bytes, size: int = 1 << 16, *, scores: bool = False, search: SearchConfig = SHORT
) -> bytes:
    job = Translating(translator, search, Text(translator, search.n_best > 1, scores))
    return b"".join(map(job.answer, read_chunks(io.BytesIO(data), size)))


def start_command(folder: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    """A process, which is ended after a minute so that a test can't hang."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = forks.start(main, [*PLAIN, "--model", str(folder), *arguments], **pipes)
    watchdog = Timer(60, process.kill)
    watchdog.daemon = True
    watchdog.start()
    return process


any_line = st.one_of(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")), st.sampled_from(ODD_LINES))


@settings(max_examples=15, deadline=None, derandomize=True)
@given(lines=st.lists(any_line, max_size=12), ended=st.booleans(), size=st.integers(1, 400))
def test_as_many_lines_come_out_as_went_in(translator: Translator, lines: list[bytes], ended: bool, size: int) -> None:
    if lines and lines[0].startswith((b"\xff\xfe", b"\xfe\xff")):  # refused, as UTF-16
        lines[0] = lines[0][2:]
    data = b"".join(line + b"\n" for line in lines)
    if not ended and lines and lines[-1]:
        data = data[:-1]
    output = translate_bytes(translator, data, size)
    assert output == translate_bytes(translator, data)
    answers = output.decode("utf-8").split("\n")
    assert answers.pop() == ""
    assert len(answers) == len(lines)
    read = [line.decode("utf-8", "replace").strip() for line in lines]
    pairs = zip(read, answers, strict=True)
    assert all(len(answer.splitlines()) <= max(1, len(line.splitlines())) for line, answer in pairs)
    assert all(answer == "" for line, answer in zip(lines, answers, strict=True) if not line.strip())


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
    three = replace(SHORT, beam_size=3, n_best=3)
    best = [line.split(" ||| ") for line in translate_bytes(translator, data, 7, search=three).decode().splitlines()]
    assert [index for index, _, _ in best] == list("0001222")
    assert best[3][1] == ""


def test_files_are_translated_in_turn_into_a_file(
    model_folder: Path, translator: Translator, tmp_path: Path, stderr_of: Stderr
) -> None:
    (tmp_path / "a").write_bytes(b"Hund\n\nKaffee")
    (tmp_path / "b").write_bytes("Männer\r\n".encode() + b"Stra\xdfe")
    names = [str(tmp_path / "a"), "--input", str(tmp_path / "b"), "--output", str(tmp_path / "out")]
    said = stderr_of(main, [*names, "--model", str(model_folder), "--batch-size", "1", "--precision", "fp32"], status=0)
    *answers, _, rest = (tmp_path / "out").read_text("utf-8").split("\n")
    assert (answers, rest) == (translator.translate(["Hund", "", "Kaffee", "Männer"]), "")
    assert said.startswith(f"{tmp_path / 'b'}, line 2: not valid UTF-8")


def translate_file(folder: Path, source: Path, output: Path | str) -> int:
    return main([str(source), "--output", str(output), "--model", str(folder), "--precision", "fp32"])


@pytest.mark.parametrize("name", ["f", "-", "symlink", "hardlink", "f.partial"])
def test_an_output_that_is_also_an_input_is_refused(
    model_folder: Path, tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / ("f.partial" if name == "f.partial" else "f")
    source.write_text("Hund\n")
    (tmp_path / "symlink").symlink_to(source)
    (tmp_path / "hardlink").hardlink_to(source)
    before = sorted(tmp_path.iterdir())
    with source.open() as file, forks.standard_input(file):
        output = tmp_path / ("f" if name in ("-", "f.partial") else name)
        assert translate_file(model_folder, Path(name) if name == "-" else source, output) == 2
    overwritten = tmp_path / "hardlink" if name == "hardlink" else source
    assert f"would overwrite {overwritten}, which is also an input: name another file" in capfd.readouterr().err
    assert source.read_text() == "Hund\n"
    assert sorted(tmp_path.iterdir()) == before


def test_a_replaced_file_keeps_its_mode_and_links(model_folder: Path, translator: Translator, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("Hund\n")
    (tmp_path / "out").write_text("old\nand longer than the new text, which replaces it\n" * 9)
    (tmp_path / "out").chmod(0o640)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "link").symlink_to(tmp_path / "out")
    assert translate_file(model_folder, tmp_path / "in", tmp_path / "sub" / "link") == 0
    assert (tmp_path / "out").read_text() == f"{translator.translate(['Hund'])[0]}\n"
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "sub" / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out", "sub"]


def test_pipes_and_devices_are_written_to_directly(model_folder: Path, translator: Translator, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("Hund\n")
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert translate_file(model_folder, tmp_path / "in", tmp_path / "pipe") == 0
    assert os.read(reader, 1 << 16).decode() == f"{translator.translate(['Hund'])[0]}\n"
    os.close(reader)
    assert translate_file(model_folder, tmp_path / "in", os.devnull) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "pipe"]
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
@pytest.mark.parametrize("lines", [0, 2])
def test_a_failure_leaves_the_old_file_and_tells_where_the_translated_part_is(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stderr_of: Stderr, error: Any, lines: int
) -> None:
    def answer(self: Translating, chunk: list[bytes]) -> bytes:
        assert (tmp_path / "out.partial").read_bytes() == b"".join(written), "each answer is there at once"
        if len(written) == lines:
            raise error
        written.append(b"answer\n")
        return written[-1]

    written: list[bytes] = []
    monkeypatch.setattr(Translating, "answer", answer)
    monkeypatch.setattr("nmt.translate.read_chunks", lambda *_: iter([[b"Hund"]] * 9))
    (tmp_path / "in").write_text("Hund\n")
    (tmp_path / "out").write_text("old\n")
    status = 130 if error is KeyboardInterrupt else 2
    said = stderr_of(translate_file, model_folder, tmp_path / "in", tmp_path / "out", status=status)
    assert (tmp_path / "out").read_text() == "old\n"
    told = f"{tmp_path / 'out'} is unchanged; the lines written so far are in {tmp_path / 'out.partial'}\n"
    assert (told in said) == (lines > 0)
    if lines:
        assert (tmp_path / "out.partial").read_text() == "answer\n" * lines
    else:
        assert not (tmp_path / "out.partial").exists()


def test_a_file_that_may_not_be_written_to_stays(model_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("Hund\n")
    (tmp_path / "out").write_text("old\n")
    (tmp_path / "out").chmod(0o444)
    if os.access(tmp_path / "out", os.W_OK):
        pytest.skip("this user may write to every file")
    assert translate_file(model_folder, tmp_path / "in", tmp_path / "out") == 2
    assert (tmp_path / "out").read_text() == "old\n"


@pytest.mark.usefixtures("auto")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device", "gpu"], "gpu"),
        (["nowhere.txt"], "nowhere.txt"),
        ([".."], ".. is a folder: name a file in it"),
        (["--must", "cat", "--must-not", "cat|dog"], "can't be met: must has 'cat'"),
        (["--must", "|"], "empty"),
        (["--samples", "4", "--prefix", "The"], "don't go with search.samples"),
        (["--samples", "4", "--no-repeat-ngram", "3"], "--no-repeat-ngram: used only by beam search"),
        (["--force-decode", "--must", "cat"], "--must is for lines to translate"),
        (["--force-decode", "--beam-size", "3"], "--beam-size is for lines to translate"),
        (["--batch-size", "1000000000"], "search.batch_size is 1000000000: it must be at least 1 and at most 10000"),
        (["--output", "no/such"], "no/such: there is no folder no"),
        (["a.json"], "line 1 is not valid JSON"),
        (["a.csv"], "--columns (in the service: the field columns) is missing: it says which columns are translated"),
        (["a.json", "a.csv"], "2 files: only one document"),
        (["a.json", "--document", "pdf"], "--document pdf: known are android, csv,"),
        (["a.pdf"], "a.pdf: PDF says where letters stand"),
        (["a.rst"], "a.rst: reStructuredText isn't read: make PO files of it"),
        (["a"], "a is a zip file, as office files and books are"),
        (["a.json", "--document", "json", "--n-best", "3"], "--n-best: for lines"),
        (["a.de", "--encoding", "cp1252"], "--encoding: for documents; add --document"),
    ],
)
def test_a_mistake_is_told_in_one_line_and_nothing_is_written(
    arguments: list[str], message: str, model_folder: Path, here: Path, stderr_of: Stderr
) -> None:
    texts = {"in": "Hund\n", "a.json": "{]", "a.csv": "{}", "a.de": "{}", "a": "PK\3\4\n", "a.pdf": "1", "a.rst": "1"}
    for name, text in texts.items():
        Path(name).write_text(text)
    files = [] if arguments[0] in texts else ["in"]
    output = [] if "--output" in arguments else ["--output", "out"]
    said = stderr_of(main, [*files, *arguments, *output, "--model", str(model_folder)])
    assert said.startswith("nmt.translate: ")
    assert message in said
    assert said.count("\n") == 1
    assert {path.name: path.read_text() for path in here.iterdir()} == texts


def test_a_process_answers_every_line_of_the_worst_bytes(model_folder: Path, translator: Translator) -> None:
    data = b"\n".join(ODD_LINES)
    output, errors = start_command(model_folder, "--backend", "pytorch").communicate(data)
    assert output == translate_bytes(translator, data)
    assert output.count(b"\n") == len(ODD_LINES)
    invalid = [n for n, line in enumerate(ODD_LINES, 1) if {"\ufffd", "\0"} & {*line.decode("utf-8", "replace")}]
    told = [remark.split(b":")[0] for remark in errors.splitlines()]
    assert told == [b"line %d" % n for n in invalid]


def test_a_line_is_answered_before_the_next_is_sent_and_ctrl_c_ends_it(model_folder: Path) -> None:
    with start_command(model_folder) as process:
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


@pytest.mark.slow
def test_a_reader_that_leaves_early_ends_it_without_a_word(model_folder: Path, tmp_path: Path) -> None:
    """Also while Python ends: a process that is no fork."""
    (tmp_path / "in").write_bytes(b"Hund\n" * 100_000)
    command = [sys.executable, "-m", "nmt.translate", *PLAIN, "--model", str(model_folder), str(tmp_path / "in")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [*command, "--scores"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline().endswith(b"\n")
        process.stdout.close()
        assert process.wait(60) == 141
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("number", "files", "told"),
    [
        (0, [], "standard input can't be read"),
        (0, ["CITATION.cff", "-"], "standard input can't be read"),
        (1, ["CITATION.cff"], "standard output can't be written to"),
        (1, ["CITATION.cff", "--output", os.devnull], ""),
        (2, ["CITATION.cff", "--verbose"], ""),
    ],
)
def test_what_is_closed_is_named_if_it_is_needed(model_folder: Path, number: int, files: list[str], told: str) -> None:
    """Also if a file has taken its number. What is said to nobody isn't among the translations."""

    def run(arguments: list[str]) -> int:
        os.close(number)
        setattr(sys, ("stdin", "stdout", "stderr")[number], None)  # as Python begins then
        return main(arguments)

    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    process = forks.start(run, [*PLAIN, "--model", str(model_folder), *files], **pipes, text=True)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == (2 if told else 0)
    assert told in errors
    assert output.count("\n") == (Path("CITATION.cff").read_text().count("\n") if number == 2 else 0)
    assert "Traceback" not in errors


def test_translating_loads_no_compiler_and_leaves_what_it_loaded_out_of_garbage_collection(model_folder: Path) -> None:
    """torch._dynamo takes a second, a third of the command's start."""
    code = f"""
import gc, sys
from nmt.translate import main
main(["--model", {str(model_folder)!r}])
print("torch._dynamo" in sys.modules, gc.get_freeze_count() > 100_000)
"""
    done = subprocess.run([sys.executable, "-c", code], input="Hund\n", stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False True"


def test_documents_are_translated_as_a_whole_by_their_suffix_or_as_told(
    model_folder: Path, translator: Translator, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    common = ["--model", str(model_folder), "--precision", "fp32"]
    page, output = tmp_path / "a.html", tmp_path / "b.html"
    page.write_bytes(b"<!-- Hund -->\r\n<p>Hund</p>\r\n<p title='Kaffee'>12</p>")
    assert main([str(page), *common, "--output", str(output)]) == 0
    dog, coffee = translator.translate(["Hund", "Kaffee"])
    assert output.read_bytes().decode() == f"<!-- Hund -->\r\n<p>{dog}</p>\r\n<p title='{coffee}'>12</p>"
    capfd.readouterr()
    assert main([str(page), *common, "--n-best", "1"]) == 0  # an option for lines: as lines
    assert capfd.readouterr().out.count("\n") == 3
    (tmp_path / "a.txt").write_bytes(b"  Hund\r\n\r\n")
    assert main([str(tmp_path / "a.txt"), *common]) == 0
    assert capfd.readouterr().out == f"{dog}\n\n"
    assert main([str(tmp_path / "a.txt"), *common, "--document", "txt"]) == 0
    assert capfd.readouterr().out == f"  {dog}\r\n\r\n"


def test_a_compressed_document_has_the_format_that_its_name_says() -> None:
    options = make_translate_parser().parse(["page"])
    assert [document_format(options, [name]) for name in ("page.MD.gz", "page.gz", "page.de.gz")] == ["md", "", ""]


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ([], "the translation is a docx file, which is not for a terminal: name a file with --output"),
        (["--output", "b.pdf"], "--output b.pdf: the translation is a docx file: give its name the ending .docx"),
        (["--document", "json", "--output", "b.docx"], "not valid utf-8"),
    ],
)
def test_an_office_file_is_written_to_no_terminal_and_under_no_name_of_another_format(
    model_folder: Path, here: Path, output: list[str], message: str, stderr_of: Stderr, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda _: True)
    Path("a.docx").write_bytes(docx())
    assert message in stderr_of(main, ["a.docx", "--model", str(model_folder), *output])
    assert not Path("b.pdf").exists()
    assert main(["a.docx", "--model", str(model_folder), "--beam-size", "1", "--output", "b.tmp"]) == 0


@pytest.mark.parametrize(("name", "shown"), [("a.txt", "lines: 3"), ("a.md", "texts: 1")])
@pytest.mark.parametrize("output", [["--output", "b"], []])
def test_a_terminal_shows_how_far_a_translation_is_if_the_results_go_elsewhere(
    model_folder: Path, here: Path, name: str, shown: str, output: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda _: True)
    terminal = io.StringIO()
    monkeypatch.setattr("nmt.messages.console", lambda: Console(file=terminal, force_terminal=True))
    Path(name).write_text("Der Hund\n" * 3)
    assert main([name, "--model", str(model_folder), "--beam-size", "1", *output]) == 0
    assert (shown in terminal.getvalue()) == bool(output)
