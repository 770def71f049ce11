"""Which library runs a model faster on this machine: PyTorch, or CTranslate2 with an exported folder."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from nmt.fields import require
from nmt.translation.model_folder import EXPORTED, read_info
from nmt.translation.translator import Translator

ROUNDS = 5  # in turn; that before them is not timed


@dataclass(frozen=True)
class BackendSpeed:
    """Sentences a second with the search of the model, without the guard: the median of ROUNDS rounds."""

    pytorch: float
    pytorch_numerics: str
    ctranslate2: float
    ctranslate2_numerics: str
    sentences: int
    beam_size: int

    @property
    def faster(self) -> str:
        return "CTranslate2" if self.ctranslate2 > self.pytorch else "PyTorch"

    def rows(self) -> dict[str, str]:
        """The figures by name, for tables."""
        both = {
            "PyTorch": (self.pytorch, self.pytorch_numerics),
            "CTranslate2": (self.ctranslate2, self.ctranslate2_numerics),
        }
        rows = {f"{name}, sentences/s": f"{speed:.1f} ({numerics})" for name, (speed, numerics) in both.items()}
        measured = f"{self.sentences} sentences, beam {self.beam_size}, medians of {ROUNDS} rounds"
        return {**rows, "faster on this machine": f"{self.faster} ({measured})"}


def compare_backends(model: Path, exported: Path, lines: Sequence[str]) -> BackendSpeed:
    """Translate the lines with both, in the precisions that nmt.translate chooses. ValueError if the exported folder is
    damaged, or was made of another model."""
    own, other = Translator.load(model), Translator.load(exported, backend="ctranslate2")
    same = read_info(model / "config.json") == read_info(exported / EXPORTED) and own.tokenizer.same_as(other.tokenizer)
    require(same, f"{exported} was not made of {model}: its settings or its tokenizer differ")
    search = replace(own.search, guard=False)
    translators, seconds = (own, other), (list[float](), list[float]())
    for translator in translators:
        translator.translate(lines, search)
    for _ in range(ROUNDS):
        for translator, times in zip(translators, seconds, strict=True):
            started = time.perf_counter()
            translator.translate(lines, search)
            times.append(time.perf_counter() - started)
    speeds = [len(lines) / median(times) for times in seconds]
    numerics = [translator.describe() for translator in translators]
    return BackendSpeed(speeds[0], numerics[0], speeds[1], numerics[1], len(lines), search.beam_size)
