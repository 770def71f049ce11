"""Lines that people wrote, in three languages, translated and judged one by one.

    python -m benchmarks.real_lines text ../corpora real     # Debian's packages and two corpora become text
    python -m nmt.train --data.corpus real/three --data.source mul --data.target en --training.max_minutes 75
    python -m nmt.translate --model runs/mul-en-three --format jsonl < real/lines.jsonl > real/translated.jsonl
    python -m benchmarks.real_lines judged real              # rows, of translated.jsonl with a member `judgement`

The model translates German, French and Czech into English. It learns from captions, Tatoeba's sentences, and help and
messages of LibreOffice. The lines are of other files of that help, of messages of programs that it doesn't know, and of
manual pages: 34, 33 and 33 of each language. A person writes the judgements: right, small (understood, with a small
fault), or wrong. Rows have a line's place and hash, not its text, which has licences of its own.
"""

import gettext
import gzip
import hashlib
import html
import json
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import read_pairs, run_script
from nmt.files import write_lines
from tests.data.corpus_files import write_corpus

LANGUAGES = ("de", "fr", "cs")
PROGRAMS = ("nano", "wget", "apt", "gimp-data", "evolution-common", "rhythmbox-data")
OF_A_LANGUAGE = ("libreoffice-help", "libreoffice-l10n", "manpages")
PACKAGES = [f"{name}-{language}" for name in OF_A_LANGUAGE for language in LANGUAGES]
PACKAGES += ["libreoffice-help-en-us", *PROGRAMS]
PARAGRAPH, ID = re.compile(r"<(p|h[1-6])\b([^>]*)>(.*?)</\1>", re.DOTALL), re.compile('id="([^"]+)"')
WORD, ACCESS_KEY = re.compile(r"[^\W\d_]{2,}"), re.compile(r"[_~](?=\w)")
HELD_OUT = 40  # one of so many files of the help gives no training text
NUMBERS = {"help": 34, "messages": 33, "manuals": 33}  # of the lines of each language
CAPTIONS = {"val": "val", "test": "test_2016_flickr"}  # files of Multi30k; a part has as many pairs of the help
VALIDATED, MOST = 170, 220  # pairs of a kind in a part, and characters of a line
Pair = tuple[str, str]
Place = tuple[str, str]
"""A file of the help, and the id of a paragraph in it."""


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("task", choices=["text", "judged"])
    parser.add_argument("folder", nargs="+", type=Path, help="text: of multi30k and tatoeba; then of the results")
    args = parser.parse_args()
    if args.task == "text":
        make_text(*args.folder)
    else:
        lines = (args.folder[0] / "translated.jsonl").read_text(encoding="utf8").splitlines()
        keep(({"benchmark": "real_lines"} | row_of(json.loads(line)) for line in lines), args)
    return 0


def row_of(line: dict[str, Any]) -> dict[str, Any]:
    known = {name: line[name] for name in ("language", "kind", "place", "judgement")}
    return known | {"hash": hashlib.sha256(line["text"].encode()).hexdigest()[:12], "flags": line.get("flags", [])}


