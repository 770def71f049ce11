"""What models make of a corpus's sentences, as more training text: the translations of each model, and the new pairs.

What was translated lies in a work folder, in a file named by the hash of all that it depends on, so that an interrupted
command goes on where it was.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from nmt.cli import override_decoding
from nmt.config import DataConfig, require
from nmt.data.cleaning import Ledger, Pair
from nmt.data.corpora import Corpus
from nmt.files import SUMS, sha256, whole_folder
from nmt.translation.request import Translation
from nmt.translation.translator import Translator, find_model

# Lines translated between two writes: enough to sort by length, few enough to do again.
CHUNK = 4096


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


def find_models(options: Any) -> list[Model]:
    """The models named, each for its direction.

    Raises:
        ValueError: none is named, one is no model folder, or a text has no model to translate it.
    """
    require(
        bool(options.forward or options.backward),
        "name a model: --forward DIR translates the corpus's sources, --backward DIR its targets",
    )
    for text, direction in (("more_source", "forward"), ("more_target", "backward")):
        require(
            not options[text] or options[direction],
            f"--{text.replace('_', '-')} needs a model that translates it: --{direction} DIR",
        )
    return [
        Model(find_model(folder), backward, number)
        for backward in (False, True)
        for number, folder in enumerate(options.backward if backward else options.forward, start=1)
    ]


def load(model: Model, options: Any) -> Translator:
    """The model, with the decoding settings given; ValueError if it translates other languages."""
    translator = Translator.load(model.folder, options.device, precision=options.precision)
    wanted = (options.data.source, options.data.target)[:: -1 if model.backward else 1]
    require(
        translator.languages == wanted,
        f"{model.folder} translates from {' to '.join(translator.languages)}, not from {' to '.join(wanted)}",
    )
    decoding = override_decoding(replace(translator.decoding, n_best=1), options)
    # Samples are less probable than what is searched for: by that measure nearly all would be unsure.
    translator.decoding = (
        replace(decoding, n_best=decoding.samples, least_confidence=0.0) if decoding.samples else (decoding)
    )
    require(not decoding.shortlist or translator.shortlist is not None, f"{model.folder} has no shortlist")
    return translator


def translate(
    translator: Translator, lines: Sequence[str], work: Path, model: Model, say: Callable[[str], None]
) -> list[str]:
    """The translations of each line, in order, `decoding.n_best` of each; one that can't be used is a tab and why.

    What a file of the work folder has is not done again. Raises OSError, with its name, if it can't be written.
    """
    file = work / f"{fingerprint(translator, lines, model)}.txt"
    n = translator.decoding.n_best
    file.touch()
    found = file.read_bytes().decode().split("\n")[:-1]  # a line that was cut off is made again, and so is its group
    found = found[: len(found) // n * n]
    os.truncate(file, sum(len(line.encode()) + 1 for line in found))
    for start in range(len(found) // n, len(lines), CHUNK):
        started = time.perf_counter()
        n_best = translator.translate_n_best(lines[start : start + CHUNK])
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


def fingerprint(translator: Translator, lines: Sequence[str], model: Model) -> str:
    """A hash of the model, the settings and the text: what the translations depend on."""
    settings = asdict(translator.decoding)
    del settings["batch_size"]  # which may have to be lowered, and changes rounding at most
    digest = hashlib.sha256(sha256(model.folder / SUMS).encode())
    digest.update(repr((translator.precision, sorted(settings.items()))).encode())
    for line in lines:
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()[:32]


def usable(translation: Translation | None) -> str:
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
