"""Words of a command line flow in, typed options flow out; also --help, exit statuses, and errors without a traceback.

All commands use the same syntax: `--section.field VALUE`. The section may be omitted if only one setting has that name;
- may replace _.
"""

import gc
import os
import re
import shutil
import sys
import textwrap
from argparse import SUPPRESS, Action, ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args, get_origin

from nmt.config import Backend, Config, DecodingPrecision, SearchConfig
from nmt.config.names import explain_unknown, first_sentence, long_help, sections, setting_types, short_help
from nmt.config.yaml12 import read_yaml
from nmt.extras import typed
from nmt.fields import MAY_CHANGE, Metavar, annotations, fits_type, read_value, require
from nmt.messages import print_to_stderr, say, show_value
from nmt.upgrade import without_removed

if TYPE_CHECKING:
    from nmt.translation.translator import Translator

Command = Callable[..., int]


class Options(dict[str, Any]):
    """Options by their names, and as members: options.beam_size. Those without a default are there only if given."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def read_text(text: str, hint: Any, named: str) -> Any:
    """A value as it is written on a command line: texts as they stand, values of other types as in YAML."""
    value: Any = text
    with suppress(ValueError):
        value = read_yaml(text)
    value = without_removed(value, named)
    # YAML would read only a part of a text such as "letter #2", and none of its outer quotes.
    as_written = isinstance(value, str) or not fits_type(value, hint)
    return read_value(text if as_written else value, hint, named)


class Parser(ArgumentParser):
    """The command line of a command. Its errors are ValueErrors.

    Defaults are kept here, not by argparse: then it is known which options were given.
    """

    def __init__(
        self, prog: str, description: str, examples: str = "", usage: str = "[options]", options: str = ""
    ) -> None:
        """`examples`: command lines for the end of --help, which shows `python -m nmt.X` as it is typed here.
        `options`: the first ones (see `add_table`)."""
        lines = [f"  {line}" for line in examples.replace("python -m nmt.", typed("")).strip().splitlines()]
        super().__init__(
            prog=typed(prog.removeprefix("nmt.")),
            usage=f"%(prog)s {usage}",
            description=textwrap.fill(description, shutil.get_terminal_size().columns - 2),
            epilog="\n".join(["Examples:", *lines]) if lines else None,
            formatter_class=partial(RawDescriptionHelpFormatter, max_help_position=28),
            allow_abbrev=False,
            add_help=False,
        )
        self.defaults: dict[str, Any] = {}
        self.options: dict[str, Action] = {}  # by names and spellings, such as --training.max_steps
        self.hints: dict[str, tuple[Any, str]] = {}  # of options with a value: its type, and how errors name them
        self.hidden: list[tuple[Action, str]] = []  # what --help leaves out, and the help of each
        self.shows_all = "--help"  # the option that shows every setting
        self.arguments, self.group = self.add_argument_group("Arguments"), self.add_argument_group("General")
        self.group.add_argument("-h", "--help", action="help", help="Show this help and exit.")
        self.add_table(options)

    def begin(self, title: str) -> None:
        """Begin a group of --help, with the options that are added from now on."""
        self.group = self.add_argument_group(title)

    def add(self, names: str, metavar: str, text: str, hint: Any = None, default: Any = None, **details: Any) -> None:
        """Add an option to the group; names without dashes are those of an argument.

        Args:
            names: the spellings, with spaces between them.
            metavar: what help shows for the value. Without one, the option is a switch. If it ends in ..., the option
                can be repeated, and its values are a list. Of {a,b}, the value must be a or b.
            text: the help, to which the default is added.
            hint: the type of the value; text without one.
            default: without one, the option is in the result only if it is given.
            details: for argparse.
        """
        many, is_option = metavar.endswith("..."), names.startswith("-")
        metavar = metavar.removesuffix("...")
        text += " The option can be repeated." if many and is_option and "nargs" not in details else ""
        text += f" (default: {show_value(default)})" if show_value(default) else ""
        details |= {"nargs": "*"} if many and not is_option else {}
        details |= {"metavar": metavar} if metavar else {}
        kind = ("extend" if many and "nargs" in details else "append") if metavar else "store_true"
        action = (self.group if is_option else self.arguments).add_argument(
            *names.split(), action=kind, default=SUPPRESS, help=text.replace("%", "%%"), **details
        )
        self.options |= dict.fromkeys(action.option_strings, action)
        if metavar and not many:
            choices = Literal[tuple(metavar[1:-1].split(","))] if metavar.startswith("{") else str
            self.hints[action.dest] = hint or choices, [*action.option_strings, metavar][0]
        standard = [] if many else default if metavar else False
        self.defaults |= {} if standard is None else {action.dest: standard}

    def add_table(self, options: str, **details: Any) -> None:
        """Add options and arguments. Each begins a line with its name, its metavar, = and its default if it has one,
        and a colon; the help follows, in lines that are indented. A line that begins with == begins a group of --help.
        `details`: for argparse, of those that can be repeated (see `add`)."""
        for entry in filter(None, re.split(r"\n(?=\S)", options.strip())):
            if entry.startswith("== "):
                self.begin(entry.removeprefix("== "))
                continue
            definition, text = entry.split(": ", 1)
            head, equals, default = definition.partition(" = ")
            name, _, metavar = head.partition(" ")
            more = details if metavar.endswith("...") else {}
            self.add(name, metavar, " ".join(text.split()), default=default if equals else None, **more)

    def add_settings(self, section: str | None, shown: Collection[str]) -> None:
        """Add a group with an option for each setting of a section; --help shows those whose names are in `shown`."""
        kind = sections()[section] if section else Config
        self.begin(first_sentence(kind.__doc__ or "").rstrip("."))
        for field, text in long_help(kind).items():
            name = f"{section}.{field}" if section else field
            hint, *marks = setting_types()[name]
            text += " It may change on resume." if MAY_CHANGE in marks and "--resume" in self.options else ""
            default = next(f.default for f in fields(kind) if f.name == field)
            self.add(f"--{name}", show_type(hint, marks), text, hint, default)
            self.defaults.pop(name, None)  # `make_config` has the defaults of settings
            if name not in shown:
                action = self.options[f"--{name}"]
                self.hidden.append((action, action.help or ""))
                action.help = SUPPRESS

    def error(self, message: str) -> NoReturn:
        raise ValueError(message.removeprefix("argument "))

    def parse(self, argv: Sequence[str] | None = None) -> Options:
        """The options of a command line. Raises ValueError if one is unknown, or its value has another type."""
        argv = sys.argv[1:] if argv is None else argv
        if "--help-all" in argv:
            for action, text in self.hidden:
                action.help = text
        found, unknown = self.parse_known_args(self.spell(argv))
        known = [option.lstrip("-") for option in self.options]
        for word in unknown:
            name = word.partition("=")[0].removeprefix("--")
            require(name == word or not name, explain_unknown(name, known, self.shows_all))
        require(not unknown, f"unexpected words on the command line: {' '.join(unknown)}; see --help")
        read = {name: self.read(name, given) for name, given in vars(found).items()}
        return Options({**self.defaults, **read})

    def read(self, name: str, given: Any) -> Any:
        """What an option was given, by its type; of one with a single value, the last."""
        if name not in self.hints:
            return given
        hint, named = self.hints[name]
        if len(given) > 1:
            say(f"{named} is given more than once: the last value counts")
        return read_text(given[-1], hint, name if name in setting_types() else named)

    def spell(self, argv: Sequence[str]) -> list[str]:
        """The command line with the full name of every option: --max-steps becomes --training.max_steps."""
        spellings: dict[str, set[str]] = {}
        for option in self.options:
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


def make_run_parser(*about: str, shown: Collection[str] = (), options: str = "") -> Parser:
    """A parser with an option for every field of `Config`, and --config.

    `about`: as for `Parser`. `shown`: the settings in --help (none: all); the others are accepted, and in --help-all.
    `options`: those of the command alone (see `Parser.add_table`).
    """
    parser = Parser(*about)
    text = "Show all settings and exit."
    parser.shows_all = "--help-all"
    parser.group.add_argument(parser.shows_all, action="help", help=text)
    text = (
        "YAML file with settings that differ from the defaults, or the name of a recipe of nmt, such as modern. "
        "Without it, the recipe with the name of the corpus is used if there is one."
    )
    parser.add("--config", "FILE", text)
    parser.add_table(options)
    for section in (None, *sections()):
        parser.add_settings(section, shown or setting_types())
    return parser


def show_type(hint: Any, marks: Collection[Any] = ()) -> str:
    """What help shows in place of a value of this type: N for whole numbers, X for other numbers."""
    named = next((mark for mark in marks if isinstance(mark, Metavar)), "")
    if named or hint in (int, float, bool, str):
        return named or {int: "N", float: "X", bool: "{true,false}", str: "TEXT"}[hint]
    if get_origin(hint) is Literal:
        return f"{{{','.join(get_args(hint))}}}"
    if get_origin(hint) is tuple:
        return f"[{show_type(get_args(hint)[0])},...]"
    if is_dataclass(hint):
        return "ENTRY"
    kinds = [show_type(kind) for kind in get_args(hint) if kind is not type(None)]
    return "|".join(kinds).replace("{", "").replace("}", "")


def add_settings_options(parser: Parser, kind: type) -> None:
    for name, (hint, *marks) in annotations(kind).items():
        default, text = getattr(kind, name), short_help(kind)[name]
        parser.add(f"--{name.replace('_', '-')}", show_type(hint, marks), text, hint, default)


def add_search_options(parser: Parser, *names: str) -> None:
    """Add options for these fields of `SearchConfig` (none named: all). Without an option the model's value is used."""
    parser.begin("Search settings, in place of those that the model has from its recipe")
    for name in names or short_help():
        hint, *marks = annotations(SearchConfig)[name]
        text = f"{short_help()[name]} (default: the model's, else {show_value(getattr(SearchConfig, name))})"
        parser.add(f"--{name.replace('_', '-')}", show_type(hint, marks), text, hint)


