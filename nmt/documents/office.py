"""Office files and other XML: their paragraphs flow in, their units flow out, and answers go back into the same bytes.

A format says which paragraphs its files have (`nmt.documents.openxml` …); here they are joined: into one XML file, or
into the members of a zip file.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import NamedTuple
from xml.parsers import expat

from nmt.documents.archive import Archive
from nmt.documents.base import Answer, Document, Unit
from nmt.documents.paragraphs import Paragraph
from nmt.documents.xml_splice import PREFIXES, Edit, Xml
from nmt.fields import require


class Slot(NamedTuple):
    """A place in an XML file that an answer is put into, if it has a text to translate."""

    start: int
    unit: Unit | None
    put: Callable[[Answer], None]
    """ValueError, before anything is written, if the file can't have the answer: the text stays then, with a note."""


def read_xml(data: bytes, what: str, *roots: str) -> Xml:
    """An XML file whose first element has one of these names; ValueError if it has another."""
    xml = Xml(data)
    prefix, _, name = roots[0].rpartition(":")
    problem = f"its first element is not <{name}>"
    if prefix and xml.root.name.rpartition(":")[2] == name:
        space = next(space for space, short in PREFIXES.items() if short == prefix)
        problem = f'its <{name}> lacks the namespace, such as xmlns="{space}"'
    require(xml.root.name in roots, f"the file isn't {what}: {problem}")
    return xml


def xml_document(xml: Xml, slots: Iterable[Slot | Paragraph], changes: Iterable[Edit] = ()) -> Document:
    """An XML file: a document, or a part of one. `changes`: edits that don't depend on answers, as of the language."""
    slots, changes, notes = [slot for slot in slots if slot.unit], list(changes), list[str]()

    def put(slot: Slot | Paragraph, answer: Answer, n: int) -> None:
        try:
            slot.put(answer)
        except ValueError as error:
            place = (slot.unit and slot.unit.place) or f"text {n}"
            notes.append(f"{place}: {error}, so the text stays as it is")

    def write(answers: Sequence[Answer]) -> bytes:
        xml.edits.clear()
        numbered = enumerate(zip(slots, answers, strict=True), 1)
        # Of edits at one place, that of the text is first: others may put something before it.
        edits = [(slot.start, partial(put, slot, answer, n)) for n, (slot, answer) in numbered]
        edits += ((edit[0], partial(xml.replace, *edit)) for edit in changes)
        for _, edit in sorted(edits, key=lambda edit: edit[0], reverse=True):
            edit()
        return still_xml(xml.data, xml.result(), xml.name)

    return Document(xml.data, [slot.unit for slot in slots if slot.unit], write, notes)


def archive_document(archive: Archive, parts: Mapping[str, Document]) -> Document:
    """A document that is a zip file."""
    units, notes = list[Unit](), list[str]()
    for name, part in parts.items():
        for n, unit in enumerate(part.units, 1):
            units.append(replace(unit, place=f"{PurePath(name).name}, {unit.place or f'text {n}'}"))

    def write(answers: Sequence[Answer]) -> bytes:
        rest, replaced = iter(answers), dict[str, bytes]()
        for name, part in parts.items():
            part.notes.clear()
            replaced[name] = part.write([next(rest) for _ in part.units])
            notes.extend(f"{PurePath(name).name}, {note}" for note in part.notes)
        return archive.result(replaced)

    return Document(archive.data, units, write, notes)


def still_xml(before: bytes, after: bytes, name: str) -> bytes:
    """The changed file, if it is as well-formed as it was; ValueError else: a broken file is never written."""
    if after != before and (problem := xml_problem(after)) and not xml_problem(before):
        raise ValueError(f"{name} would not be well-formed XML with its translations ({problem}), so nothing is "
                         "written: please report this fault of nmt, with the file")  # fmt: skip
    return after


def xml_problem(data: bytes) -> str:
    """What is wrong with a file of XML; empty if nothing is."""
    try:
        expat.ParserCreate(namespace_separator=" ").Parse(data, True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        return str(error)
    return ""
