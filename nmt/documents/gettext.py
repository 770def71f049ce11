"""Catalogues of gettext, PO and POT, and compiled ones, MO: translations are filled in.

In PO, comments, flags, contexts and obsolete entries stay. What looks wrong is marked fuzzy, and so are plurals of
languages with more than two forms. In MO, new texts are put at the end of the file. The mark of an accelerator (&File,
_File) is put back. Source: the manual of GNU gettext, "The Format of GNU MO Files".
"""

import gettext
import re
import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache

from nmt.documents.base import Answer, Document, Options, Text, decode, text_unit
from nmt.documents.plurals import SIGN, Sample, leaf, locale_of, samples_of
from nmt.extras import package
from nmt.fields import require
from nmt.text.edits import Edit, apply
from nmt.text.items import find_items
from nmt.text.languages import same_language
from nmt.text.po import ESCAPES, LANGUAGE, Entry, charset, read_entries
from nmt.text.scripts import EAST_ASIAN

RULE = re.compile(r"plural\s*=([^;\n]{1,999})")
MOST_FORMS = 10  # of a plural
PLURALS = re.compile(r"nplurals\s*=\s*(\d)")
WRITTEN = {meaning: f"\\{letter}" for letter, meaning in ESCAPES.items()} | {"\\": "\\\\", '"': '\\"'}
ACCELERATOR = re.compile(r"(?<![&\w])&(?=\w)(?!\w+;)|(?<=\w)&(?=[^\W\d_])(?!\w+;)|(?<!_)_(?=[^\W\d_])")
IN_BRACKETS = re.compile(r"[ \u3000]?[(（][&_]\w[)）]")  # as programs in Chinese, Japanese and Korean have it: (&F)
MAGIC = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}


class Message:
    """A text of a catalogue. `core`: without its accelerator and outer blanks."""

    def __init__(self, text: str, sample: Sample | None = None) -> None:
        """`sample`: what stands for the sign of a number, so that words agree with it."""
        sign = SIGN.search(text)
        self.text, self.form = text, leaf(text.strip(), sample, sign[0] if sign else "")
        self.accelerator = accelerator(self.form.text)
        core = IN_BRACKETS.sub("", self.form.text)
        core = core if any(map(str.isalpha, core)) else self.form.text
        self.core = ACCELERATOR.sub("", core) if self.accelerator else self.form.text

    def restore(self, answer: str) -> str:
        """The answer with blanks and accelerator: at a word that begins with the same letter, else at the first; in
        Chinese, Japanese and Korean after the words, in brackets, if the letter is in none."""
        answer = self.form.write(answer.strip()) if self.form.sample else answer.strip()
        known = accelerator(answer)  # as a translation in a memory may have
        if self.accelerator and (not known or known[0] != self.accelerator[0]):
            mark, letter = self.accelerator
            patterns = (rf"(?<!\w){re.escape(letter)}", re.escape(letter), r"[^\W_]")
            words = apply(answer, [(item.start, item.end, len(item.text) * " ") for item in find_items(answer)])
            place = next(filter(None, (re.search(pattern, words, re.I) for pattern in patterns)), None)
            parts = [answer[: place.start()], answer[place.start() :]] if place else [answer]
            if re.search(f"[{EAST_ASIAN}]", words) and letter.isascii() and letter.lower() not in words.lower():
                end = len(answer.rstrip(" .…:："))
                parts = [f"{answer[:end]}(", f"{letter.upper()}){answer[end:]}"]
            answer = mark.join(part.replace(mark, mark * 2) for part in parts)
        start = len(self.text) - len(self.text.lstrip())
        return self.text[:start] + answer + self.text[len(self.text.rstrip()) :]


def accelerator(text: str) -> tuple[str, str] | None:
    """The mark and the letter after it; only short texts with one mark, in no address, have them."""
    found = [*ACCELERATOR.finditer(text)]
    if len(found) != 1 or len(text.split()) > 6 or text.count(found[0][0]) > 1:
        return None
    mark, letter, before = found[0][0], text[found[0].end()], text[: found[0].start()]
    in_item = any(item.start < len(before) < item.end for item in find_items(text))
    if in_item or (before[-1:].isalnum() and letter.isupper()):  # R&D
        return None
    if mark == "_" and re.search(r"[%{}<>=/.$]|\w{3}_\w{4}|\b[a-z]{3,}_", text.rstrip(".")):  # file_name, user_id
        return None
    return mark, letter


