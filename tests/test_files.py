"""Files are whole or as they were, lines end at LF, and only what this package made is deleted."""

import errno
import gzip
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from nmt import files
from tests.data.corpus_files import interrupt, tree


def test_of_a_large_file_samples_are_compared(tmp_path: Path) -> None:
    file, content = tmp_path / "large", bytes(range(256)) * 8192
    file.write_bytes(content)
    files.write_sums(tmp_path)
    quick = {"large": files.quick_hash(file)}
    files.check_sums(tmp_path, quick=quick)
    for change in (content[:-1] + b"x", b"x" + content[1:], content + b"x", content[:-1]):
        file.write_bytes(change)
        with pytest.raises(ValueError, match="large is damaged or was altered"):
            files.check_sums(tmp_path, quick=quick)


def test_what_is_written_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, folder, flushed = tmp_path / "file", tmp_path / "folder", dict[int, bool]()
    name = file

    def note(descriptor: int) -> None:
        flushed[os.fstat(descriptor).st_ino] = name.exists()

    monkeypatch.setattr(os, "fsync", note)
    files.write_text(file, "x")
    assert flushed == {file.stat().st_ino: False}
    name = folder
    with files.whole_folder(folder) as draft:
        (draft / "inside").mkdir()
        (draft / "inside" / "file").write_text("x")
    written = [folder, *folder.rglob("*")]
    assert {path.stat().st_ino: False for path in (file, *written)} | {tmp_path.stat().st_ino: True} == flushed


def test_a_process_can_wait_for_a_lock(tmp_path: Path) -> None:
    held, ended = Event(), list[float]()

    def hold() -> None:
        with files.locked(tmp_path):
            held.set()
            time.sleep(0.3)
            ended.append(time.monotonic())

    thread = Thread(target=hold)
    thread.start()
    held.wait()
    with files.locked(tmp_path, wait=True):
        assert ended, "the other one has let it go"
    thread.join()


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\n\rb\n", ["a", "\rb"]),
        ("a\x0bb\x0cc\x1cd\x85e\u2028f\n".encode(), ["a\x0bb\x0cc\x1cd\x85e\u2028f"]),
        (b"\xff\xe2\x82\n", ["\ufffd\ufffd"]),
        ("\ufeffa\n\ufeffb\n".encode(), ["a", "\ufeffb"]),
    ],
)
@pytest.mark.parametrize("name", ["text", "text.gz"])
def test_only_lf_ends_a_line_bytes_that_are_not_utf8_are_replaced_and_a_byte_order_mark_is_left_out(
    tmp_path: Path, name: str, content: bytes, lines: list[str]
) -> None:
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert files.read_lines(tmp_path / name) == lines


