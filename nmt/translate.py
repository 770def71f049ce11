"""Command: lines of text flow in; their translations flow out, one line for each line.

Input is bytes, and only LF ends a line. Each line becomes one line (with --n-best N up to N), a blank line a blank one.
Lines are translated as they come: those that have arrived are translated together and written out.
"""

import sys
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING

from nmt.commands.options import Options, Parser, add_search_options, add_translator_options, as_main, load_translator
from nmt.commands.streams import BYTES_AHEAD, open_input, open_output, read_chunks
from nmt.config import SearchConfig
from nmt.config.names import override_search
from nmt.messages import print_to_stderr, status

if TYPE_CHECKING:
    from nmt.translation.jobs import Scoring, Translating
    from nmt.translation.translator import Translator

EXAMPLES = """
python -m nmt.translate < input.de > output.en
python -m nmt.translate --model runs/de-en-phrasebook --beam-size 1 --output output.en input.de
python -m nmt.translate letter.md --output letter.en.md
"""
MORE_AHEAD = 4  # times as many bytes are read at once where several processes read them (`nmt.translation.readers`)
OPTIONS = """
--format {text,tsv,jsonl} = text: Format of input and output. text: an input line is a source, and the output line its
    translation. tsv: the first column is the source, and the columns translation, score and flags are added. jsonl: a
    line is a string, or an object with "text" and optionally "prefix", "must" and "must_not", and the members
    translation, score, confidence, tokens, flags and more are added.
--markup {auto,html,none} = auto: Which lines are HTML or XML: their tags follow the words that they mark, and their
    paragraphs are translated apart. auto takes lines with tags that all match; html takes all lines, and a JSON text as
    a whole.
--output FILE: File to write instead of standard output.
--scores: Write score TAB text. The score is the log-probability divided by length ** length penalty.
--alignments: Write text ||| 0-0 1-2 …: pairs of source and target word numbers, from 0, that are aligned.
--verbose: Print model, device, precision and speed on stderr.
== Documents
--document FORMAT: Format of a file that is translated as a whole, such as md, html, srt, po, json: its layout stays.
    Without this option, the suffix of the file says it; .txt and .tsv are lines.
--columns COLUMN...: Column to translate in a CSV or TSV file: a name in its first line, or a number from 1. Commas
    separate several columns.
--memory FILE...: Translation memories (TMX): a text that is in one of them gets its translation, and a similar text
    too, which is then flagged fuzzy. Texts with tags in them are translated.
--memory-threshold PERCENT: Similarity from which the memory is used (default: 80); 100: only equal texts.
--all-entries: Also translate entries that have a translation already, in formats with both languages.
--encoding NAME: Encoding of a document that isn't UTF-8 and doesn't name its encoding, such as cp1252.
== Model and device
--model DIR...: Model or run folder. Without it, the newest finished run that translates. Several models are an
    ensemble.
"""
SCORER = """
--scorer DIR: Model or run folder of a pair scorer, which estimates the quality of translations without references: the
    probability, 0 to 1, that source and translation belong together. The quality follows the score (--scores, --n-best)
    or the flags (tsv), or is a member (jsonl). With --force-decode and without --model, only the quality is written.
"""
CONSTRAINTS = """
--must TEXT...: Phrase that every translation must contain; | separates alternatives, * is any ending.
--must-not TEXT...: Phrase that no translation may contain, written as for --must.
--glossary FILE: File with lines of source TAB target: translations of the source must contain the target.
--item REGEX...: Python regular expression of text that translations must keep as it is, such as '[A-Z]+-[0-9]+' for
    part numbers. Placeholders, addresses, tags and emoji are known already. A repeated group must not have repeats or
    alternatives in it, since such expressions can take very long; several repeats side by side can be slow too.
--force-decode: Score given translations instead of translating. An input line is source TAB translation, or an object
    with "text" and "translation" (jsonl). The output is the score (text), the line and the score (tsv), or the object
    with all scores (jsonl).
"""


def make_translate_parser() -> Parser:
    text = "Translate text line by line, so that each input line becomes one output line, or documents as a whole."
    parser = Parser("nmt.translate", text, EXAMPLES, "[options] [FILE ...]")
    text = "File to translate (or .gz of it). Without a file, or for -, standard input is translated."
    parser.add("files", "FILE...", text)
    parser.begin("Input and output")
    text = "More files to translate, after those without an option."
    parser.add("--input", "FILE...", text, nargs="+")
    parser.add_table(OPTIONS)
    add_translator_options(parser)
    parser.add_table(SCORER)
    parser.begin("Constraints on the translations of all lines")
    parser.add("--prefix", "TEXT", "Text that every translation begins with.", default="")
    parser.add_table(CONSTRAINTS)
    add_search_options(parser)
    return parser


@as_main("translate", make_translate_parser)
def main(options: Options) -> None:
    """Translate all inputs. The output is opened last, so that a wrong option or file doesn't create or change it."""
    from nmt.commands.documents import document_format, translate_file
    from nmt.translation.jobs import Translating, make_job
    from nmt.translation.pair_scorer import PairScorer
    from nmt.translation.translator import find_model

    with ExitStack() as stack:
        names = [*options.files, *options.input] or ["-"]
        format_name = document_format(options, names)
        inputs = [stack.enter_context(open_input(name)) for name in names]
        translator, languages = load_models(options)
        scorer = None
        if "scorer" in options:
            scorer = PairScorer.load(find_model(options.scorer), options.device, options.precision, languages)
        search = override_search(translator.search if translator else SearchConfig(), options)
        job = make_job(options, translator, search, scorer)
        if format_name:
            assert isinstance(job, Translating)
            assert languages
            translate_file(job, options, inputs[0], format_name, languages)
        else:
            translate_lines(job, options, names, inputs)
        for line in job.report(verbose=options.verbose):
            print_to_stderr(line)


def translate_lines(job: "Translating | Scoring", options: Options, names: list[str], inputs: list[IO[bytes]]) -> None:
    ahead = BYTES_AHEAD * (MORE_AHEAD if job.translator and job.translator.readers else 1)
    out = options.get("output")
    with open_output(out, inputs, [options.get("glossary", "")]) as output, status("lines: 0", out) as update:
        for name, file in zip(names, inputs, strict=True):
            if len(names) > 1:
                job.remarks.enter(name, job.lines)
            for chunk in read_chunks(file, job.search.batch_size * ahead):
                output.write(job.answer(chunk))
                output.flush()
                update(f"lines: {job.lines:,}")


def load_models(options: Options) -> "tuple[Translator | None, tuple[str, str] | None]":
    """The translator with its source and target language; None if only the quality of given translations is asked
    for: with --force-decode and --scorer, and without --model."""
    from nmt.translation.translator import find_model

    if options.force_decode and "scorer" in options and not options.model:
        return None, None
    folders = [find_model(folder) for folder in options.model or [None]]
    source, target = options.get("source", ""), options.get("target", "")
    translator = load_translator(options, folders, source, target)
    if options.verbose:
        print_to_stderr(f"{', '.join(map(str, folders))}: {translator.describe()}")
    return translator, (source or translator.source, target or translator.language)


if __name__ == "__main__":
    sys.exit(main())
