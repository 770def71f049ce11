"""Text in pieces: files of lines and models flow in; a file of translations of each piece by each model flows out.

The pieces are the tasks of a stage (see `nmt.data.store.stages`): processes and machines may work in one folder, and
only what is missing is made.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import islice
from multiprocessing import parent_process
from pathlib import Path
from typing import Literal

import torch

from nmt.commands.options import keep_what_is_loaded
from nmt.config import DecodingPrecision, SearchConfig
from nmt.data.store.stages import report_file, task
from nmt.files import iterate_lines, naming, write_lines
from nmt.messages import say
from nmt.reading.request import Translation
from nmt.translation.translator import Translator


@dataclass(frozen=True)
class Model:
    """A model folder with its direction and search settings; `name` is used in messages and names of files."""

    name: str
    folder: Path
    languages: tuple[str, str]
    """From which one it translates, and into which."""
    backward: bool
    device: str
    precision: DecodingPrecision
    search: SearchConfig
    loaded: Translator | None = None
    """None if it is loaded where it is needed: once in each worker process."""

    @property
    def translator(self) -> Translator:
        return self.loaded or load_once(self.folder, self.languages, self.device, self.precision)


def load(folder: Path, languages: tuple[str, str], device: str, precision: DecodingPrecision) -> Translator:
    """A model folder's translator between these languages. ValueError if it translates between others."""
    translator = Translator.load(folder, device, precision=precision).between(*languages)
    keep_what_is_loaded()
    return translator


load_once = cache(load)  # for worker processes: what a process has loaded before it is forked doesn't run in the fork


@dataclass(frozen=True)
class Pieces:
    """Lines to translate, and their translations, in a folder; its functions can run in any process."""

    folder: Path
    models: tuple[Model, ...]
    threads: int = 0
    """PyTorch's threads in a worker process; 0 leaves their number as it is."""

    @cached_property
    def tasks(self) -> list[tuple[Model, int]]:
        """A model and the number of a piece for each number of a task."""
        return [(model, n) for model in self.models for n in range(self.count(model))]

    def count(self, model: Model) -> int:
        return len([*(self.folder / "text").glob(f"{side_of(model.backward)}-*.txt")])

    def made(self, model: Model, n: int) -> Path:
        return self.folder / "made" / f"{model.name.replace(' ', '-')}-{n:05}.txt"

    def for_workers(self, threads: int) -> "Pieces":
        """The same, small enough to be sent to other processes, which may have another current folder."""
        models = tuple(replace(model, loaded=None, folder=model.folder.absolute()) for model in self.models)
        return replace(self, folder=self.folder.absolute(), models=models, threads=threads)

    def translate(self, number: int) -> None:
        """Do a task, unless it is done: write the `search.n_best` translations of each line, as `usable_text`."""
        model, n = self.tasks[number]
        if report_file(self.folder, "made", number).exists():  # another process has done it meanwhile
            return
        if self.threads and parent_process():
            torch.set_num_threads(self.threads)
        lines, width, file = self.text(model, n), model.search.n_best, self.made(model, n)
        translator, started = model.translator, time.perf_counter()
        n_best = translator.translate_n_best(lines, model.search)
        speed = len(lines) / (time.perf_counter() - started)
        padded = ((*translations, *[None] * (width - len(translations))) for translations in n_best)
        texts = (usable_text(translation) for group in padded for translation in group)
        try:
            with naming(file), task(self.folder, "made", number) as (working, _):
                write_lines(working / file.name, texts)
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror}; the same command goes on from here", str(file)) from error
        say(f"{model.name}: piece {n + 1:,} of {self.count(model):,}, {speed:,.0f} lines a second")

    def text(self, model: Model, n: int) -> list[str]:
        return list(iterate_lines(text_file(self.folder, model.backward, n), "strict"))

    def translations(self, model: Model) -> Iterator[tuple[str, list[str]]]:
        """Each line with its translations by a model."""
        width = model.search.n_best
        for n in range(self.count(model)):
            texts = iterate_lines(self.made(model, n), "strict")
            for line in self.text(model, n):
                yield line, list(islice(texts, width))


def side_of(backward: bool) -> Literal["source", "target"]:
    """Which side of a pair the models of a direction translate."""
    return "target" if backward else "source"


def text_file(folder: Path, backward: bool, n: int) -> Path:
    return folder / "text" / f"{side_of(backward)}-{n:05}.txt"


def write_pieces(folder: Path, backward: bool, lines: Iterable[str], size: int) -> int:
    """Write lines in pieces of this size, and return the number of pieces."""
    lines, n = iter(lines), 0
    while piece := list(islice(lines, size)):
        write_lines(text_file(folder, backward, n), piece)
        n += 1
    return n


def usable_text(translation: Translation | None) -> str:
    """The text of a translation, or a tab (which no text contains) and the reason why the text can't be used. "unsure"
    is none: up to a fifth of all translations have this flag, and half of these are good."""
    if translation is None or not translation.text:
        return "\tno translation"
    flags = [flag for flag in translation.flags if flag != "unsure"]
    return f"\tflagged: {', '.join(flags)}" if flags else translation.text
