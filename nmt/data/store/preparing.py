"""Preparing: a corpus flows in; clean pairs, a tokenizer and a ledger of dropped pairs flow out, in the run folder.

All is made in a draft folder, `.preparing/`, by stages (see `nmt.data.store.stages`, `shards`), and moved into place,
`data/` last: a run folder with `data/corpus.json` is prepared completely. The caller locks the run folder.
"""

import contextlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from nmt.config import Config
from nmt.data.cleaning.cleaner import Ledger, require_pairs
from nmt.data.cleaning.losses import require_sides
from nmt.data.corpora import Corpus, load_corpus
from nmt.data.sections import sections_of, starts_of
from nmt.data.store.engines import Engine, collecting_seldom
from nmt.data.store.facts import WORDS_SOURCES, write_facts
from nmt.data.store.prepared import DRAFT, Prepared, input_files, load_finished, require_own_run_folder
from nmt.data.store.record import data_settings, describe_edits, fingerprints, flat, read_json, read_record
from nmt.data.store.shards import MOST_TASKS, STATE, Draft, Scorer, least_pairs, shards_for, total
from nmt.data.store.stages import Stage, reports, resume, task, tidy
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.data.tokenizer.languages import Languages
from nmt.fields import require
from nmt.files import (
    SUMS,
    flush_to_disk,
    locked,
    mark,
    naming,
    quick_hash,
    remove_ours,
    tokenizer_in,
    write_json,
    write_lines,
    write_sums,
)
from nmt.messages import say
from nmt.text.words import WordCounts
from nmt.upgrade import FORMAT
from nmt.vocabulary import ITEMS

QUICK_ABOVE = 1 << 24  # bytes: a larger file is not read as a whole when a training starts
COMPARED = 100_000  # characters of training pairs whose sides are compared with held-out text
ALL_CORES = Engine()
# Settings of data.* that only later stages need; all others change what is read.
OF_CLEANING = "max_characters max_ratio drop_duplicates drop_held_out scorer least_quality typos placeholders"
OF_ENCODING = "max_pieces"


def prepare(
    corpus: Corpus | None,
    config: Config,
    folder: Path,
    load_scorer: Callable[[Config], Scorer] | None = None,
    engine: Engine = ALL_CORES,
) -> Prepared:
    """Clean the corpus, train the tokenizer on it, and put both into the run folder, unless they are there already.

    `corpus`: None to read it only if needed; `load_scorer`: loads `data.scorer`, and is needed if that is set. Raises
    ValueError if the folder has something else, or text, scorer or tokenizer can't be used.
    """
    require_own_run_folder(config, folder)
    if record := read_record(folder):
        for note in corpus.notes if corpus else ():  # which corpus `auto` took, and why
            say(note)
        return load_finished(record, config, folder)
    assert load_scorer or not config.data.scorer
    scorer = load_scorer(config) if load_scorer and config.data.scorer else None  # before hours of reading
    with explaining_stops(folder / DRAFT), naming(folder / DRAFT), collecting_seldom(), engine:
        draft, stages = begin(corpus, config, folder, engine, scorer)
        for stage in stages:
            stage.do(draft.folder, engine)
            tidy(draft.folder, stages)
        finish(draft, folder)
    return Prepared.load(folder, check=False)


def prepare_part(config: Config, folder: Path, engine: Engine) -> bool:
    """Do one part of a preparation that several machines share: of cleaning and encoding, the shards of this part; of
    the other stages, what the first process that comes to it finds undone. Returns whether all stages are done, for
    `prepare`: if not, other parts are missing, or this part must be called again after them."""
    require(not config.data.scorer, "--part doesn't go with data.scorer: prepare without --part")
    require_own_run_folder(config, folder)
    with explaining_stops(folder / DRAFT), collecting_seldom(), engine:
        with locked(folder, wait=True):
            if read_record(folder):
                return True
            draft, stages = begin(None, config, folder, engine)
        for stage in stages:
            if stage.where == "parts" and draft.folder.exists():  # it is gone if another part has finished all
                stage.do(draft.folder, engine)
            with locked(folder, wait=True):
                if read_record(folder):
                    return True
                if stage.where != "parts":
                    stage.do(draft.folder, engine)
                elif missing := stage.missing(draft.folder):
                    done = {"clean": "cleaned", "data": "encoded"}[stage.name]
                    advice = "after the other parts are done, call this part again, or nmt.prepare without --part"
                    say(f"{len(missing):,} of {stage.size:,} shards are not {done} yet: {advice}")
                    return False
                tidy(draft.folder, stages)
    return True


