"""Documents: the bytes of a file flow in; its texts flow out as units to translate, and their answers go back into it.

Nothing is written anew: what isn't translated is copied from the file, so that answers that change nothing give the
same file, byte for byte. The caller brings the translator.
"""

import codecs
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import PurePath
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple

from nmt.config import SearchConfig
from nmt.documents.archive import Limits
from nmt.fields import require
from nmt.text.edits import Edit, apply
from nmt.text.items import prose
from nmt.text.languages import encodings_of, language_tag
from nmt.text.markup import Mode, is_markup
from nmt.text.normalise import with_blanks

if TYPE_CHECKING:
    from nmt.translation.translator import Translator


@dataclass(frozen=True)
class Unit:
    """A text to translate: a paragraph, a cell, a message …"""

    text: str
    markup: bool = False
    """Whether the text is inline mark-up (tags such as <1>…</1>, entities), translated as HTML; else it is plain."""
    place: str = ""
    """Where the text is in the file, for remarks: "line 12", "cell B3" …"""


@dataclass(frozen=True)
class Answer:
    """The translation of a unit."""

    text: str
    """Mark-up if the unit is."""
    flags: tuple[str, ...] = ()
    """What looks wrong with it (`nmt.text.suspicions`)."""


Translate = Callable[[Sequence[Unit]], list[Answer]]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What users may choose. Each format reads the options that it knows."""

    source: str = ""
    """Code of the language to translate from, such as "de": for files with several languages."""
    target: str = ""
    """Code of the language to translate to."""
    columns: tuple[str, ...] = ()
    """Columns to translate in CSV and TSV: names of the first line, or numbers from 1."""
    all_entries: bool = False
    """Whether entries that have a translation are translated again, in formats with source and target (PO, XLIFF …)."""
    encoding: str = ""
    """Encoding of a text file that isn't UTF-8, and doesn't name its encoding itself."""
    zip: Limits = field(default_factory=Limits)
    """Of files that are zip files: office files and books."""

    def wants(self, key: str) -> bool:
        """Whether the texts of a key are translated: of all keys, or of those that the columns name."""
        return not self.columns or key in self.columns

    def require_keys(self, keys: Iterable[str]) -> None:
        """ValueError if a column is none of the texts' keys; a file without texts lacks none."""
        known = dict.fromkeys(keys)
        missing = ",".join(name for name in self.columns if known and name not in known)
        require(not missing, f"--columns {missing}: no text has this key; there are {', '.join([*known][:20])}")


@dataclass(frozen=True)
class Document:
    """A file that was read."""

    data: bytes
    units: Sequence[Unit]
    write: Callable[[Sequence[Answer]], bytes]
    """The file with these answers, one for each unit, and with what else a translated file needs, such as its language.
    A unit whose answer changes nothing stays as it is, byte for byte."""
    notes: list[str] = field(default_factory=list)
    """Remarks on the file for its user, such as subtitles that have become too long; complete after `join`."""

    def join(self, answers: Sequence[Answer]) -> bytes:
        """The whole file with these answers; with answers equal to the units byte for byte as it was."""
        self.notes.clear()
        is_changed = any(answer.text != unit.text for unit, answer in zip(self.units, answers, strict=True))
        return self.write(answers) if is_changed else self.data


class Format(NamedTuple):
    """A format of files."""

    suffixes: tuple[str, ...]
    reader: str
    """The module and the function `read(data: bytes, options: Options) -> Document`, which raises ValueError with a
    sentence and the place for a file that is broken or hostile."""
    media_type: str


