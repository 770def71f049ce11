"""Zip files: the bytes of a file flow in, its members can be read and replaced, and the bytes of the file flow out.

What isn't replaced is copied as it is, the compressed data too, so that without a change the file is the same, byte for
byte. Sizes, names and methods are checked before anything is unpacked, and no more is unpacked than the file states.
Sources: the .ZIP file format specification (APPNOTE), sections 4.3 and 4.4; OWASP ASVS 5.0, section V5.2.
"""

import io
import stat
import zlib
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from itertools import count
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from nmt.documents.xml_splice import Xml
from nmt.fields import require

SMALL = 1 << 20  # members up to this size may have any ratio: they can't fill the memory
ENCRYPTED, UTF8 = 1, 0x800  # flags
UNIX = 3
HEADER = 30  # bytes of the header of a member, before its name
MOST_ENTRIES = 10  # times as many entries as members may be in a file, with those of zip files that are members
ATTACK = "which may be an attack: the file isn't read"
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
BROKEN = (BadZipFile, EOFError, NotImplementedError, OSError, OverflowError, ValueError, zlib.error)


@dataclass(frozen=True)
class Limits:
    """What a file may have; others are refused before anything is unpacked."""

    members: int = 2_000
    unpacked_bytes: int = 200 << 20
    """Of all members together."""
    ratio: int = 100
    """How many times as long a member may become when it is unpacked."""


class Archive:
    """The members of a zip file. ValueError for a file that is broken, hostile or encrypted."""

    def __init__(self, data: bytes, limits: Limits) -> None:
        old = "the file is encrypted, or of the old binary format: save it without a password in the new format"
        require(not data.startswith(OLD_OFFICE), old)
        n, most = data.count(b"PK\1\2"), limits.members  # entries of the directory, and of zip files in the file
        require(n <= MOST_ENTRIES * most, f"the file has {n:,} members: at most {most:,} are read")
        self.data, self.nodes = data, count(1)
        try:
            self.file = ZipFile(io.BytesIO(data))
        except BROKEN as error:
            problem = "the file isn't a zip file, as all .docx, .xlsx, .odt and .epub files are, or it is damaged"
            raise ValueError(f"{problem} ({error})") from None
        infos = self.file.infolist()
        self.members = {info.orig_filename: info for info in infos}
        require(bool(infos), "the file is an empty zip file")
        require(len(infos) <= most, f"the file has {len(infos):,} members: at most {most:,} are read")
        require(len(self.members) == len(infos), "two members of the file have the same name: it isn't read")
        total, most = sum(info.file_size for info in infos), limits.unpacked_bytes
        require(total <= most, f"the file has {total:,} bytes when it is unpacked: at most {most:,} are read")
        starts = sorted(info.header_offset for info in infos)
        self.stops = dict(zip(starts, [*starts[1:], self.file.start_dir], strict=True))
        for info in infos:
            check(info, limits)
            start, name = info.header_offset, info.orig_filename
            is_there = start >= 0 and data.startswith(b"PK\3\4", start)
            require(is_there, f"the file is damaged: its member {name} isn't where it should be")
            lengths = (int.from_bytes(data[start + n : start + n + 2], "little") for n in (26, 28))  # of name and extra
            stop = start + HEADER + sum(lengths) + info.compress_size
            is_apart = len(starts) == len(self.stops) and stop <= self.stops[start]
            require(is_apart, f"members of the file overlap, {ATTACK}")

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def read(self, name: str) -> bytes:
        """The bytes of a member; ValueError if they are damaged, or not as many as the directory says."""
        require(name in self.members, f"the file lacks its member {name}")
        info = self.members[name]
        try:
            with self.file.open(info) as member:
                data = member.read(info.file_size + 1)
        except BROKEN as problem:
            raise ValueError(f"the file is damaged: its member {name} can't be unpacked ({problem})") from None
        size = info.file_size
        require(len(data) == size, f"member {name} doesn't have the {size:,} bytes that the file states")
        return data

    def xml(self, name: str) -> Xml:
        """The tree of a member; those of all members share the limit of nodes."""
        return Xml(self.read(name), name, self.nodes)

    def raw(self, name: str) -> bytes:
        """The header and the compressed bytes of a member."""
        start = self.members[name].header_offset
        return self.data[start : self.stops[start]]

    def result(self, replaced: Mapping[str, bytes]) -> bytes:
        """The file with these members in place of its own, in the same order and compressed in the same way."""
        changed = {name: data for name, data in replaced.items() if data != self.read(name)}
        if not changed:
            return self.data
        file = io.BytesIO()
        with ZipFile(file, "w") as new:
            new.comment = self.file.comment
            for name, info in sorted(self.members.items(), key=lambda member: member[1].header_offset):
                kept = copy(info)
                kept.filename = name if info.flag_bits & UTF8 else OldName(name)
                if name in changed:
                    new.writestr(kept, changed[name])
                    continue
                kept.header_offset = new.start_dir
                file.write(self.raw(name))
                new.filelist.append(kept)
                new.start_dir = file.tell()
        return file.getvalue()


class OldName(str):
    """A name that isn't marked as UTF-8: zipfile, which reads it as code page 437, gets the same bytes to write."""

    def encode(self, encoding: str = "", errors: str = "strict") -> bytes:
        return super().encode("cp437", errors)


def check(info: ZipInfo, limits: Limits) -> None:
    """Refuse a member that is hostile, or that can't be read."""
    name = info.orig_filename
    parts = name.split("/")
    is_inside = bool(name) and not name.startswith("/") and ".." not in parts and ":" not in parts[0]
    require(is_inside and "\\" not in name and "\0" not in name, f"a member has the name {name!r}, {ATTACK}")
    require(not info.flag_bits & ENCRYPTED, f"member {name} is encrypted: save the file without a password")
    is_link = info.create_system == UNIX and stat.S_ISLNK(info.external_attr >> 16)
    require(not is_link, f"member {name} is a symbolic link, {ATTACK}")
    method = info.compress_type
    require(method in (ZIP_STORED, ZIP_DEFLATED), f"member {name} has compression {method}, which isn't read")
    is_bomb = info.file_size > SMALL and info.file_size > limits.ratio * info.compress_size
    growth = f"member {name} would become more than {limits.ratio} times as long when it is unpacked"
    require(not is_bomb, f"{growth}, {ATTACK}")
