"""Command lines and settings files (YAML) flow in, checked settings flow out; also help, exit codes and messages.

Precedence, from low to high: the defaults of `nmt.config`, `--config FILE`, the command line. All commands use the same
syntax: `--section.field VALUE`. The section may be omitted if only one setting has that name; - may replace _.
"""

import gc
import itertools
import os
import sys
from argparse import SUPPRESS, Action, ArgumentError, HelpFormatter, _AppendAction
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from nmt.config import FAMILIES, Backend, Config, DecodingPrecision, SearchConfig
from nmt.config.names import explain_error, first_sentence, read_settings, sections, setting_types, short_help
from nmt.fields import MAY_CHANGE, Metavar, annotations, make_entry, require
from nmt.messages import say, show_value
from nmt.upgrade import FORMAT

# Exit status after the reader of a pipe has closed it: 128 + SIGPIPE.
PIPE_CLOSED = 141


class Help(HelpFormatter):
    """The layout of --help: the default after each option's text; examples stay as they are written."""

    def __init__(self, prog: str, **layout: Any) -> None:
        super().__init__(prog, max_help_position=28, **layout)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)

    def _get_help_string(self, action: Action) -> str:
        default = "" if action.nargs == 0 or action.default == SUPPRESS else show_value(action.default)
        return (action.help or "") + (f" (default: {default})" if default else "")


def make_parser(prog: str, description: str, examples: str = "", usage: str = "[options]") -> Any:
    """A `jsonargparse.ArgumentParser` without options. `examples`: command lines for the end of --help."""
    from jsonargparse import ArgumentParser

    prepare_jsonargparse()
    epilog = "\n".join(["Examples:", *(f"  {line}" for line in examples.strip().splitlines())]) if examples else None
    parser = ArgumentParser(
        prog=f"python -m {prog}",
        usage=f"%(prog)s {usage}",
        description=description,
        epilog=epilog,
        formatter_class=Help,
        exit_on_error=False,
        allow_abbrev=False,
    )
    parser._positionals.title, parser._optionals.title = "Arguments", "General"
    parser._actions[0].help = "Show this help and exit."
    return parser


@cache
def prepare_jsonargparse() -> None:
    """Let jsonargparse read the docstrings of fields, and make the entries of lists with `make_entry`. By itself, it
    would import what an entry names as its class, and so run code that the sender of a recipe chose."""
    from jsonargparse import set_parsing_settings
    from jsonargparse.typing import register_type

    set_parsing_settings(docstring_parse_attribute_docstrings=True)
    for kind in {kind for hint, *_ in setting_types().values() for kind in get_args(hint)}:
        if isinstance(kind, type) and is_dataclass(kind):
            register_type(kind, plain, partial(make_entry, kind))