@contextlib.contextmanager
def explaining_stops(draft: Path) -> Iterator[None]:
    """Say after Ctrl-C what the same command will do."""
    try:
        yield
    except KeyboardInterrupt:
        kept = f"Stopped. {draft} keeps what is finished: the same command goes on with what is missing."
        again = "Stopped before the text was read: the same command starts again."
        raise KeyboardInterrupt(kept if (draft / STATE).exists() else again) from None


def begin(
    corpus: Corpus | None, config: Config, folder: Path, engine: Engine, scorer: Scorer | None = None
) -> tuple[Draft, list[Stage]]:
    """Read the corpus, unless a draft has it already, read with equal settings from the same files; then the stages."""
    settings = flat(data_settings(config))
    later = [f"data.{name}" for name in (*OF_CLEANING.split(), OF_ENCODING)]
    reading = {n: v for n, v in settings.items() if n.startswith("data.") and n not in later} | {"format": FORMAT}
    sections, files = sections_of(config.data), input_files(config)
    state = read_json(folder / DRAFT / STATE, folder) if (folder / DRAFT / STATE).exists() else {}
    # Else other settings, or an older nmt, have begun the draft.
    if state.get("reading") == reading and not describe_edits(state["inputs"], files):
        draft = Draft(folder / DRAFT, config, sections, state["shards"], state["tasks"])
        stages = stages_of(draft, settings, scorer)
        if resume(draft.folder, stages, "read"):
            say(f"{draft.folder} has what was prepared before: going on with it")
            return draft, stages
    for leftover in (folder / "data", folder / "tokenizer", folder / DRAFT):
        remove_ours(leftover)
    try:
        draft = read(corpus, config, folder / DRAFT, engine, {"reading": reading, "inputs": fingerprints(files)})
    except BaseException:
        shutil.rmtree(folder / DRAFT, ignore_errors=True)  # frees space if the disk is full
        raise
    stages = stages_of(draft, settings, scorer)
    resume(draft.folder, stages, "read")
    return draft, stages


def read(corpus: Corpus | None, config: Config, folder: Path, engine: Engine, state: dict[str, Any]) -> Draft:
    """Read the corpus into a draft folder. `state`: what it was read with."""
    corpus = corpus or load_corpus(config.data)
    for note in corpus.notes:
        say(note)
    mark(folder)
    size = shards_for(len(corpus.train))
    if size > 1:
        engine.start(Draft)
    files = corpus.train.move(folder / "read")
    splits = {"val": corpus.val, **corpus.tests}
    for split, pairs in splits.items():
        write_lines(folder / "text" / f"{split}.src", (source for source, _ in pairs))
        write_lines(folder / "text" / f"{split}.tgt", (target for _, target in pairs))
    state |= {
        "shards": size,
        "tasks": min(len(files), MOST_TASKS),
        "corpus": corpus.name,
        "notes": corpus.notes,
        "pairs": {split: len(pairs) for split, pairs in splits.items()},
        "val_sets": [(s.name, s.source, s.target, s.rows) for s in corpus.val_sets],
        "chosen": corpus.chosen,
        "commits": corpus.commits,
        "dropped": corpus.dropped,
        "ledgers": {split: ledger.as_dict() for split, ledger in corpus.ledgers.items()},
    }
    write_json(folder / STATE, state)
    return Draft(folder, config, sections_of(config.data), size, state["tasks"])