OFFICE, ODF = "application/vnd.openxmlformats-officedocument", "application/vnd.oasis.opendocument"
FORMATS = {
    "csv": Format((".csv", ".tsv", ".tab"), "table:read_table", "text/csv"),
    "html": Format((".html", ".htm", ".xhtml"), "html:read", "text/html"),
    "json": Format((".json", ".arb"), "json:read_json", "application/json"),
    "md": Format((".md", ".markdown"), "markdown:read", "text/markdown"),
    "mo": Format((".mo", ".gmo"), "gettext:read_mo", "application/x-gettext-translation"),
    "po": Format((".po", ".pot"), "gettext:read_po", "text/x-gettext-translation"),
    "properties": Format((".properties",), "properties:read_properties", "text/plain"),
    "srt": Format((".srt",), "subtitles:read", "application/x-subrip"),
    "strings": Format((".strings",), "properties:read_strings", "text/plain"),
    "txt": Format((".txt", ".text"), "table:read_txt", "text/plain"),
    "vtt": Format((".vtt",), "subtitles:read", "text/vtt"),
    "xcstrings": Format((".xcstrings",), "json:read_xcstrings", "application/json"),
    "yaml": Format((".yaml", ".yml"), "yaml:read", "application/yaml"),
    "android": Format(("strings.xml",), "mobile:read_android", "application/xml"),
    "docx": Format((".docx", ".docm", ".dotx"), "openxml:read_docx", f"{OFFICE}.wordprocessingml.document"),
    "epub": Format((".epub",), "epub:read", "application/epub+zip"),
    "odp": Format((".odp", ".otp"), "odf:read", f"{ODF}.presentation"),
    "ods": Format((".ods", ".ots"), "odf:read", f"{ODF}.spreadsheet"),
    "odt": Format((".odt", ".ott"), "odf:read", f"{ODF}.text"),
    "pptx": Format((".pptx", ".pptm", ".ppsx"), "openxml:read_pptx", f"{OFFICE}.presentationml.presentation"),
    "qt": Format((".ts",), "desktop:read_qt", "application/xml"),
    "resx": Format((".resx", ".resw"), "desktop:read_resx", "application/xml"),
    "stringsdict": Format((".stringsdict",), "mobile:read_stringsdict", "application/xml"),
    "tmx": Format((".tmx",), "xliff:read_tmx", "application/x-tmx+xml"),
    "xliff": Format(
        (".xlf", ".xliff", ".mxliff", ".sdlxliff", ".mqxliff"), "xliff:read_xliff", "application/xliff+xml"
    ),
    "xlsx": Format((".xlsx", ".xlsm"), "openxml:read_xlsx", f"{OFFICE}.spreadsheetml.sheet"),
}

OLD = "the old binary format isn't read: save the file in the new one ("
ADVICE = {
    ".pdf": "PDF says where letters stand, not what belongs together, and can't be written again: translate the file "
    "that it was made from, or open it in a word processor, save it as .docx, and look at the result",
    ".ipynb": "notebooks aren't read: make Markdown of it and a notebook of the translation, as jupytext does",
    ".rst": "reStructuredText isn't read: make PO files of it, as Sphinx (sphinx-build -b gettext) and po4a do",
    ".rtf": "RTF isn't read: save the file as .docx",
    **dict.fromkeys((".adoc", ".tex"), "it isn't read: make a PO file of it, as po4a does, and translate that"),
    **{old: f"{OLD}{old}x)" for old in (".doc", ".xls", ".ppt")},
}


def format_of(name: str) -> str:
    """The name of the format of a file, by its suffix; ValueError if none has it."""
    for known, has in FORMATS.items():
        if name.lower().endswith(has.suffixes):
            return known
    require_readable(name)
    suffixes = " ".join(suffix for has in FORMATS.values() for suffix in has.suffixes)
    raise ValueError(f"{PurePath(name).name}: no format of documents has this suffix; known are {suffixes}")


def require_readable(name: str) -> None:
    """ValueError, with advice, for the name of a file in a format that is known not to be read."""
    advice = next((advice for suffix, advice in ADVICE.items() if name.lower().endswith(suffix)), "")
    require(not advice, f"{PurePath(name).name}: {advice}")


