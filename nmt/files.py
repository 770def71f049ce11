"""Atomic writing: files and folders are written under a temporary name, flushed to the disk, then renamed.

A folder of `whole_folder` has SHA256SUMS, the hashes of its other files, for `sha256sum -c`. A folder with the file
.nmt was made by this package, and may be deleted by it. This package deletes no other folder.
"""

import codecs
import contextlib
import fcntl
import gzip
import hashlib
import io
import json
import os
import shlex
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from nmt.messages import say

SUMS = "SHA256SUMS"
MARKER = ".nmt"
SAMPLES, SAMPLE = 16, 1 << 16  # parts of a large file that `quick_hash` reads, and the bytes of each
MARKS = {  # the longest first: one mark of UTF-32 begins with a mark of UTF-16
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
NO_TEXT = {  # files without lines of text, by their first bytes, with advice
    b"\x1f\x8b": "compressed: unpack it with gunzip, or give a file whose name ends in .gz",
    b"\x28\xb5\x2f\xfd": "compressed: unpack it with unzstd",
    b"PK\3\4": "a zip file, as office files and books are: save a table as text, name a document by its format (.docx)",
    b"%PDF-": "a PDF file: translate the file that it was made from",
    b"\xd0\xcf\x11\xe0": "an old office file: save it in a new format, such as .docx",
    b"\x89PNG": "a picture",
}
UNPACK = {".gz": "gzip -dc", ".zst": "zstd -dc"}  # commands, by the endings of compressed files
CONTROL = bytes({*range(32)} - {*b"\t\n\r"})
LEAST_CONTROLS = 4  # fewer such bytes in the first line may be damage


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name the file in an OSError that has no file name, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def flush_to_disk(path: Path) -> None:
    """fsync a file or a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with naming(path):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def model_in(folder: Path) -> Path:
    """The model folder in a run folder; any other folder as it is."""
    return folder / "model" if (folder / "model").is_dir() else folder


def tokenizer_in(folder: Path) -> Path:
    """The folder of the tokenizer in a run folder, also before it has a model; any other folder as it is."""
    return next((path for name in ("model", "tokenizer") if (path := folder / name).is_dir()), folder)


def run_of(folder: Path) -> Path:
    """The run folder that a model folder is in, if it is in one; also that of "." in the model folder."""
    return folder.absolute().parent


def partial_path(path: Path) -> Path:
    """The temporary name of a file while it is written."""
    return path.with_name(f"{path.name}.partial")


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which replaces `path`, and takes its mode and, if the system allows it, its owner, at the end
    of the block. If the block raises, `path` is unchanged, and what was written stays in `partial_path(path)`."""
    draft = partial_path(path)
    draft.unlink(missing_ok=True)
    with draft.open("xb") as file:
        yield file
    if path.exists():
        shutil.copymode(path, draft)
        old = path.stat()
        with contextlib.suppress(PermissionError):
            os.chown(draft, old.st_uid, old.st_gid)
    flush_to_disk(draft)
    draft.replace(path)


def write_text(path: Path, parts: Iterable[str]) -> None:
    """Write a file in UTF-8 atomically, from a string or its parts; the folder is made if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming(path), whole_file(path) as file:
        file.writelines(part.encode() for part in parts)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    write_text(path, (f"{line}\n" for line in lines))


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def require_utf8(start: bytes, name: str) -> None:
    """Raise ValueError, which names the text, if its first line shows that it is UTF-16 or UTF-32: by a byte-order
    mark, or by many control characters, nearly all at even or at odd places: the high bytes of many scripts. Or if it
    is no text."""
    if kind := next((kind for first, kind in NO_TEXT.items() if start.startswith(first)), ""):
        raise ValueError(f"{name} is {kind}")
    even, odd = (sum(map(start[place::2].count, CONTROL)) for place in (0, 1))
    encoding = next((encoding for mark, encoding in MARKS.items() if start.startswith(mark)), "")
    if not encoding and max(even, odd) >= max(LEAST_CONTROLS, len(start) / 4) and max(even, odd) > 3 * min(even, odd):
        encoding = "UTF-16BE" if even > odd else "UTF-16LE"
    if encoding:
        file = name if os.path.exists(name) else "FILE"  # it may be standard input
        raise ValueError(f"{name} is {encoding}: convert it with {iconv(file, encoding)}; only UTF-8 can be read")


def iconv(file: Path | str, encoding: str) -> str:
    """The command that converts a file in this encoding, which may be compressed, to UTF-8."""
    unpack = UNPACK.get(Path(file).suffix)
    convert, quoted = f"iconv -f {encoding} -t UTF-8", shlex.quote(str(file))
    return f"{unpack} {quoted} | {convert} > NEW-FILE" if unpack else f"{convert} {quoted} > NEW-FILE"


def read_lines(path: Path) -> list[str]:
    """The lines of a text file, plain or .gz, without a byte-order mark, and without carriage returns at their ends;
    only LF ends a line, and bytes that aren't UTF-8 become U+FFFD, with a remark. Raises ValueError for UTF-16."""
    lines = [line.rstrip("\r") for line in iterate_lines(path)]
    if number := next((number for number, line in enumerate(lines, 1) if "\ufffd" in line), 0):
        remark = "has U+FFFD, which bytes that aren't UTF-8 become; if the text has another encoding, convert it"
        say(f"{path}: line {number} {remark}, for example with {iconv(path, 'CP1252')}")
    return [line.removeprefix("\ufeff") for line in lines[:1]] + lines[1:]


def iterate_lines(path: Path, errors: str = "replace") -> Iterator[str]:
    """The lines of a text file, with its byte-order mark, one at a time; `errors` as for `bytes.decode`. Raises
    ValueError for UTF-16, and for a damaged .gz or .zst."""
    with require_whole_gzip(path), open_compressed(path) as file:
        for number, line in enumerate(file):
            if number == 0:
                require_utf8(line, str(path))
            yield line.removesuffix(b"\n").decode("utf-8", errors)


def open_compressed(path: Path) -> IO[bytes]:
    """A file to read, which may be compressed: .gz or .zst."""
    if path.suffix == ".zst":
        import pyarrow  # it knows Zstandard, which Python's library has from 3.14

        return io.BufferedReader(pyarrow.CompressedInputStream(pyarrow.OSFile(str(path)), "zstd"))
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


@contextlib.contextmanager
def require_whole_gzip(path: Path | str) -> Iterator[None]:
    """Errors of reading a damaged .gz or .zst become a ValueError that names it."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is cut short or not a gzip file ({error}): copy it again") from error
    except OSError as error:
        if error.errno is None and Path(path).suffix == ".zst":
            raise ValueError(f"{path} is cut short or not a Zstandard file ({error}): copy it again") from error
        raise


def require_plain_name(name: str, what: str) -> None:
    """Raise ValueError, which calls the name `what`, if a name could lead out of its folder."""
    if name in ("", ".", "..") or "/" in name or "\\" in name:
        raise ValueError(f"{what} is {name!r}: it must be a plain name, without a folder, / or \\, and not . or ..")


def require_new(path: Path) -> None:
    """Raise ValueError if there is a file or a folder with this name."""
    if os.path.lexists(path):
        raise ValueError(f"{path} exists already: give another name, or delete it")


def require_writable(folder: Path) -> None:
    """Raise ValueError unless files can be written to a folder, which is made if it is missing."""
    place = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not (place.is_dir() and os.access(place, os.W_OK)):
        raise ValueError(f"{place} is no folder, or can't be written to: name another place")


def mark(folder: Path) -> None:
    """Make a folder (unless it exists) and mark it, so that `remove_ours` may delete it."""
    folder.mkdir(parents=True, exist_ok=True)
    with naming(folder / MARKER):
        (folder / MARKER).write_text("nmt made this folder, and deletes it when it is not needed.\n")


def remove_ours(folder: Path) -> None:
    """Delete a folder if it is marked or empty. Raises ValueError for any other folder, and for a file."""
    if not os.path.lexists(folder):
        return
    ours = folder.is_dir() and not folder.is_symlink()
    if not ours or (any(folder.iterdir()) and not (folder / MARKER).is_file()):
        raise ValueError(f"{folder} is in the way, and it may not be nmt's own (it has no {MARKER}): move it elsewhere")
    for path in sorted(folder.iterdir(), key=lambda path: path.name == MARKER):  # the marker last, in case of Ctrl-C
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    folder.rmdir()


@contextlib.contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A draft folder to fill with files, which replaces the target at the end of the block, unless the block raises.
    Raises ValueError if the target exists and has no SHA256SUMS: it may be the user's."""
    draft, old = (target.with_name(f".{target.name}.{kind}") for kind in ("partial", "old"))  # no names of the user's
    if old.exists() and not target.exists():  # after a crash between the two renames below
        old.replace(target)
    if target.exists() and not (target / SUMS).is_file():
        raise ValueError(f"{target} is in the way, and it may not be nmt's own (it has no {SUMS}): move it elsewhere")
    for leftover in (draft, old):
        shutil.rmtree(leftover, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        with naming(target):
            yield draft
        write_sums(draft)
        for path in (*draft.rglob("*"), draft):
            flush_to_disk(path)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)  # frees space if the disk is full
        raise
    if target.exists():
        target.replace(old)
    draft.replace(target)
    flush_to_disk(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def write_sums(folder: Path) -> None:
    """Write SHA256SUMS with the hashes of the files in a folder, and in folders inside it."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    with naming(folder / SUMS):
        (folder / SUMS).write_text("".join(f"{sha256(folder / name)}  {name}\n" for name in names), encoding="utf8")


def quick_hash(path: Path) -> str:
    """A hash of a file's size and of SAMPLES parts of it, which also a file of many gigabytes has at once."""
    size = path.stat().st_size
    found = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        for n in range(SAMPLES):
            file.seek(n * max(0, size - SAMPLE) // (SAMPLES - 1))
            found.update(file.read(SAMPLE))
    return found.hexdigest()


def check_sums(folder: Path, *needed: str, quick: Mapping[str, str] | None = None) -> None:
    """Raise ValueError unless SHA256SUMS lists all needed files, and each file it lists is there and unaltered.

    `quick`: by name, the `quick_hash` of files that are not read as a whole.
    """
    sums = [line.partition("  ") for line in (folder / SUMS).read_text("utf8", "replace").splitlines()]
    if missing := set(needed) - {name for _, _, name in sums}:
        raise ValueError(f"{folder / SUMS} is damaged: it doesn't list {', '.join(sorted(missing))}")
    for digest, _, name in sums:
        require_plain_name(name, f"{folder / SUMS} is damaged or was altered: a file name")
        if not (folder / name).is_file():
            raise ValueError(f"{folder} is incomplete: {name} is missing")
        if quick and name in quick:
            digest, found = quick[name], quick_hash(folder / name)
        else:
            found = sha256(folder / name)
        if found != digest:
            raise ValueError(f"{folder / name} is damaged or was altered: its hash is not the one in {SUMS}")


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def locked(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Lock a folder until the block ends. A missing folder is made, and deleted again if nothing was put into
    it. If another process has locked it, raises ValueError or, with `wait`, waits until that process ends."""
    is_new, lock = not folder.exists(), folder / ".lock"
    folder.mkdir(parents=True, exist_ok=True)
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            # A process that has deleted the folder may have held the lock of a file that has no name any more.
            is_ours = lock.exists() and os.path.samestat(os.fstat(file.fileno()), lock.stat())
        except (BlockingIOError, PermissionError):
            is_ours = False
        if not is_ours:
            raise ValueError(f"{folder} is in use by another process: let it end, or choose another name")
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # another process may put a file there meanwhile
                if is_new and list(folder.iterdir()) == [lock]:
                    lock.unlink()
                    folder.rmdir()
