"""XLIFF 1.2 and 2.x: segments without a translation are units, and their translations become targets.

The state of a target says whether the translation was flagged. Targets that are there stay, unless all entries are
wanted or their state says that they still have to be translated. Sources: the OASIS standards XLIFF 1.2, 2.0 and 2.1.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from nmt.documents.base import Answer, Document, Options, Unit
from nmt.documents.codes import content, indentation, written
from nmt.documents.office import Change, Part, attributes
from nmt.documents.paragraphs import Paragraph
from nmt.documents.xml_splice import Element, Xml
from nmt.fields import require

UNTRANSLATED = frozenset("new needs-translation needs-adaptation needs-l10n initial".split())  # noqa: SIM905


def read(data: bytes, options: Options) -> Document:
    xml = Xml(data)
    require(
        xml.root.name in ("x1:xliff", "x2:xliff"), "the file isn't XLIFF 1.2 or 2.x: its first element is not <xliff>"
    )
    segments = [Segment.read(xml, element, options) for element in segments_of(xml.root)]
    return Part(xml, [one for one in segments if one], languages(xml, options.target))


def segments_of(root: Element) -> Iterator[Element]:
    """The elements that hold a source and its target; those that aren't translated are left out."""
    stack = [root]
    while stack:
        element = stack.pop()
        if element.attributes.get("translate") == "no":
            continue
        if element.name in ("x1:trans-unit", "x2:segment"):
            yield element
        else:
            stack += reversed([one for one in element.elements if one.name not in ("x1:alt-trans", "x1:bin-unit")])


def languages(xml: Xml, language: str) -> list[Change]:
    """The elements that name no target language get it."""
    if not language:
        return []
    if xml.root.name == "x2:xliff":
        return [] if "trgLang" in xml.root.attributes else [attributes(xml, xml.root, {"trgLang": language})]
    files = (element for element in xml.root.elements if element.name == "x1:file")
    return [
        attributes(xml, one, {"target-language": language}) for one in files if "target-language" not in one.attributes
    ]


@dataclass
class Segment:
    """A source, and the target that its answer fills."""

    xml: Xml
    element: Element
    source: Element
    target: Element | None
    paragraph: Paragraph

    @classmethod
    def read(cls, xml: Xml, element: Element, options: Options) -> "Segment | None":
        space = element.name.partition(":")[0]
        plain, target = element.find(f"{space}:source"), element.find(f"{space}:target")
        source = element.find("x1:seg-source") or plain
        if not source:
            return None
        state = (target if space == "x1" and target else element).attributes.get("state", "")
        is_done = target and target.text.strip() and state not in (UNTRANSLATED if space == "x1" else {"initial"})
        if is_done and not options.all_entries:
            return None
        name = element.inherited("id")
        paragraph = Paragraph(xml, content(xml, source), f"unit {name}")
        return cls(xml, element, source, target, paragraph) if paragraph.unit else None

    @property
    def unit(self) -> Unit | None:
        return self.paragraph.unit

    @property
    def start(self) -> int:
        return self.element.start

    def put(self, answer: Answer) -> None:
        """Fill the target, which is added if it isn't there; of XLIFF 2 the segment has the state."""
        inside = self.paragraph.render(answer.text)
        if self.element.name == "x2:segment":
            values = {"state": "translated"} | ({"subState": "nmt:needs-review"} if answer.flags else {})
            self.fill(inside, {})
            tag = self.xml.with_attributes(self.element, values)
            self.xml.replace(self.element.start, self.element.inner, tag)
        else:
            state = "needs-review-translation" if answer.flags else "translated"
            self.fill(inside, {"state": state, "state-qualifier": qualifier(answer)})

    def fill(self, inside: bytes, values: dict[str, str]) -> None:
        if self.target:
            self.xml.fill(self.target, inside, values)
        else:
            new = written(self.xml, self.source, "target", values, inside)
            self.xml.replace(self.source.end, self.source.end, indentation(self.xml, self.source) + new)


def qualifier(answer: Answer) -> str:
    """Where a translation comes from, in the words of XLIFF 1.2."""
    return "fuzzy-match" if "fuzzy" in answer.flags else "leveraged-mt"
