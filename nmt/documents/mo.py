"""Compiled catalogues of gettext, MO: every message is translated. New texts are put at the end of the file.

Source: the manual of GNU gettext, "The Format of GNU MO Files".
"""

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from nmt.documents.base import Answer, Document, Options, Text, Unit, decode, text_unit
from nmt.documents.po import PLURALS, Message
from nmt.fields import require

MAGIC = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}


@dataclass(frozen=True)
class Entry:
    place: int
    """Where the length and the offset of its translation are."""
    sources: tuple[str, ...]
    """Its singular and plural; those that are translated."""
    forms: int
    """The number of its translations."""


def read(data: bytes, options: Options) -> Document:
    order = MAGIC.get(data[:4], "")
    require(bool(order) and len(data) >= 28, "this is no MO file: it doesn't begin as one")
    _, count, sources, targets = struct.unpack(f"{order}4I", data[4:20])
    require(max(sources, targets) + 8 * count <= len(data), f"the file is cut off, or damaged: {count} messages")

    def strings(table: int) -> list[bytes]:
        pairs = [*struct.iter_unpack(f"{order}2I", data[table : table + 8 * count])]
        require(sum(length for length, _ in pairs) <= len(data), "the file is damaged: its texts overlap")
        for n, (length, start) in enumerate(pairs):
            require(start + length <= len(data), f"the file is cut off, or damaged: text {n + 1} is outside of it")
        return [data[start : start + length] for length, start in pairs]

    texts, translations = strings(sources), strings(targets)
    header = dict(zip(texts, translations, strict=True)).get(b"", b"").decode("utf-8", "replace")
    charset = re.search(r"charset=([\w.:-]{1,40})", header)
    encoding = options.encoding or (charset[1] if charset and charset[1] != "CHARSET" else "utf-8")
    plurals = PLURALS.search(header)
    entries = list[Entry]()
    for n, (text, translation) in enumerate(zip(texts, translations, strict=True)):
        try:
            parts = tuple(decode(text.rpartition(b"\4")[2], encoding).text.split("\0"))
        except ValueError as error:
            raise ValueError(f"message {n + 1}: {error}") from None
        if parts[0]:
            forms = translation.count(b"\0") + 1
            chosen = parts[-1:] if len(parts) > 1 and plurals and plurals[1] == "1" else parts[:2]
            entries.append(Entry(targets + 8 * n, chosen, forms))
    return Compiled(data, order, encoding, entries)


@dataclass(frozen=True)
class Compiled:
    data: bytes
    order: str
    encoding: str
    entries: Sequence[Entry]
    notes: tuple[str, ...] = ()

    @property
    def units(self) -> list[Unit]:
        return [
            text_unit(Message(text).core, f"message {n + 1}")
            for n, entry in enumerate(self.entries)
            for text in entry.sources
        ]

    def join(self, answers: Sequence[Answer]) -> bytes:
        data, added, rest = bytearray(self.data), list[bytes](), iter(answers)
        length = len(data)
        for entry in self.entries:
            some = [next(rest) for _ in entry.sources]
            pairs = [*zip(map(Message, entry.sources), some, strict=True)]
            if all(answer.text in (message.core, "") for message, answer in pairs):
                continue
            forms = [message.restore(answer.text.replace("\0", "")) for message, answer in pairs]
            forms = [forms[min(n, len(forms) - 1)] for n in range(entry.forms)]
            new = b"\0".join(Text("", self.encoding).encode(form) for form in forms)
            data[entry.place : entry.place + 8] = struct.pack(f"{self.order}2I", len(new), length)
            added.append(new + b"\0")
            length += len(new) + 1
        return bytes(data) + b"".join(added)