def translations(messages: Sequence[Message], answers: Sequence[Answer], n_forms: int) -> list[str]:
    """The forms of a translation: the last answer stands for those without one. No forms if no answer changes
    anything, or one is empty."""
    pairs = [*zip(messages, answers, strict=True)]
    is_empty = not all(answer.text.strip() for answer in answers)
    if is_empty or all(answer.text == message.core for message, answer in pairs):
        return []
    try:
        forms = [message.restore(answer.text) for message, answer in pairs]
    except ValueError:  # a form has lost its number
        return []
    return [forms[min(n, len(forms) - 1)] for n in range(n_forms)]


def read_po(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding or charset(data), options.source)
    entries = [*read_entries(source.text)]
    first = next((entry for entry in entries if entry.texts["msgid"] == ""), None)
    old = first.texts.get("msgstr", "") if first else ""
    header = in_language(old, options.target)
    if header != old:  # a template doesn't name its encoding
        header = header.replace("charset=CHARSET", f"charset={source.encoding.upper()}")
    found = PLURALS.search(header)
    n_plurals = int(found[1]) if found else 2
    texts = [entry for entry in entries if entry.texts["msgid"]]
    todo = [entry for entry in texts if options.all_entries or not any(entry.texts[name] for name in entry.answers)]
    stated = LANGUAGE.search(old)
    require_language(stated[1] if stated and len(todo) < len(texts) else "", options.target)
    chosen = [(entry, messages_of(entry, n_plurals, header)) for entry in todo]
    units = [text_unit(message.core, f"line {entry.line}") for entry, messages in chosen for message in messages]
    notes = list[str]()

    def write(answers: Sequence[Answer]) -> bytes:
        rest, edits = iter(answers), list[Edit]()
        if first and header != old:
            edits.append((*first.spans["msgstr"], quoted(header, "\r\n" if "\r\n" in source.text[:1000] else "\n")))
            edits += not_fuzzy(source, first)  # as that of a template is: programs may skip such catalogues
        for entry, messages in chosen:
            edits += po_edits(source, entry, messages, [next(rest) for _ in messages], n_plurals)
        return source.edited(edits, notes)

    return Document(data, units, write, notes)


def require_language(found: str, language: str) -> None:
    """Raise ValueError if translations that would stay are in another language; empty: unknown."""
    problem = f"the file has translations in {found} by what it says, not in {language}"
    fits = not found or not language or same_language(found, language)
    require(fits, f"{problem}: take its template, or translate all entries anew (--all-entries)")


def in_language(header: str, language: str) -> str:
    """The header of a catalogue that is, or becomes, one in this language."""
    stated = LANGUAGE.search(header)
    if not language or not stated or same_language(stated[1], language):
        return header
    header = f"{header[: stated.start()]}Language: {language.replace('-', '_')}{header[stated.end() :]}"
    return re.sub("^Plural-Forms:.*$", lambda _: f"Plural-Forms: {plural_rule(language)}", header, flags=re.MULTILINE)


def plural_rule(language: str) -> str:
    """The Plural-Forms of a language, by CLDR; those of English if it isn't known."""
    plurals = package("babel.messages.plurals", "documents")
    return str(plurals.get_plural(locale_of(language)).plural_forms)


@lru_cache
def samples(rule: str) -> list[Sample]:
    """A number for each form: 1, if it has that, else the least one from 2 on; for a form of millions alone, as French
    has it, the number of the last form. No numbers if the rule isn't one."""
    match = RULE.search(rule)
    try:
        found = samples_of(gettext.c2py(match[1])) if match else {}
    except (ValueError, RecursionError, ZeroDivisionError):
        return []
    last = max(found, default=0)
    return [found.get(form, found[last]) for form in range(last + 1)] if 0 < last < MOST_FORMS else []


def messages_of(entry: Entry, n_plurals: int, header: str) -> list[Message]:
    """The texts of an entry that are translated: of a plural with more than two forms, one for each form."""
    single, plural = entry.texts["msgid"], entry.texts.get("msgid_plural")
    if plural is None:
        return [Message(single)]
    numbers = samples(header) if n_plurals > 2 else []
    if len(numbers) == n_plurals and SIGN.search(plural):
        return [Message(single if sample.number == 1 else plural, sample) for sample in numbers]
    return [Message(single), Message(plural)] if n_plurals > 1 else [Message(plural)]


