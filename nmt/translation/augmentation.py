"""Distillation and back-translation: a corpus and models flow in; a corpus with the models' translations flows out.

A forward model translates the training sources, and each source with its translation becomes a training pair, or takes
the place of the pairs with this source (sequence-level distillation, Kim and Rush 2016). A backward model translates
the targets (back-translation, Sennrich et al. 2016). Both at once, by models of one size, is data diversification
(Nguyen et al. 2020). Text in one language alone can be translated too. Validation and test text stays as it is.

An interrupted command can be repeated and continues. Until the output is complete, translations are kept in a work
folder beside it, in files named by a hash of the model, the settings and the text.
"""

import hashlib
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from nmt.cli import say
from nmt.config import DataConfig, SearchConfig
from nmt.data.cleaning import Ledger, Pair
from nmt.data.corpora import Corpus, clean_train, load_corpus, load_sentences
from nmt.fields import require
from nmt.files import MARKER, SUMS, locked, mark, remove_ours, sha256, whole_folder
from nmt.translation.mbr import pairwise_chrf
from nmt.translation.model_folder import read_info
from nmt.translation.request import Translation
from nmt.translation.translator import Translator

# Lines translated between two writes: enough to sort by length, few enough to translate again.
CHUNK = 4096
Distil = Literal["", "best", "closest"]
"""Which translation takes the place of a pair's target (see `distil`); empty: pairs are added, and none is replaced."""


@dataclass(frozen=True)
class Model:
    """A model folder with its direction and search settings; `name` is used in messages."""

    name: str
    folder: Path
    backward: bool
    translator: Translator
    search: SearchConfig


def require_languages(folder: Path, config: DataConfig, backward: bool) -> None:
    """Raise ValueError unless a model folder translates in this direction."""
    info, _ = read_info(folder / "config.json")
    wanted = (config.source, config.target)[:: -1 if backward else 1]
    actual = f"{folder} translates from {info.source} to {info.target}"
    require((info.source, info.target) == wanted, f"{actual}, not from {wanted[0]} to {wanted[1]}")


def augment(
    config: DataConfig, models: list[Model], more: dict[bool, list[Path]], output: Path, choice: Distil = ""
) -> dict[str, Ledger]:
    """Write a corpus folder with the pairs of a corpus and the pairs that models make from it.

    Args:
        config: the corpus.
        models: forward and backward models.
        more: files in one language alone, a sentence a line, for the forward (False) and the backward (True) models.
        output: the folder to make; ValueError if it exists, or another process makes it.
        choice: not empty, if the pairs of the only model, a forward one, replace those of the corpus.

    Returns:
        The ledgers of the training pairs, of each further file, and of each model's translations.
    """
    require_new(output)
    corpus = load_corpus(config)
    for note in corpus.notes:
        say(note)
    train, ledger, _ = clean_train(corpus, config)
    extra, ledgers = read_more(more, corpus, config)
    ledgers = {"train": ledger} | ledgers
    work = output.with_name(f"{output.name}.translating")
    require(not work.exists() or (work / MARKER).is_file(), f"{work} exists, and nmt didn't make it: delete or move it")
    mark(work)
    with locked(work):
        require_new(output)  # another process may just have made it
        new = list(train)
        for model in models:
            say(f"{model.name} is {model.folder}, {model.translator.describe()}")
            lines = list(dict.fromkeys([*(pair[model.backward] for pair in train), *extra[model.backward]]))
            texts, n = translate(model, lines, work), model.search.n_best
            groups = [texts[start : start + n] for start in range(0, len(texts), n)]
            if choice:
                wanted = [*train, *((line, "") for line in extra[False])]
                new, ledgers[model.name] = distil(wanted, dict(zip(lines, groups, strict=True)), choice)
                continue
            made = ((line, text) for line, group in zip(lines, groups, strict=True) for text in group)
            pairs = (pair[::-1] for pair in made) if model.backward else made
            added, ledgers[model.name] = new_pairs({*new}, pairs)
            new += added
        write_corpus(work / "corpus", corpus, new, config)
        require_new(output)
        (work / "corpus").replace(output)
        remove_ours(work)
    say(f"Ready: {output}, with {len(new):,} training pairs instead of {len(train):,}")
    return ledgers


