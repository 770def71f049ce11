"""Command: prompts flow in, continuations by a language model flow out; with --score, texts in, probabilities out.

Input is bytes, and only LF ends a line. Lines are answered as they come: those that have arrived are continued
together. A line that comes alone is answered piece by piece.
"""

import sys
from contextlib import ExitStack

from nmt.commands.options import DEVICE, Options, Parser, add_search_options, as_main
from nmt.commands.streams import BYTES_AHEAD, open_input, open_output, read_chunks
from nmt.fields import require
from nmt.messages import print_to_stderr

EXAMPLES = """
python -m nmt.generate --model runs/en-phrasebook-lm --prompt "The weather" --temperature 0.7
python -m nmt.generate --model runs/en-phrasebook-lm --samples 3 --stop . < prompts.txt > texts.txt
python -m nmt.generate --model runs/en-phrasebook-lm --score test.en > scores.tsv
"""
OPTIONS = """
== Input and output
files FILE...: File with prompts (or .gz of it). Without a file, or for -, standard input is read.
--prompt TEXT: Text to continue, instead of files; it may be empty. The output is written as it is sampled.
--output FILE: File to write instead of standard output.
--score: Score texts instead of continuing them. An input line is a text. The output has its log-probability, the mean
    log-probability of its pieces, its perplexity and its bits per character. A summary is on stderr.
--verbose: Print model, device and precision on stderr.
== Model and device
--model DIR: Model or run folder of a language model. Without it, the newest such run.
"""
CONTINUATIONS = """
== Continuations
--stop TEXT...: Text before which a continuation ends.
--greedy: Take the most probable piece at each step, instead of sampling.
"""


def make_generate_parser() -> Parser:
    text = "Continue text with a language model: each input line is a prompt, and each output line its continuation."
    parser = Parser("nmt.generate", text, EXAMPLES, "[options] [FILE ...]", OPTIONS)
    parser.add_table(DEVICE + CONTINUATIONS)
    # Fields of SearchConfig that mean something else, or have other defaults, where there is nothing to translate.
    parser.add("--samples", "N", "Number of continuations of each prompt. (default: the model's, else 1)", int)
    text = "Maximum number of pieces of a continuation. (default: the model's, else 200)"
    parser.add("--max-length", "N", text, int)
    text = "Temperature of sampling, by which the logits are divided; 0 is --greedy. (default: the model's, else 1)"
    parser.add("--temperature", "X", text, float)
    add_search_options(parser, "top_k", "top_p", "min_p", "seed", "batch_size")
    return parser


@as_main("generate", make_generate_parser)
def main(options: Options) -> None:
    """Answer all inputs. The output is opened last, so that a wrong option doesn't create or change the file."""
    from nmt.commands.generator import make_job
    from nmt.translation.language_model import LanguageModel
    from nmt.translation.translator import find_model

    several = "--prompt is a prompt, and so are the lines of a FILE: give one"
    require("prompt" not in options or not options.files, several)
    with ExitStack() as stack:
        names = [] if "prompt" in options else options.files or ["-"]
        inputs = [stack.enter_context(open_input(name)) for name in names]
        folder = find_model(options.get("model"), "lm")
        require(options.precision != "int8", "precision int8 is for translators: take auto, fp32 or bf16")
        lm = LanguageModel.load(folder, options.device, precision=options.precision)
        if options.verbose:
            print_to_stderr(f"{folder}: {lm.describe()}")
        job = make_job(options, lm)
        output = stack.enter_context(open_output(options.get("output"), inputs))
        prompt = options.get("prompt", "").encode("utf-8", "surrogateescape")
        size = job.search.batch_size * BYTES_AHEAD
        texts = [(name, read_chunks(file, size)) for name, file in zip(names, inputs, strict=True)]
        for name, chunks in texts or [("", iter([[prompt]]))]:
            if len(names) > 1:
                job.remarks.enter(name, job.lines)
            for part in (part for chunk in chunks for part in job.answer(chunk)):
                output.write(part)
                output.flush()
        for line in job.report():
            print_to_stderr(line)


if __name__ == "__main__":
    sys.exit(main())
