"""Readers of files (plain or .gz): a folder, a TSV, JSONL or TMX file, or plain files with a common prefix."""

import difflib
import json
import re
import shlex
from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import permutations, zip_longest
from pathlib import Path
from typing import Literal

from nmt.config import DataConfig
from nmt.data.cleaning.cleaner import Ledger
from nmt.data.corpora.bilingual_xml import ANY, entries_of, in_languages
from nmt.data.corpora.catalogues import FUZZY, Catalogue, are_swapped, mo_messages, po_messages
from nmt.data.corpora.columns import bare, find_columns, quoted_by_spreadsheet, unquoted
from nmt.data.corpora.corpus import ONLY_TEXT, VAL_NAMES, Corpus, Split, assemble
from nmt.data.corpora.tables import parquet_tables, read_tables
from nmt.fields import require
from nmt.files import iterate_lines

KINDS = (
    "a corpus is phrasebook, multi30k, auto, hub:NAME[@REVISION][:CONFIGURATION], a folder, a .tsv, .jsonl, "
    ".tmx, .xliff, .parquet, .po or .mo file (or .gz or .zst of one), or the common prefix of two plain files"
)
TO_READ_TEXTS = "set data.text (of an entry of data.more: text) to source or target"
BUILT_IN = ("phrasebook", "multi30k")
TABLES = (".csv", ".xlsx", ".xls", ".ods")  # which a spreadsheet can save as TSV
MOST_RETURNS = 3  # carriage returns in an only line
ARCHIVES = (".zip", ".tar", ".tgz", ".7z", ".rar")  # such as those that OPUS offers
COMPRESSED = ("", ".gz", ".zst")


def path_name(path: Path, config: DataConfig) -> str:
    name = ROWS.sub("", path.resolve().name)
    endings = "|".join(map(re.escape, ("txt", *config.languages)))
    return name if config.unit == "pair" else re.sub(rf"(?<=.)(\.({endings}))?(\.(gz|zst))?$", "", name)


def read_path(path: Path, config: DataConfig) -> Corpus:
    """The corpus in a folder, a file, or files with this prefix; ValueError if it is none of them."""
    splits = find_splits(path, config)
    read = {name: read_split(files, config, training=name == "train") for name, files in splits.items()}
    return assemble(path_name(path, config), read)


def find_splits(path: Path, config: DataConfig) -> dict[str, list[Path]]:
    """The files of each split of the corpus at a path or with this prefix; ValueError if there is no training text."""
    if path.is_dir():
        return find_in_folder(path, config)
    plain = path.is_file() and not ROWS.search(path.name)
    usable = not plain or len(config.languages) == 1
    codes, kind = " and ".join(config.languages), path.suffix.lower()
    advice = f"save it as text with tabs (.tsv), with the codes of the languages ({codes}) in the first line"
    advice = "unpack it, and name its folder or the prefix of its files" if kind in ARCHIVES else advice
    is_table = plain and kind in (*TABLES, *ARCHIVES) and not (usable and kind == ".csv")
    require(not is_table, f"the corpus {config.corpus!r}: a {kind} file isn't read as a corpus: {advice}")
    prefix = f" ({path.with_suffix('')})" if kind[1:] in config.languages else ""
    problem = f"the corpus {config.corpus!r} is one plain file: give the prefix of two files{prefix}, call a table .tsv"
    require(usable, f"{problem}, or, for text in one language, {TO_READ_TEXTS}")
    files = [path] if path.is_file() else find_split(path.parent, path.name, config)
    if files is None:
        beside = [file.name for file in path.parent.iterdir() if file != path] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, [*BUILT_IN, *beside], n=1, cutoff=0.75)
        named = next((name if name in BUILT_IN else str(path.with_name(name)) for name in near), "")
        advice = f": did you mean {named}?" if named else f"; {KINDS}"
        raise ValueError(f"the corpus {config.corpus!r}: there is no such folder or file{advice}")
    return {"train": files}


