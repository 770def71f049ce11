"""A real dirty corpus: texts of programs and a dictionary, from packages of Debian, as a TSV file for nmt.prepare.

    apt-get download libreoffice-l10n-de iso-codes gcc-12-locales krita-l10n trans-de-en
    for file in *.deb; do dpkg-deb -x $file packages; done
    python -m benchmarks.dirty_corpus packages dirty.tsv
    python -m nmt.prepare --data.corpus dirty.tsv --cleaning.profile crawled --explain 3

The translations of programs have placeholders, marks of accelerators, copies and names; the dictionary (Ding) has
fragments and marks such as {m}.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from nmt.data.corpora.catalogues import mo_messages
from nmt.files import iterate_lines, write_lines

Pair = tuple[str, str]  # German and English


def catalogue_pairs(folder: Path) -> Iterator[Pair]:
    """The messages of all compiled catalogues with German translations."""
    for file in sorted(folder.rglob("de/LC_MESSAGES/*.mo")):
        _, messages = mo_messages(file)
        yield from ((translation, text) for text, translation, _ in messages)


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
    for file in folder.rglob("trans/de-en"):
        pairs += dictionary_pairs(file)
    print(f"{len(pairs):,} pairs in all")
    rows = ("\t".join(" ".join(text.split()) for text in pair) for pair in pairs)
    write_lines(output, ["de\ten", *rows])
    return 0


if __name__ == "__main__":
    sys.exit(main())