BACKEND = f"""
--backend {show_type(Backend)} = auto: What runs the model. auto: on a CPU, CTranslate2 does plain searches (without
    terms, samples and n-best lists) of the models that it can run; PyTorch does all else. ctranslate2 needs a folder
    that nmt.export wrote for it; settings that it can't follow are refused.
"""
DEVICE = f"""
--device DEVICE = auto: Device to translate on: auto (a GPU if there is one), cpu, cuda or cuda:N.
--precision {show_type(DecodingPrecision)} = auto: Number format of matrix products. auto: fp32 on a CPU; on a GPU bf16
    if it has that, else fp32. int8: CTranslate2 computes in int8: faster, and about 1 line of 10 differs in a word.
    With fp32, translations do not depend on the batch.
"""


def add_translator_options(parser: Parser, ending: str = "") -> None:
    """Add the options that `load_translator` follows. `ending`: of --source and --target."""
    text = "Code of the source language, for a model that must be told it (NLLB, M2M-100)."
    parser.add(f"--source{ending} --from", "LANGUAGE", text)
    parser.add(f"--target{ending} --to", "LANGUAGE", "Code of the target language, for a model that knows several.")
    text = "Adapter folder, or the run folder of an adapter, that is added to the weights of the model (LoRA): of the "
    parser.add("--adapter", "DIR", text + "model that it was trained on.")
    parser.add_table(BACKEND + DEVICE)