def plain(entry: Any) -> Any:
    """A dataclass as YAML can have it, without tuples."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(entry).items()}


def add_options(group: Any, options: Mapping[str, tuple[str, str]]) -> None:
    """Add options without defaults to a group of --help: `options` has the metavar and the help of each.

    An option without a metavar is a switch; one whose metavar ends in ... can be repeated, and its values are a list.
    """
    for option, (name, text) in options.items():
        if name.endswith("..."):
            text = f"{text} The option can be repeated."
            group.add_argument(option, action="append", default=[], metavar=name.removesuffix("..."), help=text)
        elif name:
            group.add_argument(option, default=SUPPRESS, metavar=name, help=text)
        else:
            group.add_argument(option, action="store_true", help=text)


def make_run_parser(
    prog: str, description: str, examples: str = "", usage: str = "[options]", shown: Collection[str] = ()
) -> Any:
    """A parser with an option for every field of `Config`, and --config.

    `shown`: the sections and settings in --help (none named: all); the others are accepted, but not shown.
    """
    parser = make_parser(prog, description, examples, usage)
    text = (
        "YAML file with settings that differ from the defaults. Without it, recipes/CORPUS.yaml is used if it exists."
    )
    parser.add_argument("--config", metavar="FILE", help=text)
    add_settings(parser, Config, None, [name for name in setting_types() if is_shown(name, shown)])
    for action in parser._actions:
        if not shown and MAY_CHANGE in setting_types().get(action.dest, ()):
            action.help += " It may change on resume."
    return parser


def is_shown(name: str, shown: Collection[str]) -> bool:
    return not shown or name in shown or name.partition(".")[0] in shown


def add_settings(parser: Any, kind: type, section: str | None, shown: Collection[str]) -> None:
    """Add an option for every field of a dataclass of settings; help has those whose dotted names are in `shown`."""
    parser.add_class_arguments(kind, section)
    for action in parser._actions:
        if action.dest in setting_types():
            # The plain type: the errors of `check_bounds` give the bounds.
            action._typehint, *marks = setting_types()[action.dest]
            action.metavar = metavar(action._typehint, marks)
        if action.dest in (*sections(), *setting_types()) and action.dest not in shown:
            action.help = SUPPRESS
        if action.dest in sections():  # --data, which jsonargparse adds, and which would import what its value names
            parser._option_string_actions.pop(f"--{action.dest}", None)
    for group in parser._action_groups:
        group.title = group.title and first_sentence(group.title).rstrip(".")


def metavar(hint: Any, marks: Collection[Any] = ()) -> str:
    """What help shows in place of a value of this type: N for whole numbers, X for other numbers."""
    named = next((mark.name for mark in marks if isinstance(mark, Metavar)), "")
    if named or hint in (int, float, bool, str):
        return named or {int: "N", float: "X", bool: "{true,false}", str: "TEXT"}[hint]
    if get_origin(hint) is Literal:
        return f"{{{','.join(get_args(hint))}}}"
    if get_origin(hint) is tuple:
        return f"[{metavar(get_args(hint)[0])},...]"
    if is_dataclass(hint):
        return "ENTRY"
    kinds = [metavar(kind) for kind in get_args(hint) if kind is not type(None)]
    return "|".join(kinds).replace("{", "").replace("}", "")


def parse(parser: Any, argv: Sequence[str] | None, *, defaults: bool = True) -> Any:
    """Parse a command line; without `defaults`, the result has only the options that were given.

    Raises:
        ValueError: an option is unknown (the nearest name is given), of the wrong type, or out of range.
    """
    options = list(parser._option_string_actions)
    words = spell_options(sys.argv[1:] if argv is None else argv, options)
    tell_repeats(parser, words)
    try:
        parsed = parser.parse_args(words, defaults=defaults)
        return parser.instantiate(parsed) if defaults else parsed
    except ArgumentError as error:
        raise ValueError(explain_error(str(error), [option.lstrip("-") for option in options])) from error


def tell_repeats(parser: Any, words: Sequence[str]) -> None:
    """Print a message for each option that has one value and is given more than once, as in ARGS of make."""
    before: set[str] = set()
    for word in itertools.takewhile(lambda word: word != "--", words):
        option = word.partition("=")[0]
        action = parser._option_string_actions.get(option)
        if action and action.nargs != 0 and not isinstance(action, _AppendAction):
            if action.dest in before:
                say(f"{option} is given more than once: the last value counts")
            before.add(action.dest)


def spell_options(argv: Sequence[str], options: Sequence[str]) -> list[str]:
    """The command line with the full name of every option: --max-steps becomes --training.max_steps."""
    spellings: dict[str, set[str]] = {}
    for option in options:
        name = option.lstrip("-").replace("-", "_")
        for known in {name, name.rpartition(".")[2], f"search.{name}"}:
            spellings.setdefault(known, set()).add(option)
    spelled: list[str] = []
    for i, word in enumerate(argv):
        if word == "--":
            return [*spelled, *argv[i:]]
        option, equals, value = word.partition("=")
        choices = spellings.get(option[2:].replace("-", "_"), set()) if option.startswith("--") else set()
        if choices and option not in choices:
            require(len(choices) == 1, f"{option} can mean {' or '.join(sorted(choices))}: write one of them")
            word = next(iter(choices)) + equals + value
        spelled.append(word)
    return spelled


def recipe_in(given: Any) -> Path | None:
    """The recipe that a command line names."""
    return Path(given.config) if given.get("config") else None


def make_config(parser: Any, given: Any, recipe: Path | None = None) -> Config:
    """Merge a recipe and a command line (`given`, parsed without defaults; it has precedence) into a `Config`.

    Raises:
        ValueError: the recipe can't be read, or a setting is unknown, of the wrong type, or out of range.
    """
    names = [f.name for f in fields(Config)]
    try:
        values = parser.parse_object(read_settings(recipe) if recipe else {}, defaults=False).as_dict()
        for name, value in given.as_dict().items():
            if name in names:
                values[name] = {**values.get(name, {}), **value} if name in sections() else value
        # An objective that only another family can learn chooses that family, unless the settings name one.
        families = FAMILIES.get(values.get("training", {}).get("objective"), ())
        if len(families) == 1:
            values["model"] = {"family": families[0], **values.get("model", {})}
        made = parser.instantiate(parser.parse_object(values))
        return Config(**{name: getattr(made, name) for name in names})
    except ArgumentError as error:
        message = explain_error(str(error), list(setting_types()))
        raise ValueError(f"{recipe}: {message}" if recipe else message) from error


def load_config(path: Path) -> Config:
    """Read a recipe, or the config.yaml of a run. Raises ValueError as `make_config` does."""
    parser = make_run_parser("nmt.train", "")
    return make_config(parser, parse(parser, [], defaults=False), path)


def dump_config(config: Config) -> str:
    """All settings as YAML, for `load_config`."""
    parser = make_run_parser("nmt.train", "")
    return f"format: {FORMAT}\n{parser.dump(parser.parse_object(asdict(config)))}"


def add_settings_options(group: Any, kind: type) -> None:
    """Add an option for each field of a dataclass of settings, with its default."""
    for name, (hint, *marks) in annotations(kind).items():
        default, text = getattr(kind, name), short_help(kind)[name]
        option = f"--{name.replace('_', '-')}"
        group.add_argument(option, default=default, type=hint, metavar=metavar(hint, marks), help=text)


def add_search_options(parser: Any, *names: str) -> None:
    """Add options for these fields of `SearchConfig` (none named: all). Without an option the model's value is used."""
    group = parser.add_argument_group("Search settings, in place of those that the model has from its recipe")
    for f in fields(SearchConfig):
        if not names or f.name in names:
            option, (hint, *marks) = f"--{f.name.replace('_', '-')}", annotations(SearchConfig)[f.name]
            kind = {"choices": choices} if (choices := get_args(hint)) else {"type": hint}
            text = f"{short_help()[f.name]} (default: the model's, else {show_value(f.default)})"
            group.add_argument(option, default=SUPPRESS, metavar=metavar(hint, marks), help=text, **kind)