def test_bytes_that_are_not_utf8_are_told_with_their_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "old").write_bytes("gut\nCaf\xe9\nschön\n".encode("cp1252"))
    assert files.read_lines(tmp_path / "old") == ["gut", "Caf\ufffd", "sch\ufffdn"]
    said = capsys.readouterr().err
    assert "old: line 2 has U+FFFD, which bytes that aren't UTF-8 become; if the text has another encoding" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("text", ["Ein Mann.", "Zwei Männer sitzen dort.", "Über 1 Straße", "Где находится вокзал?"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf16_is_refused_with_the_command_that_converts_it(tmp_path: Path, text: str, encoding: str) -> None:
    (tmp_path / "text").write_text(f"{text}\n", encoding)
    with pytest.raises(ValueError, match=r"text is UTF-\d\d.*: convert it with iconv -f (UTF-\w+) -t UTF-8") as error:
        files.read_lines(tmp_path / "text")
    named = str(error.value).split("iconv -f ")[1].split()[0]
    assert f"-t UTF-8 {tmp_path / 'text'} > NEW-FILE;" in str(error.value)
    assert (tmp_path / "text").read_bytes().decode(named) == f"{text}\n"


def test_compressed_utf16_is_unpacked_before_it_is_converted(tmp_path: Path) -> None:
    file = tmp_path / "my text.gz"
    file.write_bytes(gzip.compress("Ein Mann.\n".encode("utf-16")))
    with pytest.raises(ValueError, match="is UTF-16") as error:
        files.read_lines(file)
    assert f"convert it with gzip -dc '{file}' | iconv -f UTF-16 -t UTF-8 > NEW-FILE;" in str(error.value)


def test_text_with_a_few_or_with_only_nul_bytes_is_not_taken_for_utf16() -> None:
    odd = [start.encode() for start in ("", "\t", "\x01", "a\x0b", "-", "中", "a\tb", "Hund")]
    for start in (*odd, b"\0", b"a\0b\0", b"\0" * 100, b"Hund " * 99 + b"a\0" * 9):
        files.require_utf8(start, "text")


def test_a_file_that_can_not_be_written_to_the_end_is_as_it_was(tmp_path: Path) -> None:
    def lines() -> Iterator[str]:
        yield "new"
        raise KeyboardInterrupt

    path = tmp_path / "sub" / "file"
    files.write_text(path, "old\r\n")
    with pytest.raises(KeyboardInterrupt):
        files.write_lines(path, lines())
    assert path.read_bytes() == b"old\r\n"
    assert files.partial_path(path).read_bytes() == b"new\n"
    files.write_lines(path, ["new", "", "ä"])
    assert path.read_bytes() == "new\n\nä\n".encode()
    assert list(path.parent.iterdir()) == [path]


def test_what_a_link_at_the_temporary_name_points_to_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "file.partial").symlink_to(tmp_path / "mine")
    with files.whole_file(tmp_path / "file") as file:
        file.write(b"new")
    assert tree(tmp_path) == {"mine": b"mine", "file": b"new"}


# What may be deleted


def test_a_marked_folder_is_deleted_and_so_is_an_empty_one_or_none(tmp_path: Path) -> None:
    files.mark(tmp_path / "marked")
    (tmp_path / "marked" / "sub").mkdir()
    (tmp_path / "marked" / "sub" / "file").write_text("ours")
    (tmp_path / "marked" / "link").symlink_to(tmp_path)
    (tmp_path / "empty").mkdir()
    for name in ("marked", "empty", "none"):
        files.remove_ours(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["folder", "file", "link to a folder", "broken link"])
def test_what_is_not_ours_is_refused_and_untouched(tmp_path: Path, kind: str) -> None:
    files.mark(tmp_path / "elsewhere")
    path = tmp_path / "data"
    if kind == "folder":
        path.mkdir()
        (path / "file").write_text("mine")
    elif kind == "file":
        path.write_text("mine")
    else:
        path.symlink_to(tmp_path / ("elsewhere" if kind == "link to a folder" else "nowhere"))
    before = tree(tmp_path)
    with pytest.raises(ValueError, match=r"data is in the way, .* move it elsewhere"):
        files.remove_ours(path)
    assert tree(tmp_path) == before
    assert os.path.lexists(path)


def test_an_interrupted_deletion_can_be_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.mark(tmp_path / "marked")
    (tmp_path / "marked" / "file").touch()
    (tmp_path / "marked" / "sub").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", interrupt)
        with pytest.raises(KeyboardInterrupt):
            files.remove_ours(tmp_path / "marked")
    files.remove_ours(tmp_path / "marked")
    assert not (tmp_path / "marked").exists()


def test_folders_beside_a_new_one_are_left_alone_and_one_that_is_not_ours_is_not_replaced(tmp_path: Path) -> None:
    mine = {f"{name}/thesis" for name in ("model.old", "model.partial", "theirs")}
    for name in mine:
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("mine")
    with files.whole_folder(tmp_path / "model"):
        pass
    way = pytest.raises(ValueError, match=r"theirs is in the way, .* move it elsewhere")
    with way, files.whole_folder(tmp_path / "theirs"):
        pass
    assert {name for name in tree(tmp_path) if "thesis" in name} == mine


def test_a_lock_changes_no_file_that_is_there(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_text("mine")
    with files.locked(tmp_path), pytest.raises(ValueError, match="in use by another process"), files.locked(tmp_path):
        pass
    assert (tmp_path / ".lock").read_text() == "mine"


def test_a_lock_leaves_no_folder_of_its_own(tmp_path: Path) -> None:
    with files.locked(tmp_path / "new" / "run"):
        pass
    assert list((tmp_path / "new").iterdir()) == []
    with files.locked(tmp_path / "run"):
        (tmp_path / "run" / "file").touch()
    assert (tmp_path / "run" / "file").exists()
    (tmp_path / "empty").mkdir()
    with files.locked(tmp_path / "empty"):
        pass
    assert (tmp_path / "empty").exists(), "it was there before"


def test_an_error_of_a_full_disk_gets_the_name_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as caught, files.naming(tmp_path / "file"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(tmp_path / "file")
    with pytest.raises(FileNotFoundError) as missing, files.naming(tmp_path / "file"):
        (tmp_path / "other").read_text()
    assert str(missing.value.filename) == str(tmp_path / "other")


# Names


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b", "x/", "C:\\x"])
def test_a_name_that_leads_elsewhere_is_refused(name: str) -> None:
    for plain in ("model.safetensors", "a..b", ".hidden", "step-00000040", "de en", "ä"):
        files.require_plain_name(plain, "--name")
    with pytest.raises(ValueError, match=rf"^--name is {re.escape(repr(name))}: it must be a plain name"):
        files.require_plain_name(name, "--name")
