"""XML with byte offsets: a file flows in, a tree whose nodes know their bytes flows out, and edits give the file again.

Nothing is written anew but what is edited: all other bytes are copied. The offsets are those of the parser (expat), so
they are exact also around entities, CDATA and comments, and in any encoding that expat reads. Internal subsets of a
document type are refused: they can declare entities, which make small files huge. Nothing outside the file is read.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any
from xml.parsers import expat

from nmt.fields import require

BYTES, NODES, DEPTH = 64 << 20, 1_000_000, 250
ATTRIBUTE = re.compile(r"(?<!\s)(\s++([^\s=]++)\s*+=\s*+)(?:\"[^\"]*\"|'[^']*')")  # of a start tag
INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not allowed in XML 1.0
MARKS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"<\0?\0", "utf-16-le"), (b"\0<\0?", "utf-16-be"))
XML = "http://www.w3.org/XML/1998/namespace"
OFFICE = "http://schemas.openxmlformats.org/"
STRICT = "http://purl.oclc.org/ooxml/"
# Short names of namespaces, for both kinds of Office Open XML.
OFFICE_PREFIXES = {"wordprocessingml/": "w", "drawingml/main": "a", "spreadsheetml/": "x"}
PREFIXES = {
    XML: "xml",
    "urn:oasis:names:tc:xliff:document:1.2": "x1",
    "urn:oasis:names:tc:xliff:document:1.1": "x1",
    "urn:oasis:names:tc:xliff:document:2.0": "x2",
    "urn:oasis:names:tc:xliff:document:2.2": "x2",
    "MQXliff": "mq",
    "http://sdl.com/FileTypes/SdlXliff/1.0": "sdl",
    "http://www.memsource.com/mxlf/2.0": "mxlf",
    "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments": "tc",
    "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0": "fo",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://www.idpf.org/2007/opf": "opf",
    "http://www.daisy.org/z3986/2005/ncx/": "ncx",
}
OPEN_DOCUMENT = "text office style drawing table presentation".split()  # noqa: SIM905
PREFIXES |= {f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0": name for name in OPEN_DOCUMENT}


@dataclass(slots=True, eq=False)
class Text:
    """Characters between tags; `cdata`: a whole CDATA section, whose value may be empty."""

    start: int
    value: str
    cdata: bool = False
    end: int = 0


@dataclass(slots=True, eq=False)
class Other:
    """A comment, a processing instruction, or an entity whose declaration is outside the file."""

    start: int
    end: int = 0


class Element:
    """An element: its tags are the bytes `start` to `inner` and `inner_end` to `end`.

    Its name has the prefix of PREFIXES, not the file's own; names of other namespaces have the prefix "?".
    """

    __slots__ = ("attributes", "children", "end", "inner", "inner_end", "name", "parent", "start")

    def __init__(self, name: str, attributes: dict[str, str], start: int, parent: "Element | None") -> None:
        self.name, self.attributes, self.parent = name, attributes, parent
        self.start = self.inner = self.inner_end = self.end = start
        self.children: list[Node] = []

    @property
    def elements(self) -> "list[Element]":
        return [child for child in self.children if isinstance(child, Element)]

    @property
    def text(self) -> str:
        """All characters in the element."""
        parts = (child for child in self.children if not isinstance(child, Other))
        return "".join(part.value if isinstance(part, Text) else part.text for part in parts)

    def find(self, name: str) -> "Element | None":
        elements = (child for child in self.children if isinstance(child, Element))
        return next((child for child in elements if child.name == name), None)

    def walk(self, enters: "Callable[[Element], bool]" = lambda element: True) -> "Iterator[Element]":
        """The element and all elements in it, in the order of the file, but for those in elements not entered."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack += reversed(element.elements) if enters(element) else []

    def inherited(self, *names: str) -> str:
        """The value of the first of these attributes that the element, or the nearest one around it, has."""
        values = (self.attributes[name] for name in names if name in self.attributes)
        return next(values, self.parent.inherited(*names) if self.parent else "")


Node = Element | Text | Other
Edit = tuple[int, int, bytes]
"""Start and end of a part of a file, and the bytes that replace it."""
NONE: dict[str, str] = {}  # the attributes of most elements


