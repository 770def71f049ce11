"""Office files and other XML: their paragraphs flow in, their units flow out, and answers go back into the same bytes.

A format says which paragraphs its files have (`nmt.documents.docx` …); here they are joined: into one XML file, or into
the members of a zip file. Nothing is changed if no answer changes anything.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import PurePath
from typing import Protocol

from nmt.documents.archive import Archive
from nmt.documents.base import Answer, Document, Unit
from nmt.documents.paragraphs import Paragraph
from nmt.documents.xml_splice import Element, Xml
from nmt.fields import require

Values = dict[str, str | None]
"""Of attributes; None for one that is taken away."""
Change = tuple[int, Callable[[], None]]
"""An edit that doesn't depend on answers, and where it begins."""


class Slot(Protocol):
    """A place in an XML file that an answer is put into."""

    @property
    def start(self) -> int: ...

    @property
    def unit(self) -> Unit | None: ...

    def put(self, answer: Answer) -> None: ...


@dataclass
class Part:
    """An XML file with places for answers: a document, or a part of one."""

    xml: Xml
    slots: Sequence[Slot] = ()
    changes: Sequence[Change] = ()
    """Edits that are made if anything is translated, such as that of the language."""
    notes: list[str] = field(default_factory=list)

    @property
    def units(self) -> list[Unit]:
        return [slot.unit for slot in self.slots if slot.unit]

    def join(self, answers: Sequence[Answer]) -> bytes:
        return self.xml.data if unchanged(self.units, answers) else self.write(answers)

    def write(self, answers: Sequence[Answer]) -> bytes:
        """The file with these answers, and with its other changes."""
        self.xml.edits.clear()
        pairs = zip(self.slots, answers, strict=True)
        edits: list[Change] = [*self.changes, *((slot.start, partial(slot.put, answer)) for slot, answer in pairs)]
        for _, edit in sorted(edits, key=lambda edit: edit[0], reverse=True):
            edit()
        return self.xml.result()


@dataclass
class ArchiveDocument:
    """A document that is a zip file."""

    archive: Archive
    parts: Mapping[str, Document]
    notes: list[str] = field(default_factory=list)

    @property
    def units(self) -> list[Unit]:
        return [
            replace(unit, place=f"{PurePath(name).name}, {unit.place or f'text {n}'}")
            for name, part in self.parts.items()
            for n, unit in enumerate(part.units, 1)
        ]

    def join(self, answers: Sequence[Answer]) -> bytes:
        if unchanged(self.units, answers):
            return self.archive.data
        rest, joined = iter(answers), dict[str, bytes]()
        for name, part in self.parts.items():
            some = [next(rest) for _ in part.units]
            joined[name] = part.write(some) if isinstance(part, Part) else part.join(some)
        return self.archive.result(joined)


def unchanged(units: Sequence[Unit], answers: Sequence[Answer]) -> bool:
    return all(answer.text == unit.text for unit, answer in zip(units, answers, strict=True))


def names_of_type(archive: Archive, *types: str) -> list[str]:
    """The members whose content type ends with one of these, in the order of the file. Source: ECMA-376, part 2."""
    require("[Content_Types].xml" in archive, "the file isn't an Office Open XML file: it lacks [Content_Types].xml")
    listed = read_xml(archive, "[Content_Types].xml").root.elements
    found = {
        element.attributes.get("PartName", "").lstrip("/"): element.attributes.get("ContentType", "")
        for element in listed
    }
    return [name for name in archive.members if found.get(name, "").endswith(types)]


def read_xml(archive: Archive, name: str) -> Xml:
    return Xml(archive.read(name), name)


def attributes(xml: Xml, element: Element, values: Values) -> Change:
    """The change of an element's attributes."""
    return element.start, lambda: xml.replace(element.start, element.inner, xml.with_attributes(element, values))


def with_words(paragraphs: Iterable[Paragraph]) -> list[Paragraph]:
    return [paragraph for paragraph in paragraphs if paragraph.unit]
