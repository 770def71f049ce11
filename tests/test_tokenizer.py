"""Promises of the command: named tokenizers are those of nmt.prepare, lines in are lines out, nothing is lost."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nmt import prepare
from nmt.data.tokenizer import Tokenizer
from nmt.tokenizer import main, make_tokenizer_parser
from tests import forks
from tests.data.corpus_files import write_corpus
from tests.tiny import PAIRS, Stderr

ROOT = Path(__file__).parent.parent
SMALL = ["--tokenizer.vocab_size", "340"]
TEXT = ["--data.corpus", "text.de", "--data.text", "source"]
INPUT = "Der kleine Hund\r\n\n \t \nZwei  Männer ☃".encode() + b" \xff\n\nam Tisch"
TIDIED = "Der kleine Hund\n\n\nZwei Männer ☃ \ufffd\n\nam Tisch\n".encode()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus, the tokenizer `mine` of that corpus, and `separate`, with a model for each language."""
    place = tmp_path_factory.mktemp("place")
    pairs = [[f"{text} {number}" for text in pair] for number in range(20) for pair in PAIRS]
    write_corpus(place / "corpus", train=pairs)
    (place / "text.de").write_text((place / "corpus" / "train.de").read_text("utf8"), encoding="utf8")
    (place / "input").write_bytes(INPUT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert main(["train", "mine", "--data.corpus", "corpus", *SMALL]) == 0
        assert main(["train", "separate", "--data.corpus", "corpus", "--tokenizer.joint", "false", *SMALL]) == 0
    return place


@pytest.fixture(autouse=True)
def inside(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)


def run(*argv: str, text: bytes = b"") -> bytes:
    """What the command prints, run as a process with this standard input."""
    process = forks.start(main, argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    output: bytes = process.communicate(text)[0]
    assert process.returncode == 0
    return output


def test_a_named_tokenizer_is_the_one_that_prepare_trains_and_takes(capfd: pytest.CaptureFixture[str]) -> None:
    corpus = ["--data.corpus", "corpus"]
    assert prepare.main([*corpus, *SMALL, "--data.placeholders", "0", "--name", "own"]) == 0
    assert prepare.main([*corpus, "--tokenizer.folder", "tokenizers/mine", "--name", "taken"]) == 0
    assert prepare.main([*corpus, "--tokenizer.folder", "runs/own", "--name", "again"]) == 0, "it has no model yet"
    named = Tokenizer.load(Path("tokenizers/mine"))
    own, taken, again = (Tokenizer.load(Path("runs", name, "tokenizer")) for name in ("own", "taken", "again"))
    assert named.same_as(own)
    assert named.same_as(taken)
    assert named.same_as(again)
    capfd.readouterr()
    assert main(["encode", "mine", "--ids", "text.de"]) == 0
    ids = [[int(word) for word in line.split()] for line in capfd.readouterr().out.splitlines()]
    assert ids == taken.encode_source(Path("text.de").read_text("utf8").splitlines())


@pytest.mark.parametrize("ids", [[], ["--ids"]])
def test_lines_in_are_lines_out_and_give_the_tidied_text_back(ids: list[str]) -> None:
    encoded = run("encode", "mine", *ids, text=INPUT)
    assert encoded == run("encode", "mine", "input", *ids)
    assert [line == b"" for line in encoded.split(b"\n")] == [line == b"" for line in TIDIED.split(b"\n")]
    assert run("decode", "mine", *ids, "-", text=encoded) == TIDIED
    assert run("decode", "./tokenizers/mine", *ids, text=encoded.replace(b"\n", b" \r\n")) == TIDIED
    shutil.copytree("tokenizers/mine", "runs/whole/model", dirs_exist_ok=True)
    assert run("encode", "runs/whole", *ids, text=INPUT) == encoded, "a run folder will do"


def test_several_files_are_read_in_turn_and_the_output_is_written_whole(stderr_of: Stderr) -> None:
    assert main(["encode", "mine", "input", "text.de", "--ids", "--output", "out.ids"]) == 0
    assert main(["decode", "mine", "--ids", "--output", "out", "out.ids"]) == 0
    assert Path("out").read_bytes() == TIDIED + Path("text.de").read_bytes()
    assert "also an input" in stderr_of(main, ["encode", "mine", "input", "--output", "input"])
    assert Path("input").read_bytes() == INPUT


@pytest.mark.parametrize(
    ("line", "ids", "message"),
    [
        (b"5 340 6", True, "has '340', which is not an id of the tokenizer, from 0 to 339"),
        (b"9" * 5000, True, "9', which is not an id"),
        (b"5\xff", True, "has '5\\udcff', which"),
        (b"5\t6", True, "has '5\\t6', which"),
        ("▁☃".encode(), False, "has '▁☃', which is not a piece of the tokenizer"),
    ],
)
def test_what_is_no_id_or_piece_is_named_with_its_line(line: bytes, ids: bool, message: str, stderr_of: Stderr) -> None:
    Path("bad").write_bytes(b"\n\n" + line + b"\n")
    error = stderr_of(main, ["decode", "mine", "bad", *["--ids"] * ids])
    assert error.startswith("nmt.tokenizer: bad, line 3 has ")
    assert message in error
    assert error.count("\n") == 1


def test_separate_tokenizers_need_a_side(capfd: pytest.CaptureFixture[str], stderr_of: Stderr) -> None:
    assert "take --side source or target" in stderr_of(main, ["encode", "separate", "text.de"])
    for side in ("source", "target"):
        assert main(["encode", "separate", "text.de", "--side", side, "--output", f"{side}.pieces"]) == 0
    assert Path("source.pieces").read_bytes() != Path("target.pieces").read_bytes()
    both = ["encode", "separate", "text.de", "--side", "both"]
    assert "--side is 'both': it must be one of source, target" in stderr_of(main, both)


def test_training_again_keeps_a_tokenizer_with_the_same_settings(stderr_of: Stderr) -> None:
    model = Path("tokenizers/mine/joint.model")
    before = model.stat().st_mtime_ns
    argv = ["train", "mine", "--data.corpus", "corpus", "--tokenizer.vocab_size"]
    assert "is trained already" in stderr_of(main, [*argv, "340"], status=0)
    changed = "was trained with other settings: tokenizer.vocab_size was 340, is 350"
    assert changed in stderr_of(main, [*argv, "350"])
    assert model.stat().st_mtime_ns == before


def test_edited_text_is_noticed(stderr_of: Stderr, tmp_path: Path) -> None:
    lines = [f"satz nummer {n} mit text" for n in range(40)]
    for language in ("de", "en"):
        (tmp_path / f"mine.{language}").write_text("\n".join(lines))
    argv = ["train", "one", "--data.corpus", str(tmp_path / "mine"), "--tokenizer.vocab_size", "290"]
    assert main(argv) == 0
    assert main(argv) == 0
    (tmp_path / "mine.en").write_text("\n".join([*lines, "one more"]))
    change = f"text has changed since tokenizers/one was made: {tmp_path / 'mine.en'} was changed. Choose another"
    assert change in stderr_of(main, argv)
    (tmp_path / "mine.en").unlink()
    assert main(argv) == 0, "the text is not needed"


def test_text_in_one_language_makes_a_tokenizer_and_older_ones_are_of_pairs(stderr_of: Stderr) -> None:
    argv = ["train", "english", "--data.corpus", "text.de", "--data.target", "de", "--data.text", "target", *SMALL]
    assert "texts of text" in stderr_of(main, argv, status=0)
    said = stderr_of(main, [*argv, "--tokenizer.joint", "false"])
    assert "data.text is target, which needs tokenizer.joint true" in said
    argv = ["train", "older", "--data.corpus", "corpus", *SMALL]
    assert main(argv) == 0
    record = Path("tokenizers/older/settings.json")
    saved = json.loads(record.read_text())
    assert saved["settings"].pop("data.text") == "pairs"
    record.write_text(json.dumps(saved))
    sums = record.with_name("SHA256SUMS")
    digest = hashlib.sha256(record.read_bytes()).hexdigest()
    sums.write_text(re.sub(r"\w+(  settings\.json)", rf"{digest}\1", sums.read_text()))
    assert "is trained already" in stderr_of(main, argv, status=0)
    assert "data.text was 'pairs', is 'both'" in stderr_of(main, [*argv, "--data.text", "both"])


def test_an_altered_tokenizer_is_not_taken_for_trained(stderr_of: Stderr) -> None:
    assert main(["train", "altered", *TEXT, *SMALL]) == 0
    with Path("tokenizers/altered/joint.model").open("ab") as file:
        file.write(b"x")
    assert "damaged or was altered" in stderr_of(main, ["train", "altered", *TEXT, *SMALL])


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"settings": 3}', '{"model": {"type": "BPE"}}'])
def test_a_folder_of_others_is_left_alone(content: str, stderr_of: Stderr) -> None:
    folder = Path("tokenizers/theirs")
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text(content)
    (folder / "SHA256SUMS").write_text("")
    said = stderr_of(main, ["train", "theirs", *TEXT, *SMALL])
    assert "tokenizers/theirs is in the way, and nmt.tokenizer did not make it" in said
    assert (folder / "settings.json").read_text() == content
    assert sorted(path.name for path in folder.iterdir()) == ["SHA256SUMS", "settings.json"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "write train, encode or decode, then a name"),
        (["encode"], "write the name of a tokenizer after encode"),
        (["train", ".."], "write the name of a tokenizer after train"),
        (["encode", "nowhere"], "tokenizers/nowhere holds no tokenizer"),
        (["encode", "mine", "no-file"], "no-file: there is no such file"),
        (["train", "new", "--data.corpus", "no-file"], "there is no such folder or file"),
        (["train", "new", "text.de"], "unexpected words on the command line: text.de"),
        (["train", "new", *TEXT, "--tokenizer.folder", "x"], "tokenizer.folder is for nmt.prepare"),
        (["train", "new", *TEXT, "--training.max_steps", "5"], "settings of training change nothing"),
        (["train", "new", *TEXT, "--tokenizer.vocab_size", "270"], "tokenizer.vocab_size is 270"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(argv: list[str], message: str, stderr_of: Stderr) -> None:
    error = stderr_of(main, argv).splitlines()[-1]
    assert error.startswith("nmt.tokenizer: ")
    assert message in error
    assert not [*Path("tokenizers").glob("new*")]


@pytest.mark.slow
def test_encoding_imports_no_torch() -> None:
    code = (
        "import sys; from nmt.tokenizer import main; main(['encode', 'mine', 'input']); print('torch' in sys.modules)"
    )
    printed = subprocess.check_output([sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT)}, text=True)
    assert printed.splitlines()[-1] == "False"


def test_the_commands_of_the_folder_s_page_parse() -> None:
    page = (ROOT / "tokenizers" / "README.md").read_text("utf8")
    commands = [line.split() for line in page.splitlines() if line.startswith("    python -m nmt.tokenizer")]
    assert {words[3] for words in commands} == {"train", "encode", "decode"}
    for words in commands:
        make_tokenizer_parser(words[3]).parse(words[5:])