def po_edits(
    source: Text, entry: Entry, messages: Sequence[Message], answers: Sequence[Answer], n_plurals: int
) -> Iterator[Edit]:
    """The translations of an entry as strings, and its flag: fuzzy if something needs a look, else not."""
    n_forms = n_plurals if "msgid_plural" in entry.texts else len(entry.answers)
    forms = translations(messages, answers, n_forms)
    if not forms:
        return
    newline, (_, end) = "\r\n" if "\r\n" in source.text[:1000] else "\n", entry.spans[entry.answers[-1]]
    yield from ((*entry.spans[name], quoted(form, newline)) for name, form in zip(entry.answers, forms, strict=False))
    if n_forms < len(entry.answers):
        yield entry.spans[entry.answers[n_forms - 1]][1], end, ""
    for n, form in [*enumerate(forms)][len(entry.answers) :]:
        yield end, end, f"{newline}msgstr[{n}] {quoted(form, newline)}"
    unsure = any(answer.flags for answer in answers) or ("msgid_plural" in entry.texts and len(messages) < n_plurals)
    if unsure and not entry.is_fuzzy:
        start = entry.flags[0] if entry.flags else entry.start
        yield (start, start + 2, "#, fuzzy,") if entry.flags else (start, start, f"#, fuzzy{newline}")
    elif not unsure:
        yield from not_fuzzy(source, entry)


def not_fuzzy(source: Text, entry: Entry) -> Iterator[Edit]:
    """The flags of an entry without the one that it is fuzzy."""
    if entry.is_fuzzy and entry.flags:
        start, end = entry.flags
        flags = [flag for flag in re.split(r"[,\s]+", source.text[start + 2 : end]) if flag not in ("", "fuzzy")]
        yield start, end, f"#, {', '.join(flags)}" if flags else "#,"


def quoted(text: str, newline: str) -> str:
    """A text as strings of PO: of several lines, each is a string after an empty one."""
    text = "".join(WRITTEN.get(c, c if c >= " " and c != "\x7f" else f"\\{ord(c):03o}") for c in text)
    lines = [line for line in re.split(r"(?<=\\n)", text.replace("\\\\", "\0")) if line]
    lines = [f'"{line}"'.replace("\0", "\\\\") for line in lines]
    return newline.join(['""', *lines]) if len(lines) > 1 else lines[0] if lines else '""'


def read_mo(data: bytes, options: Options) -> Document:
    order = MAGIC.get(data[:4], "")
    require(bool(order) and len(data) >= 28, "this is no MO file: it doesn't begin as one")
    _, count, sources, targets = struct.unpack(f"{order}4I", data[4:20])
    require(max(sources, targets) + 8 * count <= len(data), f"the file is cut off, or damaged: {count} messages")
    texts, translated = (strings(data[at : at + 8 * count], data, order) for at in (sources, targets))
    header = dict(zip(texts, translated, strict=True)).get(b"", b"")
    encoding = options.encoding or charset(header) or "utf-8"
    plurals = PLURALS.search(header.decode("utf-8", "replace"))
    # Of each message: where the length and the offset of its translation are, its singular and plural (those that are
    # translated), and the number of its forms.
    entries = list[tuple[int, list[Message], int]]()
    for n, (text, translation) in enumerate(zip(texts, translated, strict=True)):
        try:
            parts = decode(text.rpartition(b"\4")[2], encoding).text.split("\0")
        except ValueError as error:
            raise ValueError(f"message {n + 1}: {error}") from None
        if parts[0]:
            chosen = parts[-1:] if len(parts) > 1 and plurals and plurals[1] == "1" else parts[:2]
            entries.append((targets + 8 * n, [*map(Message, chosen)], translation.count(b"\0") + 1))
    numbered = ((message, n) for n, (_, messages, _) in enumerate(entries, 1) for message in messages)
    units = [text_unit(message.core, f"message {n}") for message, n in numbered]
    notes = list[str]()

    def write(answers: Sequence[Answer]) -> bytes:
        table, added, length = bytearray(data), list[bytes](), len(data)
        rest = (Answer(answer.text.replace("\0", "")) for answer in answers)  # which separates forms
        for place, messages, n_forms in entries:
            if forms := translations(messages, [next(rest) for _ in messages], n_forms):
                new = Text("", encoding).edited([(0, 0, "\0".join(forms))], notes)
                table[place : place + 8] = struct.pack(f"{order}2I", len(new), length)
                added.append(new + b"\0")
                length += len(new) + 1
        return bytes(table) + b"".join(added)

    return Document(data, units, write, notes)


def strings(table: bytes, data: bytes, order: str) -> list[bytes]:
    """The texts of a file. `table`: their lengths and offsets."""
    pairs = [*struct.iter_unpack(f"{order}2I", table)]
    require(sum(length for length, _ in pairs) <= len(data), "the file is damaged: its texts overlap")
    for n, (length, start) in enumerate(pairs):
        require(start + length <= len(data), f"the file is cut off, or damaged: text {n + 1} is outside of it")
    return [data[start : start + length] for length, start in pairs]