class Xml:
    """An XML file: its tree, and its edits."""

    def __init__(self, data: bytes, name: str = "the file", nodes: Iterator[int] | None = None) -> None:
        """Raises ValueError for a broken or hostile file; `name` says which one. `nodes` counts those of all parts of a
        file that has several: what takes memory is their number, not that of bytes."""
        require(len(data) <= BYTES, f"{name} has {len(data):,} bytes of XML: at most {BYTES:,} are read")
        self.data, self.name, self.nodes = data, name, nodes or count(1)
        self.encoding = next((encoding for mark, encoding in MARKS if data.startswith(mark)), "utf-8")
        self.root = Reader(self).root
        self.edits: list[Edit] = []  # sorted from the end of the file to its beginning

    def encode(self, text: str) -> bytes:
        """Characters that the encoding lacks are written as their numbers."""
        return text.encode(self.encoding, "xmlcharrefreplace")

    def raw(self, start: int, end: int) -> bytes:
        """The bytes of a part of the file, with the edits in it."""
        parts, position = list[bytes](), start
        after = bisect_right(self.edits, -start, key=lambda edit: -edit[0])  # all before begin at the start or after it
        for n in range(after - 1, -1, -1):
            first, last, new = self.edits[n]
            if last > end or first == end:  # what is put in at the end belongs to what follows
                break
            parts += [self.data[position:first], new]
            position = last
        return b"".join([*parts, self.data[position:end]])

    def replace(self, start: int, end: int, new: bytes) -> None:
        """Put other bytes in place of these. Later edits must begin earlier in the file; an edit that contains
        earlier ones replaces them (`raw` gives what they wrote)."""
        while self.edits and start <= self.edits[-1][0] < end and self.edits[-1][1] <= end:
            self.edits.pop()
        assert not self.edits or self.edits[-1][0] >= end, "edits must not overlap"
        self.edits.append((start, end, new))

    def result(self) -> bytes:
        return self.raw(0, len(self.data)) if self.edits else self.data

    def tag(self, element: Element) -> str:
        """The element's start tag, as it is written."""
        return self.data[element.start : element.inner].decode(self.encoding)

    def written_name(self, element: Element) -> str:
        """The element's name with the prefix of the file."""
        return re.split(r"[\s/>]", self.tag(element), maxsplit=1)[0][1:]

    def with_attributes(self, element: Element, values: Mapping[str, str | None]) -> bytes:
        """The start tag with these attributes, named with the prefixes of the file; None takes one away."""
        tag = self.tag(element)
        for name, value in values.items():
            match = next((match for match in ATTRIBUTE.finditer(tag) if match[2] == name), None)
            written = f'"{escape(value or "", quoted=True)}"'
            if match:
                tag = tag[: match.start()] + (match[1] + written if value is not None else "") + tag[match.end() :]
            elif value is not None:
                end = len(tag) - (2 if tag.endswith("/>") else 1)
                tag = f"{tag[:end].rstrip()} {name}={written}{tag[end:]}"
        return self.encode(tag)

    def attributes(self, element: Element, values: Mapping[str, str | None]) -> Edit:
        """The edit that gives an element these attributes; None takes one away."""
        return element.start, element.inner, self.with_attributes(element, values)

    def filled(self, element: Element, inside: bytes, values: Mapping[str, str | None] | None = None) -> Edit:
        """The edit that gives an element other contents, and attributes."""
        name = self.written_name(element)
        start = self.with_attributes(element, values or {})
        if element.inner == element.end:  # <target/>
            start = start[: -len(self.encode("/>"))].rstrip() + self.encode(">")
            return element.start, element.end, start + inside + self.encode(f"</{name}>")
        return element.start, element.inner_end, start + inside

    def insert_after(self, element: Element, new: bytes) -> None:
        """Add an element after another one, with the same blanks before it."""
        siblings = element.parent.children if element.parent else []
        before = siblings[siblings.index(element) - 1] if element in siblings[1:] else None
        has_blanks = isinstance(before, Text) and before.value.isspace()
        blanks = self.data[before.start : before.end] if before and has_blanks else b""
        self.replace(element.end, element.end, blanks + new)

    def named_like(self, element: Element, name: str) -> str:
        """A name with the prefix that the file gives to this element."""
        return "".join([*self.written_name(element).rpartition(":")[:2], name])

    def new(self, like: Element, name: str, values: Mapping[str, str], inside: bytes) -> bytes:
        """A new element, with the prefix that another one has in the file."""
        name = self.named_like(like, name)
        attributes = "".join(f' {key}="{escape(value, quoted=True)}"' for key, value in values.items())
        return self.encode(f"<{name}{attributes}>") + inside + self.encode(f"</{name}>")