def load_translator(options: Options, folders: Sequence[Path], source: str, target: str) -> "Translator":
    """The translator that options ask for, between these languages, with its adapter."""
    from nmt.translation.translator import Translator

    how = {"precision": options.precision, "backend": options.backend, "adapter": options.get("adapter")}
    translator = Translator.load(folders, options.device, **how)
    translator = translator.between(source, target) if source or target else translator
    keep_what_is_loaded()
    return translator


def keep_what_is_loaded() -> None:
    """Leave what a command has loaded out of garbage collection. Otherwise the collector looks through 170,000 objects,
    most of them PyTorch's, again and again: 6% of the time of a small, fast model."""
    if not gc.get_freeze_count():
        gc.freeze()


def as_main(name: str, make_parser: Callable[[], Parser]) -> Callable[[Callable[[Options], int | None]], Command]:
    """Make what a command does with its options its `main`: words of a command line (without any, those of the process)
    flow in, the exit status flows out, as of `run_command`."""

    def decorate(act: Callable[[Options], int | None]) -> Command:
        def main(argv: Sequence[str] | None = None) -> int:
            return run_command(name, lambda: act(make_parser().parse(argv)))

        return main

    return decorate


def run_command(name: str, command: Callable[[], int | None]) -> int:
    """Run a command; return its exit status. What users can mend becomes a line on stderr and 2, Ctrl-C 130.

    If the reader of the output leaves early (`| head`), the command ends without a message.
    """
    try:
        status = command() or 0
        print(end="", flush=True)  # not by sys.stdout, which is None if it is closed
        return status
    except BrokenPipeError:
        # What is still in the buffer of standard output would fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141  # 128 + SIGPIPE
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror or str(error)
    except (ValueError, FloatingPointError) as error:
        message = str(error)
    except ModuleNotFoundError as error:
        message = f"{error}: {typed('doctor')} shows what is missing"
    except KeyboardInterrupt as interrupt:
        print_to_stderr(f"\n{interrupt}" if interrupt.args else "")
        return 130
    print_to_stderr(f"nmt.{name}: {message}")
    return 2
