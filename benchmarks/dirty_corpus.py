"""A real dirty corpus: texts and help of programs, and a dictionary, from packages of Debian, as a TSV file for
nmt.prepare.

    apt-get download libreoffice-l10n-de iso-codes gcc-12-locales krita-l10n trans-de-en libreoffice-help-{de,en-us}
    for file in *.deb; do dpkg-deb -x $file packages; done
    python -m benchmarks.dirty_corpus packages dirty.tsv
    python -m nmt.prepare --data.corpus dirty.tsv --cleaning.profile crawled --explain 3

The translations of programs have placeholders, marks of accelerators, copies and names; paragraphs of the help have
remains of its layout; the dictionary (Ding) has fragments and marks such as {m}.
"""

import html
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from nmt.data.corpora.catalogues import mo_messages
from nmt.files import iterate_lines, write_lines

Pair = tuple[str, str]  # German and English
PARAGRAPH = re.compile(r'<(p|h[1-6])\s+id="([^"]+)"[^>]*>(.*?)</\1>', re.DOTALL)


def catalogue_pairs(folder: Path) -> Iterator[Pair]:
    """The messages of all compiled catalogues with German translations."""
    for file in sorted(folder.rglob("de/LC_MESSAGES/*.mo")):
        _, messages = mo_messages(file)
        yield from ((translation, text) for text, translation, _ in messages)


def help_pairs(folder: Path) -> Iterator[Pair]:
    """Headings and paragraphs of LibreOffice's help: those of the same id in the same file translate each other."""
    for german in sorted(folder.rglob("help/de/text/**/*.html")):
        place = german.as_posix().replace("/help/de/", "/help/en-US/")
        if (english := Path(place)).exists():
            ours, theirs = paragraphs(german), paragraphs(english)
            yield from ((ours[name], theirs[name]) for name in ours if name in theirs)


def paragraphs(file: Path) -> dict[str, str]:
    """The text of each paragraph, by its id; of several with one id, the first."""
    found = dict[str, str]()
    for _, name, content in PARAGRAPH.findall("\n".join(iterate_lines(file))):
        if text := html.unescape(re.sub("<[^>]+>", "", content)).strip():
            found.setdefault(name, text)
    return found


def dictionary_pairs(file: Path) -> Iterator[Pair]:
    """The words and phrases of Ding: a line has German :: English, and | between the forms of both."""
    for line in iterate_lines(file):
        if not line.startswith("#") and line.count("::") == 1:
            german, english = (side.split("|") for side in line.split("::"))
            yield from zip(german, english, strict=False)


def main() -> int:
    folder, output = map(Path, sys.argv[1:])
    pairs = [*catalogue_pairs(folder)]
    print(f"{len(pairs):,} messages of programs")
    pairs += (of_help := [*help_pairs(folder)])
    print(f"{len(of_help):,} paragraphs of help")
    for file in folder.rglob("trans/de-en"):
        pairs += dictionary_pairs(file)
    print(f"{len(pairs):,} pairs in all")
    rows = ("\t".join(" ".join(text.split()) for text in pair) for pair in pairs)
    write_lines(output, ["de\ten", *rows])
    return 0


if __name__ == "__main__":
    sys.exit(main())
