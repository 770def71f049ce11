"""Zip files: what does not change is copied, compressed bytes too; hostile files are refused before unpacking."""

import io
import stat
import struct
import zipfile
from collections.abc import Callable
from functools import partial

import pytest

from nmt.documents.archive import Archive, Limits
from tests.documents.office_samples import zipped

MEMBER_DATA = {"mimetype": b"application/x", "a/b.xml": b"<a>" + b"text " * 50 + b"</a>", "ä.txt": b"", "last": b"end"}
PLAIN = zipped(MEMBER_DATA)


def streamed() -> bytes:
    """A file whose sizes follow the data, as programs write that don't seek."""

    class Pipe(io.BytesIO):
        def tell(self) -> int:
            raise OSError

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in MEMBER_DATA.items():
            archive.writestr(name, data)
    return pipe.getvalue()


@pytest.mark.parametrize("data", [PLAIN, zipped(MEMBER_DATA, b"note"), streamed()], ids=["plain", "noted", "streamed"])
def test_members_that_do_not_change_are_copied_with_their_compressed_bytes(data: bytes) -> None:
    archive = Archive(data, Limits())
    assert {name: archive.read(name) for name in archive.members} == MEMBER_DATA
    assert archive.result({}) == archive.result({"a/b.xml": MEMBER_DATA["a/b.xml"]}) == data
    result = archive.result({"a/b.xml": b"<a>new</a>", "mimetype": b"y"})
    with zipfile.ZipFile(io.BytesIO(result)) as opened:
        assert opened.testzip() is None
        assert opened.namelist() == list(MEMBER_DATA)
        expected = MEMBER_DATA | {"a/b.xml": b"<a>new</a>", "mimetype": b"y"}
        assert {name: opened.read(name) for name in opened.namelist()} == expected
        assert opened.comment == data[-4:] if data.endswith(b"note") else not opened.comment
    again = Archive(result, Limits())
    for name in ("ä.txt", "last"):
        assert again.raw(name) == archive.raw(name)
    assert again.members["mimetype"].compress_type == archive.members["mimetype"].compress_type


def with_entry(field: int, value: int, size: str = "H") -> bytes:
    """A file with another value in the directory's entry of its second member."""
    data = bytearray(PLAIN)
    place = data.rindex(b"PK\1\2", 0, data.rindex(b"a/b.xml"))
    struct.pack_into(f"<{size}", data, place + field, value)
    return bytes(data)


def test_a_name_in_an_old_encoding_keeps_its_bytes_and_its_member_is_not_unpacked() -> None:
    data, name = bytearray(PLAIN), "ä.txt".encode()
    for mark, flags, checksum in ((b"PK\3\4", 6, 14), (b"PK\1\2", 8, 16)):
        start = data.rindex(mark, 0, data.index(name, data.index(mark)))
        data[start + flags + 1] = 0
        data[start + checksum] ^= 1
    archive = Archive(bytes(data), Limits())
    result = archive.result({"last": b"new"})
    assert result.count(name) == 2
    assert Archive(result, Limits()).raw(name.decode("cp437")) == archive.raw(name.decode("cp437"))
    data[data.index(name) - 30 + 14] ^= 1
    data[data.rindex(name) - 46 + 16] ^= 1
    result = Archive(bytes(data), Limits()).result({name.decode("cp437"): b"new"})
    assert result.count(name) == 2
    assert Archive(result, Limits()).read(name.decode("cp437")) == b"new"


def test_members_of_a_zip_file_that_is_a_member_do_not_count() -> None:
    inner = zipped({str(n): b"" for n in range(9)})
    outer = io.BytesIO()
    with zipfile.ZipFile(outer, "w") as archive:
        archive.writestr("charts", inner)
    assert [*Archive(outer.getvalue(), Limits(members=2)).members] == ["charts"]
    with pytest.raises(ValueError, match="9 members"):
        Archive(inner, Limits(members=2))
    with pytest.raises(ValueError, match="10 members"):
        Archive(outer.getvalue(), Limits(members=0))


def link() -> bytes:
    info = zipfile.ZipInfo("a")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    info.create_system = 3
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    return file.getvalue()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: b"only text", "isn't a zip file, as all .docx, .xlsx, .odt and .epub files are"),
        (lambda: b"PK\5\6", "isn't a zip file"),
        (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "encrypted, or of the old binary format"),
        (lambda: b"PK\5\6" + bytes(18), "empty zip file"),
        (lambda: PLAIN[1:], "damaged"),
        (lambda: zipped({str(n): b"" for n in range(Limits().members + 1)}), "2,001 members"),
        *((partial(zipped, {name: b""}), "may be an attack") for name in ("../a", "/a", "a\\b", "c:/a")),
        (link, "symbolic link"),
        (lambda: zipped({"a1": b"x", "a2": b"y"}).replace(b"a2", b"a1"), "same name"),
        (lambda: zipped({"a": bytes(2 << 20)}), "more than 100 times"),
        (lambda: with_entry(8, 1), "is encrypted"),
        (lambda: with_entry(10, 12), "compression 12"),
        (lambda: with_entry(24, 201 << 20, "L"), "at most 209,715,200"),
        (lambda: with_entry(24, 0xFFFFFFFF, "L"), "at most 209,715,200"),
        (lambda: with_entry(42, 0, "L"), "overlap"),
        (lambda: with_entry(20, 5000, "L"), "overlap"),
        (lambda: with_entry(42, PLAIN.index(b"PK", 1) + 1, "L"), "isn't where it should be"),
    ],
)
def test_hostile_files_are_refused_before_anything_is_unpacked(make: Callable[[], bytes], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Archive(make(), Limits())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: with_entry(24, 300, "L"), "doesn't have the 300 bytes"),
        (lambda: with_entry(24, 10, "L"), "Bad CRC-32"),
        (lambda: with_entry(16, 7, "L"), "Bad CRC-32"),
        (lambda: PLAIN.replace(b"a/b.xml", b"a/b.xm1"), "lacks its member a/b.xml"),
    ],
)
def test_bytes_are_checked_when_a_member_is_unpacked(make: Callable[[], bytes], message: str) -> None:
    archive = Archive(make(), Limits())
    with pytest.raises(ValueError, match=message):
        archive.read("a/b.xml")