def find_in_folder(folder: Path, config: DataConfig) -> dict[str, list[Path]]:
    """The splits of a folder: train, the first of VAL_NAMES that is there, as val, other validation files as val-NAME,
    and every test*. Of files that are named by both languages (see `find_named`), the others are training text."""
    train = find_split(folder, "train", config) or find_named(folder, config)
    splits = {"train": train}
    for name in VAL_NAMES:
        if files := find_split(folder, name, config):
            splits[f"val-{name}" if "val" in splits else "val"] = files
    endings, vals = "|".join(map(re.escape, (*config.languages, *READERS))), "|".join(VAL_NAMES)
    held_out = rf"test.*?|(?:{vals})[-_].*?|(?:{vals})\.(?:{both_languages(config)})"
    stem = re.compile(rf"({held_out})\.(?:{endings})(?:\.(?:gz|zst))?")
    for name in sorted({match[1] for path in folder.iterdir() if (match := stem.fullmatch(path.name))}):
        if files := find_split(folder, name, config):
            key = re.sub(rf"^(?:{vals})[-_.]", "val-", name)
            require(key not in splits, f"{folder} has two validation sets named {key}: rename one")
            splits[key] = files
            splits["train"] = [file for file in splits["train"] if file not in files]
    if not splits["train"]:
        plain = " and ".join(f"train.{language}" for language in config.languages)
        needed = f"{plain} nor train.tsv, train.jsonl or train.tmx (or .gz of them), and data.text is {config.text}"
        raise ValueError(f"{folder} has no training text: neither {needed}; {contents(folder)}")
    return splits


def contents(folder: Path) -> str:
    names = sorted(path.name for path in folder.iterdir())
    return f"{folder} holds {', '.join(names[:20]) or 'nothing'}{' …' if len(names) > 20 else ''}"


def find_split(folder: Path, stem: str, config: DataConfig) -> list[Path] | None:
    """The files of a split, one with rows or one for each language; None if there are none, or if they are named by
    other languages, ValueError if there is only one of two, or a folder in place of one."""
    found = {language: plain_or_gz(folder / f"{stem}.{language}") for language in config.languages}
    plain = [path for path in found.values() if path]
    if len(plain) == len(found):
        return plain
    if rows := next(filter(None, (plain_or_gz(folder / f"{stem}.{kind}") for kind in READERS)), None):
        return [rows]
    missing = [folder / f"{stem}.{language}" for language, path in found.items() if path is None]
    if wrong := next((path for path in missing if path.is_dir()), None):
        raise ValueError(f"{wrong} is a folder: it must be a file with a sentence in each line")
    if plain and not is_of_others(stem, config):
        problem = f"{missing[0]} is missing, and {plain[0]} is there"
        advice = "name its languages by data.source and data.target, or data.many_to_many; to read text in one language"
        raise ValueError(f"{problem}; {contents(folder)}: {advice}, {TO_READ_TEXTS}")
    return None


def plain_or_gz(path: Path) -> Path | None:
    """The path or, if it is not a file, the path with .gz or .zst; None if none is a file."""
    return next((file for end in COMPRESSED if (file := path.with_name(path.name + end)).is_file()), None)


def find_named(folder: Path, config: DataConfig) -> list[Path]:
    """The files of corpora that are named by their two languages, one for each language, as OPUS and mtdata have them:
    Europarl.de-en.de and Europarl.de-en.en, in the folder or in train-parts/; a source, then its target, and so on."""
    if config.unit != "pair" or len(config.languages) != 2:
        return []
    stem = re.compile(rf"(.+[.-](?:{both_languages(config)}))\.{re.escape(config.source)}(?:\.(?:gz|zst))?")
    files = sorted(path for place in (folder, folder / "train-parts") if place.is_dir() for path in place.iterdir())
    stems = {path.with_name(match[1]): None for path in files if (match := stem.fullmatch(path.name))}
    pairs = (find_split(path.parent, path.name, config) for path in stems)
    return [file for pair in pairs if pair and len(pair) == 2 for file in pair]


