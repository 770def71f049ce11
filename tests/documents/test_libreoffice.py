"""LibreOffice opens translated files on as many pages as before, with the translated texts in the old places."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from nmt.documents.base import Answer, Options, Unit, translate_document

SOFFICE = shutil.which("soffice")
LINES = [f"Der kleine Hund Nummer {n} rennt mit <b>drei Enten</b> um die <i>Wiese</i>." for n in range(80)]
pytestmark = [
    pytest.mark.services,  # LibreOffice takes seconds to start
    pytest.mark.skipif(SOFFICE is None, reason="LibreOffice (soffice) isn't installed"),
]


def convert(files: Sequence[Path], to: str, folder: Path) -> list[Path]:
    """The files in another format, as LibreOffice writes them."""
    home = f"-env:UserInstallation={(folder.parent / 'home').as_uri()}"
    command = [str(SOFFICE), home, "--headless", "--convert-to", to, "--outdir", str(folder), *map(str, files)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return [folder / f"{file.stem}.{to.partition(':')[0]}" for file in files]


def upper(units: Sequence[Unit]) -> list[Answer]:
    return [Answer(re.sub("[^<>]+(?![^<>]*>)", lambda match: match[0].upper(), unit.text)) for unit in units]


def slides(path: Path) -> None:
    made = pytest.importorskip("pptx").Presentation()
    for line in LINES[:5]:
        slide = made.slides.add_slide(made.slide_layouts[5])
        slide.shapes.title.text = re.sub("<.*?>", "", line)
    made.save(path)


@pytest.mark.parametrize(
    ("suffix", "text"),
    [("docx", "txt:Text"), ("odt", "txt:Text"), ("xlsx", "csv"), ("ods", "csv"), ("pptx", ""), ("odp", "")],
)
def test_translated_files_open_with_as_many_pages(suffix: str, text: str, tmp_path: Path) -> None:
    first = tmp_path / f"a.{'html' if suffix in ('docx', 'odt') else 'csv' if text else 'pptx'}"
    if first.suffix == ".html":
        first.write_text("".join(f"<p>{line}</p>" for line in LINES) + "<table><tr><td>Ein Tier</td></tr></table>")
    elif first.suffix == ".csv":
        first.write_text("".join(f'"{re.sub("<.*?>", "", line)}",{n}\n' for n, line in enumerate(LINES)))
    else:
        slides(first)
    if suffix == "docx":  # which LibreOffice doesn't make of HTML itself
        [first] = convert([first], "odt", tmp_path)
    source = first if first.suffix == f".{suffix}" else convert([first], suffix, tmp_path)[0]
    target = tmp_path / f"b.{suffix}"
    target.write_bytes(translate_document(source.read_bytes(), suffix, upper, Options(source="de", target="en")))
    assert target.read_bytes() != source.read_bytes()
    pages = [pdf.read_bytes().count(b"/Type/Page/") for pdf in convert([source, target], "pdf", tmp_path / "pdf")]
    assert pages[0] == pages[1] > 0
    if text:
        before, after = (file.read_text("utf8") for file in convert([source, target], text, tmp_path / "text"))
        assert after == before.upper() != before
