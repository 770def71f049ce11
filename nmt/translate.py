"""Command: lines of text flow in; their translations flow out, one line for each line.

    python -m nmt.translate < in.de > out.en

Input is bytes, and only LF ends a line. Each line becomes one line (with --n-best N up to N), a blank line a blank one.
Lines are translated as they come: those that have arrived are translated together and written out.
"""

import sys
from argparse import SUPPRESS
from contextlib import ExitStack
from typing import Any

from nmt.cli import add_device_options, add_search_options, make_parser, override_search, parse, run_command
from nmt.translation.streams import open_input, open_output, read_chunks

# Bytes read at once, per sentence of a batch: enough for about 12 batches, which are sorted by length.
BYTES_AHEAD = 1024
# Exit status after the reader of a pipe has closed it: 128 + SIGPIPE.
PIPE_CLOSED = 141

FORMATS = """text: an input line is a source, the output line its translation. tsv: the first column is the source; the
columns translation, score and flags are added. jsonl: an object with "text" (line breaks are allowed) and optionally
"prefix", "must", "must_not", or a string; translation, score, confidence, tokens, flags and more are added."""
PATHS = {
    "--output": ("FILE", "File to write, instead of standard output."),
    "--pictures": ("DIR", "Draw the cross-attention of each line's translation into DIR/LINE.png."),
    "--glossary": ("FILE", "Glossary: lines of source TAB target, required translations of words (see the README)."),
}
REPEATABLE = {
    "--model": ("DIR", "A model or run folder (default: the newest finished run). Several models form an ensemble."),
    "--must": ("PHRASE", "A phrase that every translation must contain; | separates alternatives, * is any ending."),
    "--must-not": ("PHRASE", "A phrase that no translation may contain, in the same syntax. Case-sensitive."),
}
SWITCHES = {
    "--force-decode": "Score given translations. An input line is source TAB translation; the output is the score "
    "(text), the line and the score (tsv), or all scores (jsonl).",
    "--scores": "Write score TAB text. The score is the log-probability divided by length ** length penalty.",
    "--alignments": "Write text ||| 0-0 1-2 …: the word alignment, as pairs source-target of word numbers from 0.",
    "--verbose": "Print model, device, precision and speed on stderr.",
}


def make_translate_parser() -> Any:
    text = "Translate text line by line. Search settings that are not given are the model's own."
    parser = make_parser("nmt.translate", text)
    add = parser.add_argument
    add("files", nargs="*", default=[], metavar="FILE", help="Files to translate; none, or -: standard input.")
    add("--input", nargs="+", default=[], metavar="FILE", help="More files to translate, after the positional ones.")
    add("--format", choices=["text", "tsv", "jsonl"], default="text", help=" ".join(FORMATS.split()))
    add("--prefix", default="", metavar="TEXT", help="Text that every translation begins with.")
    for option, (metavar, text) in PATHS.items():
        add(option, default=SUPPRESS, metavar=metavar, help=text)
    for option, (metavar, text) in REPEATABLE.items():
        add(option, action="append", default=[], metavar=metavar, help=f"{text} Repeatable.")
    for option, text in SWITCHES.items():
        add(option, action="store_true", help=text)
    add_device_options(parser, precision="auto")
    add_search_options(parser)
    return parser


def main(argv: list[str] | None = None) -> int:
    return run_command("translate", lambda: command(parse(make_translate_parser(), argv)))


def command(options: Any) -> int:
    """Translate; if the reader leaves early (`| head`), end without a message."""
    try:
        translate_files(options)
    except BrokenPipeError:
        return PIPE_CLOSED
    return 0


def translate_files(options: Any) -> None:
    """Translate all inputs. The output is opened last, so that a wrong option doesn't create or change the file."""
    from nmt.translation.jobs import make_job
    from nmt.translation.translator import Translator, find_model

    with ExitStack() as stack:
        inputs = [stack.enter_context(open_input(name)) for name in [*options.files, *options.input] or ["-"]]
        folders = [find_model(folder) for folder in options.model or [None]]
        translator = Translator.load(folders, options.device, precision=options.precision)
        if options.verbose:
            print(f"{', '.join(map(str, folders))}: {translator.describe()}", file=sys.stderr)
        search = override_search(translator.search, options)
        job = make_job(options, translator, search)
        output = stack.enter_context(open_output(options.get("output"), inputs))
        for file in inputs:
            for chunk in read_chunks(file, search.batch_size * BYTES_AHEAD):
                output.write(job.answer(chunk))
                output.flush()
        for line in job.report(verbose=options.verbose):
            print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
