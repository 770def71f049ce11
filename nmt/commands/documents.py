"""What `nmt.translate` does with a document: a file flows in, and flows out whole with its texts translated."""

import os
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from nmt.commands.streams import name_of, open_output
from nmt.documents.base import ADVICE, FORMATS, Answer, Options, Unit, format_of, read_document, require_readable
from nmt.documents.memory import with_memories
from nmt.fields import require
from nmt.files import require_whole_gzip
from nmt.messages import status
from nmt.text.markup import Mode, visible
from nmt.translation.jobs import Translating

# Options of nmt.translate that are for lines.
FOR_LINES = ("scores", "n_best", "samples", "alignments", "scorer", "force_decode")
FOR_DOCUMENTS = ("columns", "all_entries", "encoding", "memory", "memory_threshold")
FUZZY = "fuzzy (the translation of a similar text in the memory)"
LINES = (".txt", ".text", ".tsv", ".tab")  # files that are lines, unless an option asks for a document


def document_format(options: Any, names: Sequence[str]) -> str:
    """The format of the document to translate: of --document, else by the suffix of the file; empty for lines."""
    given, names = options.get("document", ""), [re.sub(r"(?i)\.gz\Z", "", name) for name in names]
    require(not given or given in FORMATS, f"--document {given}: known are {', '.join(sorted(FORMATS))}")
    for_lines = [f"--{name.replace('_', '-')}" for name in FOR_LINES if options.get(name)]
    for_lines += [f"--format {options.format}"] * (options.format != "text")
    wanted = [f"--{name.replace('_', '-')}" for name in FOR_DOCUMENTS if options.get(name)]
    suffixes = [s for has in FORMATS.values() for s in has.suffixes if wanted or s not in LINES]
    if not given and (for_lines or not any(name.lower().endswith(tuple(suffixes)) for name in names)):
        advice = "add --document FORMAT, and leave out options for lines"
        require(not wanted, f"{', '.join(wanted)}: for documents; {advice}")
        for name in names:
            require_readable(name)
        return ""
    require(len(names) == 1, f"{len(names)} files: only one document can be translated at a time")
    require(not for_lines, f"{', '.join(for_lines)}: for lines, not for documents; leave it out")
    return given or format_of(names[0])


def translate_file(
    job: Translating, options: Any, file: IO[bytes], format_name: str, languages: tuple[str, str]
) -> None:
    """Translate a file. `languages`: source and target."""
    started = time.perf_counter()
    with require_whole_gzip(name_of(file)):
        data = b"".join(iter(lambda: file.read(1 << 20), b""))
    source, target = languages
    columns = tuple(column for given in options.columns for column in given.split(",") if column)
    chosen = {"columns": columns, "all_entries": options.all_entries, "encoding": options.get("encoding", "")}
    document = read_document(data, format_name, Options(source=source, target=target, **chosen))
    if data.startswith(b"PK\3\4"):
        require_fit(format_name, options.get("output", ""))
    translate = with_memories(partial(translate_units, job), options, languages, partial(check_answer, job))
    out, text = options.get("output"), f"texts: {len(document.units):,}"
    with open_output(out, [file], [options.get("glossary", ""), *options.memory]) as output, status(text, out):
        output.write(document.join(translate(document.units)))
    for note in document.notes:
        job.remarks.say(note)
    job.lines, job.seconds = len(document.units), time.perf_counter() - started
    if not document.units:
        job.remarks.say("the document has no text to translate")


def require_fit(format_name: str, output: str) -> None:
    """ValueError if an office file or a book would be written to a terminal, or to a file whose name says another
    format, which no program would open."""
    is_shown, suffixes = not output and os.isatty(1), FORMATS[format_name].suffixes
    problem = f"the translation is a {format_name} file"
    require(not is_shown, f"{problem}, which is not for a terminal: name a file with --output")
    ending = Path(output).suffix.lower()
    of_another = ending not in suffixes and (ending in ADVICE or any(ending in f.suffixes for f in FORMATS.values()))
    require(not of_another, f"--output {output}: {problem}: give its name the ending {suffixes[0]}")


def translate_units(job: Translating, units: Sequence[Unit]) -> list[Answer]:
    """Translate units as the options of the job say, and tell the user what looks wrong."""
    found = dict[int, Answer]()
    modes: tuple[Mode, ...] = ("none", "html")
    for mode in modes:
        marked = replace(job, markup=mode)  # it shares the remarks and the glossary
        places = [n for n, unit in enumerate(units) if unit.markup == (mode == "html")]
        records = [marked.constrain(marked.form.read(units[n].text)) for n in places]
        requests = [request for record in records for request in record.requests]
        lists = job.translator.translate_n_best(requests, job.search, markup=mode)
        for n, record, (best, *_) in zip(places, records, lists, strict=True):
            for remark in filter(None, (record.note, ", ".join(best.flags))):
                job.remarks.say(f"{units[n].place}: {remark}")
            marked.count(units[n].text, best.text)
            found[n] = Answer(best.text, best.flags)
    return [found[n] for n in range(len(units))]


def check_answer(job: Translating, unit: Unit, answer: Answer) -> Answer:
    """Flag what a memory has for a unit if it breaks constraints of the job, and tell the user."""
    marked = replace(job, markup="html" if unit.markup else "none")
    marked.count(unit.text, answer.text)
    record = marked.constrain(marked.form.read(unit.text))
    seen, compiler = visible(answer.text, marked.markup), job.translator.compiler
    if not all(compiler.are_met(request.constraints, seen) for request in record.requests):
        answer = replace(answer, flags=(*answer.flags, "constraints"))
    for remark in filter(None, (record.note, ", ".join(answer.flags).replace("fuzzy", FUZZY))):
        job.remarks.say(f"{unit.place}: {remark}")
    return answer