def read_document(data: bytes, format_name: str, options: Options) -> Document:
    """Read a file; ValueError if it is broken, hostile, or has another format."""
    known = ", ".join(sorted(FORMATS))
    require(format_name in FORMATS, f"{format_name!r} is not a format of documents; known are {known}")
    options = replace(options, source=language_tag(options.source), target=language_tag(options.target))
    return resolve_name(f"nmt.documents.{FORMATS[format_name].reader}")(data, options)


def translate_document(data: bytes, format_name: str, translate: Translate, options: Options) -> bytes:
    """The file with its units translated."""
    document = read_document(data, format_name, options)
    return document.join(translate(document.units))


def units_translator(translator: "Translator", search: SearchConfig | None = None) -> Translate:
    """A function that translates units with this translator."""
    from nmt.reading.request import Request  # it loads torch, which the readers don't need

    def translate_some(units: Sequence[Unit], mode: Mode) -> Iterator[Answer]:
        lists = translator.translate_n_best([Request(unit.text) for unit in units], search, markup=mode)
        return (Answer(best.text, best.flags) for best, *_ in lists)

    def translate(units: Sequence[Unit]) -> list[Answer]:
        plain = translate_some([unit for unit in units if not unit.markup], "none")
        marked = translate_some([unit for unit in units if unit.markup], "html")
        return [next(marked if unit.markup else plain) for unit in units]

    return translate


def text_unit(text: str, place: str) -> Unit:
    """The unit of a text that may have tags in it, as texts of user interfaces have."""
    return Unit(text, "<" in text and is_markup(text, "auto"), place)


def require_text(unit: Unit, answer: str) -> None:
    """ValueError if an answer has no text, perhaps tags alone, but its unit has."""
    before, after = (re.sub("<[^<>]*>", "", text) if unit.markup else text for text in (unit.text, answer))
    require(bool(after.strip()) or not before.strip(), "the translation is empty")


DATE = re.compile(r"(?:([aAdDEhHmMsSyY])\1{0,3}(?![^\W\d_])|[\W\d_]){1,40}")  # such as dd.MM.yyyy


def has_words(text: str) -> bool:
    """Whether there is something to translate: a letter that is in no address, tag or placeholder, nor in the format of
    a date."""
    return any(map(str.isalpha, text)) and not DATE.fullmatch(text) and any(map(str.isalpha, prose(text)))


def splice(text: str, edits: Iterable[Edit]) -> str:
    """The text with these edits, in any order; those at one place are written in theirs."""
    in_order = sorted(edits, key=lambda edit: edit[:2])
    assert all(first[1] <= second[0] for first, second in pairwise(in_order)), "edits must not overlap"
    return apply(text, in_order)


