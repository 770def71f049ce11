"""Command: a corpus and models in; the corpus with what the models make of its sentences out, to train a better one on.

    python -m nmt.augment --data.corpus my-corpus --forward runs/A --backward runs/B --output my-corpus-more

A forward model translates the training sources, and each source goes with its translation into the training text
(sequence-level distillation, Kim & Rush 2016); a backward model translates the targets (back-translation, Sennrich et
al. 2016). Both at once, by models of one size, is data diversification (Nguyen et al. 2020), which needs no other text;
text in one language alone can be added to what they translate. Val and test text stays as it is.

Models for both directions must not know the val and test text: where a corpus lacks that, what is held out of it goes
by its sources, and so differs between the directions. Give it files of its own then.

An interrupted command goes on where it was: what was translated lies beside the output, in a file named by the hash of
all that it depends on, until the output is whole.
"""

import hashlib
import os
import shutil
import sys
import time
from argparse import SUPPRESS
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.config import DataConfig, require
from nmt.data.cleaning import Ledger, Pair, ledger_table
from nmt.data.corpora import Corpus, clean_train, load_corpus, load_sentences
from nmt.files import SUMS, locked, sha256, whole_folder
from nmt.settings import add_decoding_options, add_device_options, override_decoding, parse, run_command

if TYPE_CHECKING:
    from nmt.decode.translation import Translation
    from nmt.decode.translator import Translator

# Lines translated between two writes: enough to sort by length, few enough to do again.
CHUNK = 4096
DECODING = ("beam_size", "length_penalty", "samples", "temperature", "top_k", "top_p", "min_p", "seed", "shortlist",
            "guard", "batch_size")


@dataclass(frozen=True)
class Model:
    """A model folder, which way it translates, and which of those that do so it is, from 1."""

    folder: Path
    backward: bool
    number: int

    @property
    def name(self) -> str:
        return f"{'backward' if self.backward else 'forward'} {self.number}"

    def sides(self, lines: list[str], translations: list[str]) -> tuple[list[str], list[str]]:
        """As sources and targets of the corpus."""
        return (translations, lines) if self.backward else (lines, translations)


def make_parser() -> Any:
    from jsonargparse import ArgumentParser, set_parsing_settings

    set_parsing_settings(docstring_parse_attribute_docstrings=True)
    parser = ArgumentParser(prog="python -m nmt.augment", exit_on_error=False,
                            description="Add to a corpus what models make of its sentences.")
    parser.add_class_arguments(DataConfig, "data")
    parser.add_argument("--forward", action="append", default=[], metavar="DIR",
                        help="A model or run folder from data.source to data.target: translates the sources. "
                             "Repeatable.")
    parser.add_argument("--backward", action="append", default=[], metavar="DIR",
                        help="One from data.target to data.source: translates the targets. Repeatable.")
    parser.add_argument("--more-source", action="append", default=[], metavar="FILE",
                        help="Text in data.source alone, a sentence a line (or .gz of it), for the forward models. "
                             "Repeatable.")
    parser.add_argument("--more-target", action="append", default=[], metavar="FILE",
                        help="Text in data.target alone, for the backward models. Repeatable.")
    parser.add_argument("--output", default=SUPPRESS, metavar="DIR", help="The folder to make, for data.corpus.")
    add_device_options(parser, precision="auto")
    add_decoding_options(parser, *DECODING)
    return parser


def main(argv: list[str] | None = None) -> int:
    return run_command("augment", lambda: command(parse(make_parser(), argv)))


def command(options: Any) -> int:
    from rich.console import Console

    console = Console(stderr=True)

    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    require("output" in options, "--output DIR is missing: it names the folder that will hold the larger corpus")
    output = Path(options.output).expanduser()
    require_new(output)
    models = find_models(options)
    translators = [load(model, options) for model in models]  # all, so that a wrong one doesn't end hours of work
    corpus = load_corpus(options.data)
    for note in corpus.notes:
        say(note)
    train, ledger = clean_train(corpus, options.data)
    ledgers = {"train": ledger}
    more = [read_more(options, corpus, backward, ledgers) for backward in (False, True)]
    work = output.with_name(f"{output.name}.translating")
    with locked(work):
        require_new(output)  # another such command may just have ended
        known, added = set(train), []
        for model, translator in zip(models, translators, strict=True):
            say(f"{model.name} is {model.folder}, {translator.describe()}")
            lines = list(dict.fromkeys([*(pair[model.backward] for pair in train), *more[model.backward]]))
            found = translate(translator, lines, work, model, say)
            repeated = [line for line in lines for _ in range(translator.decoding.n_best)]
            pairs, ledgers[model.name] = new_pairs(known, zip(*model.sides(repeated, found), strict=True))
            added += pairs
        write_corpus(work / "corpus", corpus, [*train, *added], options.data)
        require_new(output)
        (work / "corpus").replace(output)
        shutil.rmtree(work)
    console.print(ledger_table(ledgers))
    say(f"Ready: {output}, with {len(train) + len(added):,} training pairs instead of {len(train):,}")
    return 0


