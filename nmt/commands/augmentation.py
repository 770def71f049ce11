"""Distillation and back-translation: a corpus and models flow in; a corpus with the models' translations flows out.

A forward model translates the training sources, and each source with its translation becomes a training pair, or takes
the place of the pairs with this source (sequence-level distillation, Kim and Rush 2016). A backward model translates
the targets (back-translation, Sennrich et al. 2016). Both at once, by models of one size, is data diversification
(Nguyen et al. 2020). Text in one language alone can be translated too. Validation and test text stays as it is.

An interrupted command can be repeated and continues. The work folder, beside the output until that is complete, has:

    text/       the lines that are translated, in pieces (see `nmt.commands.pieces`)
    made/       their translations; reports/ says which are whole (see `nmt.data.store.stages`)
    pairs/      the corpus
    state.json  what was asked, and what was read: written when text/ and pairs/ are whole
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from sacrebleu.metrics.chrf import CHRF

from nmt.commands.pieces import Model, Pieces, side_of, write_pieces
from nmt.config import DataConfig
from nmt.config.names import describe_changes
from nmt.data.cleaning.cleaner import Ledger, Pair
from nmt.data.cleaning.filters import digest
from nmt.data.corpora import clean_train, corpus_files, load_corpus, read_sentences
from nmt.data.store.engines import Engine, usable_cores
from nmt.data.store.record import fingerprints
from nmt.data.store.stages import REPORTS, Stage
from nmt.fields import lasting, require
from nmt.files import (
    MARKER,
    SUMS,
    iterate_lines,
    locked,
    mark,
    remove_ours,
    require_new,
    sha256,
    whole_folder,
    write_json,
)
from nmt.messages import say

STATE = "state.json"
# Lines of a piece: enough to sort by length, few enough to translate again.
PIECE = 1 << 13


@dataclass(frozen=True)
class Plan:
    """What is asked for."""

    config: DataConfig
    models: tuple[Model, ...]
    more: dict[bool, list[Path]]
    """Files in one language alone, a sentence a line, for the forward (False) and the backward (True) models."""
    distil: bool = False
    """Whether the pairs of the only model, a forward one, replace those of the corpus."""
    only_new: bool = False
    """Whether the output has the made pairs alone. Then only `more` is translated, where there is any."""

    def key(self) -> dict[str, Any]:
        """All that the output depends on, by names for the user, as JSON gives it back."""
        files = {"--more-source": self.more[False], "--more-target": self.more[True]}
        read = [file for group in [*corpus_files(self.config).values(), *files.values()] for file in group]
        key = {f"data.{name}": value for name, value in lasting(self.config).items()}
        key |= {"--distil": self.distil, "--only-new": self.only_new}
        key |= {option: [str(file) for file in group] for option, group in files.items()}
        key |= {f"the hash of {file}": found["sha256"][:16] for file, found in fingerprints(read).items()}
        for model in self.models:
            key[f"the hash of {model.name}"] = sha256(model.folder / SUMS)[:16]
            key[f"{model.name}: precision"] = model.precision
            # The batch size may change between attempts: it changes only rounding.
            search = {name: value for name, value in asdict(model.search).items() if name != "batch_size"}
            key |= {f"{model.name}: {name}": value for name, value in search.items()}
        return dict(json.loads(json.dumps(key)))


def augment(plan: Plan, output: Path, engine: Engine) -> dict[str, Ledger] | None:
    """Write a corpus folder with the pairs of a corpus and the pairs that models make from it; return the ledgers of
    the training pairs, each further file and each model. Of several parts, the last one makes it; None for the others.
    ValueError if it exists, another process makes it, or the work folder has other settings."""
    work, in_parts = output.with_name(f"{output.name}.translating"), engine.part[1] > 1
    with ExitStack() as stack:
        stack.enter_context(locked(work, wait=in_parts))
        require_new(output)  # another process may just have made it
        pieces, ledgers = begin(plan, work)
        if in_parts:
            stack.close()  # others may work in the folder meanwhile
        workers = engine.workers or usable_cores()
        sent = pieces if workers == 1 else pieces.for_workers(max(1, usable_cores() // workers))
        stage = Stage("made", ("text",), sent.translate, len(pieces.tasks), where="parts", verb="Translating")
        with engine:
            stage.do(work, engine)
        if in_parts and not lock_again(stack, work, output):
            say(f"{output} is made by another part")
            return None
        if missing := stage.missing(work):
            share = f"{len(missing):,} of {stage.size:,} pieces"
            say(f"{share} are not translated yet: the last part makes {output}")
            return None
        return finish(plan, pieces, ledgers, output)


def lock_again(stack: ExitStack, work: Path, output: Path) -> bool:
    """Lock the work folder as soon as no other part has locked it; False if one has made the output."""
    try:
        stack.enter_context(locked(work, wait=True))
    except ValueError:  # that part has deleted the folder
        if not output.exists():
            raise
    return not output.exists()


def begin(plan: Plan, work: Path) -> tuple[Pieces, dict[str, Ledger]]:
    """Read the text into a work folder, unless it is there. ValueError if the folder isn't ours, or has other text."""
    ours = (work / MARKER).is_file() or {path.name for path in work.iterdir()} <= {".lock"}
    require(ours, f"{work} exists, and nmt didn't make it: delete or move it")
    key = plan.key()
    if (work / STATE).exists():
        state = json.loads((work / STATE).read_text("utf-8"))
        changed = describe_changes(state["key"], dict.fromkeys(state["key"]) | key)
        advice = f"Repeat that command, delete {work}, or give another --output"
        require(not changed, f"{work} was begun with other settings: {changed}. {advice}")
        say(f"{work} has what an interrupted command left: going on with it")
    else:
        mark(work)
        parts = [work / part for part in ("text", "pairs", "made", REPORTS)]
        for part in parts:
            shutil.rmtree(part, ignore_errors=True)
        try:
            ledgers = read_text(plan, work)
        except BaseException:
            for part in parts:
                shutil.rmtree(part, ignore_errors=True)
            (work / MARKER).unlink()
            raise
        counts = {name: ledger.as_dict() for name, ledger in ledgers.items()}
        state = {"key": key, "ledgers": counts}
        write_json(work / STATE, state)
    return Pieces(work, plan.models), {name: Ledger.from_dict(ledger) for name, ledger in state["ledgers"].items()}