def paired(text: str) -> str:
    """The text with the characters that pairs of surrogates mean, as escapes spell them; lone ones become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@dataclass(frozen=True)
class Text:
    """The text of a file, with what is needed to write it in the same encoding."""

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""
    guessed: bool = False
    errors: str = "replace"
    """What becomes of characters that the encoding lacks (of `str.encode`)."""

    def encode(self, text: str) -> bytes:
        return self.bom + paired(text).encode(self.encoding, self.errors)

    def edited(self, edits: Sequence[Edit], notes: list[str]) -> bytes:
        """The bytes of the file with these edits of its text. `notes` get what its user should know of them."""
        if self.guessed:
            guessed = f"the file is read and written in the encoding {self.encoding}, by its look"
            notes.append(f"{guessed}: name its encoding if that is wrong")
        written = {character for *_, new in edits for character in new if not character.isascii()}
        lost = {character for character in written if not character.encode(self.encoding, "ignore")}
        if lost and self.errors == "replace":
            problem = f"the encoding {self.encoding} has no {''.join(sorted(lost)[:20])}, which became ?"
            notes.append(f"{problem}: convert the file to UTF-8 first")
        return self.encode(splice(self.text, edits))

    @cached_property
    def line_ends(self) -> list[int]:
        return [match.end() - 1 for match in re.finditer("\r\n?|\n", self.text)]

    def place(self, start: int) -> str:
        """The line of a character, for remarks."""
        return f"line {bisect_left(self.line_ends, start) + 1}"


UNICODE = ("utf-8", "utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")  # the mark of UTF-32 begins with that of UTF-16
BOMS = tuple(("\ufeff".encode(name), name) for name in UNICODE)
ODD = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7")  # codecs that aren't for files
ODD_CASE = re.compile("[^\\W\\d_a-zA-Z]{2}")


def guess(data: bytes, language: str) -> str:
    """The encoding of a file that names none: UTF-8, else by the language that it is in; UTF-8 if none fits."""
    pages = ("utf-16-le",) if data[1:2] == b"\0" else ("utf-16-be",) if data[:1] == b"\0" else ()
    found = list[tuple[int, str]]()
    for page in pages or ("utf-8", *encodings_of(language)):
        try:
            text = data.decode(page)
        except UnicodeDecodeError:
            continue
        if page == "utf-8":
            return page
        # Read in the wrong encoding, small letters are often capitals, and the other way round.
        odd = sum(pair[0][0].islower() and pair[0][1].isupper() for pair in ODD_CASE.finditer(text))
        found += [(odd, page)] if text.encode(page) == data else []
    return min(found, key=lambda place: place[0])[1] if found else "utf-8"


def decode(data: bytes, encoding: str, language: str | None = None) -> Text:
    """The text of a file: in the encoding of its byte-order mark, else in this one, else in UTF-8 or, with a language,
    in the one that fits best. ValueError if it isn't."""
    bom, known = next(((bom, name) for bom, name in BOMS if data.startswith(bom)), (b"", encoding))
    encoding = known or ("utf-8" if language is None else guess(data, language))
    try:
        name = codecs.lookup(encoding).name
        require(name not in ODD, f"{encoding} is no encoding for files: convert the file to UTF-8")
        text = data[len(bom) :].decode(encoding)
    except LookupError:
        raise ValueError(f"{encoding!r} is not the name of an encoding; take one such as utf-8 or cp1252") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start + len(bom)) + 1
        problem = f"line {line} is not valid {encoding} (byte {data[error.start + len(bom)]:#x})"
        raise ValueError(f"{problem}: convert the file to UTF-8, or name its encoding, such as cp1252") from None
    require(text.encode(encoding) == data[len(bom) :], f"the file can't be written in {encoding} again: take UTF-8")
    return Text(text, encoding, bom, guessed=not known and encoding != "utf-8")


@dataclass(frozen=True)
class Slot:
    """The part of a text file that holds a unit."""

    start: int
    end: int
    unit: Unit
    write: Callable[[str], str] = str
    """The text of an answer as it is written in the file: escaped, wrapped … ValueError if the file can't have it; then
    the slot stays as it is, with a note."""


def text_document(
    source: Text, slots: Sequence[Slot], changes: Sequence[Edit] = (), notes: list[str] | None = None
) -> Document:
    """A text file with slots, which don't overlap.

    `changes`: edits of a translated file that depend on no answer. `notes`: the list that slots add their remarks to.
    """
    notes = [] if notes is None else notes

    def write(answers: Sequence[Answer]) -> bytes:
        edits = list(changes)
        for slot, answer in zip(slots, answers, strict=True):
            if answer.text != slot.unit.text:
                try:
                    require_text(slot.unit, answer.text)
                    edits.append((slot.start, slot.end, slot.write(with_blanks(slot.unit.text, answer.text))))
                except ValueError as error:
                    notes.append(f"{slot.unit.place}: {error}, so the text stays as it is")
        return source.edited(edits, notes)

    return Document(source.encode(source.text), [slot.unit for slot in slots], write, notes)
