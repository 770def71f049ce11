"""Preparation: a corpus flows in; clean pairs, a tokenizer and a ledger of dropped pairs flow out, in the run folder.

The files are `data/` (SPLIT.src and SPLIT.tgt, a sentence a line, and `corpus.json`), `tokenizer/` and `ledger.json`.
The lines of SPLIT.src are empty if the corpus consists of texts without translations. `data/` and `tokenizer/` have
SHA256SUMS, and corpus.json the hashes of the user's files, so that a change is noticed.
They are made in a draft folder, `.preparing/`, and moved into place, `data/` last: a run folder with `data/corpus.json`
is prepared completely. A preparation that was interrupted starts again. The caller locks the run folder.
"""

import contextlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.config import Config
from nmt.config.names import describe_changes
from nmt.data.cleaning import Ledger, Pair, require_pairs
from nmt.data.corpora import Corpus, ValSet, corpus_files, corpus_path, load_corpus
from nmt.data.engines import Engine, WorkerKilledError
from nmt.data.facts import write_facts
from nmt.data.inputs import describe_edits, fingerprints
from nmt.data.languages import Languages
from nmt.data.portions import portions_of, starts_of, tags_of
from nmt.data.record import RESTORE, data_settings, flat, read_json, read_ledgers, read_pairs, read_record
from nmt.data.shards import Draft, Scorer, by_key, shards_for, stored_name, total
from nmt.data.texts import Texts
from nmt.data.tokenizer import Tokenizer, encode_pairs, train_tokenizer
from nmt.fields import require
from nmt.files import (
    MARKER,
    SUMS,
    check_sums,
    flush_to_disk,
    iterate_lines,
    locked,
    mark,
    model_in,
    naming,
    quick_hash,
    remove_ours,
    write_json,
    write_lines,
    write_sums,
)
from nmt.messages import say
from nmt.upgrade import FORMAT, upgrade_record, val_sets_of
from nmt.vocabulary import HINTS, PLACEHOLDERS

if TYPE_CHECKING:
    from torch import Tensor

    from nmt.data.batches import Pairs

DRAFT = ".preparing"
STATE, NOTES = "state.json", "tokenizer.json"  # in a draft: what was read, and that the tokenizer is trained
QUICK_ABOVE = 1 << 24  # bytes: a larger file is not read as a whole when a training starts
ALL_CORES = Engine()
CREATED_FIRST = {".lock", DRAFT, "config.yaml.partial"}  # before `is_run` can recognise a new run


@dataclass(kw_only=True)
class Prepared(Corpus):
    """The clean corpus and the tokenizer of a prepared run folder."""

    folder: Path
    tokenizer: Tokenizer
    store: list[Path]
    """The files with the ids of the training pairs, in their order; none in a folder that an older nmt prepared."""

    @classmethod
    def load(cls, folder: Path, *, check: bool = True) -> "Prepared":
        """Read a run folder; ValueError if it isn't prepared, or was changed since (unless `check` is off)."""
        record = read_record(folder) or {}
        require(bool(record), f"{folder} is not prepared: run python -m nmt.prepare")
        data, sizes = folder / "data", record.get("shards", [])
        for part in ("data", "tokenizer"):
            if check and (folder / part / SUMS).exists():  # an older nmt wrote none
                try:
                    check_sums(folder / part, quick=record.get("quick"))
                except ValueError as error:
                    raise ValueError(f"{error}. {RESTORE} {folder} and prepare again") from error
        tokenizer = Tokenizer.load(folder / "tokenizer")
        ledgers = read_ledgers(folder / "ledger.json")
        texts = {n: read_pairs(data, n, k) for n, k in record["pairs"].items() if n != "train" or not sizes}
        names = [data / stored_name(n, len(sizes)) for n in range(len(sizes))]
        train = texts.pop("train") if not sizes else Texts.stored([n.with_suffix(".parquet") for n in names], sizes)
        dropped = {cause: [(a, b) for a, b in pairs] for cause, pairs in record.get("dropped", {}).items()}
        whole = record["corpus"], train, texts.pop("val"), texts, ledgers, record["notes"]
        store = [name.with_suffix(".safetensors") for name in names]
        val_sets = [ValSet(*values) for values in val_sets_of(record)]
        commits = record.get("commits", {})  # an older nmt knew none
        return cls(*whole, val_sets, commits, folder=folder, tokenizer=tokenizer, dropped=dropped, store=store)

    def encoded(self) -> tuple["Pairs", "Tensor | None", "Tensor | None"]:
        """The ids of the training pairs, the number of each pair's corpus (None if an older nmt prepared them), and its
        weight (None if the pairs have none)."""
        from nmt.data.stored import load_store

        return load_store(self.store) if self.store else (encode_pairs(self.tokenizer, self.train), None, None)


