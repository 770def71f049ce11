"""Facts about training text, learned once when a corpus is prepared: how long sources are, and their words."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from nmt.data.texts import read_columns
from nmt.data.tokenizer import WORDS, Tokenizer
from nmt.files import write_json, write_text
from nmt.text.sentences import MARKS, split_sentences
from nmt.text.words import Words

# Number of sentences that is usual in a training source: a sample of at most so many; this fraction has it, or more.
MEASURED_SOURCES, USUAL_SHARE = 20_000, 1 / 100
FINAL_SHARE = 0.95  # of the sources that end with a mark, at least, if lines without one get it
WORDS_SOURCES = 500_000  # at most so many sources are read for their words
FACTS = "facts.json"


def learn_words(tokenizer: Tokenizer, sources: Sequence[str]) -> Words | None:
    """The words of a sample of the sources; None without sources, or if they are read by another library's rules."""
    step = math.ceil(len(sources) / WORDS_SOURCES)
    has_sources = bool(sources and sources[0]) and not tokenizer.mapped
    return Words.learn(map(tokenizer.readable, sources[::step])) if has_sources else None


def usual_sentences(sources: Sequence[str]) -> int:
    """The number of sentences that few sources have, or more."""
    counts = sorted(len(split_sentences(text)) for text in sources)
    return counts[-math.ceil(len(counts) * USUAL_SHARE)]


def final_mark(sources: Sequence[str]) -> str:
    """The usual mark at the end of the sources; empty if many have none."""
    marks = Counter(text[-1:] for text in sources if text and text[-1] in MARKS)
    return max(marks, key=lambda mark: (marks[mark], mark)) if marks.total() >= FINAL_SHARE * len(sources) > 0 else ""


def sample(files: Sequence[Path], most: int, *, changed: bool) -> list[str]:
    """About so many sources of shards: the first ones of each, which are a random sample. `changed`: copies too that
    nmt has changed."""
    shards = (read_columns(file, ("source", "changed")) for file in files)
    sources = ((source for source, is_copy in rows if changed or not is_copy) for rows in shards)
    return [source for shard in sources for source in islice(shard, math.ceil(most / len(files)))]


def write_facts(tokenizer: Tokenizer, files: Sequence[Path], longest_source: int, folder: Path) -> None:
    """Learn the facts of the text in these files, and write them to facts.json and words.txt in the folder."""
    facts: dict[str, int | str] = {"longest_source": longest_source}
    if longest_source:
        sources = sample(files, MEASURED_SOURCES, changed=True)
        facts |= {"usual_sentences": usual_sentences(sources), "final_mark": final_mark(sources)}
    write_json(folder / FACTS, facts)
    # Misspelled words are no words.
    if words := learn_words(tokenizer, sample(files, WORDS_SOURCES, changed=False)):
        write_text(folder / WORDS, [words.dump()])
