"""From recipe files and the command line to a `Config`, strictly; and back to a YAML file.

Later wins: the defaults of `nmt.config`, then `--config FILE`, then `--section.field VALUE`.
"""

import difflib
import os
import re
import sys
from argparse import SUPPRESS, ArgumentError
from collections.abc import Callable
from dataclasses import asdict, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from nmt.config import Config, DecodingPrecision, SearchConfig

if TYPE_CHECKING:
    from rich.console import Console

# The number of this process among those that torchrun started.
RANK = int(os.environ["RANK"]) if "TORCHELASTIC_RUN_ID" in os.environ else 0

DECODING_HELP = {
    "beam_size": "Hypotheses kept at each step; 1 is greedy search.",
    "length_penalty": "Exponent of the length that divides a hypothesis's log-probability; 0: none.",
    "length_norm": "What is raised to it: the length (average), or (5 + length) / 6 (gnmt).",
    "coverage_penalty": "Weight of the penalty for source parts left out; 0: none, 0.2 is usual.",
    "min_length": "Fewest pieces of a translation.",
    "max_length": "Most pieces of a translation; 0: no limit but the next.",
    "max_length_ratio": "Longest output, as a multiple of the source's pieces, plus 10.",
    "no_repeat_ngram": "No sequence of so many pieces is written twice; 0: any may be.",
    "repetition_penalty": "What the log-probability of a piece already written is multiplied by; 1: nothing.",
    "beam_groups": "Parts of the beam that avoid one another's pieces, for n-best lists that differ.",
    "diversity": "How much they avoid them, in log-probability.",
    "prefix_bias": "1: a prefix is binding; below 1: hypotheses lean to it so much.",
    "samples": "Draw so many translations of each sentence at random instead of searching: beam, penalties and phrases "
    "are for searching.",
    "temperature": "Of drawing: below 1 the probable becomes more probable.",
    "top_k": "Of drawing: from the so many most probable pieces; 0: all.",
    "top_p": "Of drawing: from the fewest pieces that have this probability together.",
    "min_p": "Of drawing: from pieces with at least this share of the most probable one's probability.",
    "seed": "Of drawing.",
    "mbr": "Of the beam, or of the samples, take what is most like the others, by this measure.",
    "split_above": "A line of more pieces than this is translated sentence by sentence.",
    "span_pieces": "Longest source that is given to the model; longer sentences are cut at spaces.",
    "shortlist": "Write only what source pieces usually become, the N (to 16) likeliest of each; 0: all. 8 is faster. "
    "Not for samples, nor for lines of which something is demanded.",
    "guard": "Try again, in other ways, what looks wrong, and tell on stderr what still does: true or false.",
    "n_best": "Write up to N, best first, a line each: index of the input line (from 0) ||| text ||| score.",
    "batch_size": "Sentences translated together.",
}


def make_parser(prog: str, description: str) -> Any:
    """A `jsonargparse.ArgumentParser` for every field of `Config`, with --config; the field docstrings are its help."""
    from jsonargparse import ArgumentParser, set_parsing_settings

    set_parsing_settings(docstring_parse_attribute_docstrings=True)
    parser = ArgumentParser(prog=f"python -m {prog}", description=description, exit_on_error=False)
    parser.add_argument("--config", action="config", help="A recipe: YAML with what differs from the defaults.")
    parser.add_class_arguments(Config, None)
    return parser


def parse(parser: Any, argv: list[str] | None) -> Any:
    """Parsed options, with every section of `Config` made and checked.

    Raises:
        ValueError: a setting is unknown (the nearest name is given), of the wrong type, or out of range.
    """
    try:
        return parser.instantiate(parser.parse_args(argv))
    except ArgumentError as error:
        names = re.findall(r"--([\w.-]+)", parser.format_usage())
        raise ValueError(explain(str(error), names)) from error


def as_config(options: Any) -> Config:
    """The `Config` among parsed options."""
    return Config(**{f.name: getattr(options, f.name) for f in fields(Config)})