class Reader:
    """Makes the tree of a file. Its nodes are side by side: each ends where the next one begins."""

    def __init__(self, xml: Xml) -> None:
        self.xml, self.name, self.depth, self.in_cdata = xml, xml.name, 0, False
        self.parts = list[str]()  # of the text that is read
        self.at = Element("", {}, 0, None)
        self.names: dict[str, str] = {}
        self.parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler, parser.EndElementHandler = self.start, self.end
        parser.CharacterDataHandler = self.characters
        parser.StartCdataSectionHandler, parser.EndCdataSectionHandler = self.start_cdata, self.end_cdata
        parser.CommentHandler = parser.ProcessingInstructionHandler = self.other
        parser.SkippedEntityHandler = parser.DefaultHandlerExpand = self.other
        parser.StartDoctypeDeclHandler, parser.XmlDeclHandler = self.document_type, self.declaration
        try:
            parser.Parse(xml.data, True)
        except (expat.ExpatError, LookupError, UnicodeError) as error:
            raise ValueError(f"{self.name} isn't well-formed XML: {error}") from None
        except ValueError as error:
            is_ours = str(error).startswith(self.name)
            raise ValueError(str(error) if is_ours else f"{self.name} isn't XML: {error}") from None
        self.close(len(xml.data))
        self.root = self.at.elements[0]
        self.root.parent = None

    def declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding and self.xml.encoding == "utf-8" and not self.xml.data.startswith(b"\xef\xbb\xbf"):
            try:
                "".encode(encoding)
            except LookupError:
                raise ValueError(f"{self.name} names an unknown encoding: {encoding[:40]!r}") from None
            self.xml.encoding = encoding

    def document_type(self, name: str, system: str | None, public: str | None, has_subset: int) -> None:
        problem = f"{self.name} has declarations in its document type (<!DOCTYPE … [ … ]>), which may be an attack"
        require(not has_subset, f"{problem} and are not read: remove them")

    def add(self, node: Node) -> None:
        self.finish_text()
        if next(self.xml.nodes) > NODES:
            raise ValueError(f"{self.name}: the file has more than {NODES:,} elements and texts: split it")
        self.at.children.append(node)

    def finish_text(self) -> None:
        """Join the parts of the last text: the parser gives each line and each entity as one."""
        if self.parts:
            last = self.at.children[-1]
            assert isinstance(last, Text)
            last.value = "".join(self.parts)
            self.parts.clear()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > DEPTH:
            raise ValueError(f"{self.name} has elements nested in more than {DEPTH} others: it isn't read")
        named = {self.short(key): value for key, value in attributes.items()} if attributes else NONE
        element = Element(self.short(name), named, self.parser.CurrentByteIndex, self.at)
        self.add(element)
        self.at = element

    def end(self, name: str) -> None:
        self.close(self.parser.CurrentByteIndex)
        assert self.at.parent
        self.at = self.at.parent
        self.depth -= 1

    def close(self, end: int) -> None:
        """Note where an element's contents end (at its end tag, or after <…/>), and where the nodes in it end."""
        self.finish_text()
        starts = [*(child.start for child in self.at.children), end]
        self.at.inner, self.at.inner_end = starts[0], end
        for child, stop in zip(self.at.children, starts[1:], strict=True):
            child.end = stop

    def characters(self, value: str) -> None:
        last = self.at.children[-1] if self.at.children else None
        if not isinstance(last, Text) or last.cdata != self.in_cdata:
            self.add(Text(self.parser.CurrentByteIndex, ""))
        self.parts.append(value)

    def start_cdata(self) -> None:
        self.add(Text(self.parser.CurrentByteIndex, "", cdata=True))
        self.in_cdata = True

    def end_cdata(self) -> None:
        self.in_cdata = False

    def other(self, *what: Any) -> None:
        self.add(Other(self.parser.CurrentByteIndex))

    def short(self, name: str) -> str:
        """The name with a short prefix in place of its namespace."""
        if name not in self.names:
            space, _, local = name.rpartition(" ")
            rest = next((space[len(base) :] for base in (OFFICE, STRICT) if space.startswith(base)), "")
            found = (short for part, short in OFFICE_PREFIXES.items() if rest.replace("/2006/", "/").startswith(part))
            prefix = next(found, None) or PREFIXES.get(space, "?")
            self.names[name] = f"{prefix}:{local}" if space else local
        return self.names[name]


def escape(text: str, quoted: bool = False) -> str:
    """Text as XML writes it; characters that XML can't have become U+FFFD. `quoted`: in an attribute."""
    text = INVALID.sub("\ufffd", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = text.replace("\r", "&#13;")
    return text.replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;") if quoted else text


def escape_cdata(text: str) -> str:
    """Text as it is written in a CDATA section."""
    return INVALID.sub("\ufffd", text).replace("]]>", "]]]]><![CDATA[>")
