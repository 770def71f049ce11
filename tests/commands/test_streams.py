"""Lines are those between LF, however many bytes each read returns."""

import gzip
import io
import os
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.commands.streams import open_input, open_output, read_chunks
from nmt.files import NO_TEXT


@pytest.mark.parametrize("data", [b"", b"a", b"\n", b"a\nb\n", b"a\n\xef\xbb\xbfb"])
@pytest.mark.parametrize("size", [1, 2, 100])
def test_a_byte_order_mark_at_the_start_is_left_out(data: bytes, size: int) -> None:
    plain, marked = (list(read_chunks(io.BytesIO(start + data), size)) for start in (b"", b"\xef\xbb\xbf"))
    assert [*chain.from_iterable(marked)] == [*chain.from_iterable(plain)]


def test_a_compressed_file_is_read_and_a_damaged_one_is_refused_by_its_name(tmp_path: Path) -> None:
    lines, packed = [b"Hund %d" % n for n in range(999)], tmp_path / "in.gz"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + b"\n".join(lines)))
    with open_input(str(packed)) as file:
        assert [*chain.from_iterable(read_chunks(file, 100))] == lines
    for damaged in (packed.read_bytes()[:-20], b"Hund\n"):
        packed.write_bytes(damaged)
        with open_input(str(packed)) as file, pytest.raises(ValueError, match=f"{packed} is cut short or not a gzip"):
            list(read_chunks(file, 100))


def test_compressed_text_without_the_name_is_refused_and_so_are_utf16_and_such_an_output(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="standard input is UTF-16LE"):
        list(read_chunks(io.BytesIO("Ein Mann.".encode("utf-16-le")), 9))
    with pytest.raises(ValueError, match="standard input is compressed: unpack it with gunzip"):
        list(read_chunks(io.BytesIO(gzip.compress(b"Hund\n")), 9))
    with pytest.raises(ValueError, match="standard input is compressed: unpack it with unzstd"):
        list(read_chunks(io.BytesIO(b"\x28\xb5\x2f\xfd\x24\x05\x29\0\0Hund\n"), 9))
    with pytest.raises(ValueError, match=r"the output is not compressed: leave out \.gz"):
        open_output(str(tmp_path / "out.gz"), [])


@settings(max_examples=100, derandomize=True)
@given(data=st.binary(max_size=60).map(lambda data: data.replace(b"\x00", b"\n")), size=st.integers(1, 20))
def test_reading_in_chunks_gives_the_lines(data: bytes, size: int) -> None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", *NO_TEXT)):
        return
    lines = [line for chunk in read_chunks(io.BytesIO(data), size) for line in chunk]
    assert lines == (data.removesuffix(b"\n").split(b"\n") if data else [])


def test_the_output_is_not_what_was_read_beside_the_inputs(tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("Hund\tdog\n")
    (tmp_path / "link").symlink_to(tmp_path / "terms.tsv")
    with pytest.raises(ValueError, match=r"would overwrite .*terms\.tsv, which is also an input"):
        open_output(str(tmp_path / "link"), [], ["", str(tmp_path / "terms.tsv")])
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with open_output(str(tmp_path / "circle"), []) as file:
        file.write(b"Hund\n")
    assert (tmp_path / "circle").read_text() == "Hund\n"


def test_a_file_that_is_standard_output_is_not_replaced(capfd: pytest.CaptureFixture[str]) -> None:
    os.write(1, b"before\n")
    with open_output("/dev/stdout", []) as file:
        file.write(b"after\n")
    assert capfd.readouterr().out == "before\nafter\n"