def is_of_others(stem: str, config: DataConfig) -> bool:
    """Whether the name of a file ends in a language of the corpus and another one: test.de-fr, of de and en."""
    language = "|".join(map(re.escape, config.languages))
    others = rf".*[.-](?!(?:{both_languages(config)})$)(?:(?:{language})-[\w-]+|[\w-]+-(?:{language}))"
    return re.fullmatch(others, stem) is not None


def both_languages(config: DataConfig) -> str:
    """A pattern of the two languages in the name of a file: de-en or en-de."""
    return "|".join(re.escape("-".join(pair)) for pair in permutations(config.languages, 2))


def read_split(files: list[Path], config: DataConfig, training: bool) -> Split:
    split, rows = Split(config, training), ROWS.search(files[0].name)
    split.files = files
    if rows:
        READERS[rows[1].lower()](files[0], split)
    elif config.unit == "pair":
        for source, target in zip(files[::2], files[1::2], strict=True):
            read_parallel(source, target, split)
    else:
        read_texts(files, split)
    return split


def read_texts(files: list[Path], split: Split) -> None:
    """Read each line of each file as a text; the languages take turns, so that any part of the text has both."""
    for number, texts in enumerate(zip_longest(*(corpus_lines(file, split) for file in files)), start=1):
        for text in texts:
            if text is not None:
                split.keep([text], number)


def read_parallel(source: Path, target: Path, split: Split) -> None:
    """Read pairs of line n of one file and of the other. Their numbers go on after those of the files before."""
    n_source = n_target = 0
    for src, tgt in zip_longest(corpus_lines(source, split), corpus_lines(target, split)):
        n_source, n_target = n_source + (src is not None), n_target + (tgt is not None)
        if src is not None and tgt is not None:
            split.add([src, tgt], split.lines_before + n_source)
    unequal = f"{source} has {n_source:,} lines, {target} has {n_target:,}"
    require(n_source == n_target, f"{unequal}: line n of each must translate line n of the other")
    split.lines_before += n_source


def read_tsv(path: Path, split: Split) -> None:
    """Read the rows of a TSV file. Its first line that isn't blank decides which columns are read (`find_columns`), and
    how many there may be: with one more, a sentence has a tab in it. Of a spreadsheet (`quoted_by_spreadsheet`), a cell
    with an odd number of quotes goes on in another line. ValueError if columns are missing, and no line has a tab."""
    columns, most, has_tab, has_quotes = [0], 0, False, False
    for number, line in enumerate(corpus_lines(path, split), start=1):
        cells = line.removesuffix("\r").split("\t")
        has_tab |= len(cells) > 1
        if not most and line.strip():
            columns, is_header = find_columns(path, cells, split.config)
            most = max(len(cells), len(columns))
            has_quotes = (is_header and '"' in line) or quoted_by_spreadsheet(iterate_lines(path, "surrogateescape"))
            if is_header:
                continue
            words = [bare(cells[column]) for column in columns if column < len(cells)]
            if len(words) > 1 and all(map(str.isalpha, words)):
                split.notes.append(f"{path}: its first line is read as a pair: {' and '.join(words)}")
        if not most or len(cells) <= max(columns):
            split.drop("too few columns" if line.strip() else split.blank, number, line)
        elif len(cells) > most:
            split.drop("too many columns", number, line)
        elif has_quotes and any(cells[column].count('"') % 2 for column in columns):
            split.drop("a line break in a cell", number, line)
        else:
            texts = [cells[column] for column in columns]
            plain = [unquoted(text) for text in texts] if has_quotes else texts
            if plain != texts:
                split.ledger.repair("quotes of a spreadsheet removed", number)
            split.add(plain, number)
    undivided = len(split.config.languages) > 1 and "too few columns" in split.ledger.dropped and not has_tab
    require(not undivided, f"{path}: no line has a tab: are the columns divided by , or ; ? Save it as text with tabs")