def require_own_run_folder(config: Config, folder: Path) -> None:
    """Raise ValueError if a run in this folder could overwrite the user's own files; call it before writing any.

    The folder must be new, empty or a run's, and neither a corpus nor the tokenizer may be the folder itself or lie in
    its `data/` or `tokenizer/`.
    """
    run = folder.resolve()
    tokenizer = Path(config.tokenizer.folder) if config.tokenizer.folder else None
    others = (replace(config.data, corpus=entry.corpus, more=()) for entry in config.data.more)
    more = [("data.more", corpus_path(other)) for other in others]
    for setting, path in (("data.corpus", corpus_path(config.data)), *more, ("tokenizer.folder", tokenizer)):
        place = path.resolve() if path else None
        inside = place and (place == run or any(place.is_relative_to(run / part) for part in ("data", "tokenizer")))
        clash = f"{setting} is {path}, but the run in {folder} keeps its own data/ and tokenizer/ there"
        require(not inside, f"{clash}: give the run another name")
    usable = not folder.exists() or {path.name for path in folder.iterdir()} <= CREATED_FIRST or is_run(folder)
    require(usable, f"{folder} is not empty, and it isn't a run folder that nmt made: give the run another name")


def is_run(folder: Path) -> bool:
    """Whether nmt made this run folder: its config.yaml, its draft or tokenizer, or its data/corpus.json shows it."""
    settings = folder / "config.yaml"
    has_settings = settings.is_file() and next(iterate_lines(settings), "").startswith("# Written by nmt")
    if has_settings or any((folder / part / MARKER).is_file() for part in (DRAFT, "tokenizer")):
        return True
    try:
        return read_record(folder) is not None
    except ValueError:
        return False


def prepare(
    corpus: Corpus | None,
    config: Config,
    folder: Path,
    load_scorer: Callable[[Config], Scorer] | None = None,
    engine: Engine = ALL_CORES,
) -> Prepared:
    """Clean the corpus, train the tokenizer on it, and put both into the run folder, unless they are there already.

    `corpus`: None to read it only if needed; `load_scorer`: loads `data.scorer`, and is needed if that is set. Raises
    ValueError if the folder isn't a run folder or was prepared with other settings, the scorer can't be loaded, the
    corpus can't be read, no training pair is left, or the tokenizer can't be trained.
    """
    require_own_run_folder(config, folder)
    if record := read_record(folder):
        for note in corpus.notes if corpus else ():  # which corpus `auto` took, and why
            say(note)
        return load_finished(record, config, folder)
    assert load_scorer or not config.data.scorer
    scorer = load_scorer(config) if load_scorer and config.data.scorer else None  # before hours of reading
    with told_if_stopped(folder / DRAFT), naming(folder / DRAFT), kept_for_later(folder / DRAFT):
        draft = begin(corpus, config, folder, engine)
        clean(draft, engine, scorer)
        drop_near(draft, engine)
        train_on(draft)
        engine.run(draft.encode, draft.missing("data"), "Encoding")
        finish(draft, folder)
    return Prepared.load(folder, check=False)