def read_more(options: Any, corpus: Corpus, backward: bool, ledgers: dict[str, Ledger]) -> list[str]:
    """The lines of the files in one language alone, for the models of a direction; their ledgers join the others."""
    name = "more_target" if backward else "more_source"
    held_out = {pair[backward] for pairs in (corpus.val, *corpus.tests.values()) for pair in pairs}
    read = [load_sentences(Path(file).expanduser(), options.data, held_out) for file in options[name]]
    ledgers |= {f"{name.replace('_', ' ')} {n}": ledger for n, (_, ledger) in enumerate(read, start=1)}
    return [line for lines, _ in read for line in lines]


def require_new(output: Path) -> None:
    require(not output.exists(), f"{output} is there already: name a folder that is not, or delete it")


def find_models(options: Any) -> list[Model]:
    """The models named, each for its direction.

    Raises:
        ValueError: none is named, one is no model folder, or a text has no model to translate it.
    """
    from nmt.decode.translator import find_model

    require(bool(options.forward or options.backward), "name a model: --forward DIR translates the corpus's sources, "
                                                       "--backward DIR its targets")
    for text, direction in (("more_source", "forward"), ("more_target", "backward")):
        require(not options[text] or options[direction],
                f"--{text.replace('_', '-')} needs a model that translates it: --{direction} DIR")
    return [Model(find_model(folder), backward, number) for backward in (False, True)
            for number, folder in enumerate(options.backward if backward else options.forward, start=1)]


def load(model: Model, options: Any) -> "Translator":
    """The model, with the decoding settings given; ValueError if it translates other languages."""
    from nmt.decode.translator import Translator

    translator = Translator.load(model.folder, options.device, precision=options.precision)
    wanted = (options.data.source, options.data.target)[::-1 if model.backward else 1]
    require(translator.languages == wanted, f"{model.folder} translates from {' to '.join(translator.languages)}, not "
                                            f"from {' to '.join(wanted)}")
    decoding = override_decoding(replace(translator.decoding, n_best=1), options)
    # Samples are less probable than what is searched for: by that measure nearly all would be unsure.
    translator.decoding = replace(decoding, n_best=decoding.samples, least_confidence=0.0) if decoding.samples else (
        decoding)
    require(not decoding.shortlist or translator.shortlist is not None, f"{model.folder} has no shortlist")
    return translator


def translate(translator: "Translator", lines: Sequence[str], work: Path, model: Model,
              say: Callable[[str], None]) -> list[str]:
    """The translations of each line, in order, `decoding.n_best` of each; one that can't be used is a tab and why.

    What a file of the work folder has is not done again. Raises OSError, with its name, if it can't be written.
    """
    file = work / f"{fingerprint(translator, lines, model)}.txt"
    n = translator.decoding.n_best
    file.touch()
    found = file.read_bytes().decode().split("\n")[:-1]  # a line that was cut off is made again, and so is its group
    found = found[:len(found) // n * n]
    os.truncate(file, sum(len(line.encode()) + 1 for line in found))
    for start in range(len(found) // n, len(lines), CHUNK):
        started = time.perf_counter()
        n_best = translator.translate_n_best(lines[start:start + CHUNK])
        texts = [usable(one) for some in n_best for one in (*some, *[None] * (n - len(some)))]
        try:
            with file.open("a", encoding="utf8", newline="") as output:
                output.writelines(f"{text}\n" for text in texts)
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror}; the same command goes on from here", str(file)) from error
        found += texts
        seconds = time.perf_counter() - started
        say(f"{model.name}: {len(found) // n:,} of {len(lines):,} lines, {len(n_best) / seconds:,.0f} a second")
    return found


def fingerprint(translator: "Translator", lines: Sequence[str], model: Model) -> str:
    """A hash of the model, the settings and the text: what the translations depend on."""
    settings = asdict(translator.decoding)
    del settings["batch_size"]  # which may have to be lowered, and changes rounding at most
    digest = hashlib.sha256(sha256(model.folder / SUMS).encode())
    digest.update(repr((translator.precision, sorted(settings.items()))).encode())
    for line in lines:
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()[:32]


def usable(translation: "Translation | None") -> str:
    """Its text; or a tab, which no text has, and what is wrong with it."""
    if translation is None or not translation.text:
        return "\tno translation"
    return f"\tflagged: {', '.join(translation.flags)}" if translation.flags else translation.text


def new_pairs(known: set[Pair], pairs: Iterable[Pair]) -> tuple[list[Pair], Ledger]:
    """The pairs that can be used and are not known, and what became of all. They are known then."""
    new, ledger = [], Ledger()
    for pair in pairs:
        ledger.read += 1
        wrong = next((side[1:] for side in pair if side.startswith("\t")), "known already" if pair in known else "")
        if wrong:
            ledger.drop(wrong)
        else:
            known.add(pair)
            new.append(pair)
    return new, ledger


def write_corpus(folder: Path, corpus: Corpus, train: Sequence[Pair], config: DataConfig) -> None:
    """Write a corpus folder, whole or not at all; OSError if the disk is full or may not be written to."""
    with whole_folder(folder) as draft:
        for split, pairs in {"train": train, "val": corpus.val, **corpus.tests}.items():
            for side, language in enumerate((config.source, config.target)):
                with (draft / f"{split}.{language}").open("w", encoding="utf8", newline="") as file:
                    file.writelines(f"{pair[side]}\n" for pair in pairs)


if __name__ == "__main__":
    sys.exit(main())
