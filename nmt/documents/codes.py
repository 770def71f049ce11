"""Inline codes of translation files (XLIFF, TMX): the content of a segment flows in, pieces flow out.

Elements around words are pairs of tags; elements that hold a code are marks. Two marks that belong together (<bpt> and
<ept>, <sc> and <ec> …) are a pair of tags if what stands between them nests.
"""

from collections import Counter
from collections.abc import Iterator

from nmt.documents.paragraphs import DEEPEST, Piece
from nmt.documents.xml_splice import Element, Text

AROUND = frozenset("g mrk pc hi".split())  # noqa: SIM905
BEGINS, ENDS = frozenset("bpt bx sc sm".split()), frozenset("ept ex ec em".split())  # noqa: SIM905
PARTNER = ("rid", "startRef", "i", "id")  # attributes that name the pair, the most reliable first


def content(element: Element) -> list[Piece]:
    """The pieces of a segment, with marks that belong together as pairs of tags."""
    kept = list[Piece]()
    # Of each tag around: the marks in it that may get a partner (place, name, pairs in it), and how many have a name.
    around = [(list[tuple[int, str, int]](), Counter[str]())]
    for piece in pieces(element):
        begun, names = around[-1]
        if piece.kind == "opens":
            around.append(([], Counter()))
        elif piece.kind == "closes":
            around.pop()
        elif piece.field == "begin":
            begun.append((len(kept), piece.text, 0))
            names[piece.text] += 1
        elif piece.field == "end" and names[piece.text]:
            place, name, depth = begun.pop()
            while name != piece.text:  # it would cross this pair, so it stays a mark
                names[name] -= 1
                place, name, inner = begun.pop()
                depth = max(depth, inner)
            names[name] -= 1
            if depth < DEEPEST:
                kept[place] = Piece("opens", kept[place].spans)
                piece = Piece("closes", piece.spans)
            if begun:
                begun[-1] = (*begun[-1][:2], max(begun[-1][2], depth + 1))
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
