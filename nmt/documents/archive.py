"""Zip files: the bytes of a file flow in, its members can be read and replaced, and the bytes of the file flow out.

What isn't replaced is copied as it is, the compressed data too, so that without a change the file is the same, byte for
byte. Sizes, names and methods are checked before anything is unpacked, and bytes are counted while they are unpacked.
Sources: the .ZIP file format specification (APPNOTE), sections 4.3 and 4.4; OWASP ASVS 5.0, section V5.2.
"""

import stat
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import count
from struct import Struct

from nmt.documents.xml_splice import Xml
from nmt.fields import require

SMALL = 1 << 20  # members up to this size may have any ratio: they can't fill the memory
STORED, DEFLATED = 0, 8
ENCRYPTED, DESCRIPTOR, UTF8 = 1, 8, 0x800  # flags
UNKNOWN = 0xFFFFFFFF  # the size is in an extra field, since it needs 64 bits
UNIX = 3
LOCAL, CENTRAL, END = Struct("<4s5H3L2H"), Struct("<4s6H3L5H2L"), Struct("<4s4H2LH")
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@dataclass(frozen=True)
class Limits:
    """What a file may have; others are refused before anything is unpacked."""

    members: int = 2_000
    unpacked_bytes: int = 200 << 20
    """Of all members together."""
    ratio: int = 100
    """How many times as long a member may become when it is unpacked."""


@dataclass(frozen=True)
class Member:
    """A member of a zip file, by its entry in the directory."""

    name: str
    flags: int
    method: int
    checksum: int
    packed_size: int
    size: int
    start: int
    """Where its header begins in the file."""
    is_link: bool
    entry: bytes
    """The entry, as it is in the directory."""


class Archive:
    """The members of a zip file. ValueError for a file that is broken, hostile or encrypted."""

    def __init__(self, data: bytes, limits: Limits) -> None:
        old = "the file is encrypted, or of the old binary format: save it without a password in the new format"
        require(not data.startswith(OLD_OFFICE), old)
        self.data, self.nodes = data, count(1)
        members, self.directory, self.end = read_directory(data, limits.members)
        self.members = {member.name: member for member in members}
        require(bool(members), "the file is an empty zip file")
        require(len(self.members) == len(members), "two members of the file have the same name: it isn't read")
        check(self.members.values(), limits)
        starts = sorted(member.start for member in self.members.values())
        self.stops = dict(zip(starts, [*starts[1:], self.directory], strict=True))
        require(len(starts) == len(self.stops), "members of the file overlap, which may be an attack: it isn't read")

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def read(self, name: str) -> bytes:
        """The bytes of a member; ValueError if they are damaged, or not as many as the directory says."""
        require(name in self.members, f"the file lacks its member {name}")
        member = self.members[name]
        packed = self.packed(member)
        try:
            unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
            data = packed if member.method == STORED else unpacker.decompress(packed, member.size + 1)
        except zlib.error as problem:
            raise ValueError(f"the file is damaged: its member {name} can't be unpacked ({problem})") from None
        require(len(data) == member.size, f"member {name} doesn't have the {member.size:,} bytes that the file states")
        require(zlib.crc32(data) == member.checksum, f"the file is damaged: the checksum of {name} is wrong")
        return data

    def xml(self, name: str) -> Xml:
        """The tree of a member; those of all members share the limit of nodes."""
        return Xml(self.read(name), name, self.nodes)

    def packed(self, member: Member) -> bytes:
        """The compressed bytes of a member."""
        is_there = self.data.startswith(b"PK\3\4", member.start) and member.start + LOCAL.size <= self.directory
        require(is_there, f"the file is damaged: its member {member.name} isn't where it should be")
        *_, name_length, extra_length = LOCAL.unpack_from(self.data, member.start)
        start = member.start + LOCAL.size + name_length + extra_length
        stop = start + member.packed_size
        require(stop <= self.stops[member.start], "members of the file overlap, which may be an attack: it isn't read")
        return self.data[start:stop]

    def result(self, replaced: Mapping[str, bytes]) -> bytes:
        """The file with these members in place of its own, in the same order and compressed in the same way."""
        changed = {name: data for name, data in replaced.items() if data != self.read(name)}
        if not changed:
            return self.data
        in_order = sorted(self.members.values(), key=lambda member: member.start)
        chunks, entries = [self.data[: in_order[0].start]], dict[str, bytes]()
        position = len(chunks[0])
        for member in in_order:
            if member.name in changed:
                chunk, entry = packed_anew(member, changed[member.name])
            else:
                chunk, entry = self.data[member.start : self.stops[member.start]], member.entry
            entries[member.name] = entry[:42] + position.to_bytes(4, "little") + entry[46:]
            chunks.append(chunk)
            position += len(chunk)
        directory = b"".join(entries[name] for name in self.members)
        places = len(directory).to_bytes(4, "little") + position.to_bytes(4, "little")
        return b"".join([*chunks, directory, self.data[self.end : self.end + 12], places, self.data[self.end + 20 :]])


