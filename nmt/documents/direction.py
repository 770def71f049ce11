"""The direction of office files: Arabic and Hebrew, for example, are written from right to left.

Paragraphs, words, tables, sheets and styles are changed only if the translation is written in the other direction than
the source. Source: ECMA-376, part 1, sections 17.3.1.6, 17.3.2.30, 17.4.1, 18.3.1.87 and 21.1.2.2.7.
"""

import re
from collections.abc import Iterator, Mapping

from nmt.documents.xml_splice import Edit, Element, Xml

STYLE = re.compile("a:(?:lvl[1-9]|def)pPr", re.IGNORECASE)
MIRRORED = {"l": "r", "r": "l"}
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


def changes(xml: Xml, direction: str) -> Iterator[Edit]:
    """The changes of a file's paragraphs, tables and sheets to a direction (rtl or ltr)."""
    is_from_right = direction == "rtl"
    value = "1" if is_from_right else None
    for element in xml.root.walk():
        if element.name == "w:p":
            yield from of_properties(xml, element, "w:bidi", is_from_right)
        elif element.name == "w:tbl":
            yield from of_properties(xml, element, "w:bidiVisual", is_from_right)
        elif element.name == "a:p" or STYLE.fullmatch(element.name):
            yield from of_drawn(xml, element, is_from_right)
        elif element.name == "a:tblPr":
            yield xml.attributes(element, {"rtl": value})
        elif element.name == "x:sheetView":
            yield xml.attributes(element, {"rightToLeft": value})


def of_styles(xml: Xml, direction: str) -> Iterator[Edit]:
    """The changes of Word's styles: paragraphs from left to right don't say so, so no style may say otherwise."""
    for element in xml.root.walk():
        if direction == "ltr" and element.name in HOLDERS:
            yield element.start, element.end, b""


def of_properties(xml: Xml, element: Element, switch: str, is_on: bool) -> Iterator[Edit]:
    """The change of the properties of a paragraph or table, which may have none yet."""
    found = element.find(HOLDERS[switch])
    before = found.find(switch) if found else None
    if element.inner < element.end and is_true(before.attributes.get("w:val", "1") if before else "0") != is_on:
        start, end = (found.start, found.end) if found else (element.inner, element.inner)
        yield start, end, properties(xml, element, switch, is_on)


def is_true(value: str) -> bool:
    """Whether a switch of Office Open XML is on."""
    return value in ("1", "true", "on")


def properties(
    xml: Xml, element: Element, switch: str, is_on: bool, others: Mapping[str, bytes] | None = None
) -> bytes:
    """The properties of an element with a switch, or without it. `others`: children in place of those of their name."""
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


def of_drawn(xml: Xml, element: Element, is_from_right: bool) -> Iterator[Edit]:
    """The change of a paragraph of a slide, chart or shape, or of a style: its alignment, if stated, is mirrored."""
    found = element.find("a:pPr") if element.name == "a:p" else element
    before = found.attributes if found else {}
    if is_true(before.get("rtl", "0")) == is_from_right or (not found and element.inner == element.end):
        return
    values = {name: MIRRORED.get(value, value) for name, value in before.items() if name == "algn"}
    values |= {"rtl": "1" if is_from_right else "0"}
    if found:
        yield xml.attributes(found, values)
    else:
        new = xml.encode(f'<{xml.written_name(element)}Pr rtl="{values["rtl"]}"/>')
        yield element.inner, element.inner, new