def read_text(plan: Plan, work: Path) -> dict[str, Ledger]:
    """Write the corpus, and the lines to translate in pieces; return the ledgers of what was read."""
    corpus = load_corpus(plan.config)
    for note in corpus.notes:
        say(note)
    train, ledger = clean_train(corpus, plan.config)
    left = iter(corpus.val)
    vals = {part.name: [*islice(left, part.rows)] for part in corpus.val_sets} or {"val": corpus.val}
    with whole_folder(work / "pairs") as draft:
        for split, pairs in {"train": train, **vals, **corpus.tests}.items():
            files = [draft / f"{split}.{language}" for language in (plan.config.source, plan.config.target)]
            write_pairs(files, pairs, "w")
    ledgers, n_pieces = {"train": ledger}, 0
    for backward in (False, True):
        files = plan.more[backward]
        is_used = any(model.backward == backward for model in plan.models) and not (plan.only_new and files)
        held_out = {pair[backward] for pairs in (corpus.val, *corpus.tests.values()) for pair in pairs}
        texts: list[Iterable[str]] = [(pair[backward] for pair in train)] if is_used else []
        for number, file in enumerate(files, start=1):
            side = side_of(backward)
            name = f"more {side} {number}"
            lines, ledgers[name] = read_sentences(file, replace(plan.config, text=side), held_out)
            texts.append(lines)
        n_pieces += write_pieces(work, backward, distinct(line for lines in texts for line in lines), PIECE)
    read = "; ".join(f"{name}: {ledger.causes() or 'no lines'}" for name, ledger in ledgers.items() if name != "train")
    require(n_pieces > 0, f"there is no text to translate ({read})")
    return ledgers


def distinct(lines: Iterable[str]) -> Iterator[str]:
    """The lines without those that occurred before."""
    seen = set[bytes]()
    for line in lines:
        if (key := digest(line)) not in seen:
            seen.add(key)
            yield line


