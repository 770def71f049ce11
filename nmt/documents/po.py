"""Catalogues of gettext, PO and POT: translations are filled in where there is none.

Comments, flags, contexts and obsolete entries stay. What looks wrong is marked fuzzy, and so are plurals of languages
with more than two forms. The mark of an accelerator (&File, _File) is put back.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from nmt.documents.base import Answer, Document, Options, Text, Unit, decode, splice, text_unit
from nmt.fields import require

STRING = r'"((?:[^"\\\r\n]|\\[^\r\n])*+)"'
LINE = re.compile(
    r"[ \t]*(?:(?P<comment>#[^\r\n]*+)|(?:(?P<name>msg[a-z_]+)(?:\[(?P<index>\d{1,2})\])?[ \t]*)?"
    rf"(?P<string>{STRING}))?[ \t]*(?:\r\n?|\n|\Z)"
)
CHARSET = re.compile(rb"charset=([\w.:-]{1,40})")
PLURALS = re.compile(r"nplurals\s*=\s*(\d)")
ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
WRITTEN = {meaning: f"\\{letter}" for letter, meaning in ESCAPES.items()} | {"\\": "\\\\", '"': '\\"'}
ACCELERATOR = re.compile(r"(?<![&\w])&(?=\w)(?!\w+;)|(?<=\w)&(?=[^\W\d_])(?!\w+;)|(?<!_)_(?=[^\W\d_])")


@dataclass
class Entry:
    """A message. `spans` and `texts`: of its parts, by keyword ("msgid", "msgstr[0]" …)."""

    line: int
    start: int
    flags: tuple[int, int] | None = None
    """Where its line of flags is."""
    is_fuzzy: bool = False
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def answers(self) -> list[str]:
        """The keywords of its translations, in order."""
        return [name for name in self.spans if name.startswith("msgstr")]


def read(data: bytes, options: Options) -> Document:
    match = CHARSET.search(data)
    charset = match[1].decode("ascii") if match and match[1] != b"CHARSET" else ""
    source = decode(data, options.encoding or charset)
    entries = [*read_entries(source.text)]
    header = next((one.texts.get("msgstr", "") for one in entries if one.texts["msgid"] == ""), "")
    found = PLURALS.search(header)
    chosen = [one for one in entries if one.texts["msgid"] and (options.all_entries or is_empty(one))]
    return Catalogue(source, chosen, int(found[1]) if found else 2)


def is_empty(entry: Entry) -> bool:
    return not any(entry.texts[name] for name in entry.answers)


def read_entries(text: str) -> Iterator[Entry]:
    """The entries of a catalogue; ValueError, with its line, for what is none."""
    entry, name, position, number = Entry(0, 0), "", 0, 0
    while position < len(text):
        number += 1
        match = LINE.match(text, position)
        if not match:
            raise ValueError(
                f"line {number} is no line of a PO file: {text[position : position + 60].splitlines()[:1]}"
            )
        position = match.end()
        starts = match["name"] in ("msgid", "msgctxt") or match["comment"]
        if starts and entry.answers:
            yield finished(entry)
            entry, name = Entry(0, 0), ""
        if match["comment"] and match["comment"].startswith("#,"):
            entry.flags = match.span("comment")
            entry.is_fuzzy = "fuzzy" in re.split(r"[,\s]+", match["comment"])
        if match["name"]:
            name = match["name"] + (f"[{match['index']}]" if match["index"] else "")
            known = re.fullmatch(r"msgctxt|msgid|msgid_plural|msgstr(\[\d+\])?", name)
            require(bool(known) and name not in entry.spans, f"line {number}: {name} can't be here")
            if not entry.spans:
                entry.line, entry.start = number, match.start("name")
        if match["string"] is not None:
            require(bool(name), f"line {number}: a string without a keyword such as msgid")
            start, _ = entry.spans.get(name, match.span("string"))
            entry.spans[name] = start, match.end("string")
            entry.texts[name] = entry.texts.get(name, "") + unescape(match[5])
    if entry.spans:
        yield finished(entry)


def finished(entry: Entry) -> Entry:
    require("msgid" in entry.spans and bool(entry.answers), f"line {entry.line}: an entry needs msgid and msgstr")
    return entry


def unescape(text: str) -> str:
    return ESCAPE.sub(lambda match: meaning(match[1]), text)


def meaning(escape: str) -> str:
    if escape[0] in "01234567":
        return chr(int(escape, 8))
    return chr(int(escape[1:], 16)) if len(escape) > 1 else ESCAPES.get(escape, escape)


def quoted(text: str, newline: str) -> str:
    """A text as strings of PO: of several lines, each is a string after an empty one."""
    text = "".join(WRITTEN.get(c, c if c >= " " and c != "\x7f" else f"\\{ord(c):03o}") for c in text)
    lines = [line for line in re.split(r"(?<=\\n)", text.replace("\\\\", "\0")) if line]
    lines = [f'"{line}"'.replace("\0", "\\\\") for line in lines]
    return newline.join(['""', *lines]) if len(lines) > 1 else lines[0] if lines else '""'


@dataclass(frozen=True)
class Message:
    """A text without its accelerator and outer blanks, and how to put them back."""

    text: str

    @property
    def core(self) -> str:
        return ACCELERATOR.sub("", self.text.strip()) if self.accelerator else self.text.strip()

    @property
    def accelerator(self) -> tuple[str, str] | None:
        """The mark and the letter after it; only short texts with one mark have them."""
        text = self.text.strip()
        found = [*ACCELERATOR.finditer(text)]
        if len(found) != 1 or len(text.split()) > 6 or text.count(found[0][0]) > 1:
            return None
        if found[0][0] == "_" and re.search(r"[%{}<>=/.$]|\w{3}_\w{4}", text.rstrip(".")):  # a name such as file_name
            return None
        return found[0][0], text[found[0].end()]

    def restore(self, answer: str) -> str:
        """The answer with blanks and accelerator: at a word that begins with the same letter, else at the first."""
        answer = answer.strip()
        if self.accelerator:
            mark, letter = self.accelerator
            place = re.search(rf"(?<!\w){re.escape(letter)}", answer, re.I) or re.search(
                re.escape(letter), answer, re.I
            )
            place = place or re.search(r"[^\W_]", answer)
            answer = answer.replace(mark, mark * 2)
            if place:
                at = place.start() + answer[: place.start()].count(mark * 2)
                answer = answer[:at] + mark + answer[at:]
        start = len(self.text) - len(self.text.lstrip())
        return self.text[:start] + answer + self.text[len(self.text.rstrip()) :]


@dataclass(frozen=True)
class Catalogue:
    """Entries to translate, with their text file."""

    source: Text
    entries: Sequence[Entry]
    n_plurals: int
    notes: tuple[str, ...] = ()

    @property
    def units(self) -> list[Unit]:
        return [
            text_unit(Message(entry.texts[name]).core, f"line {entry.line}")
            for entry in self.entries
            for name in self.sources(entry)
        ]

    def sources(self, entry: Entry) -> list[str]:
        """The keywords of the texts that are translated."""
        if "msgid_plural" not in entry.texts:
            return ["msgid"]
        return ["msgid", "msgid_plural"] if self.n_plurals > 1 else ["msgid_plural"]

    def join(self, answers: Sequence[Answer]) -> bytes:
        rest, edits = iter(answers), list[tuple[int, int, str]]()
        for entry in self.entries:
            edits += self.edits(entry, {name: next(rest) for name in self.sources(entry)})
        return self.source.encode(splice(self.source.text, edits))

    def edits(self, entry: Entry, answers: dict[str, Answer]) -> Iterator[tuple[int, int, str]]:
        messages = {name: Message(entry.texts[name]) for name in answers}
        if all(answers[name].text in (message.core, "") for name, message in messages.items()):
            return
        newline = "\r\n" if "\r\n" in self.source.text[:1000] else "\n"
        names = list(answers)
        for n, form in enumerate(entry.answers):
            name = names[min(n, len(names) - 1)]
            yield *entry.spans[form], quoted(messages[name].restore(answers[name].text), newline)
        unsure = any(answer.flags for answer in answers.values()) or (
            "msgid_plural" in entry.texts and self.n_plurals > 2
        )
        if unsure and not entry.is_fuzzy:
            if entry.flags:
                yield entry.flags[0], entry.flags[0] + 2, "#, fuzzy,"
            else:
                yield entry.start, entry.start, f"#, fuzzy{newline}"
        elif entry.is_fuzzy and not unsure and entry.flags:
            start, end = entry.flags
            kept = [
                flag for flag in re.split(r"[,\s]+", self.source.text[start + 2 : end]) if flag not in ("", "fuzzy")
            ]
            yield start, end, f"#, {', '.join(kept)}" if kept else "#,"
