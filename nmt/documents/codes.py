"""Inline codes of translation files (XLIFF, TMX): the content of a segment flows in, pieces flow out.

Elements around words are pairs of tags; elements that hold a code are marks. Two marks that belong together (<bpt> and
<ept>, <sc> and <ec> …) are a pair of tags if what stands between them nests.
"""

from collections.abc import Iterator

from nmt.documents.paragraphs import Piece, nests
from nmt.documents.xml_splice import Element, Text, Xml, escape

AROUND = frozenset("g mrk pc hi".split())  # noqa: SIM905
BEGINS, ENDS = frozenset("bpt bx sc sm".split()), frozenset("ept ex ec em".split())  # noqa: SIM905
PARTNER = ("rid", "startRef", "i", "id")  # attributes that name the pair, the most reliable first


def content(element: Element) -> list[Piece]:
    """The pieces of a segment, with marks that belong together as pairs of tags."""
    kept = list[Piece]()
    for piece in pieces(element):
        begin = next((n for n, one in enumerate(kept) if one.field == "begin" and one.text == piece.text), -1)
        if piece.field == "end" and begin >= 0 and nests(kept[begin:]):
            kept[begin] = Piece("opens", kept[begin].spans)
            piece = Piece("closes", piece.spans)
        kept.append(piece)
    return kept


def pieces(element: Element) -> Iterator[Piece]:
    for child in element.children:
        span = ((child.start, child.end),)
        if isinstance(child, Text):
            yield Piece("words", span, child.value)
        elif isinstance(child, Element):
            kind, values = child.name.rpartition(":")[2], child.attributes
            is_kept = values.get("translate") == "no" or values.get("mtype") == "protected"
            if kind in AROUND and child.children and not is_kept:
                yield Piece("opens", ((child.start, child.inner),))
                yield from pieces(child)
                yield Piece("closes", ((child.inner_end, child.end),))
            else:
                partner = next((values[name] for name in PARTNER if name in values), "")
                yield Piece("mark", span, partner, field="begin" if kind in BEGINS else "end" if kind in ENDS else "")


def insert_after(xml: Xml, element: Element, new: bytes) -> None:
    """Add an element after another one, with the same blanks before it."""
    siblings = element.parent.children if element.parent else []
    before = siblings[siblings.index(element) - 1] if element in siblings[1:] else None
    is_blank = isinstance(before, Text) and before.value.isspace()
    xml.replace(element.end, element.end, (xml.data[before.start : before.end] if before and is_blank else b"") + new)


def written(xml: Xml, like: Element, name: str, values: dict[str, str], inside: bytes) -> bytes:
    """An element with the prefix that another one has in the file."""
    head = xml.written_name(like).rpartition(":")[0]
    name = f"{head}:{name}" if head else name
    attributes = "".join(f' {key}="{escape(value, quoted=True)}"' for key, value in values.items())
    return xml.encode(f"<{name}{attributes}>") + inside + xml.encode(f"</{name}>")
