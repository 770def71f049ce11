"""Files of each format of documents, made of lines; and the translations that are in them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks import office_files
from nmt.documents.base import Options, read_document
from nmt.text.po import read_entries

Build = Callable[[Sequence[str]], bytes]
Read = Callable[[bytes, Options], list[str]]


def texts(format_name: str) -> Read:
    """A function that reads the texts of a file again."""
    return lambda data, options: [unit.text for unit in read_document(data, format_name, options).units]


def po_answers(data: bytes, options: Options) -> list[str]:
    return [entry.texts["msgstr"] for entry in read_entries(data.decode()) if entry.texts["msgid"]]


def xcode_answers(data: bytes, options: Options) -> list[str]:
    entries = json.loads(data)["strings"].values()
    return [entry["localizations"][options.target]["stringUnit"]["value"] for entry in entries]


@dataclass(frozen=True)
class Kind:
    """How a file of a format is made. `form`: a word as it is written with a tag; only the word if there are none."""

    build: Build
    form: str = "WORD"
    answers: Read | None = None
    options: Options = Options()  # noqa: RUF009


def paragraphs(form: str) -> Build:
    """Each line in this form, in a file."""
    return lambda lines: "".join(
        form.replace("LINE", line).replace("NUMBER", str(n)) for n, line in enumerate(lines)
    ).encode()


def cue(n: int) -> str:
    return f"00:{n // 60:02}:{n % 60:02}"


def srt(lines: Sequence[str]) -> bytes:
    cues = (f"{n + 1}\r\n{cue(2 * n)},000 --> {cue(2 * n + 1)},500\r\n{line}\r\n\r\n" for n, line in enumerate(lines))
    return "".join(cues).encode("utf-8-sig")


def vtt(lines: Sequence[str]) -> bytes:
    cues = (f"{cue(2 * n)}.000 --> {cue(2 * n + 1)}.500 line:90%\n{line}\n\n" for n, line in enumerate(lines))
    return ("WEBVTT\n\nNOTE made\n\n" + "".join(cues)).encode()


def markdown(lines: Sequence[str]) -> bytes:
    """A third each as paragraphs, list items and cells."""
    third = len(lines) // 3
    table = "".join(f"| {line} | 1 |\n" for line in lines[2 * third :])
    items = "".join(f"- {line}\n" for line in lines[third : 2 * third])
    return ("---\nx: y\n---\n\n" + "\n\n".join(lines[:third]) + f"\n\n{items}\n| 1 | 2 |\n|---|---|\n{table}").encode()


def html(lines: Sequence[str]) -> bytes:
    body = "".join(f"<p class='x'>{line}</p>\n<!-- {n} -->\n" for n, line in enumerate(lines))
    return f"<!DOCTYPE html>\r\n<html><head><script>1 < 2</script></head><body>\n{body}</body></html>".encode()


def xcode(lines: Sequence[str]) -> bytes:
    return json.dumps({"sourceLanguage": "de", "strings": {line: {} for line in lines}, "version": "1.0"}).encode()


BOLD = "<b>WORD</b>"
KINDS: dict[str, Kind] = {
    "txt": Kind(paragraphs("  LINE\r\n")),
    "md": Kind(markdown, "**WORD**"),
    "html": Kind(html, BOLD),
    "srt": Kind(srt, "<i>WORD</i>"),
    "vtt": Kind(vtt, "<i>WORD</i>"),
    "po": Kind(paragraphs('#: a.c:NUMBER\nmsgctxt "NUMBER"\nmsgid "LINE"\nmsgstr ""\n\n'), BOLD, po_answers),
    "json": Kind(lambda lines: json.dumps({str(n): line for n, line in enumerate(lines)}, indent=3).encode(), BOLD),
    "yaml": Kind(paragraphs("- key:  'LINE' # NUMBER\n"), BOLD),
    "strings": Kind(paragraphs('"NUMBER" = "LINE";\n'), BOLD),
    "xcstrings": Kind(xcode, BOLD, xcode_answers),
    "csv": Kind(paragraphs('NUMBER,"LINE",x\n'), BOLD, options=Options(columns=("2",))),
    "docx": Kind(office_files.docx, BOLD),
    "pptx": Kind(office_files.pptx, BOLD),
    "xlsx": Kind(office_files.xlsx, BOLD),
    "odt": Kind(office_files.odt, BOLD),
    "epub": Kind(office_files.epub, BOLD),
    "xliff": Kind(office_files.xliff, BOLD, office_files.xliff_targets),
    "tmx": Kind(office_files.tmx, BOLD, office_files.tmx_targets),
    "android": Kind(office_files.android, BOLD),
    "resx": Kind(office_files.resx),
}