def prepare_part(config: Config, folder: Path, engine: Engine) -> bool:
    """Do one part of a preparation that several machines share: of cleaning and encoding, the shards of this part; what
    is not divided, the first process that comes to it. Returns whether all is prepared now: if not, other parts are
    missing, or this part must be called again after them."""
    require(not config.data.scorer, "--part doesn't go with data.scorer: prepare without --part")
    require_own_run_folder(config, folder)
    with told_if_stopped(folder / DRAFT):
        with locked(folder, wait=True), kept_for_later(folder / DRAFT):
            if read_record(folder):
                return True
            draft = begin(None, config, folder, engine)
        clean(draft, engine, None)
        with locked(folder, wait=True):
            if read_record(folder):
                return True
            if is_lacking(draft, "clean"):
                return False
            drop_near(draft, engine)
            train_on(draft)
        engine.run(draft.encode, engine.share(draft.missing("data")), "Encoding")
        with locked(folder, wait=True):
            if not read_record(folder):
                if is_lacking(draft, "data"):
                    return False
                finish(draft, folder)
    return True


def is_lacking(draft: Draft, part: str) -> bool:
    """Whether shards of this part are missing, which is said."""
    if missing := draft.missing(part):
        name = {"clean": "cleaned", "data": "encoded"}[part]
        advice = "after the other parts are done, call this part again, or nmt.prepare without --part"
        say(f"{len(missing):,} of {draft.size:,} shards are not {name} yet: {advice}")
    return bool(missing)


@contextlib.contextmanager
def told_if_stopped(draft: Path) -> Iterator[None]:
    """Say after Ctrl-C what the same command will do."""
    try:
        yield
    except KeyboardInterrupt:
        kept = f"Stopped. {draft} keeps what is finished: the same command goes on with what is missing."
        again = "Stopped before the text was read and divided: the same command starts again."
        raise KeyboardInterrupt(kept if (draft / STATE).exists() else again) from None


@contextlib.contextmanager
def kept_for_later(draft: Path) -> Iterator[None]:
    """Delete the draft if the block fails, which frees space if the disk is full. After Ctrl-C, or if a worker was
    killed, it stays: the same command goes on with it."""
    try:
        yield
    except (KeyboardInterrupt, WorkerKilledError):
        raise
    except BaseException:
        if (draft / MARKER).is_file():
            shutil.rmtree(draft, ignore_errors=True)
        raise


def begin(corpus: Corpus | None, config: Config, folder: Path, engine: Engine) -> Draft:
    """Read the corpus and divide it into shards, unless a draft has it already, of equal settings and input files."""
    draft, files = folder / DRAFT, input_files(config)
    key = {"settings": data_settings(config), "format": FORMAT}
    if (draft / STATE).exists():
        state = read_json(draft / STATE, folder)
        inputs = state["key"].pop("inputs")
        if state["key"] == key and inputs.keys() == set(map(str, files)) and not describe_edits(inputs, files):
            say(f"{draft} has what an interrupted preparation left: going on with it")
            return Draft(draft, config, state["shards"])
    key["inputs"] = fingerprints(files)
    for leftover in (folder / "data", folder / "tokenizer", draft):
        remove_ours(leftover)
    corpus = corpus or load_corpus(config.data)
    for note in corpus.notes:
        say(note)
    mark(draft)
    size = len(corpus.train)
    made = Draft(draft, config, shards_for(size))
    Texts.of(corpus.train).move(draft / "read")
    for split, pairs in {"val": corpus.val, **corpus.tests}.items():
        write_lines(draft / "data" / f"{split}.src", (source for source, _ in pairs))
        write_lines(draft / "data" / f"{split}.tgt", (target for _, target in pairs))
    engine.run(made.divide, made.missing("parts"), "Dividing")
    splits = {split: len(pairs) for split, pairs in {"val": corpus.val, **corpus.tests}.items()}
    ledgers = {split: ledger.as_dict() for split, ledger in corpus.ledgers.items()}
    repaired = sum((Counter(report["repaired"]) for report in made.reports("parts")), Counter[str]())
    state = {
        "key": key,
        "repaired": repaired,
        "shards": made.size,
        "corpus": corpus.name,
        "notes": corpus.notes,
        "pairs": splits,
        "val_sets": corpus.val_sets,
        "commits": corpus.commits,
        "dropped": corpus.dropped,
    }
    write_json(draft / STATE, state | {"ledgers": ledgers})
    shutil.rmtree(draft / "read")
    return made


def clean(draft: Draft, engine: Engine, scorer: Scorer | None) -> None:
    """Clean this engine's share of the shards. A scorer is not sent to other processes: it may be on a GPU."""
    missing = engine.share(draft.missing("clean"))
    if scorer:
        for n in missing:
            draft.clean(n, scorer)
    else:
        engine.run(draft.clean, missing, "Cleaning")


