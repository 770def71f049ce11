"""Files of translation tools: XLIFF 1.2 and 2.x, and TMX. Texts without a translation are units, and get one.

XLIFF: the state of a target says whether the translation was flagged. Targets that are there stay, unless all entries
are wanted or their state says that they still have to be translated. TMX: entries that lack the target language get it.
Sources: the OASIS standards XLIFF 1.2, 2.0 and 2.1; TMX 1.4b, the LISA/GALA standard.
"""

from functools import partial

from nmt.documents.base import Answer, Document, Options
from nmt.documents.office import Slot, read_xml, xml_document
from nmt.documents.paragraphs import Paragraph, content
from nmt.documents.plurals import HEAD, with_forms
from nmt.documents.runs import written_attribute
from nmt.documents.xml_splice import Edit, Element, Xml, escape
from nmt.fields import require
from nmt.text.languages import nearest, short_code

UNTRANSLATED = frozenset("new needs-translation needs-adaptation needs-l10n initial".split())  # noqa: SIM905
SEGMENTS = ("x1:trans-unit", "x2:segment")
SOURCE, TARGET = ("source-language", "srcLang"), ("target-language", "trgLang")  # attributes
LOCKS = {("translate", "no"), ("mq:locked", "locked"), ("mxlf:locked", "true")}  # memoQ, Phrase
NAMES = {"x1:file": "target-language", "x2:xliff": "trgLang"}


def read_xliff(data: bytes, options: Options) -> Document:
    xml = read_xml(data, "XLIFF 1.2 or 2.x", "x1:xliff", "x2:xliff")
    found = [element for element in xml.root.walk(is_entered) if element.name in SEGMENTS and is_translated(element)]
    segments = [element for element in found if has_languages(element, options)]
    stated = f"from {found[0].inherited(*SOURCE)} to {found[0].inherited(*TARGET) or '?'}" if found else ""
    wanted = f"from {options.source or '?'} to {options.target or '?'}"
    require(not found or bool(segments), f"the file is {stated} by what it says, not {wanted}")
    slots = [slot for element in segments if (slot := segment_slot(xml, element, options))]
    changes = list[Edit]()
    for element in (xml.root, *xml.root.elements) if options.target else ():
        name = NAMES.get(element.name)
        if name and name not in element.attributes:  # it names no target language
            changes.append(xml.attributes(element, {name: options.target}))
    return with_forms(xml_document(xml, slots, changes), options)


def has_languages(element: Element, options: Options) -> bool:
    """Whether a segment is in the languages of the options, as far as both are known."""
    known = ((element.inherited(*SOURCE), options.source), (element.inherited(*TARGET), options.target))
    return all(short_code(stated) == short_code(wanted) for stated, wanted in known if stated and wanted)


def is_translated(element: Element) -> bool:
    """Whether an element may be translated. Trados lists the segments of a unit, and locks each by itself."""
    segments = element.find("sdl:seg-defs")
    is_locked = segments and any(segment.attributes.get("locked") == "true" for segment in segments.elements)
    return not is_locked and LOCKS.isdisjoint(element.attributes.items())


def is_entered(element: Element) -> bool:
    """Whether there may be segments in an element."""
    return is_translated(element) and element.name not in (*SEGMENTS, "x1:alt-trans", "x1:bin-unit")


def segment_slot(xml: Xml, segment: Element, options: Options) -> Slot | None:
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
    return Slot(segment.start, paragraph.unit, partial(fill_unit, paragraph, segment, source, target))


def fill_unit(paragraph: Paragraph, segment: Element, source: Element, target: Element | None, answer: Answer) -> None:
    """Fill the target, which is added if it isn't there. It has the state; in XLIFF 2 the segment has it."""
    xml, inside, values = paragraph.xml, paragraph.render(answer.text), dict[str, str]()
    if segment.name == "x1:trans-unit":
        values["state"] = "needs-review-translation" if answer.flags else "translated"
        values["state-qualifier"] = "fuzzy-match" if "fuzzy" in answer.flags else "leveraged-mt"
    if target:
        xml.replace(*xml.filled(target, inside, values))
    else:
        xml.insert_after(source, xml.new(source, "target", values, inside))
    changed: dict[str, str | None] = {"approved": "no"} if "approved" in segment.attributes else {}  # by a person
    if segment.name == "x2:segment":
        changed = {"state": "translated", "subState": "nmt:needs-review" if answer.flags else None}
    if "mq:status" in segment.attributes:  # of memoQ
        changed[written_attribute(xml, segment, "status")] = "PartiallyEdited" if answer.flags else "Pretranslated"
    if changed:
        xml.replace(*xml.attributes(segment, changed))


def read_tmx(data: bytes, options: Options) -> Document:
    xml, slots = read_xml(data, "TMX", "tmx"), list[Slot]()
    require(bool(options.target), "name the target language: a TMX file doesn't say into which one to translate")
    header = xml.root.find("header")
    for entry in (element for element in xml.root.walk() if element.name == "tu"):
        found = [(language, language.find("seg")) for language in entry.elements if language.name == "tuv"]
        variants = [(language, segment) for language, segment in found if segment]
        stated = entry.attributes.get("srclang") or (header.attributes.get("srclang", "") if header else "")
        stated = "" if stated == "*all*" else stated  # entries without a source language go both ways
        source, target = segment_in(variants, options.source or stated), segment_in(variants, options.target)
        is_done = target and target.text.strip() and not options.all_entries
        if source and source is not target and not is_done:
            paragraph = Paragraph(xml, content(source), f"entry {entry.attributes.get('tuid', '')}".strip())
            last = variants[-1][0]
            put = partial(fill_entry, paragraph, last, target, options.target)
            slots.append(Slot(last.start, paragraph.unit, put))
    return xml_document(xml, slots)


def segment_in(variants: list[tuple[Element, Element]], language: str) -> Element | None:
    """The segment of a language, rather one of the same region. `variants`: the elements of an entry's languages, and
    their segments."""
    codes = ((of.attributes.get("xml:lang", of.attributes.get("lang", "")), segment) for of, segment in variants)
    found = nearest(codes, language)
    return found and found[1]


def fill_entry(paragraph: Paragraph, last: Element, target: Element | None, language: str, answer: Answer) -> None:
    """Fill the segment of the target language, or add the language after the last one; with the flags before it."""
    xml, inside = paragraph.xml, paragraph.render(answer.text)
    flags = xml.encode(escape(" ".join(answer.flags)))
    prop = xml.new(last, "prop", {"type": "x-flags"}, flags) if flags else b""
    if not target or not target.parent:
        segment = xml.new(last, "seg", {}, inside)
        xml.insert_after(last, xml.new(last, "tuv", {"xml:lang": language}, prop + segment))
        return
    xml.replace(*xml.filled(target, inside))
    for other in reversed(target.parent.elements):
        if other.start < target.start and other.attributes.get("type") == "x-flags":
            xml.replace(other.start, other.end, b"")
    xml.replace(target.parent.inner, target.parent.inner, prop)
