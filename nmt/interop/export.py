"""Export: a model folder flows in; a folder for another library flows out, after a check against the model itself.

A format is a module of this folder with the members of `Format`, and `pack` if it is one file. To add one, write the
module and name it in FORMATS. An exported folder has the files of the format, the tokenizer, the settings of the model
(nmt.json), the model card with a section about the export, and SHA256SUMS.
"""

import importlib
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import IO, Protocol, cast

from nmt.config import SearchConfig
from nmt.data.phrasebook import phrasebook
from nmt.data.tokenizer import Tokenizer
from nmt.decode.engine import IdPair, Ids
from nmt.fields import require
from nmt.files import read_lines, require_new, require_writable, run_of, whole_file, whole_folder
from nmt.model.contract import GenerativeModel, Model
from nmt.scoring.metrics import score
from nmt.text.languages import require_pair
from nmt.text.normalise import tidy
from nmt.translation.model_folder import EXPORTED, ModelInfo, load_model, require_model, require_objective
from nmt.translation.translator import Translator
from nmt.version import __version__

FORMATS = {
    "ctranslate2": "nmt.interop.ctranslate2",
    "hf": "nmt.interop.huggingface",
    "html": "nmt.interop.html",
    "onnx": "nmt.interop.onnx",
    "zip": "nmt.interop.archive",
}
MOST_LINES = 200  # of a file or a test set, that an export is checked with
TOLERANCE, MOST_MEAN = 1e-3, 0.2  # of log-probabilities, in nats: the largest difference in float32, and the mean else
GREEDY = SearchConfig(beam_size=1, guard=False)
COMPARED = "log-probability of a piece of the greedy translation"
REFUSED = "nothing was exported"


@dataclass(frozen=True)
class Export:
    """A model, and how it is exported."""

    model: Model
    """In float32, on the CPU, in evaluation mode."""
    tokenizer: Tokenizer
    info: ModelInfo
    quantization: str
    """The number format of the exported weights, one of the format's `QUANTIZATIONS`."""
    folder: Path = Path()
    """The model folder."""

    @property
    def direction(self) -> tuple[str, str]:
        """The languages, of several those that were chosen. A model that isn't told the source reads any other."""
        known, (first, last) = self.tokenizer.languages, (self.info.source, self.info.target)
        target = known.target or last
        return known.source or (last if first == target else first), target


@dataclass(frozen=True)
class Parity:
    """The result of comparing the exported model with ours."""

    compared: str
    """What `largest` is a difference of, such as "log-probability of a piece"."""
    largest: float
    """The largest absolute difference."""
    sentences: int
    """0: nothing was compared, and a figure says why."""
    figures: tuple[str, ...] = ()
    """Further results, a sentence each."""

    def sentences_of_card(self) -> list[str]:
        if not self.sentences:
            return [*self.figures]
        first = f"Compared with nmt on {self.sentences:,} sentences: {self.compared}"
        return [f"{first}, largest difference {self.largest:.1e}.", *self.figures]


@dataclass(frozen=True)
class About:
    """What the model card says of an exported folder."""

    runtime: str
    """The library with its version, such as "CTranslate2 4.8.5"."""
    usage: str
    """A program (Python), run in the folder, that runs the model with that library, without nmt."""
    notes: tuple[str, ...] = ()
    """Sentences for its users, such as limits."""
    header: str = ""
    """Text before the card, such as metadata in YAML."""


class Format(Protocol):
    """The members of a module that implements a format."""

    QUANTIZATIONS: Sequence[str]
    """The number formats that `--quantization` can name; the first is the default."""

    def obstacles(self, info: ModelInfo, tokenizer: Tokenizer | None = None) -> list[str]:
        """All settings of the model that the format can't express, each as words such as "model.attention latent".
        Without a tokenizer, only the settings are looked at. Must not need the library."""

    def write(self, export: Export, folder: Path) -> None:
        """Write the files of the format into a folder, which exists and is empty."""

    def check(self, export: Export, folder: Path, lines: Sequence[str]) -> Parity:
        """Load the folder with the other library, and compare it with the model on these lines of source text (of any
        text, if the model doesn't translate). ValueError if it differs more than it may."""

    def about(self, export: Export) -> About: ...


def load_format(name: str) -> Format:
    """The format with this name. Raises ValueError if there is none."""
    require(name in FORMATS, f"--to is {name}: it must be {' or '.join(FORMATS)}")
    return cast(Format, importlib.import_module(FORMATS[name]))


def export(
    folder: Path,
    target: Path,
    name: str,
    quantization: str | None = None,
    check: Path | None = None,
    languages: tuple[str, str] = ("", ""),
) -> Parity:
    """Write the model of a model folder (or run folder) as a new folder `target` in the format `name`.

    `quantization`: None for the format's default; `check`: a file of source lines to compare with, see `real_lines`;
    `languages`: the source and target language of a model that knows several, empty for those that are chosen.
    Raises ValueError, and leaves nothing behind, if the format can't express a setting, or if the results differ.
    """
    form, folder = load_format(name), require_model(folder)
    require_new(target)
    known = ", ".join(form.QUANTIZATIONS)
    quantization = quantization or form.QUANTIZATIONS[0]
    require(quantization in form.QUANTIZATIONS, f"--quantization is {quantization}: {name} takes one of {known}")
    model, tokenizer, info = load_model(folder)
    if name != "hf":  # which has classes for other models
        require_objective(info, folder)
    obstacles = form.obstacles(info, tokenizer)
    require(not obstacles, f"{name} can't express this model: {'; '.join(obstacles)}")
    if tokenizer.languages.several:
        tokenizer = tokenizer.between(*languages)
    else:
        require_pair((info.source, info.target), languages)
    tokenizer.languages.require_chosen(("--source-language", "--target-language"))
    lines = real_lines(folder, info, check)
    task = Export(model, tokenizer, info, quantization, folder)
    with whole_folder(target) as draft:
        form.write(task, draft)
        parity = form.check(task, draft, lines)
        tokenizer.save(draft)
        shutil.copyfile(folder / "config.json", draft / EXPORTED)
        card = (folder / "README.md").read_text(encoding="utf8") if (folder / "README.md").is_file() else ""
        (draft / "README.md").write_text(exported_card(card, form.about(task), task, parity), encoding="utf8")
    return parity


