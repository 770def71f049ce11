"""Translation memory: pairs of texts flow in; a translator flows out that takes known translations from them.

A text that the memory has isn't translated: its last translation in the memory is taken. For a similar text, the
translation of the most similar one is taken and flagged "fuzzy". Texts with tags are translated: their tags have no
place in a translation of the memory.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from heapq import nlargest
from html import escape, unescape
from pathlib import Path
from typing import Any

from nmt.data.corpora.bilingual_xml import entries_of, in_languages
from nmt.documents.base import Answer, Translate, Unit
from nmt.fields import require
from nmt.text.normalise import tidy
from nmt.text.scripts import UNSPACED

COMPARED, LONG = 20, 300  # texts with most words in common, compared by their characters; of longer texts, fewer
THRESHOLD = 0.8  # least similarity
LONGEST = 2_000  # characters of texts that are compared by characters, which takes the square of their number
FREQUENT = 2_000  # words in more texts than this say little, and make the search slow
PAIR = re.compile(rf"(?=([{UNSPACED}]{{2}}))")  # two letters, in scripts without blanks between words


class Memory:
    """Texts with their translations."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.translations = {tidied(source): target for source, target in pairs}
        self.texts = list(self.translations)
        self.places: defaultdict[str, list[int]] = defaultdict(list)  # the texts that each word is in
        for n, text in enumerate(self.texts):
            for word in words(text):
                self.places[word].append(n)

    @classmethod
    def load(cls, paths: Sequence[Path], source: str, target: str) -> "Memory":
        """The entries of TMX files that have both languages; ValueError if none has."""
        entries = (entry for path in paths for entry in entries_of(path, "TMX"))
        both = (in_languages(entry, (source, target)) for entry in entries)
        pairs = [(src, tgt) for src, tgt in both if src and tgt]
        names = ", ".join(map(str, paths))
        require(bool(pairs), f"{names}: no entry of the memory has both languages, {source!r} and {target!r}")
        return cls(pairs)

    def find(self, text: str, threshold: float) -> Answer | None:
        """The translation of this text or, if it is flagged, of one with at least this similarity (0 to 1)."""
        text = tidied(text)
        if text in self.translations:
            return Answer(self.translations[text])
        if threshold >= 1 or len(text) > LONGEST:
            return None
        matcher, best = SequenceMatcher(autojunk=False), (threshold, "")
        matcher.set_seq2(text)
        for other in self.candidates(text):
            matcher.set_seq1(other)
            if matcher.real_quick_ratio() >= best[0] and matcher.quick_ratio() >= best[0]:
                best = max(best, (matcher.ratio(), other))
        return Answer(self.translations[best[1]], ("fuzzy",)) if best[1] else None

    def candidates(self, text: str) -> list[str]:
        """The texts that share most words with this one; rare words count more."""
        found = (self.places.get(word, ()) for word in words(text))
        shared = Counter(n for places in found if len(places) <= FREQUENT for n in places)
        compared = 1 + COMPARED * LONG // (LONG + len(text))
        most = nlargest(compared, shared, key=lambda n: (shared[n], -abs(len(self.texts[n]) - len(text))))
        return [self.texts[n] for n in most if len(self.texts[n]) <= LONGEST]


def tidied(text: str) -> str:
    """The text as the model reads it, such as in NFC, with one blank in place of several."""
    return " ".join(tidy(text).split())


def words(text: str) -> set[str]:
    return {*re.findall(r"\w+", text.lower()), *PAIR.findall(text)} or {text}


def with_memory(
    translate: Translate,
    memory: Memory,
    threshold: float = THRESHOLD,
    check: Callable[[Unit, Answer], Answer] = lambda unit, answer: answer,
) -> Translate:
    """A translator that takes what it can from the memory. `check` may flag what the memory has."""

    def known_answer(unit: Unit) -> Answer | None:
        if unit.markup and "<" in unit.text:
            return None
        found = memory.find(unescape(unit.text) if unit.markup else unit.text, threshold)
        if found and unit.markup:
            found = replace(found, text=escape(found.text, quote=False))
        return found and check(unit, found)

    def translate_rest(units: Sequence[Unit]) -> list[Answer]:
        known = [known_answer(unit) for unit in units]
        rest = iter(translate([unit for unit, answer in zip(units, known, strict=True) if not answer]))
        return [answer or next(rest) for answer in known]

    return translate_rest


def with_memories(
    translate: Translate, options: Any, languages: tuple[str, str], check: Callable[[Unit, Answer], Answer]
) -> Translate:
    """The translator with the memories that the options of a command name, if any. `check` as for `with_memory`."""
    threshold = options.get("memory_threshold", f"{THRESHOLD:.0%}").removesuffix("%")
    is_percentage = threshold.isdecimal() and 1 <= int(threshold) <= 100
    require(is_percentage, f"--memory-threshold {threshold}: it must be a percentage from 1 to 100")
    if not options.memory:
        return translate
    require(all(languages), "--memory: the model's folder doesn't name its two languages, so entries can't be found")
    memory = Memory.load([*map(Path, options.memory)], *languages)
    return with_memory(translate, memory, int(threshold) / 100, check)
