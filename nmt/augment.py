"""Command: a corpus and models in; the corpus with what the models make of its sentences out, to train a better one on.

    python -m nmt.augment --data.corpus my-corpus --forward runs/A --backward runs/B --output my-corpus-more

A forward model translates the training sources, and each source goes with its translation into the training text
(sequence-level distillation, Kim & Rush 2016); a backward model translates the targets (back-translation, Sennrich et
al. 2016). Both at once, by models of one size, is data diversification (Nguyen et al. 2020), which needs no other text;
text in one language alone can be added to what they translate. Val and test text stays as it is.

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
from nmt.data.cleaning import Ledger, Pair, ledger_table, tidy
from nmt.data.corpora import Corpus, clean_train, load_corpus
from nmt.files import SUMS, locked, sha256, whole_folder, write_lines
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
    """A model folder, and which way it translates."""

    folder: Path
    backward: bool

    @property
    def name(self) -> str:
        folder = self.folder.parent if self.folder.name == "model" else self.folder
        return f"{'backward' if self.backward else 'forward'}: {folder.name}"

    def pair(self, line: str, translation: str) -> Pair:
        """As (source, target) of the corpus."""
        return (translation, line) if self.backward else (line, translation)


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
                        help="Text in data.source alone, a sentence a line, for the forward models. Repeatable.")
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
    output = Path(options.output)
    require(not output.exists(), f"{output} is there already: name a folder that is not, or delete it")
    models = find_models(options)
    translators = [load(model, options) for model in models]  # all, so that a wrong one doesn't end hours of work
    corpus = load_corpus(options.data)
    train, ledger = clean_train(corpus, options.data)
    more = [read_more(files) for files in (options.more_source, options.more_target)]
    work = output.with_name(f"{output.name}.translating")
    with locked(work):
        ledgers = {"train": ledger}
        known = dict.fromkeys(train)  # in order, and without repeats
        for model, translator in zip(models, translators, strict=True):
            lines = list(dict.fromkeys([*(pair[model.backward] for pair in train), *more[model.backward]]))
            translations = translate(translator, lines, work, model, say)
            ledgers[model.name] = add_pairs(known, map(model.pair, lines, translations))
        write_corpus(output, corpus, list(known), options.data)
        shutil.rmtree(work)
    console.print(ledger_table(ledgers))
    say(f"Ready: {output}, with {len(known):,} training pairs instead of {len(train):,}")
    return 0


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
    return [Model(find_model(folder), backward) for backward in (False, True)
            for folder in (options.backward if backward else options.forward)]


def load(model: Model, options: Any) -> "Translator":
    """The model, with the decoding settings given; ValueError if it translates other languages."""
    from nmt.decode.translator import Translator

    translator = Translator.load(model.folder, options.device, precision=options.precision)
    wanted = (options.data.source, options.data.target)[::-1 if model.backward else 1]
    require(translator.languages == wanted, f"{model.folder} translates from {' to '.join(translator.languages)}, not "
                                            f"from {' to '.join(wanted)}")
    translator.decoding = override_decoding(replace(translator.decoding, n_best=1), options)
    return translator


def read_more(files: Sequence[str]) -> list[str]:
    """The lines of text files, tidied, that aren't blank."""
    texts = (Path(name).read_bytes().decode("utf-8", "replace") for name in files)
    return list(filter(None, (tidy(line)[0] for text in texts for line in text.split("\n"))))


def translate(translator: "Translator", lines: Sequence[str], work: Path, model: Model,
              say: Callable[[str], None]) -> list[str]:
    """A translation of each line, blank where it can't be used; what is in the work folder is not done again."""
    file = work / f"{fingerprint(translator, lines, model)}.txt"
    file.touch()
    done = file.read_bytes()
    done = done[:done.rfind(b"\n") + 1]  # a line that was cut off is made again
    os.truncate(file, len(done))
    translations = done.decode().split("\n")[:-1]
    with file.open("a", encoding="utf8", newline="") as output:
        for start in range(len(translations), len(lines), CHUNK):
            started = time.perf_counter()
            found = [usable(best) for best, *_ in translator.translate_n_best(lines[start:start + CHUNK])]
            output.writelines(f"{translation}\n" for translation in found)
            output.flush()
            translations += found
            speed = len(found) / (time.perf_counter() - started)
            say(f"{model.name}: {len(translations):,} of {len(lines):,} lines, {speed:,.0f} a second")
    return translations


def fingerprint(translator: "Translator", lines: Sequence[str], model: Model) -> str:
    """A hash of the model, the settings and the text: what the translations depend on."""
    digest = hashlib.sha256(sha256(model.folder / SUMS).encode())
    digest.update(repr((translator.precision, sorted(asdict(translator.decoding).items()))).encode())
    for line in lines:
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()[:32]


def usable(translation: "Translation") -> str:
    """Its text; blank if the guard found something wrong with it."""
    return "" if translation.flags else translation.text


def add_pairs(known: dict[Pair, None], pairs: Iterable[Pair]) -> Ledger:
    """Add the pairs that are new and have both sides; returns what became of all."""
    ledger = Ledger()
    for pair in pairs:
        ledger.read += 1
        if not all(pair):
            ledger.drop("blank or flagged translation")
        elif pair in known:
            ledger.drop("known already")
        else:
            known[pair] = None
    return ledger


def write_corpus(folder: Path, corpus: Corpus, train: Sequence[Pair], config: DataConfig) -> None:
    """Write a corpus folder, whole or not at all."""
    with whole_folder(folder) as draft:
        for split, pairs in {"train": train, "val": corpus.val, **corpus.tests}.items():
            for side, language in enumerate((config.source, config.target)):
                write_lines(draft / f"{split}.{language}", (pair[side] for pair in pairs))


if __name__ == "__main__":
    sys.exit(main())
