"""Command: lines in, their translations out, one for one.

    python -m nmt.translate < in.de > out.en

Input is bytes, and only LF ends a line: whatever else a line holds, it is answered by one line (N with --n-best N), a
blank one by a blank. Lines are answered as they come: those that have arrived are translated together and written out.
"""

import os
import sys
from argparse import SUPPRESS
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from nmt.settings import add_decoding_options, add_device_options, override_decoding, parse, run_command

if TYPE_CHECKING:
    from nmt.decode.translator import Translation, Translator

# Bytes read at once for each of `batch_size`: a dozen batches of ordinary lines, to be sorted by length.
BYTES_AHEAD = 1024
# How a shell reports a program that the closing of a pipe has ended: 128 + SIGPIPE.
PIPE_CLOSED = 141


def make_parser() -> Any:
    from jsonargparse import ArgumentParser

    parser = ArgumentParser(prog="python -m nmt.translate", exit_on_error=False,
                            description="Translate text line by line. The settings of the search are the model's own.")
    parser.add_argument("files", nargs="*", default=[], metavar="FILE",
                        help="What to translate; none, or -: standard input.")
    parser.add_argument("--input", nargs="+", default=[], metavar="FILE", help="The same, after those named first.")
    parser.add_argument("--output", default=SUPPRESS, metavar="FILE",
                        help="Where to write, instead of standard output.")
    parser.add_argument("--model", default=SUPPRESS, metavar="DIR",
                        help="A model or run folder; otherwise the newest finished run's.")
    parser.add_argument("--scores", action="store_true",
                        help="Write score TAB text: the log-probability divided by length ** length penalty.")
    add_device_options(parser, precision="auto")
    add_decoding_options(parser, "beam_size", "length_penalty", "max_length_ratio", "batch_size", "n_best")
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
        translator = load_translator(options)
        output = stack.enter_context(open_output(options.get("output"), names))
        chunks = (chunk for file in inputs for chunk in read_chunks(file, translator.decoding.batch_size * BYTES_AHEAD))
        for block in translate_chunks(translator, chunks, n_best="n_best" in options, scores=options.scores):
            output.write(block)
            output.flush()


def open_input(name: str) -> IO[bytes]:
    """Unbuffered, so that reading returns what is there and doesn't wait for more."""
    if name != "-":
        return open(name, "rb", buffering=0)
    # A parent may have left it non-blocking: an empty read would then look like the end.
    os.set_blocking(0, True)
    return open(0, "rb", buffering=0, closefd=False)


def open_output(name: str | None, inputs: list[str]) -> IO[bytes]:
    """Standard output by its number: Python's own object would try to flush into a closed pipe once more at exit."""
    if name is None:
        return open(1, "wb", closefd=False)
    if Path(name).exists() and any(Path(name).samefile(other) for other in inputs if other != "-"):
        raise ValueError(f"--output {name} is also an input: it would be emptied before it is read")
    return open(name, "wb")


def load_translator(options: Any) -> "Translator":
    """The model that the options name, with the decoding settings they give in place of its own."""
    from nmt.decode.translator import Translator, find_model

    folder = find_model(options.get("model"))
    if "model" not in options:
        print(f"Model: {folder}", file=sys.stderr)
    translator = Translator.load(folder, options.device, precision=options.precision)
    translator.decoding = override_decoding(translator.decoding, options)
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


def translate_chunks(translator: "Translator", chunks: Iterable[list[bytes]], *, n_best: bool = False,
                     scores: bool = False) -> Iterator[bytes]:
    """The output for each chunk of lines."""
    index = 0
    for chunk in chunks:
        answers = translator.translate_n_best([line.decode("utf-8", "surrogateescape") for line in chunk])
        yield "".join(f"{show(index + i, translation, n_best=n_best, scores=scores)}\n"
                      for i, answer in enumerate(answers) for translation in answer).encode()
        index += len(chunk)


def show(index: int, translation: "Translation", *, n_best: bool, scores: bool) -> str:
    """One output line, without its end."""
    if n_best:
        return f"{index} ||| {translation.text} ||| {translation.score:.4f}"
    return f"{translation.score:.4f}\t{translation.text}" if scores else translation.text


if __name__ == "__main__":
    sys.exit(main())