def stages_of(draft: Draft, settings: dict[str, Any], scorer: Scorer | None) -> list[Stage]:
    """The stages after reading, in their order. A scorer is not sent to other processes: it may be on a GPU."""
    config, size = draft.config, draft.size

    def of(*names: str) -> dict[str, Any]:
        return {name: value for name, value in settings.items() if name.startswith(names)}

    repairs = ["unicode" in (section.cleaning or config.cleaning).values for section in draft.sections]
    dividing = {"repairs": repairs, "repaired": "by section"}  # the reports of an older nmt have one count for all
    stages = [Stage("buckets", ("read",), draft.divide, draft.tasks, dividing, verb="Dividing")]
    if draft.buckets < size:
        stages.append(Stage("parts", ("buckets",), draft.divide_bucket, draft.buckets, verb="Dividing again"))
    inputs, cleaning = (stages[-1].name,), of("cleaning.") | of(*(f"data.{name}" for name in OF_CLEANING.split()))
    if scorer:
        stages.append(Stage("clean", inputs, partial(draft.clean, scorer=scorer), size, cleaning, "here"))
    else:
        stages.append(Stage("clean", inputs, draft.clean, size, cleaning, "parts", "Cleaning"))
    stages.append(Stage("tokenizer", ("clean",), partial(make_tokenizer, draft), 1, of("tokenizer."), "here"))
    # The words are in the reports of this stage: those of an older nmt have none.
    encoding = of(f"data.{OF_ENCODING}") | {"words": WORDS_SOURCES}
    return [*stages, Stage("data", ("clean", "tokenizer"), draft.encode, size, encoding, "parts", "Encoding")]


def make_tokenizer(draft: Draft, n: int) -> None:
    """Train the tokenizer on the least hashes, or take that of tokenizer.folder: the only task, 0, of its stage."""
    config, state = draft.config, draft.state
    ledger = cleaned(draft, state)
    require_pairs(ledger)
    paired, files = config.data.unit == "pair", draft.files("clean")
    if paired and not config.data.many_to_many:
        require_sides(least_pairs(files, COMPARED), draft.held_out.splits, *config.data.languages)
    with task(draft.folder, "tokenizer", n) as (folder, report):
        mark(folder)
        if config.tokenizer.folder:
            tokenizer = take_tokenizer(config)
        else:
            say(f"Training the tokenizer on {ledger.amount()} of {state['corpus']}")
            marks = ITEMS if config.data.placeholders else ()
            settings = replace(config.tokenizer, user_defined_symbols=(*config.tokenizer.user_defined_symbols, *marks))
            pairs = least_pairs(files, settings.sample_characters, paired=paired)
            if config.data.texts:  # after the pairs, of which a few among millions of texts would be lost
                pairs += least_pairs(files, settings.sample_characters, paired=False)
            known = Languages.among(config.data.many_to_many)
            tags = [*known.before_target.values(), *dict.fromkeys(s.tag for s in draft.sections if s.tag)]
            tokenizer = train_tokenizer(pairs, settings, folder, *config.data.languages, tags=tags)
            tokenizer = tokenizer.with_languages(known) if known.before_target else tokenizer
        tokenizer.save(folder)
        report["notes"] = tokenizer.notes
    for note in tokenizer.notes:
        say(note)


