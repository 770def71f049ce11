"""Command: lines in, their translations out, one for one.

    python -m nmt.translate < in.de > out.en

Input is bytes, and only LF ends a line: whatever else a line holds, it is answered by one line (by up to N with
--n-best N), a blank one by a blank. Lines are answered as they come: those that have arrived are translated together
and written out.
"""

import os
import sys
from argparse import SUPPRESS
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from nmt.cli import DECODING_HELP, add_decoding_options, add_device_options, override_decoding, parse, run_command
from nmt.config import require

if TYPE_CHECKING:
    from nmt.translation.formats import Job
    from nmt.translation.translator import Translator

# Bytes read at once for each of `batch_size`: a dozen batches of ordinary lines, to be sorted by length.
BYTES_AHEAD = 1024
# How a shell reports a program that the closing of a pipe has ended: 128 + SIGPIPE.
PIPE_CLOSED = 141


def make_parser() -> Any:
    from jsonargparse import ArgumentParser

    parser = ArgumentParser(
        prog="python -m nmt.translate",
        exit_on_error=False,
        description="Translate text line by line. The settings of the search are the model's own.",
    )
    parser.add_argument(
        "files", nargs="*", default=[], metavar="FILE", help="What to translate; none, or -: standard input."
    )
    parser.add_argument("--input", nargs="+", default=[], metavar="FILE", help="The same, after those named first.")
    parser.add_argument(
        "--output", default=SUPPRESS, metavar="FILE", help="Where to write, instead of standard output."
    )
    parser.add_argument(
        "--model",
        action="append",
        default=SUPPRESS,
        metavar="DIR",
        help="A model or run folder; given several times, they translate together (an ensemble); "
        "otherwise the newest finished run's.",
    )
    parser.add_argument(
        "--format",
        choices=["text", "tsv", "jsonl"],
        default="text",
        help="text: a line is a source, and its answer a translation. tsv: the first column is the "
        "source; columns with translation, score and flags are added. jsonl: a line is a string, "
        'or an object with "text" (which may have line breaks) and perhaps "prefix", "must", '
        '"must_not"; translation, score, tokens, flags and more are added.',
    )
    parser.add_argument(
        "--force-decode",
        action="store_true",
        help="Score given translations: a line is source TAB translation, and its answer the score "
        "(text), the line and the score (tsv) or all scores (jsonl).",
    )
    parser.add_argument(
        "--scores",
        action="store_true",
        help="Write score TAB text: the log-probability divided by length ** length penalty.",
    )
    parser.add_argument(
        "--alignments",
        action="store_true",
        help="Write text ||| 0-0 1-2 …: the word, from 0, of the source that each word comes from.",
    )
    parser.add_argument(
        "--pictures",
        default=SUPPRESS,
        metavar="DIR",
        help="Draw where the model looked for each piece of each line, into DIR/LINE.png.",
    )
    parser.add_argument(
        "--glossary",
        default=SUPPRESS,
        metavar="FILE",
        help="Lines of source TAB target: what must become what (see the README). Tells what was met.",
    )
    parser.add_argument("--prefix", default="", metavar="TEXT", help="What each translation begins with.")
    parser.add_argument(
        "--must",
        action="append",
        default=[],
        metavar="PHRASE",
        help="What must occur in each translation; alternatives are parted by |, * stands for any end. Repeatable.",
    )
    parser.add_argument(
        "--must-not",
        action="append",
        default=[],
        metavar="PHRASE",
        help="What must not occur, in the same way. Case counts. Repeatable.",
    )
    parser.add_argument("--verbose", action="store_true", help="Tell model, device, precision and speed on stderr.")
    add_device_options(parser, precision="auto")
    add_decoding_options(parser, *DECODING_HELP)
    return parser


def main(argv: list[str] | None = None) -> int:
    return run_command("translate", lambda: command(parse(make_parser(), argv)))


def command(options: Any) -> int:
    """Translate; a reader that leaves early (`| head`) ends it without a word."""
    try:
        translate_files(options)
    except BrokenPipeError:
        return PIPE_CLOSED
    return 0