def read_jsonl(path: Path, split: Split) -> None:
    """Read {"de": …, "en": …} from each line, or under its key translation. ValueError if no line has these keys."""
    languages, keys, is_named = split.config.languages, list[str](), False
    needed = all if split.config.unit == "pair" else any
    for number, line in enumerate(corpus_lines(path, split), start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            split.drop("not JSON", number, line)
            continue
        row = row.get("translation", row) if isinstance(row, dict) else row
        row = row if isinstance(row, dict) else {}
        other = row.get(ONLY_TEXT) if len(languages) == 1 else None
        texts = [row.get(language, other) for language in languages]
        keys = keys or list(row)[:20]
        is_named = is_named or needed(other is not None or language in row for language in languages)
        split.add(texts, number, line)
    named = f"no object has {' and '.join(languages)} as keys; the first one has {', '.join(keys)}"
    require(is_named or not keys, f"{path}: {named}: name the keys of the texts by their languages")


def read_entries(path: Path, split: Split, kind: Literal["TMX", "XLIFF"] = "XLIFF") -> None:
    """Read the entries of a translation memory, or the units of XLIFF; their numbers are those of the file."""
    found: dict[str, None] = {}
    for number, entry in enumerate(entries_of(path, kind), start=1):
        found |= dict.fromkeys(language for language, _ in entry if language != ANY)
        split.add(in_languages(entry, split.config.languages), number)
    problem = f"{path} has no entry with text in {' and '.join(split.config.languages)}; its languages are"
    require(bool(split.pairs) or not found, f"{problem} {', '.join([*found][:20])}")


def read_catalogue(path: Path, split: Split, read: Callable[[Path], Catalogue] = po_messages) -> None:
    """Read the messages of a program and their translations, with this reader."""
    config = split.config
    language, messages = read(path)
    swapped = are_swapped(path, language, config.source, config.target)
    for number, (text, translation, is_fuzzy) in enumerate(messages, start=1):
        pair = (translation, text) if swapped else (text, translation)
        sides = dict(zip((config.source, config.target), pair, strict=True))
        if is_fuzzy:
            split.drop(FUZZY, number, *pair)
        else:
            split.add([sides[language] for language in config.languages], number)


READERS: dict[str, Callable[[Path, Split], None]] = {
    "tsv": read_tsv,
    "jsonl": read_jsonl,
    "tmx": partial(read_entries, kind="TMX"),
    "xliff": read_entries,
    "xlf": read_entries,
    "parquet": lambda path, split: read_tables(parquet_tables(path, split.config), split, str(path)),
    "po": read_catalogue,
    "mo": partial(read_catalogue, read=mo_messages),
}
ROWS = re.compile(rf"\.({'|'.join(READERS)})(\.(gz|zst))?$", re.IGNORECASE)


def corpus_lines(path: Path, split: Split) -> Iterator[str]:
    """The lines of a file; bytes that aren't UTF-8 become lone surrogates. ValueError if CR alone ends its lines."""
    number, line = -1, ""
    for number, line in enumerate(iterate_lines(path, "surrogateescape")):
        if number == 0 and line.startswith("\ufeff"):
            split.ledger.repair("byte-order mark removed", split.lines_before + 1)
            line = line.removeprefix("\ufeff")
        yield line
    convert = f"tr '\\r' '\\n' < {shlex.quote(str(path))} > NEW-FILE"
    is_one = number == 0 and line.count("\r") > MOST_RETURNS
    require(not is_one, f"{path} has lines that end with carriage returns (CR) alone: convert it with {convert}")


def read_sentences(file: Path, config: DataConfig, held_out: Collection[str]) -> tuple[Iterator[str], Ledger]:
    """Text in the language of `config.text`, read like training text, and its ledger, complete when all was taken."""
    split = read_split([file], config, training=True)

    def kept() -> Iterator[str]:
        for _, sentence in split.pairs:
            if len(sentence) > config.max_characters:
                split.ledger.drop(f"longer than {config.max_characters:,} characters")
            elif config.drop_held_out and sentence in held_out:
                split.ledger.drop("occurs in val or test")
            else:
                yield sentence

    return kept(), split.ledger