def packed(
    file: Path, ending: str, export_to: Callable[[Path], Parity], pack: Callable[[Path, IO[bytes]], None]
) -> Parity:
    """Write one file, whole or not at all: `pack` makes it of the folder that `export_to` writes."""
    named = file.suffix == f".{ending}" and file.stem.strip(".") != ""
    require(named, f"{file} is not the name of a {ending} file: give it the ending .{ending}")
    require_new(file)
    require_writable(file.parent)  # told before the work, not after it
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, file.stem)
        parity = export_to(folder)
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as stream:
            pack(folder, stream)
    return parity


def real_lines(folder: Path, info: ModelInfo, file: Path | None = None) -> list[str]:
    """Lines, none of them blank, to compare an export with: the first of a file or, without one, of the test sets of
    the run that the model folder is in, or else of the phrasebook. Raises ValueError if there is none."""
    end = "src" if info.objective == "translation" else "tgt"  # texts without translations have empty sources
    files = [file] if file else sorted((run_of(folder) / "data").glob(f"test*.{end}"))
    lines = [line for path in files for line in read_lines(path) if tidy(line)]
    if not files and info.source in ("de", "en"):
        lines = [pair[info.source == "en"] for pair in phrasebook(1, 1000, 50).test]
    there = f"there are none in {info.source} beside the model: give --check FILE"
    problem = f"{file} has no line of text" if file else f"the export must be checked on real sentences, and {there}"
    require(bool(lines), problem)
    return lines[:MOST_LINES]


def compare(
    export: Export,
    translate: Callable[[Sequence[Ids]], list[list[int]]],
    score_pairs: Callable[[Sequence[IdPair]], list[list[float]]],
    lines: Sequence[str],
    precision: str,
) -> Parity:
    """Compare greedy translations, and the log-probabilities of ours. In float32, the log-probabilities may differ by
    TOLERANCE at most, and the translations not at all; else the log-probabilities by MOST_MEAN on average. ValueError
    if they differ more. `translate` (with the settings GREEDY) and `score_pairs` (as `Engine.score`) ask the other
    library, which computes in `precision`."""
    assert isinstance(export.model, GenerativeModel)
    translator = Translator(export.model, export.tokenizer, GREEDY, facts=export.info.facts)
    found = translator.translate_n_best(lines, GREEDY, markup="none")
    parts = [part for [translation] in found for part in translation.parts]
    pairs = [(part.source, part.hypothesis.ids) for part in parts]
    rows = zip(translator.scorer().score_ids(pairs), score_pairs(pairs), strict=True)
    scored = [(ours.token_log_probs, theirs) for ours, theirs in rows if ours]
    differences = [abs(a - b) for row in scored for a, b in zip(*row, strict=True)]
    largest, mean = max(differences), fmean(differences)
    translations = translate([part.source for part in parts])
    texts, others = (export.tokenizer.decode_target(ids) for ids in ([ids for _, ids in pairs], translations))
    unequal = [n for n, (_, ids) in enumerate(pairs) if ids != translations[n]]
    equal = f"{len(pairs) - len(unequal)} of {len(pairs)} greedy translations are equal"
    if export.quantization == "float32":
        require(largest <= TOLERANCE, f"the {COMPARED} differs by {largest:.1e}, more than {TOLERANCE}: {REFUSED}")
        example = f", but not {others[unequal[0]]!r}, which is {texts[unequal[0]]!r} here" if unequal else ""
        require(not unequal, f"{equal}{example}: {REFUSED}")
        return Parity(COMPARED, largest, len(pairs), ("All greedy translations are equal.",))
    advice = f"more than {MOST_MEAN}: {REFUSED}; take another --quantization, such as float32"
    require(mean <= MOST_MEAN, f"the {COMPARED} differs by {mean:.2f} on average, {advice}")
    [chrf] = score(others, texts, metrics=["chrf"])
    means = f"Mean difference {mean:.1e} (computed in {precision} on the CPU)."
    alike = f"{equal} to those in float32; chrF between both {chrf.value:.1f}."
    return Parity(COMPARED, largest, len(pairs), (means, alike))


def lost_settings(search: SearchConfig, names: Sequence[str]) -> tuple[str, ...]:
    """A sentence for the card about those of these settings that the model has, and the format hasn't; or nothing."""
    usual = SearchConfig()
    lost = [f"{name} {getattr(search, name)}" for name in names if getattr(search, name) != getattr(usual, name)]
    return (f"The search there doesn't follow {', '.join(lost)}.",) if lost else ()


def exported_card(card: str, about: About, export: Export, parity: Parity) -> str:
    """The model card with a section about the export, without commands of nmt, which are for the model folder."""
    card = re.sub(r"(?m)(?:^To train it further.*\n\n)?^    python -m nmt\..*\n*", "", card)
    usage = "\n".join(f"    {line}".rstrip() for line in about.usage.strip().splitlines())
    first = f"Written by nmt {__version__} for {about.runtime}, with {export.quantization} weights."
    text = " ".join([first, *parity.sentences_of_card(), *about.notes])
    return f"{about.header}{card.rstrip()}\n\n## Exported\n\n{text}\n\nTo run it without nmt:\n\n{usage}\n"
