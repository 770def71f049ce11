"""XLIFF 1.2 and 2.x: segments without a translation are units, and their translations become targets.

The state of a target says whether the translation was flagged. Targets that are there stay, unless all entries are
wanted or their state says that they still have to be translated. Sources: the OASIS standards XLIFF 1.2, 2.0 and 2.1.
"""

from collections.abc import Iterator
from functools import partial

from nmt.documents.base import Answer, Document, Options
from nmt.documents.codes import content, insert_after, written
from nmt.documents.office import Change, Slot, attributes, read_xml, xml_document
from nmt.documents.paragraphs import Paragraph
from nmt.documents.plurals import HEAD, with_forms
from nmt.documents.runs import written_attribute
from nmt.documents.xml_splice import Element, Xml
from nmt.fields import require
from nmt.text.languages import short_code

UNTRANSLATED = frozenset("new needs-translation needs-adaptation needs-l10n initial".split())  # noqa: SIM905
SEGMENTS = ("x1:trans-unit", "x2:segment")
SOURCE, TARGET = ("source-language", "srcLang"), ("target-language", "trgLang")  # attributes


def read(data: bytes, options: Options) -> Document:
    xml = read_xml(data, "XLIFF 1.2 or 2.x", "x1:xliff", "x2:xliff")
    found = [element for element in xml.root.walk(is_entered) if element.name in SEGMENTS and is_translated(element)]
    segments = [element for element in found if has_languages(element, options)]
    stated = f"from {found[0].inherited(*SOURCE)} to {found[0].inherited(*TARGET) or '?'}" if found else ""
    wanted = f"from {options.source or '?'} to {options.target or '?'}"
    require(not found or bool(segments), f"the file is {stated} by what it says, not {wanted}")
    slots = [slot for element in segments if (slot := slot_of(xml, element, options))]
    return with_forms(xml_document(xml, slots, languages(xml, options.target)), options)


def has_languages(element: Element, options: Options) -> bool:
    """Whether a segment is in the languages of the options, as far as both are known."""
    known = ((element.inherited(*SOURCE), options.source), (element.inherited(*TARGET), options.target))
    return all(short_code(stated) == short_code(wanted) for stated, wanted in known if stated and wanted)


def is_translated(element: Element) -> bool:
    return element.attributes.get("translate") != "no"


def is_entered(element: Element) -> bool:
    """Whether there may be segments in an element."""
    return is_translated(element) and element.name not in (*SEGMENTS, "x1:alt-trans", "x1:bin-unit")


def languages(xml: Xml, language: str) -> Iterator[Change]:
    """The elements that name no target language get it."""
    for element in (xml.root, *xml.root.elements) if language else ():
        name = {"x1:file": "target-language", "x2:xliff": "trgLang"}.get(element.name)
        if name and name not in element.attributes:
            yield attributes(xml, element, {name: language})


def slot_of(xml: Xml, segment: Element, options: Options) -> Slot | None:
    """The slot of a segment that has a source, and needs a target."""
    space = segment.name.partition(":")[0]
    plain, target = segment.find(f"{space}:source"), segment.find(f"{space}:target")
    source = segment.find("x1:seg-source") or plain
    state = (target if space == "x1" and target else segment).attributes.get("state", "")
    is_done = target and target.text.strip() and state not in (UNTRANSLATED if space == "x1" else {"initial"})
    if not source or (is_done and not options.all_entries):
        return None
    paragraph = Paragraph(xml, content(source), f"unit {segment.inherited('id')}")
    paragraph.is_message = bool(paragraph.unit and HEAD.search(paragraph.unit.text))
    return Slot(segment.start, paragraph.unit, partial(put, paragraph, segment, source, target))


def put(paragraph: Paragraph, segment: Element, source: Element, target: Element | None, answer: Answer) -> None:
    """Fill the target, which is added if it isn't there. It has the state; in XLIFF 2 the segment has it."""
    xml, inside, values = paragraph.xml, paragraph.render(answer.text), dict[str, str]()
    if segment.name == "x1:trans-unit":
        values["state"] = "needs-review-translation" if answer.flags else "translated"
        values["state-qualifier"] = "fuzzy-match" if "fuzzy" in answer.flags else "leveraged-mt"
    if target:
        xml.fill(target, inside, values)
    else:
        insert_after(xml, source, written(xml, source, "target", values, inside))
    changed: dict[str, str | None] = {"approved": "no"} if "approved" in segment.attributes else {}  # by a person
    if segment.name == "x2:segment":
        changed = {"state": "translated", "subState": "nmt:needs-review" if answer.flags else None}
    if "mq:status" in segment.attributes:  # of memoQ
        changed[written_attribute(xml, segment, "status")] = "PartiallyEdited" if answer.flags else "Pretranslated"
    if changed:
        xml.replace(segment.start, segment.inner, xml.with_attributes(segment, changed))
