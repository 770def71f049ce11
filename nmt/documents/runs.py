"""Paragraphs of Office Open XML: runs (words of one formatting) flow in, pieces of `paragraphs.py` flow out.

One reader for text documents (w:), slides, charts and shapes (a:) and cells (x:), which differ in names. Programs split
words into runs for reasons of their own (spelling, editing sessions): runs that look the same are one text.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nmt.documents.paragraphs import DEEPEST, PLAIN, Piece, Spans, Style, lines, nests, ruby, spans_of
from nmt.documents.xml_splice import ATTRIBUTE, Element, Xml
from nmt.fields import require
from nmt.text.languages import font_class

# Elements whose contents are words of the paragraph around them.
AROUND = frozenset("w:hyperlink w:ins w:moveTo w:smartTag w:customXml w:sdt w:dir w:bdo".split())  # noqa: SIM905
# They stay in this order, since each begins or ends something.
ORDERED = re.compile(r"w:(?:bookmark|permStart|permEnd|comment|moveFrom|moveTo|customXml)\w*")
DROPPED = frozenset(("w:proofErr", "w:lastRenderedPageBreak", "w:softHyphen", "x:rPh"))
NOT_CONTENT = frozenset("w:pPr a:pPr a:endParaRPr w:rPr a:rPr x:rPr x:phoneticPr".split())  # noqa: SIM905
BREAKS = frozenset("w:tab w:br w:cr w:ptab a:br".split())  # noqa: SIM905
# Parts of formatting that nobody sees: language, spelling state, editing session.
UNSEEN = frozenset(("w:lang", "w:noProof"))
SWITCHES = ("w:rtl", "w:cs")  # of the direction
LANG = {"western": "val", "asian": "eastAsia", "complex": "bidi"}  # attributes of w:lang
UNSEEN_ATTRIBUTES = re.compile(r"\s(?:lang|altLang|dirty|err|smtClean|noProof|bmk)\s*=\s*(?:\"[^\"]*\"|'[^']*')")
# For which script Word chooses the font of characters that several have, such as quotes.
HINT = re.compile(rb"<\w+:rFonts\s+\w+:hint=\"\w+\"\s*/>|\s\w+:hint=\"\w+\"")
# Programs look for these properties of words from right to left, in place of those without Cs.
TWINS = ("w:b", "w:i", "w:sz")
HOLDERS = {"w:rtl": "w:rPr", "w:bidi": "w:pPr", "w:bidiVisual": "w:tblPr"}  # where the switches of Word stand
# The order of properties in the schema: what comes after each switch.
AFTER = {
    "w:rtl": "cs em lang eastAsianLayout specVanish oMath rPrChange",
    "w:bidi": "adjustRightInd snapToGrid spacing ind contextualSpacing mirrorIndents suppressOverlap jc textDirection "
    "textAlignment textboxTightWrap outlineLvl divId cnfStyle rPr sectPr pPrChange",
    "w:bidiVisual": "tblStyleRowBandSize tblStyleColBandSize tblW jc tblCellSpacing tblInd tblBorders shd tblLayout "
    "tblCellMar tblLook tblCaption tblDescription tblPrChange",
}
MOST_COPIES, LEAST_ROOM = 16, 1 << 20  # of the bytes of a file, and bytes beside them
LINE_BREAK = re.compile(r"(?:_x000D_)?\n|_x000D_")


@dataclass
class RunReader:
    """Reads the paragraphs of a file."""

    xml: Xml
    language: str = ""
    """The language that changed words are marked to be in; empty: as before."""
    direction: str = ""
    """The direction of changed words (rtl or ltr); empty: as before."""

    def __post_init__(self) -> None:
        # How many more bytes of formatting may be written again: each text of a run gets that of the run.
        self.room = MOST_COPIES * len(self.xml.data) + LEAST_ROOM

    def inner(self, element: Element) -> Iterator[Piece]:
        """The pieces in a paragraph, or in an element of it, in order."""
        for child in element.elements:
            kind = child.name.partition(":")[2]
            span = ((child.start, child.end),)
            if child.name in NOT_CONTENT or child.name in DROPPED:
                continue
            if kind == "r":
                yield from self.run(child)
            elif kind == "t":
                yield from self.words(child, Style(b"", *self.around_text(child)), span)
            elif child.name in AROUND or names_link(child.attributes.get("w:instr", "")):
                content = child.find("w:sdtContent") if child.name == "w:sdt" else child
                if content and content.inner < content.inner_end:
                    yield Piece("opens", ((child.start, content.inner),))
                    yield from self.inner(content)
                    yield Piece("closes", ((content.inner_end, child.end),))
                else:
                    yield Piece("mark", span)
            else:
                is_ordered = bool(ORDERED.fullmatch(child.name))
                yield Piece("break" if child.name in BREAKS else "mark", span, ordered=is_ordered)

    def run(self, run: Element) -> Iterator[Piece]:
        """The pieces of a run: each could be a run of its own."""
        properties = next((child for child in run.elements if child.name in NOT_CONTENT), None)
        opening: Spans = ((run.start, run.inner),) + (((properties.start, properties.end),) if properties else ())
        text = next((child for child in run.elements if child.name.endswith(":t")), None)
        style = self.style(run, properties, text) if text else PLAIN
        self.room -= sum(end - start for start, end in opening) * len(run.elements)
        require(self.room >= 0, f"{self.xml.name} has runs of too many texts with too much formatting")
        for child in run.elements:
            if child is properties or child.name in DROPPED:
                continue
            spans = (*opening, (child.start, child.end), (run.inner_end, run.end))
            if child.name.endswith(":t"):
                yield from self.words(child, style, spans)
            elif child.name == "w:noBreakHyphen" and text:
                yield Piece("words", spans, "\u2011", style)
            elif child.name in ("w:fldChar", "w:instrText"):
                role = child.attributes.get("w:fldCharType", "instruction")
                yield Piece("mark", spans, child.text, ordered=True, field=role)
            elif child.name == "w:ruby" and (base := child.find("w:rubyBase")):
                yield ruby(list(self.inner(base)), spans)
            else:
                yield Piece("break" if child.name in BREAKS else "mark", spans)

    def words(self, element: Element, style: Style, spans: Spans) -> Iterator[Piece]:
        text = element.text
        if element.name == "w:t":
            text = re.sub("[\n\r\t]", " ", text)
            text = text if element.attributes.get("xml:space") == "preserve" else text.strip(" ")
        yield from lines(LINE_BREAK.sub("\n", text), spans, style)

    def style(self, run: Element, properties: Element | None, text: Element) -> Style:
        """How words of a run are written."""
        before, after = self.around_text(text)
        key, raw = (self.key(properties) if properties else b""), self.formatting(run, properties)
        head, end = self.xml.data[run.start : run.inner], self.xml.data[run.inner_end : run.end]
        return Style(key, head + raw + before, after + end)

    def around_text(self, text: Element) -> tuple[bytes, bytes]:
        name = self.xml.written_name(text)
        preserve = "" if text.name == "a:t" else ' xml:space="preserve"'
        return self.xml.encode(f"<{name}{preserve}>"), self.xml.encode(f"</{name}>")

    def key(self, properties: Element) -> bytes:
        """The formatting without what nobody sees."""
        unseen = (*UNSEEN, *SWITCHES) if self.direction else UNSEEN
        kept = [self.xml.data[child.start : child.end] for child in properties.elements if child.name not in unseen]
        attributes = UNSEEN_ATTRIBUTES.sub("", self.xml.tag(properties)).rstrip("/> ").partition(" ")[2]
        return self.xml.encode(attributes) + HINT.sub(b"", b"".join(kept))

    def formatting(self, run: Element, properties: Element | None) -> bytes:
        """The formatting, in another direction, and in another language if it has one."""
        xml, new = self.xml, dict[str, bytes]()
        lang = properties.find("w:lang") if properties else None
        if self.language and lang:
            name = written_attribute(xml, lang, LANG[font_class(self.language)])
            new["w:lang"] = xml.with_attributes(lang, {name: self.language}) + xml.data[lang.inner : lang.end]
        if self.direction and run.name == "w:r" and (properties or self.direction == "rtl"):
            return properties_with(xml, run, "w:rtl", self.direction == "rtl", new)
        if not properties:
            return b""
        tag = xml.data[properties.start : properties.inner]
        if self.language and properties.name == "a:rPr" and "lang" in properties.attributes:
            tag = xml.with_attributes(properties, {written_attribute(xml, properties, "lang"): self.language})
        if lang and new:
            return xml.data[properties.start : lang.start] + new["w:lang"] + xml.data[lang.end : properties.end]
        return tag + xml.data[properties.inner : properties.end]


def names_link(instruction: str) -> bool:
    """Whether a field is a link: results of other fields (page numbers, dates …) are made by programs."""
    return instruction.strip().upper().startswith("HYPERLINK")


def fields(pieces: list[Piece]) -> list[Piece]:
    """The pieces with each field that begins and ends in the paragraph as one mark, or as a pair of tags around the
    words of a link."""
    found, begun = list[Piece](), list[int]()
    for piece in pieces:
        found.append(piece)
        if piece.field == "begin":
            begun.append(len(found) - 1)
        if piece.field != "end" or not begun:
            continue
        begin = begun.pop()
        part = found[begin:] if len(begun) < DEEPEST else []
        if not part or not nests(part):
            continue
        instruction = "".join(run.text for run in part if run.field == "instruction")
        n = next((n for n, run in enumerate(part) if run.field == "separate"), 0)
        if n and names_link(instruction):
            found[begin:] = [Piece("opens", spans_of(part[: n + 1])), *part[n + 1 : -1], Piece("closes", piece.spans)]
        else:
            found[begin:] = [Piece("mark", spans_of(part))]
    return found


def written_attribute(xml: Xml, element: Element, name: str) -> str:
    """The name of an attribute with the prefix of the file; that of the element if it lacks the attribute."""
    found = (match[2] for match in ATTRIBUTE.finditer(xml.tag(element)))
    return next((written for written in found if written.rpartition(":")[2] == name), xml.named_like(element, name))


def properties_with(
    xml: Xml, element: Element, switch: str, is_on: bool, others: Mapping[str, bytes] | None = None
) -> bytes:
    """The properties of an element with a switch, or without it. `others`: children in place of those of their name.
    Source: ECMA-376, part 1, section 17.3.2.30."""
    found, parts = element.find(HOLDERS[switch]), list[tuple[str, bytes]]()
    names = {child.name for child in found.elements} if found else set[str]()
    for child in found.elements if found else ():
        written = (others or {}).get(child.name, xml.data[child.start : child.end])
        twin = f"{child.name}Cs"
        if child.name not in (switch, "w:cs"):
            parts.append((child.name, written))
        if is_on and child.name in TWINS and twin not in names:
            parts.append((twin, xml.encode(re.sub(r"(?<=<)/?[^\s/>]+", r"\g<0>Cs", written.decode(xml.encoding)))))
    follows = {f"w:{part}" for part in AFTER[switch].split()}
    place = next((n for n, (part, _) in enumerate(parts) if part in follows), len(parts))
    tag, new = (xml.named_like(found or element, part.removeprefix("w:")) for part in (HOLDERS[switch], switch))
    parts[place:place] = [(switch, xml.encode(f"<{new}/>"))] if is_on else []
    begin, end = xml.encode(f"<{tag}>"), xml.encode(f"</{tag}>")
    if found and found.children:  # its tag may declare namespaces
        begin, end = xml.data[found.start : found.inner], xml.data[found.inner_end : found.end]
    return begin + b"".join(written for _, written in parts) + end