def take_tokenizer(config: Config) -> Tokenizer:
    folder = Path(config.tokenizer.folder)
    tokenizer = Tokenizer.load(tokenizer_in(folder))
    several = config.data.many_to_many
    missing = [code for code in several if code not in tokenizer.languages.before_target]
    problem = f"the tokenizer in {folder} doesn't know {', '.join(missing)}, languages of data.many_to_many"
    require(not missing, f"{problem}: take another, or train one (leave tokenizer.folder out)")
    tokenizer = tokenizer if several else tokenizer.for_corpus(*config.data.languages)
    starts_of(tokenizer, sections_of(config.data))  # it must have the tags
    reason = config.data.texts or (f"data.text is {config.data.text}" if config.data.unit == "text" else "")
    problem = f"the tokenizer in {folder} has a vocabulary for each language, but {reason}"
    require(tokenizer.joint or not reason, f"{problem}: take another")
    fits = tokenizer.has_placeholders or not config.data.placeholders
    problem = f"the tokenizer in {folder} has no pieces for placeholders"
    require(fits, f"{problem}: set data.placeholders to 0, or take another")
    tokenizer.notes.append(f"The tokenizer is the one in {folder}; the other settings of tokenizer.* are not used.")
    return tokenizer


def cleaned(draft: Draft, state: dict[str, Any]) -> Ledger:
    ledger, _ = total(reports(draft.folder, "clean"))
    for report in reports(draft.folder, "buckets"):
        for section, causes in zip(draft.sections, report["repaired"], strict=True):
            for part in (ledger, ledger.parts.get(section.name, Ledger())):
                part.repaired += Counter(causes)
    return Ledger.from_dict(state["ledgers"]["train"]).then(ledger)


def finish(draft: Draft, folder: Path) -> None:
    """Write what belongs to all shards together, and put all into the run folder, `data/` last."""
    write_draft(draft)
    remove_ours(folder / "tokenizer")  # of an earlier call that was interrupted here
    shutil.copytree(draft.folder / "tokenizer", folder / "tokenizer")
    shutil.copy2(draft.folder / "ledger.json", folder / "ledger.json")
    made = draft.folder / "data", folder / "tokenizer"
    for path in (*(file for part in made for file in part.iterdir()), *made, folder / "ledger.json", folder):
        flush_to_disk(path)
    (draft.folder / "data").replace(folder / "data")
    flush_to_disk(folder)
    remove_ours(draft.folder)


def write_draft(draft: Draft) -> None:
    state, data = draft.state, draft.folder / "data"
    shutil.copytree(draft.folder / "text", data, dirs_exist_ok=True)
    of_data = reports(draft.folder, "data")
    ledger = cleaned(draft, state).then(total(of_data)[0])
    require_pairs(ledger)
    _, examples = total([*reports(draft.folder, "clean"), *of_data])
    sizes = [report["pairs"] for report in of_data]
    if sum(sizes) > ledger.kept:
        copies = sum(sizes) - ledger.kept
        say(f"With {copies:,} changed copies: {ledger.amount(copies)} for training")
    longest, words = max(report["longest_source"] for report in of_data), WordCounts()
    for report in of_data:
        words.add(**report["words"])
    write_facts(draft.files("data"), longest, words, data)
    splits = {"train": ledger.as_dict()} | {k: v for k, v in state["ledgers"].items() if k != "train"}
    write_json(draft.folder / "ledger.json", {k: splits[k] for k in state["ledgers"]})
    counts = (sum(rows) for rows in zip(*(report["sections"] for report in of_data), strict=True))
    sections = [replace(section, rows=rows) for section, rows in zip(draft.sections, counts, strict=True)]
    record = {
        "format": FORMAT,
        "corpus": state["corpus"],
        "pairs": {"train": sum(sizes), **state["pairs"]},
        "sections": [section.as_dict() for section in sections],
        "val_sets": state["val_sets"],
        "commits": state["commits"],
        "shards": sizes,
        "notes": state["notes"] + reports(draft.folder, "tokenizer")[0]["notes"],
        "settings": data_settings(draft.config),
        "inputs": state["inputs"],
        "dropped": state["dropped"] | examples.by_cause(),
        "quick": {f.name: quick_hash(f) for f in sorted(data.glob("train-*")) if f.stat().st_size > QUICK_ABOVE},
    }
    write_json(data / "corpus.json", record)
    for part in ("data", "tokenizer"):
        (draft.folder / part / SUMS).unlink(missing_ok=True)  # of an earlier call
        write_sums(draft.folder / part)