def make_text(corpora: Path, folder: Path) -> None:
    """Write the corpus and the lines."""
    choose, packages = random.Random(1), fetched(folder / "packages")
    english = dict(paragraphs(packages / "libreoffice-help-en-us"))
    held_out = {file for file, _ in english if int(hashlib.sha256(file.encode()).hexdigest(), 16) % HELD_OUT == 0}
    secret = {text for (file, _), text in english.items() if file in held_out}
    train, lines = set(read_pairs(corpora / "tatoeba", "train", "de", "en")), list[dict[str, str]]()
    held = {name: list[Pair]() for name in CAPTIONS}
    for language in LANGUAGES:
        of_help = dict(paragraphs(packages / f"libreoffice-help-{language}"))
        pairs = {place: (text, english[place]) for place, text in of_help.items() if english.get(place, text) != text}
        learned = [pair for (file, _), pair in pairs.items() if file not in held_out]
        learned += [pair for _, pair in messages(packages / f"libreoffice-l10n-{language}", language)]
        train |= {pair for pair in learned if pair[1] not in secret} | {
            *read_pairs(corpora / "multi30k", "train", language, "en")
        }
        kept = [(f"{place[0]}#{place[1]}", pair) for place, pair in pairs.items() if place[0] in held_out]
        for first, (name, captions) in enumerate(CAPTIONS.items()):
            held[name] += [pair for _, pair in kept[first : 2 * VALIDATED : 2]]
            held[name] += read_pairs(corpora / "multi30k", captions, language, "en")[:VALIDATED]
        programs = (message for name in PROGRAMS for message in messages(packages / name, language))
        pools = {"help": kept[1::2], "messages": programs, "manuals": manuals(packages / f"manpages-{language}")}
        for kind, pool in pools.items():
            usual = {pair[0]: place for place, pair in pool if len(WORD.findall(pair[0])) >= 3 and len(pair[0]) <= MOST}
            chosen = choose.sample(sorted(usual), NUMBERS[kind])
            lines += [{"language": language, "kind": kind, "place": usual[text], "text": text} for text in chosen]
    write_corpus(folder / "three", "mul", "en", train=choose.sample(sorted(train), len(train)), **held)
    write_lines(folder / "lines.jsonl", (json.dumps(line, ensure_ascii=False) for line in lines))


def fetched(folder: Path) -> Path:
    """The folder, with the files of each package in a folder of its own."""
    folder.mkdir(parents=True)
    subprocess.run(["apt-get", "download", "--quiet", *PACKAGES], cwd=folder, check=True)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, folder / package.name.partition("_")[0]], check=True)
    return folder


def paragraphs(package: Path) -> Iterator[tuple[Place, str]]:
    """The paragraphs of LibreOffice's help by their places; without those that differ between systems."""
    (root,) = package.glob("usr/share/libreoffice/help/*/text")
    for file in sorted(root.rglob("*.html")):
        for _, attributes, body in PARAGRAPH.findall(file.read_text(encoding="utf8")):
            text = " ".join(html.unescape(re.sub("<[^>]*>", "", body)).replace("\u200b", "").split())
            named = ID.search(attributes)
            if named and WORD.search(text) and 'hidden="true"' not in body and "<br" not in body:
                yield (str(file.relative_to(root)), named[1]), text


def messages(package: Path, language: str) -> Iterator[tuple[str, Pair]]:
    """File, translation and English text of the messages of programs, without marks of access keys."""
    for file in sorted(package.rglob(f"{language}/LC_MESSAGES/*.mo")):
        with file.open("rb") as data:
            catalogue: dict[Any, str] = gettext.GNUTranslations(data)._catalog  # type: ignore[attr-defined]
        for english, text in catalogue.items():
            if isinstance(english, str) and english and "\n" not in text:
                texts = (" ".join(ACCESS_KEY.sub("", side).split()) for side in (text, english.rpartition("\4")[2]))
                translation, original = texts
                if WORD.search(translation) and translation != original:
                    yield file.stem, (translation, original)


def manuals(package: Path) -> Iterator[tuple[str, Pair]]:
    """Paragraphs of manual pages that have no requests or unusual escapes of roff, and no English text."""
    for file in sorted(package.glob("usr/share/man/*/man[1578]/*.gz")):
        text = gzip.decompress(file.read_bytes()).decode("utf8", "replace")
        text = re.sub(r"\\f.|\\&", "", text).replace("\\-", "-").replace("\\(aq", "'").replace("\\(dq", '"')
        for paragraph in re.split(r"^[.'].*$", text, flags=re.MULTILINE):
            line = " ".join(paragraph.split())
            if line[:1].isupper() and line[-1:] in (".", ":") and "\\" not in line:
                yield file.name, (line, "")


if __name__ == "__main__":
    run_script(main)
