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
from benchmarks.rows import run_script

LANGUAGES = ("de", "fr", "cs")
PACKAGES = ["libreoffice-help-en-us", "nano", "wget", "apt", "gimp-data", "evolution-common", "rhythmbox-data"]
PACKAGES += [
    f"{name}-{language}" for language in LANGUAGES for name in ("libreoffice-help", "libreoffice-l10n", "manpages")
]
PARAGRAPH, ID = re.compile(r"<(p|h[1-6])\b([^>]*)>(.*?)</\1>", re.DOTALL), re.compile('id="([^"]+)"')
WORD, ACCESS_KEY = re.compile(r"[^\W\d_]{2,}"), re.compile(r"[_~](?=\w)")
HELD_OUT = 40  # one of so many files of the help gives no training text
VALIDATED, NUMBERS = 170, {"help": 34, "messages": 33, "manuals": 33}
Place = tuple[str, str]
"""A file of the help, and the id of a paragraph in it."""


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("task", choices=["text", "judged"])
    parser.add_argument(
        "folder", nargs="+", type=Path, help="of the corpora multi30k and tatoeba (text), then of the results"
    )
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
    choose, packages = random.Random(1), folder / "packages"
    packages.mkdir(parents=True)
    subprocess.run(["apt-get", "download", "--quiet", *PACKAGES], cwd=packages, check=True)
    for package in packages.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, packages / package.name.partition("_")[0]], check=True)
    english = dict(paragraphs(packages / "libreoffice-help-en-us"))
    held_out = {file for file, _ in english if int(hashlib.sha256(file.encode()).hexdigest(), 16) % HELD_OUT == 0}
    secret = {text for (file, _), text in english.items() if file in held_out}
    train, val, lines = set[tuple[str, str]](), list[tuple[str, str]](), list[dict[str, str]]()
    for language in LANGUAGES:
        of_help = [
            (place, text, english[place])
            for place, text in paragraphs(packages / f"libreoffice-help-{language}")
            if place in english
        ]
        train |= {
            (text, other)
            for (file, _), text, other in of_help
            if file not in held_out and other not in secret and text != other
        }
        train |= {
            (text, other)
            for _, text, other in messages(packages / f"libreoffice-l10n-{language}", language)
            if other not in secret
        }
        train |= set(lines_of(corpora / "multi30k", "train", language))
        val += list(lines_of(corpora / "multi30k", "val", language))[:VALIDATED]
        kept = [
            (f"{file}#{name}", text, other)
            for (file, name), text, other in of_help
            if file in held_out and text != other
        ]
        val += [(text, other) for _, text, other in kept[: 2 * VALIDATED : 2]]
        pools = {"help": [(place, text) for place, text, _ in kept[1::2]]}
        pools["messages"] = [
            (file, text) for name in PACKAGES[1:7] for file, text, _ in messages(packages / name, language)
        ]
        pools["manuals"] = list(manuals(packages / f"manpages-{language}"))
        for kind, pool in pools.items():
            usual = sorted({(place, text) for place, text in pool if len(WORD.findall(text)) >= 3 and len(text) <= 220})
            chosen = choose.sample(usual, NUMBERS[kind])
            lines += [{"language": language, "kind": kind, "place": place, "text": text} for place, text in chosen]
    train |= set(lines_of(corpora / "tatoeba", "train", "de"))
    (folder / "three").mkdir()
    for name, pairs in (("train", choose.sample(sorted(train), len(train))), ("val", val)):
        for side, language in enumerate(("mul", "en")):
            (folder / "three" / f"{name}.{language}").write_text(
                "".join(f"{pair[side]}\n" for pair in pairs), encoding="utf8"
            )
    (folder / "lines.jsonl").write_text(
        "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), encoding="utf8"
    )


def lines_of(folder: Path, name: str, language: str) -> Iterator[tuple[str, str]]:
    sides = [(folder / f"{name}.{code}").read_text(encoding="utf8").split("\n")[:-1] for code in (language, "en")]
    yield from zip(*sides, strict=True)


def paragraphs(package: Path) -> Iterator[tuple[Place, str]]:
    """The paragraphs of LibreOffice's help by their places; without those that differ between systems."""
    (root,) = package.glob("usr/share/libreoffice/help/*/text")
    for file in sorted(root.rglob("*.html")):
        for _, attributes, body in PARAGRAPH.findall(file.read_text(encoding="utf8")):
            text = " ".join(html.unescape(re.sub("<[^>]*>", "", body)).replace("\u200b", "").split())
            if (
                (found := ID.search(attributes))
                and WORD.search(text)
                and 'hidden="true"' not in body
                and "<br" not in body
            ):
                yield (str(file.relative_to(root)), found[1]), text


def messages(package: Path, language: str) -> Iterator[tuple[str, str, str]]:
    """File, translation and English text of the messages of programs, without marks of access keys."""
    for file in sorted(package.rglob("*.mo")):
        if language in file.parts:
            with file.open("rb") as data:
                catalogue: dict[Any, str] = gettext.GNUTranslations(data)._catalog  # type: ignore[attr-defined]
            for english, text in catalogue.items():
                if isinstance(english, str) and english and "\n" not in text:
                    pair = (" ".join(ACCESS_KEY.sub("", side).split()) for side in (text, english.rpartition("\4")[2]))
                    translation, original = pair
                    if WORD.search(translation) and translation != original:
                        yield file.stem, translation, original


def manuals(package: Path) -> Iterator[tuple[str, str]]:
    """Lines of manual pages that have no requests or unusual escapes of roff."""
    for file in sorted(package.glob("usr/share/man/*/man[1578]/*.gz")):
        text = gzip.decompress(file.read_bytes()).decode("utf8", "replace")
        text = re.sub(r"\\f.|\\&", "", text).replace("\\-", "-").replace("\\(aq", "'").replace("\\(dq", '"')
        for line in text.split("\n"):
            if line[:1].isupper() and line[-1:] in (".", ":") and "\\" not in line:
                yield file.name, " ".join(line.split())


if __name__ == "__main__":
    run_script(main)
