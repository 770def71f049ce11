"""TMX: units of a translation memory that lack the target language get it. Source: TMX 1.4b, the LISA/GALA standard."""

from dataclasses import dataclass

from nmt.data.corpora.bilingual_xml import same_language
from nmt.documents.base import Answer, Document, Options, Unit
from nmt.documents.codes import content, indentation, written
from nmt.documents.office import Part
from nmt.documents.paragraphs import Paragraph
from nmt.documents.xml_splice import Element, Xml, escape
from nmt.fields import require


def read(data: bytes, options: Options) -> Document:
    xml = Xml(data)
    require(xml.root.name == "tmx", "the file isn't TMX: its first element is not <tmx>")
    require(bool(options.target), "name the target language: a TMX file doesn't say into which one to translate")
    entries = [Entry.read(xml, element, options) for element in xml.root.walk() if element.name == "tu"]
    return Part(xml, [entry for entry in entries if entry])


def variants(entry: Element) -> list[tuple[str, Element, Element]]:
    """The languages of an entry: code, the element of the language, and its segment."""
    found = [(one, one.find("seg")) for one in entry.elements if one.name == "tuv"]
    return [(one.attributes.get("xml:lang", one.attributes.get("lang", "")), one, seg) for one, seg in found if seg]


def source_language(xml: Xml, entry: Element, options: Options) -> str:
    header = xml.root.find("header")
    stated = entry.attributes.get("srclang") or (header.attributes.get("srclang", "") if header else "")
    return options.source or ("" if stated == "*all*" else stated)


def variant(entry: Element, language: str) -> tuple[Element, Element] | None:
    """The element of a language of an entry, and its segment."""
    return next(((one, seg) for code, one, seg in variants(entry) if same_language(code, language)), None)


@dataclass
class Entry:
    """An entry whose translation is missing."""

    xml: Xml
    last: Element
    """The language after which another one is added."""
    target: Element | None
    """The segment to fill, if it is there."""
    language: str
    paragraph: Paragraph

    @classmethod
    def read(cls, xml: Xml, entry: Element, options: Options) -> "Entry | None":
        source = variant(entry, source_language(xml, entry, options))
        target = variant(entry, options.target)
        if not source or (target and target[1].text.strip() and not options.all_entries):
            return None
        name = entry.attributes.get("tuid", "")
        paragraph = Paragraph(xml, content(xml, source[1]), f"entry {name}".strip())
        last = [one for _, one, _ in variants(entry)][-1]
        segment = target[1] if target else None
        return cls(xml, last, segment, options.target, paragraph) if paragraph.unit else None

    @property
    def unit(self) -> Unit | None:
        return self.paragraph.unit

    @property
    def start(self) -> int:
        return self.last.start

    def put(self, answer: Answer) -> None:
        inside = self.paragraph.render(answer.text)
        if self.target:
            self.xml.fill(self.target, inside)
            return
        flags = self.xml.encode(escape(" ".join(answer.flags)))
        prop = written(self.xml, self.last, "prop", {"type": "x-flags"}, flags) if flags else b""
        segment = written(self.xml, self.last, "seg", {}, inside)
        new = written(self.xml, self.last, "tuv", {"xml:lang": self.language}, prop + segment)
        self.xml.replace(self.last.end, self.last.end, indentation(self.xml, self.last) + new)
