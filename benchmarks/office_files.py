"""Office and translation files, made of lines in which <b>…</b> is around a word; and the translations in them."""

import re
from collections.abc import Callable, Sequence

from nmt.documents.base import Options
from tests.documents import office_samples
from tests.documents.office_samples import OOXML, POWERPOINT, SPREADSHEET, A, X, office, run, zipped

ODF = office_samples.OPEN_DOCUMENT
EPUB = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": '<container><rootfiles><rootfile full-path="a.opf"/></rootfiles></container>',
    "a.opf": '<package xmlns="http://www.idpf.org/2007/opf"><item href="a.xhtml" media-type="application/xhtml+xml"/>'
    "</package>",
}


def runs(line: str, run: Callable[[str, str], str]) -> str:
    """The line as runs, the bold word with the properties <w:b/>; as Word does, others are split."""
    parts = re.split("</?b>", line)
    pieces = [(piece, n % 2) for n, part in enumerate(parts) for piece in re.split(r"(?<=,) ?(?= )", part) if piece]
    return "".join(run(piece, office_samples.BOLD * bold) for piece, bold in pieces)


def docx(lines: Sequence[str]) -> bytes:
    return office_samples.docx(*(runs(line, run) for line in lines))


def pptx(lines: Sequence[str]) -> bytes:
    form = '<a:r><a:rPr lang="de" xmlns:w="x">{1}</a:rPr><a:t>{0}</a:t></a:r>'
    body = "".join(f"<a:p>{runs(line, form.format)}</a:p>" for line in lines)
    slide = f'<p:sld xmlns:p="{OOXML}/presentationml/2006/main" {A}>{body}</p:sld>'
    return office({"p.xml": (f"{POWERPOINT}presentation.main", "<p/>"), "s.xml": (f"{POWERPOINT}slide", slide)})


def xlsx(lines: Sequence[str]) -> bytes:
    form = '<r><rPr xmlns:w="x">{1}</rPr><t xml:space="preserve">{0}</t></r>'
    body = "".join(f"<si>{runs(line, form.format)}</si>" for line in lines)
    strings = f"{SPREADSHEET}sharedStrings", f"<sst {X}>{body}</sst>"
    return office({"w.xml": (f"{SPREADSHEET}sheet.main", "<a/>"), "s.xml": strings})


def odt(lines: Sequence[str]) -> bytes:
    spans = (line.replace("<b>", '<t:span t:style-name="B">').replace("</b>", "</t:span>") for line in lines)
    body = "".join(f"<t:p>{line}</t:p>" for line in spans)
    return zipped({"content.xml": f'<o:d xmlns:o="{ODF}:office:1.0" xmlns:t="{ODF}:text:1.0">{body}</o:d>'})


def epub(lines: Sequence[str]) -> bytes:
    body = "".join(f"<p>{line}</p>" for line in lines)
    return zipped({**EPUB, "a.xhtml": f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>'})


def xliff(lines: Sequence[str]) -> bytes:
    codes = (line.replace("<b>", '<g id="1">').replace("</b>", "</g>") for line in lines)
    units = "".join(f'<trans-unit id="{n}"><source>{line}</source></trans-unit>' for n, line in enumerate(codes))
    return f'<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2"><file><body>{units}</body></file></xliff>'.encode()


def xliff_targets(data: bytes, options: Options) -> list[str]:
    targets = re.findall("<target[^>]*>(.*?)</target>", data.decode())
    return [target.replace('<g id="1">', "<1>").replace("</g>", "</1>") for target in targets]


def tmx(lines: Sequence[str]) -> bytes:
    codes = (line.replace("<b>", '<hi x="1">').replace("</b>", "</hi>") for line in lines)
    units = "".join(f'<tu><tuv xml:lang="de"><seg>{line}</seg></tuv></tu>' for line in codes)
    return f'<tmx><header srclang="de"/><body>{units}</body></tmx>'.encode()


def tmx_targets(data: bytes, options: Options) -> list[str]:
    targets = re.findall(f'<tuv xml:lang="{options.target}">.*?<seg>(.*?)</seg>', data.decode())
    return [target.replace('<hi x="1">', "<1>").replace("</hi>", "</1>") for target in targets]


def android(lines: Sequence[str]) -> bytes:
    strings = "".join(f'<string name="a">{line}</string>' for line in lines)
    return f"<resources>{strings}</resources>".encode()


def resx(lines: Sequence[str]) -> bytes:
    entries = "".join(f'<data name="{n}"><value>{line}</value></data>' for n, line in enumerate(lines))
    return f"<root>{entries}</root>".encode()