def read_more(
    more: dict[bool, list[Path]], corpus: Corpus, config: DataConfig
) -> tuple[dict[bool, list[str]], dict[str, Ledger]]:
    """The sentences of files in one language, of sources (False) and targets (True), and the ledger of each file."""
    extra: dict[bool, list[str]] = {False: [], True: []}
    ledgers = dict[str, Ledger]()
    for backward, files in more.items():
        held_out = {pair[backward] for pairs in (corpus.val, *corpus.tests.values()) for pair in pairs}
        for number, file in enumerate(files, start=1):
            lines, ledger = load_sentences(file, config, held_out)
            ledgers[f"more {'target' if backward else 'source'} {number}"] = ledger
            extra[backward] += lines
    return extra, ledgers


def require_new(output: Path) -> None:
    require(not output.exists(), f"{output} exists already: name a new folder, or delete it")


def translate(model: Model, lines: Sequence[str], work: Path) -> list[str]:
    """The `search.n_best` translations of each line, as `usable_text`; those in the work folder are not made again."""
    file = work / f"{fingerprint(model, lines)}.txt"
    n = model.search.n_best
    file.touch()
    done = file.read_bytes().decode().split("\n")[:-1]  # without a line that was cut off, and then its whole group
    done = done[: len(done) // n * n]
    os.truncate(file, sum(len(line.encode()) + 1 for line in done))
    for start in range(len(done) // n, len(lines), CHUNK):
        started = time.perf_counter()
        n_best = model.translator.translate_n_best(lines[start : start + CHUNK], model.search)
        padded = ((*translations, *[None] * (n - len(translations))) for translations in n_best)
        texts = [usable_text(translation) for translations in padded for translation in translations]
        try:
            with file.open("a", encoding="utf8", newline="") as output:
                output.writelines(f"{text}\n" for text in texts)
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror}; the same command goes on from here", str(file)) from error
        done += texts
        speed = len(n_best) / (time.perf_counter() - started)
        say(f"{model.name}: {len(done) // n:,} of {len(lines):,} lines, {speed:,.0f} a second")
    return done


def fingerprint(model: Model, lines: Sequence[str]) -> str:
    """A hash of all that translations depend on: the model, the settings and the text."""
    settings = asdict(model.search) | {"batch_size": 0}  # may change between attempts: it changes only rounding
    all_settings = repr((sha256(model.folder / SUMS), model.translator.precision, sorted(settings.items())))
    return hashlib.sha256("\n".join([all_settings, *lines]).encode()).hexdigest()[:32]


def usable_text(translation: Translation | None) -> str:
    """The text of a translation, or a tab (which no text contains) and the reason why the text can't be used."""
    if translation is None or not translation.text:
        return "\tno translation"
    return f"\tflagged: {', '.join(translation.flags)}" if translation.flags else translation.text


def new_pairs(known: set[Pair], pairs: Iterable[Pair]) -> tuple[list[Pair], Ledger]:
    """The usable pairs that are not in `known`, which are added to it, and the ledger of all pairs."""
    new, ledger = [], Ledger()
    for pair in pairs:
        ledger.read += 1
        problem = next((side[1:] for side in pair if side.startswith("\t")), "known already" if pair in known else "")
        if problem:
            ledger.drop(problem)
        else:
            known.add(pair)
            new.append(pair)
    return new, ledger


def distil(
    pairs: Iterable[Pair], translations: Mapping[str, Sequence[str]], choice: Distil
) -> tuple[list[Pair], Ledger]:
    """The pairs with translations in place of their targets, and the ledger of the translations.

    The translation is the best one, or (closest) the one whose chrF with the target is the highest (Kim and Rush 2016,
    section 3.3, with BLEU). A pair without a usable translation stays as it is, if it has a target.
    """
    new, ledger = [], Ledger()
    for source, target in pairs:
        ledger.read += 1
        texts = [text for text in translations[source] if not text.startswith("\t")]
        if not texts:
            ledger.drop(translations[source][0][1:])
        elif choice == "closest" and target:
            likeness = pairwise_chrf([target, *texts])[0, 1:]
            target = texts[int(likeness.argmax())]
        else:
            target = texts[0]
        if target:
            new.append((source, target))
    return new, ledger


def write_corpus(folder: Path, corpus: Corpus, train: Sequence[Pair], config: DataConfig) -> None:
    """Write a corpus folder, whole or not at all; OSError if the disk is full or may not be written to."""
    with whole_folder(folder) as draft:
        for split, pairs in {"train": train, "val": corpus.val, **corpus.tests}.items():
            for side, language in enumerate((config.source, config.target)):
                with (draft / f"{split}.{language}").open("w", encoding="utf8", newline="") as file:
                    file.writelines(f"{pair[side]}\n" for pair in pairs)
