"""Catalogues of gettext as text: the messages of a program (msgid) with their translations (msgstr) flow out.

A catalogue names one language, that of the translations. Of plurals, the first two forms are read. Entries without a
translation have an empty one; the header is left out.
"""

import gettext
import struct
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from nmt.files import open_compressed, require_whole_gzip
from nmt.text.languages import same_language
from nmt.text.po import LANGUAGE, Entry, charset, read_entries

CONTEXT = "\4"  # stands between the context of a message and the message
FUZZY = "fuzzy"  # a cause in ledgers: a translation that somebody should look at

Message = tuple[str, str, bool]
"""Text, translation, and whether the translation is fuzzy."""
Catalogue = tuple[str, Iterator[Message]]
"""The language of the translations (empty if it isn't named) and the messages."""


def po_messages(path: Path) -> Catalogue:
    """ValueError if it is no PO file."""
    with require_whole_gzip(path), open_compressed(path) as file:
        data = file.read()
    try:
        entries = [*read_entries(data.decode(charset(data) or "utf-8").removeprefix("\ufeff"))]
    except (ValueError, LookupError) as error:
        raise ValueError(f"{path} can't be read as a PO file: {error}") from None
    header = next((entry.texts["msgstr"] for entry in entries if is_header(entry)), "")
    messages = chain.from_iterable(forms(entry) for entry in entries if not is_header(entry))
    return language_in(header), messages


def is_header(entry: Entry) -> bool:
    return entry.texts["msgid"] == "" and "msgstr" in entry.texts


def forms(entry: Entry) -> Iterator[Message]:
    """The message and, if it has a plural, that with its translation."""
    texts = entry.texts
    yield texts["msgid"], texts.get("msgstr", texts.get("msgstr[0]", "")), entry.is_fuzzy
    if "msgid_plural" in texts:
        yield texts["msgid_plural"], texts.get("msgstr[1]", ""), entry.is_fuzzy


def mo_messages(path: Path) -> Catalogue:
    """As `po_messages`, of a compiled catalogue."""
    try:
        with require_whole_gzip(path), open_compressed(path) as file:
            catalogue: dict[str | tuple[str, int], str] = vars(gettext.GNUTranslations(file))["_catalog"]
    except struct.error:
        raise ValueError(f"{path} isn't a whole MO file: it is empty, or was cut short") from None
    except (OSError, ValueError, LookupError, MemoryError) as error:
        raise ValueError(f"{path} can't be read as a MO file: {error}") from None
    # The key of a plural has its number, too. Compiled catalogues know only the singular of plurals: its form counts.
    known = ((key if isinstance(key, tuple) else (key, 0), text) for key, text in catalogue.items() if key != "")
    keys = ((key, text) for (key, number), text in known if number == 0)
    return language_in(catalogue.get("", "")), ((key.rpartition(CONTEXT)[2], text, False) for key, text in keys)


def language_in(header: str) -> str:
    found = LANGUAGE.search(header)
    return found[1] if found else ""


def are_swapped(path: Path, language: str, source: str, target: str) -> bool:
    """Whether the translations of a catalogue are the source. ValueError if they are in neither language."""
    if not language or same_language(language, target):
        return False
    if same_language(language, source):
        return True
    neither = f"which is neither data.source, {source}, nor data.target, {target}"
    raise ValueError(f"{path} has translations into {language}, {neither}")