def finish(plan: Plan, pieces: Pieces, ledgers: dict[str, Ledger], output: Path) -> dict[str, Ledger]:
    """Make the output from the translations, and delete the work folder."""
    work, languages = pieces.folder, (plan.config.source, plan.config.target)
    train = [work / "pairs" / f"train.{language}" for language in languages]
    with whole_folder(work / "corpus") as draft:
        if not plan.only_new:
            shutil.copytree(work / "pairs", draft, dirs_exist_ok=True, ignore=shutil.ignore_patterns(SUMS))
        drafts = [draft / file.name for file in train]
        if plan.distil:
            model = plan.models[0]
            pairs, made = list(read_pairs(train)), dict(pieces.translations(model))
            sources = {source for source, _ in pairs}
            wanted = [*pairs, *((line, "") for line in made if line not in sources)]
            new, ledgers[model.name] = distil(wanted, made)
            size = write_pairs(drafts, new, "w")
        else:
            known = {key_of(pair) for pair in read_pairs(train)}
            size = 0 if plan.only_new else ledgers["train"].kept
            for model in plan.models:
                ledger = ledgers[model.name] = Ledger()
                made_pairs = ((line, text) for line, texts in pieces.translations(model) for text in texts)
                turned = ((text, line) for line, text in made_pairs) if model.backward else made_pairs
                size += write_pairs(drafts, new_pairs(known, turned, ledger), "a")
        causes = "; ".join(f"{model.name}: {ledgers[model.name].causes()}" for model in plan.models)
        require(size > 0, f"no translation is usable ({causes}): take other models or another search")
    require_new(output)
    (work / "corpus").replace(output)
    leftover = work.with_name(f"{work.name}.done")  # another part may just be about to lock the folder
    remove_ours(leftover)  # of an earlier command that was killed here
    work.replace(leftover)
    remove_ours(leftover)
    instead = "" if plan.only_new else f" instead of {ledgers['train'].kept:,}"
    say(f"Ready: {output}, with {size:,} training pairs{instead}")
    return ledgers


def read_pairs(files: Sequence[Path]) -> Iterator[Pair]:
    source, target = (iterate_lines(file, "strict") for file in files)
    yield from zip(source, target, strict=True)


def write_pairs(files: Sequence[Path], pairs: Iterable[Pair], mode: Literal["w", "a"]) -> int:
    """Write a file for each side, and return the number of pairs."""
    size = 0
    with ExitStack() as stack:
        sides = [stack.enter_context(file.open(mode, encoding="utf8", newline="")) for file in files]
        for pair in pairs:
            for file, text in zip(sides, pair, strict=True):
                file.write(f"{text}\n")
            size += 1
    return size


def key_of(pair: Pair) -> bytes:
    return digest("\n".join(pair))


def new_pairs(known: set[bytes], pairs: Iterable[Pair], ledger: Ledger) -> Iterator[Pair]:
    """The usable pairs whose keys are not in `known`, to which they are added. The ledger counts all pairs."""
    for pair in pairs:
        ledger.read += 1
        problem = next((side[1:] for side in pair if side.startswith("\t")), "")
        if not problem and (key := key_of(pair)) in known:
            problem = "known already"
        if problem:
            ledger.drop(problem)
        else:
            known.add(key)
            yield pair


def distil(pairs: Iterable[Pair], translations: Mapping[str, Sequence[str]]) -> tuple[list[Pair], Ledger]:
    """The pairs with translations in place of their targets, and the ledger of the translations.

    The translation is the one whose chrF with the target is the highest (Kim and Rush 2016, section 3.3, with BLEU) or,
    of a source without a target, the best one. A pair without a usable translation stays as it is, if it has a target.
    """
    new, ledger = [], Ledger()
    for source, target in pairs:
        ledger.read += 1
        texts = [text for text in translations[source] if not text.startswith("\t")]
        if not texts:
            ledger.drop(translations[source][0][1:])
        elif target:
            likeness = [CHRF().sentence_score(target, [text]).score for text in texts]
            target = texts[likeness.index(max(likeness))]
        else:
            target = texts[0]
        if target:
            new.append((source, target))
    return new, ledger