def translate_files(options: Any) -> None:
    """Open the inputs, load the model, and only then the output: a mistake must not have emptied it."""
    with ExitStack() as stack:
        names = [*options.files, *options.input] or ["-"]
        inputs = [stack.enter_context(open_input(name)) for name in names]
        job = make_job(options)
        output = stack.enter_context(open_output(options.get("output"), names))
        size = job.translator.decoding.batch_size * BYTES_AHEAD
        for chunk in (chunk for file in inputs for chunk in read_chunks(file, size)):
            output.write(job.answer(chunk))
            output.flush()
        for line in job.report(verbose=options.verbose):
            print(line, file=sys.stderr)


def open_input(name: str) -> IO[bytes]:
    """Unbuffered, so that reading returns what is there and doesn't wait for more."""
    if name != "-":
        return open(name, "rb", buffering=0)
    try:
        # A parent may have left it non-blocking: an empty read would then look like the end.
        os.set_blocking(0, True)
        return open(0, "rb", buffering=0, closefd=False)
    except OSError as error:
        raise ValueError(f"standard input can't be read ({error.strerror}): name a FILE, or pipe text in") from error


def open_output(name: str | None, inputs: list[str]) -> IO[bytes]:
    """Standard output by its number: Python's own object would try to flush into a closed pipe once more at exit."""
    if name is None:
        try:
            return open(1, "wb", closefd=False)
        except OSError as error:
            raise ValueError(f"standard output can't be written to ({error.strerror}): take --output FILE") from error
    if Path(name).exists() and any(Path(name).samefile(other) for other in inputs if other != "-"):
        raise ValueError(f"--output {name} is also an input: it would be emptied before it is read")
    return open(name, "wb")


def make_job(options: Any) -> "Job":
    """What the options ask for."""
    from nmt.translation.formats import Columns, Demands, Json, Scoring, Text, Translating
    from nmt.translation.glossary import Glossary
    from nmt.translation.request import Request, Term

    require(not (options.format == "tsv" and options.alignments), "--alignments goes with --format text or jsonl")
    glossary = Glossary.load(Path(options.glossary)) if "glossary" in options else None
    translator = load_translator(options)
    must = tuple(tuple(phrases.split("|")) for phrases in options.must)
    must_not = tuple(phrase for phrases in options.must_not for phrase in phrases.split("|"))
    if options.force_decode:
        for name in ("pictures", "glossary", "prefix", "must", "must_not", "alignments", "n_best", "samples"):
            require(
                not options.get(name),
                f"--{name.replace('_', '-')} is for what is translated: it doesn't go with --force-decode",
            )
        return Scoring(translator, options.format)
    form = (
        Json(translator, options.alignments)
        if options.format == "jsonl"
        else Columns()
        if options.format == "tsv"
        else Text(translator, "n_best" in options, options.scores, options.alignments)
    )
    problem = translator.problem(Request("", options.prefix, tuple(map(Term, must)), must_not))
    require(not problem, f"what is asked of every line can't be had: {problem}")
    pictures = Path(options.pictures) if "pictures" in options else None
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    return Translating(translator, form, Demands(options.prefix, must, must_not, glossary), pictures)


def load_translator(options: Any) -> "Translator":
    """The model that the options name, with the decoding settings they give in place of its own."""
    from nmt.translation.translator import Translator, find_model

    folders = [find_model(folder) for folder in options.get("model", [None])]
    if "model" not in options:
        print(f"Model: {folders[0]}", file=sys.stderr)
    translator = Translator.load(folders, options.device, precision=options.precision)
    translator.decoding = override_decoding(translator.decoding, options)
    if options.verbose:
        print(f"{', '.join(map(str, folders))}: {translator.describe()}", file=sys.stderr)
    return translator


def read_chunks(file: IO[bytes], size: int) -> Iterator[list[bytes]]:
    """The lines that each read completes, without their LF; a last line without one counts as a line."""
    unfinished: list[bytes] = []
    while block := file.read(size):
        first, *others = block.split(b"\n")
        unfinished.append(first)
        if others:
            yield [b"".join(unfinished), *others[:-1]]
            unfinished = [others[-1]]
    if last := b"".join(unfinished):
        yield [last]


if __name__ == "__main__":
    sys.exit(main())
