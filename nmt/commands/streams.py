"""Input and output of a command as bytes: files or standard streams. A finished output file replaces an older one."""

import codecs
import gzip
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, cast

from nmt.fields import require
from nmt.files import partial_path, require_utf8, require_whole_gzip, whole_file
from nmt.messages import print_to_stderr

# Bytes read at once, per sentence of a batch: enough for about 12 batches, which are sorted by length.
BYTES_AHEAD = 1024


def open_input(name: str) -> IO[bytes]:
    """Open a file (or .gz), or (-) standard input, without a buffer: reading returns what is there and doesn't wait for
    more. ValueError if there is no such file: users who give a text instead are told how."""
    problem = f"{name}: there is no such file; a text itself is piped in: echo TEXT | …"
    require(name == "-" or Path(name).exists(), problem)
    require(not Path(name).is_dir(), f"{name} is a folder: name a file in it")
    if name.endswith(".gz"):
        return cast(IO[bytes], gzip.open(name))
    if name != "-":
        return open(name, "rb", buffering=0)
    # If it is closed, its number may have become that of a file.
    require(sys.stdin is not None, "standard input can't be read: name a FILE, or pipe text in")
    # A parent may have left it non-blocking: an empty read would then look like the end.
    os.set_blocking(0, True)
    return open(0, "rb", buffering=0, closefd=False)


def open_output(
    name: str | None, inputs: Sequence[IO[bytes]], read: Sequence[str] = ()
) -> AbstractContextManager[IO[bytes]]:
    """Open a file, which replaces an older one when all is written, or (None) standard output. `read`: the names of
    what was read beside the inputs, such as a glossary.

    ValueError if the output can't be written to, would have the name of a compressed file, or is also an input.
    """
    if name is None or name == "/dev/stdout":  # which may be a file that has other lines already
        require(sys.stdout is not None, "standard output can't be written to: take --output FILE")
        # By its number: Python's own object would try to flush into a closed pipe once more at exit.
        return open(1, "wb", closefd=False)
    require(not name.endswith(".gz"), f"{name}: the output is not compressed: leave out .gz")
    if Path(name).exists() and not Path(name).is_file():  # a pipe or a device, which can't be replaced
        return open(name, "wb")
    path = Path(os.path.realpath(name))  # which, unlike `resolve`, takes links that lead in a circle
    require(path.parent.is_dir(), f"{name}: there is no folder {Path(name).parent}")
    for file in (path, partial_path(path)):
        others = [os.fstat(source.fileno()) for source in inputs] + [os.stat(other) for other in read if other]
        if file.exists() and any(os.path.samestat(file.stat(), other) for other in others):
            raise ValueError(f"{name} would overwrite {file}, which is also an input: name another file")
    if path.exists():
        path.open("r+b").close()  # OSError if the user may not write to it: a rename would not ask
    return replace_when_done(path)


@contextmanager
def replace_when_done(path: Path) -> Iterator[IO[bytes]]:
    """A new file that replaces `path`; if writing fails, the user is told where the lines written so far are."""
    with whole_file(path) as file:
        try:
            yield file
        except BaseException:
            if file.tell():
                print_to_stderr(f"{path} is unchanged; the lines written so far are in {file.name}")
            else:
                partial_path(path).unlink()
            raise


def read_chunks(file: IO[bytes], size: int) -> Iterator[list[bytes]]:
    """The lines that each read completes, without their LF, the first one without a byte-order mark; a last line
    without LF counts as a line. Raises ValueError for UTF-16, and for a damaged .gz."""
    unfinished, at_start = list[bytes](), True
    with require_whole_gzip(name_of(file)):
        while block := file.read(size):
            first, *further = block.split(b"\n")
            unfinished.append(first)
            if further:
                line = b"".join(unfinished)
                yield [first_line(line, file) if at_start else line, *further[:-1]]
                unfinished, at_start = [further[-1]], False
    last = b"".join(unfinished)
    if last := first_line(last, file) if at_start else last:
        yield [last]


def first_line(line: bytes, file: IO[bytes]) -> bytes:
    """The first line of a file without a byte-order mark; ValueError for UTF-16."""
    require_utf8(line, name_of(file))
    return line.removeprefix(codecs.BOM_UTF8)


def name_of(file: IO[bytes]) -> str:
    name = getattr(file, "name", 0)
    return name if isinstance(name, str) else "standard input"