def add_backend_option(parser: Any) -> None:
    parser.add_argument(
        "--backend",
        default="pytorch",
        choices=get_args(Backend),
        help="What runs the model. ctranslate2 needs a folder that nmt.export wrote for it, and searches nearly as "
        "pytorch does; settings that it can't follow are refused.",
    )


def add_device_options(parser: Any, precision: DecodingPrecision) -> None:
    """Add --device and --precision, for translating."""
    text = "Device to translate on: auto (a GPU if there is one), cpu, cuda or cuda:N."
    parser.add_argument("--device", default="auto", metavar="DEVICE", help=text)
    parser.add_argument(
        "--precision",
        default=precision,
        choices=get_args(DecodingPrecision),
        help="Number format of matrix products. fp32 is exact: translations do not depend on the batch. "
        "bf16 and int8 are faster. auto takes the first of bf16, int8 and fp32 that the machine has instructions for.",
    )


LANGUAGES = {  # of a model that knows several: the option after --source or --target, and its help
    "source": ("--from", "Code of the source language, for a model that must be told it (NLLB, M2M-100)."),
    "target": ("--to", "Code of the target language, for a model that knows several."),
}
ADAPTER = {
    "--adapter": (
        "DIR",
        "Adapter folder, or the run folder of an adapter, that is added to the weights of the model (LoRA). The model "
        "must be the one that the adapter was trained on.",
    )
}
LM = {"--lm": ("DIR", "Model or run folder of a language model of the target language, used with --lm-weight.")}


def add_languages(group: Any, ending: str = "") -> None:
    """Add the options --source and --target, with this ending, which are also called --from and --to."""
    for side, (option, text) in LANGUAGES.items():
        group.add_argument(f"--{side}{ending}", option, default=SUPPRESS, metavar="LANGUAGE", help=text)


def require_lm(options: Any, search: SearchConfig) -> None:
    """Raise ValueError if --lm is given without a weight, or its settings without --lm. A weight of 0, which is the
    default, needs none."""
    if "lm" in options:
        require(
            search.lm_weight > 0, "--lm needs a weight above 0, because search.lm_weight is 0: give --lm-weight too"
        )
    given = next((name for name in ("lm_weight", "lm_mode") if options.get(name)), "")
    require("lm" in options or not given, f"--{given.replace('_', '-')} needs a language model: give --lm DIR")


def keep_what_is_loaded() -> None:
    """Leave what a command has loaded out of garbage collection. Otherwise the collector looks through 170,000 objects,
    most of them PyTorch's, again and again: 6% of the time of a small, fast model."""
    if not gc.get_freeze_count():
        gc.freeze()


def run_command(name: str, command: Callable[[], int]) -> int:
    """Run a command; return its exit status. ValueError and OSError become one line on stderr and 2, Ctrl-C 130.

    If the reader of the output leaves early (`| head`), the command ends without a message.
    """
    try:
        status = command()
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # What is still in the buffer of standard output would fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return PIPE_CLOSED
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename is not None else str(error)
    except (ValueError, FloatingPointError) as error:
        message = str(error)
    except KeyboardInterrupt as interrupt:
        print(f"\n{interrupt}" if interrupt.args else "", file=sys.stderr)
        return 130
    print(f"nmt.{name}: {message}", file=sys.stderr)
    return 2