def load_config(path: Path) -> Config:
    """Read a recipe, or the config.yaml of a run. Raises ValueError as `parse`."""
    return as_config(parse(make_parser("nmt.train", ""), ["--config", str(path)]))


def dump_config(config: Config) -> str:
    """All settings as YAML, for `load_config`."""
    parser = make_parser("nmt.train", "")
    return str(parser.dump(parser.parse_object(asdict(config))))


def add_decoding_options(parser: Any, *names: str) -> None:
    """Options for these fields of `SearchConfig`, spelled --beam-size; those not given keep the model's own value."""
    for f in fields(SearchConfig):
        if f.name in names:
            option, text = f"--{f.name.replace('_', '-')}", DECODING_HELP[f.name]
            if choices := get_args(f.type):
                parser.add_argument(option, choices=choices, default=SUPPRESS, help=text)
            else:
                parser.add_argument(option, type=type(f.default), default=SUPPRESS, metavar="N", help=text)


def add_device_options(parser: Any, precision: DecodingPrecision) -> None:
    """Where and how precisely to translate."""
    parser.add_argument("--device", default="auto", help="auto (a GPU if there is one), cpu, cuda or cuda:N.")
    parser.add_argument(
        "--precision",
        default=precision,
        choices=get_args(DecodingPrecision),
        help="fp32: the same translations on every machine and in every batch; bf16 or int8: faster, "
        "where the machine has them; auto: the fastest (on a CPU bf16, or else int8).",
    )


def override_decoding(decoding: SearchConfig, options: Any) -> SearchConfig:
    """The model's own settings, with those that the options give in their place."""
    return replace(decoding, **{f.name: options[f.name] for f in fields(SearchConfig) if f.name in options})


def setting_names(kind: type = Config, prefix: str = "") -> list[str]:
    """Every setting's dotted name."""
    names = []
    for f in fields(kind):
        if is_dataclass(f.type) and isinstance(f.type, type):
            names += setting_names(f.type, f"{prefix}{f.name}.")
        else:
            names.append(prefix + f.name)
    return names


def flatten(config: Config) -> dict[str, Any]:
    """Every setting's value by its dotted name."""
    values = {}
    for name in setting_names():
        value: Any = config
        for part in name.split("."):
            value = getattr(value, part)
        values[name] = value
    return values


def explain(message: str, names: list[str]) -> str:
    """The parser's message in one line, with the nearest of `names` for a name that is none."""
    line = " ".join(message.split())
    unknown = re.search(r"Group '(\S+)' does not accept option '(\S+)'", line)
    name = f"{unknown[1]}.{unknown[2]}" if unknown else ""
    if unknown := re.search(r"(?:unrecognized arguments: --|Key ['\"])([\w.-]+)", line):
        name = unknown[1]
    if not name:
        line = line.replace("a <class 'int'>", "a whole number").replace("a <class 'float'>", "a number")
        return re.sub(r'^Parser key "([\w.]+)":', r"\1:", line.replace("a typing.Literal", "one of "))
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"there is no setting {name}" + (f": did you mean {near[0]}?" if near else "; --help lists all")


@cache
def console() -> "Console":
    """Where the user is told things: stderr."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(line: str) -> None:
    """Tell the user a line, on stderr; of several processes that torchrun started only the first does."""
    if RANK == 0:
        console().print(line, markup=False, soft_wrap=True)


def run_command(name: str, command: Callable[[], int]) -> int:
    """Run a command's body; a user's mistake becomes one line on stderr and exit status 2, Ctrl-C 130."""
    try:
        return command()
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename is not None else str(error)
    except (ValueError, FloatingPointError) as error:
        message = str(error)
    except KeyboardInterrupt as interrupt:
        print(f"\n{interrupt}" if interrupt.args else "", file=sys.stderr)
        return 130
    print(f"nmt.{name}: {message}", file=sys.stderr)
    return 2