def read_directory(data: bytes, most: int) -> tuple[list[Member], int, int]:
    """The members of a zip file, and where its directory begins and ends."""
    end = data.rfind(b"PK\5\6", max(0, len(data) - END.size - 0xFFFF))
    problem = "the file isn't a zip file, as all .docx, .xlsx, .odt and .epub files are, or its end is missing"
    require(end >= 0 and end + END.size <= len(data), problem)
    _, disk, first, n_here, n_members, size, begin, comment = END.unpack_from(data, end)
    require(n_members <= most, f"the file has {n_members:,} members: at most {most:,} are read")
    is_whole = disk == first == 0 and n_here == n_members and begin + size == end
    require(is_whole and end + END.size + comment == len(data), "the file is damaged, or not a plain zip file")
    members, start = list[Member](), begin
    for _ in range(n_members):
        require(data[start : start + 4] == b"PK\1\2" and start + CENTRAL.size <= end, "the file's directory is damaged")
        fields = CENTRAL.unpack_from(data, start)
        _, made_by, _, flags, method, _, _, checksum, packed, size, *lengths, _, _, mode, place = fields
        stop = start + CENTRAL.size + sum(lengths)
        raw = data[start + CENTRAL.size : start + CENTRAL.size + lengths[0]]
        name = raw.decode("utf-8" if flags & UTF8 else "cp437", "replace")
        is_link = made_by >> 8 == UNIX and stat.S_ISLNK(mode >> 16)
        require(UNKNOWN not in (packed, size, place), f"member {name} has sizes of 64 bits (zip64), which are not read")
        members.append(Member(name, flags, method, checksum, packed, size, place, is_link, data[start:stop]))
        start = stop
    require(start == end, "the file's directory is damaged")
    return members, begin, end


def check(members: Collection[Member], limits: Limits) -> None:
    """Refuse members that are hostile, or that can't be read."""
    total, most = sum(member.size for member in members), limits.unpacked_bytes
    require(total <= most, f"the file has {total:,} bytes when it is unpacked: at most {most:,} are read")
    for member in members:
        name = member.name
        parts = name.split("/")
        is_inside = bool(name) and not name.startswith("/") and ".." not in parts and ":" not in parts[0]
        require(is_inside and "\\" not in name and "\0" not in name, f"the file has a member with the name {name!r}, "
                "which may be an attack: it isn't read")  # fmt: skip
        require(not member.flags & ENCRYPTED, f"member {name} is encrypted: save the file without a password")
        require(not member.is_link, f"member {name} is a symbolic link, which may be an attack: the file isn't read")
        require(member.method in (STORED, DEFLATED), f"member {name} has compression {member.method}, which isn't read")
        is_bomb = member.size > SMALL and member.size > limits.ratio * member.packed_size
        growth = f"member {name} would become more than {limits.ratio} times as long when it is unpacked"
        require(not is_bomb, f"{growth}, which may be an attack: the file isn't read")


def packed_anew(member: Member, data: bytes) -> tuple[bytes, bytes]:
    """The header and compressed bytes of a member with other contents, and its entry in the directory."""
    packer = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = data if member.method == STORED else packer.compress(data) + packer.flush()
    sizes = zlib.crc32(data), len(packed), len(data)
    _, made_by, version, flags, method, time, date, _, _, _, length, *rest = CENTRAL.unpack_from(member.entry)
    # The flag of a data descriptor, which would follow the data, is taken away: the header has the sizes.
    shared = version, flags & ~DESCRIPTOR, method, time, date, *sizes, length
    entry = CENTRAL.pack(b"PK\1\2", made_by, *shared, *rest) + member.entry[CENTRAL.size :]
    return LOCAL.pack(b"PK\3\4", *shared, 0) + entry[CENTRAL.size : CENTRAL.size + length] + packed, entry
