"""Catalogues of gettext, PO and POT: translations are filled in where there is none.

Comments, flags, contexts and obsolete entries stay. What looks wrong is marked fuzzy, and so are plurals of languages
with more than two forms. The mark of an accelerator (&File, _File) is put back.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nmt.documents.base import Answer, Document, Options, Text, Unit, decode, splice, text_unit
from nmt.text.po import ESCAPES, Entry, read_entries

CHARSET = re.compile(rb"charset=([\w.:-]{1,40})")
PLURALS = re.compile(r"nplurals\s*=\s*(\d)")
WRITTEN = {meaning: f"\\{letter}" for letter, meaning in ESCAPES.items()} | {"\\": "\\\\", '"': '\\"'}
ACCELERATOR = re.compile(r"(?<![&\w])&(?=\w)(?!\w+;)|(?<=\w)&(?=[^\W\d_])(?!\w+;)|(?<!_)_(?=[^\W\d_])")


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