def drop_near(draft: Draft, engine: Engine) -> None:
    """With cleaning.near, drop pairs of all shards that are nearly the same as another one."""
    if draft.config.cleaning.near:
        engine.run(draft.find_near, draft.missing("near"), "Comparing")
        engine.run(draft.drop_near, draft.missing("distinct"), "Dropping")
        for part in ("bands", "signatures", "near", "clean"):
            shutil.rmtree(draft.folder / part, ignore_errors=True)


def train_on(draft: Draft) -> None:
    """Put a tokenizer into the draft, unless it is there."""
    config = draft.config
    folder, state = draft.folder / "tokenizer", read_json(draft.folder / STATE, draft.folder)
    if (draft.folder / NOTES).exists():
        return
    ledger = cleaned(draft, state)
    require_pairs(ledger)
    mark(folder)
    if config.tokenizer.folder:
        tokenizer = take_tokenizer(config)
        tokenizer.save(folder)
    else:
        say(f"Training the tokenizer on {ledger.kept:,} {ledger.unit}s of {state['corpus']}")
        marks = (PLACEHOLDERS if config.data.placeholders else ()) + (HINTS if config.data.hints else ())
        settings = replace(config.tokenizer, user_defined_symbols=(*config.tokenizer.user_defined_symbols, *marks))
        pairs = (row.pair for row in by_key(draft.files(draft.cleaned)))
        known = Languages.among(config.data.many_to_many)
        tags = [*known.before_target.values(), *tags_of(config.data)]
        tokenizer = train_tokenizer(pairs, settings, folder, *config.data.languages, tags=tags)
        if known.before_target:
            tokenizer = tokenizer.with_languages(known)
            tokenizer.save(folder)
    for note in tokenizer.notes:
        say(note)
    write_json(draft.folder / NOTES, tokenizer.notes)  # the last: the tokenizer is whole
    shutil.rmtree(draft.folder / "parts")


def cleaned(draft: Draft, state: dict[str, Any]) -> Ledger:
    """The ledger of the training text after cleaning."""
    ledger, _ = total(draft.reports("clean"))
    ledger.repaired += Counter(state["repaired"])
    if later := draft.reports("distinct"):
        ledger = ledger.then(total(later)[0])
    return Ledger.from_dict(state["ledgers"]["train"]).then(ledger)


def input_files(config: Config) -> list[Path]:
    """The user's files of text that are prepared."""
    return [file for files in corpus_files(config.data).values() for file in files]


def take_tokenizer(config: Config) -> Tokenizer:
    """Load the tokenizer in `config.tokenizer.folder`."""
    folder = Path(config.tokenizer.folder)
    tokenizer = Tokenizer.load(model_in(folder))
    several = config.data.many_to_many
    missing = [code for code in several if code not in tokenizer.languages.before_target]
    problem = f"the tokenizer in {folder} doesn't know {', '.join(missing)}, languages of data.many_to_many"
    require(not missing, f"{problem}: take another, or train one (leave tokenizer.folder out)")
    tokenizer = tokenizer if several else tokenizer.for_corpus(*config.data.languages)
    starts_of(tokenizer, portions_of(config.data))  # it must have the tags
    separate = f"the tokenizer in {folder} has a vocabulary for each language, but"
    require(tokenizer.joint or config.data.unit == "pair", f"{separate} data.text is {config.data.text}: take another")
    advice = "take model.family encoder-decoder and model.tied_embeddings decoder or none"
    require(tokenizer.joint or not config.model.one_vocabulary, f"{separate} the model needs one vocabulary: {advice}")
    for name, has in (("placeholders", tokenizer.has_placeholders), ("hints", all(map(tokenizer.knows, HINTS)))):
        fits = has or not getattr(config.data, name)
        require(fits, f"the tokenizer in {folder} has no pieces for {name}: set data.{name} to 0, or take another")
    tokenizer.notes.append(f"The tokenizer is the one in {folder}; the other settings of tokenizer.* are not used.")
    return tokenizer


