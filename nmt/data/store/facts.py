"""Facts about training text, learned once when a corpus is prepared: how long sources are, and their words."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from nmt.data.texts import read_columns
from nmt.data.tokenizer import WORDS, Tokenizer
from nmt.files import write_json, write_text
from nmt.text.sentences import MARKS, split_sentences
from nmt.text.words import WordCounts, Words

# Number of sentences that is usual in a training source: a sample of at most so many; this fraction has it, or more.
MEASURED_SOURCES, USUAL_SHARE = 20_000, 1 / 100
FINAL_SHARE = 0.95  # of the sources that end with a mark, at least, if lines without one get it
WORDS_SOURCES = 500_000  # about so many sources are read for their words
FACTS = "facts.json"


def learn_words(tokenizer: Tokenizer, sources: Sequence[str]) -> Words | None:
    """The words of a sample of the sources; None without sources, or if they are read by another library's rules."""
    step = math.ceil(len(sources) / WORDS_SOURCES)
    counts = count_words(tokenizer, sources[::step])
    return Words.counted(counts) if counts.texts else None


def count_words(tokenizer: Tokenizer, sources: Iterable[str]) -> WordCounts:
    """The words of sources; none of those that are read by another library's rules."""
    return WordCounts.of(() if tokenizer.mapped else map(tokenizer.readable, filter(None, sources)))


def final_mark(sources: Sequence[str]) -> str:
    """The usual mark at the end of the sources; empty if many have none."""
    marks = Counter(text[-1:] for text in sources if text and text[-1] in MARKS)
    return max(marks, key=lambda mark: (marks[mark], mark)) if marks.total() >= FINAL_SHARE * len(sources) > 0 else ""


def sample(files: Sequence[Path], most: int) -> list[str]:
    """About so many sources of shards: the first ones of each, which are a random sample."""
    shards = (read_columns(file, ("source",)) for file in files)
    return [source for shard in shards for (source,) in islice(filter(any, shard), math.ceil(most / len(files)))]


def facts_of(longest_source: int, sources: Sequence[str]) -> dict[str, Any]:
    """The facts of training text by their names: the pieces of its longest source, and what a sample of its sources
    shows; of text without sources, 0 pieces alone."""
    if not longest_source:
        return {"longest_source": 0}
    counts = sorted(len(split_sentences(text)) for text in sources)
    usual = counts[-math.ceil(len(counts) * USUAL_SHARE)]  # few have so many, or more
    return {"longest_source": longest_source, "usual_sentences": usual, "final_mark": final_mark(sources)}


def write_facts(files: Sequence[Path], longest_source: int, counts: WordCounts, folder: Path) -> None:
    """Learn the facts of the text in these files, and write them to facts.json and words.txt in the folder."""
    sources = sample(files, MEASURED_SOURCES) if longest_source else []  # else all shards would be searched for some
    write_json(folder / FACTS, facts_of(longest_source, sources))
    if counts.texts:
        write_text(folder / WORDS, [Words.counted(counts).dump()])
