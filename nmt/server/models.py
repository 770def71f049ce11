"""Model folders flow in; translators flow out, by direction: loaded once, and again when their folder was replaced."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nmt.config import Backend
from nmt.data.tokenizer import Tokenizer
from nmt.fields import require, shown
from nmt.files import SUMS
from nmt.server.errors import Draining, Refused
from nmt.translation.model_folder import EXPORTED, read_info, require_model, require_objective, settings_file
from nmt.translation.translator import Translator

LOG = logging.getLogger("nmt.server")

Direction = tuple[str, str]
"""Codes of the source and the target language."""
Load = Callable[[Path], Translator]


def stamp_of(*folders: Path) -> tuple[int, ...]:
    """What changes when a folder of a model or an adapter is replaced; two zeros for one that is gone."""
    found = list[int]()
    for folder in folders:
        try:
            stat = (folder / SUMS).stat()
        except OSError:
            found += 0, 0
        else:
            found += stat.st_ino, stat.st_mtime_ns
    return tuple(found)


@dataclass(eq=False)
class Served:
    """A model folder and its translators, by direction: more than one if the model knows several languages."""

    folder: Path
    directions: Sequence[Direction]
    stamp: tuple[int, ...] = ()
    """Of the folders, with those of adapters, that were loaded, or that could not be loaded."""
    translator: Translator | None = None
    adapters: Mapping[str, Path] = field(default_factory=dict)
    """Adapter folders, by the names that requests choose them by."""
    adapted: dict[str, Translator] = field(default_factory=dict)
    """The translator with each adapter. All have the same weights in memory."""
    between: dict[tuple[Direction, str], Translator] = field(default_factory=dict)
    loading: asyncio.Task[None] | None = None
    problem: str = ""
    """Why the model could not be loaded; empty if it could."""

    @property
    def stamp_now(self) -> tuple[int, ...]:
        return stamp_of(self.folder, *self.adapters.values())

    @property
    def name(self) -> str:
        """The name of the run, or of the folder."""
        folder = self.folder.absolute()  # of "model" too
        return folder.parent.name if folder.name == "model" else folder.name

    def choose(self, name: str) -> Translator | None:
        """The translator of this name: that of an adapter, or, also for an empty name, the model's own; None if it is
        not loaded. Refused if there is none."""
        if name in self.adapters:
            return self.adapted.get(name)
        if name not in ("", self.name):
            known = ", ".join([self.name, *self.adapters])
            raise Refused(f"no model for these languages is called {shown(name)}: there is {known}", code="no_model")
        return self.translator


def read_folder(folder: Path, backend: Backend = "auto") -> Served:
    """What a folder can translate, before it is loaded. ValueError if it has no translator for this backend."""
    is_exported = backend == "ctranslate2" and (folder / EXPORTED).is_file()
    folder = folder if is_exported else require_model(folder)
    problem = f"{folder} wasn't exported: --backend ctranslate2 needs a folder that nmt.export wrote"
    require(is_exported or backend != "ctranslate2", problem)
    info, _ = read_info(settings_file(folder))
    require_objective(info, folder)
    known = Tokenizer.load(folder).languages
    sources, targets = list(known.before_source) or [info.source], list(known.before_target) or [info.target]
    return Served(folder, [(a, b) for a in sources for b in targets if a != b])


class Models:
    """All models of the service. `load` makes the translator of a folder; it runs in a thread."""

    def __init__(
        self,
        folders: Sequence[Path],
        load: Load,
        *,
        lazy: bool = False,
        adapters: Mapping[str, Path] | None = None,
        backend: Backend = "auto",
    ) -> None:
        """`adapters`: adapter folders of the model, by their names; then there must be only one model. `backend`: what
        `load` runs the models by."""
        self.all = [read_folder(folder, backend) for folder in folders]
        if adapters:
            advice = "export the model folder of the adapter's run"
            require(backend != "ctranslate2", f"CTranslate2 adds no adapters: {advice}")
            require(len(self.all) == 1, f"{len(self.all)} models are given with adapters: give the one that they fit")
            taken = self.all[0].name
            require(taken not in adapters, f"an adapter is called {taken!r}, as the model is: give it another name")
            self.all[0].adapters = adapters
        self.load, self.lazy, self.backend = load, lazy, backend
        self.by_direction: dict[Direction, Served] = {}
        for served in self.all:
            new = [direction for direction in served.directions if direction not in self.by_direction]
            if not new:
                direction = served.directions[0]
                both = f"{served.folder} translates {' to '.join(direction)}, as {self.by_direction[direction].folder}"
                raise ValueError(f"{both} does: give one of them")
            self.by_direction |= dict.fromkeys(new, served)
        self.languages: dict[str, list[str]] = {}
        """The target languages of each source language."""
        for source, target in self.by_direction:
            self.languages.setdefault(source, []).append(target)
        self.targets = [*dict.fromkeys(target for targets in self.languages.values() for target in targets)]

    @property
    def ready(self) -> bool:
        """Whether all models are loaded, or are loaded when they are needed."""
        return self.lazy or all(served.translator for served in self.all)

    def start(self) -> list["asyncio.Task[None]"]:
        """Begin to load all models, in the order of the folders; none if they are loaded when they are needed."""
        return [] if self.lazy else [self.begin(served) for served in self.all]

    def begin(self, served: Served) -> "asyncio.Task[None]":
        """Load a model in a thread, unless that is under way."""
        if served.loading is None or served.loading.done():
            served.loading = asyncio.get_running_loop().create_task(self.reload(served))
        return served.loading

    async def reload(self, served: Served) -> None:
        """Load a model. If that fails, the one before stays."""
        stamp = served.stamp_now
        started = time.perf_counter()
        try:
            translator, adapted = await asyncio.to_thread(self.load_all, served)
        except Exception as error:  # also those of libraries, such as a full memory
            kind = "" if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: "
            served.problem, served.stamp = f"{kind}{error}", stamp
            LOG.error("model not loaded", extra={"fields": {"model": served.name, "problem": served.problem}})
            return
        served.translator, served.adapted, served.between = translator, adapted, {}
        served.problem, served.stamp = "", stamp
        seconds = round(time.perf_counter() - started, 2)
        LOG.info("model loaded", extra={"fields": {"model": served.name, "seconds": seconds}})

    def load_all(self, served: Served) -> tuple[Translator, dict[str, Translator]]:
        """The translator of a folder, and those with its adapters; takes time. ValueError if the folder was replaced by
        a model for other languages."""
        lost = {*served.directions} - {*read_folder(served.folder, self.backend).directions}
        if lost:
            raise ValueError(f"{served.folder} no longer translates {' to '.join(min(lost))}: start the service again")
        translator = self.load(served.folder)
        return translator, translator.with_adapters(served.folder, served.adapters) if served.adapters else {}

    def look(self, served: Served) -> None:
        """Load the model anew if its folder, or that of an adapter, was replaced. Requests that run keep the translator
        that they have."""
        stamp = served.stamp_now  # a look takes microseconds
        if stamp != served.stamp and stamp[:2] != (0, 0):
            self.begin(served)

    async def wait_for(self, direction: Direction, name: str = "") -> Translator:
        """As `translator`. If it is loaded when it is needed, this waits; else Draining until it is."""
        served = self.by_direction[direction]
        if served.translator is None and not served.problem:
            if not self.lazy:
                raise Draining("the model is being loaded: try again soon", retry_after=2)
            await asyncio.shield(self.begin(served))
        return self.translator(direction, name)

    def translator(self, direction: Direction, name: str = "") -> Translator:
        """The translator for a direction, as `Served.choose`, if it is loaded; else Draining."""
        served = self.by_direction[direction]
        self.look(served)
        translator = served.choose(name)
        if translator is None:
            problem = "it could not be loaded, and the log says why" if served.problem else "it is not loaded yet"
            raise Draining(f"the model for {' to '.join(direction)} is not there: {problem}")
        if (direction, name) not in served.between:
            several = translator.tokenizer.languages.several
            served.between[direction, name] = translator.between(*direction) if several else translator
        return served.between[direction, name]