def finish(draft: Draft, folder: Path) -> None:
    """Write what belongs to all shards together, and move all into the run folder."""
    write_draft(draft)
    move_into_place(draft.folder, folder)


def write_draft(draft: Draft) -> None:
    """Write facts, ledgers, the record and the hashes."""
    state, data = read_json(draft.folder / STATE, draft.folder), draft.folder / "data"
    notes = state["notes"] + read_json(draft.folder / NOTES, draft.folder)
    reports = draft.reports("data")
    ledger = cleaned(draft, state).then(total(reports)[0])
    require_pairs(ledger)
    _, examples = total([*draft.reports("clean"), *draft.reports("distinct"), *reports])
    sizes = [report["pairs"] for report in reports]
    if sum(sizes) > ledger.kept:
        say(f"With {sum(sizes) - ledger.kept:,} changed copies: {sum(sizes):,} training pairs")
    longest = max(report["longest_source"] for report in reports)
    write_facts(Tokenizer.load(draft.folder / "tokenizer"), draft.files("data"), longest, data)
    splits = {"train": ledger.as_dict()} | {k: v for k, v in state["ledgers"].items() if k != "train"}
    write_json(draft.folder / "ledger.json", {k: splits[k] for k in state["ledgers"]})
    record = {
        "format": FORMAT,
        "corpus": state["corpus"],
        "pairs": {"train": sum(sizes), **state["pairs"]},
        "val_sets": state["val_sets"],
        "commits": state.get("commits", {}),
        "shards": sizes,
        "notes": notes,
        "settings": data_settings(draft.config),
        "inputs": state["key"]["inputs"],
        "dropped": state.get("dropped", {}) | examples.by_cause(),
        "quick": {f.name: quick_hash(f) for f in sorted(data.glob("train-*")) if f.stat().st_size > QUICK_ABOVE},
    }
    write_json(data / "corpus.json", record)
    for part in ("data", "tokenizer"):
        write_sums(draft.folder / part)


def move_into_place(draft: Path, folder: Path) -> None:
    """Flush the draft to the disk, and move its parts into the run folder, `data/` last."""
    (draft / STATE).unlink()  # a preparation that is interrupted from here on starts again
    for path in sorted(draft.rglob("*"), reverse=True):
        flush_to_disk(path)
    for name in ("tokenizer", "ledger.json", "data"):
        (draft / name).replace(folder / name)
        flush_to_disk(folder)
    remove_ours(draft)


def load_finished(record: dict[str, Any], config: Config, folder: Path) -> Prepared:
    """Read a prepared run folder with this corpus.json. Raises ValueError if it was prepared with other settings, or
    from other text and nothing was trained on it yet."""
    prepared = Prepared.load(folder)
    before, now = upgrade_record(flat(record["settings"])), flat(data_settings(config))
    if "auto" in (before["data.corpus"], now["data.corpus"]):  # the name of the folder has the corpus that auto took
        before["data.corpus"] = now["data.corpus"]
    if changed := describe_changes(before, now):
        problem = f"{folder} was prepared with other settings: {changed}"
        raise ValueError(f"{problem}. Give the run another name, or delete that folder")
    if note := note_of_edits(config, folder, record):
        require(any((folder / "checkpoints").glob("step-*")), note)
        say(note)
    unit = prepared.ledgers["train"].unit
    say(f"{folder} is prepared already: {len(prepared.train):,} training {unit}s of {prepared.name}")
    return prepared


def note_of_edits(config: Config, folder: Path, record: dict[str, Any]) -> str:
    """Which of the user's files have changed since they were prepared, and what to do; empty if none has."""
    edits = describe_edits(record.get("inputs"), input_files(config))
    advice = f"{folder} keeps the text as it was. To use the new text, give the run another name, or delete that folder"
    return f"text has changed since it was prepared: {edits}. {advice}" if edits else ""


def explain(dropped: dict[str, list[Pair]], most: int) -> Iterator[str]:
    """Lines that show some of the dropped pairs of each cause, a tab between source and target."""
    for cause, pairs in dropped.items():
        if most:
            yield f"\nDropped: {cause}"
        yield from ("  " + "\t".join(filter(None, pair)) for pair in pairs[:most])
