"""The guard: lines flow in; their n-best lists with flags flow out, where retries replace what looks wrong.

A plan says how a line is read (its steps, `nmt.reading`) and searched. The first one is usual. Where a translation
looks wrong, the other plans follow in their order, and the translation that looks least wrong stays: sentence by
sentence and clause by clause, if some were lost or joined; without items (addresses, tags …) if some were lost, put
back by the alignment; in small letters, if the line is in capitals and the model has no list of words; a copy, if the
line has no letters; with all marks and quotes in place, if constraints are broken; beam search without repeated
n-grams; the same with shorter spans. What still looks wrong is flagged. The flag "unsure" alone doesn't cause the last
two retries, because their translations are even less probable; nor do "numbers" and "items", since another search
seldom brings these back: a good translation would become a worse one.

A retry searches as the first attempt did: samples are replaced by samples, one by one, and never by beam search; what
was chosen by minimum Bayes risk is chosen so again. Of a ranked list, the first translation is tried again: a retry's
best one comes before it, and the others stay.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from nmt.config import MAX_HYPOTHESES, SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.reading.items import items, items_beside, lifted_items, quotes, tags
from nmt.reading.lines import by_clauses, by_halves, cut_sentences, label
from nmt.reading.loop import Reading, Step
from nmt.reading.request import Lists, Translation
from nmt.reading.spelling import inside, known_words, lowered, readable, tidied
from nmt.text.items import prose
from nmt.text.markup import visible
from nmt.text.normalise import tidy
from nmt.text.scripts import is_uncased
from nmt.text.sentences import find_label, split_clauses, split_sentences
from nmt.text.suspicions import Flag, n_missing, suspicions
from nmt.translation.constraints import ConstraintCompiler
from nmt.translation.insertion import MOST_TERMS
from nmt.translation.model_folder import Facts

# Second attempts have at least this beam size, and don't repeat n-grams of this length.
BEAM, NGRAM = 5, 3
# Flags that cause no further search.
ADVICE: frozenset[Flag] = frozenset({"unsure", "numbers", "unknown"})

Steps = tuple[Step, ...]
WORDS: Steps = (tidied, inside, quotes, known_words, readable)
USUAL: Steps = (tags, *WORDS, items_beside, items, cut_sentences)
AS_WRITTEN: Steps = (tags, *WORDS, items_beside, cut_sentences)  # no placeholders for items
CLAUSES: Steps = (tags, tidied, label, *USUAL[2:-1], by_clauses)
HALVES: Steps = (*USUAL[:-1], by_halves)
LIFTED: Steps = (tags, *WORDS[:-1], lifted_items, readable, cut_sentences)
LOWERED: Steps = (tags, tidied, inside, quotes, lowered, readable, items_beside, items, cut_sentences)
PLAIN: Steps = (tags, tidied, readable, cut_sentences)

Attempt = Callable[[Sequence[Reading], Steps, SearchConfig], Lists]
"""The n-best lists of lines, by these steps and settings; an empty one where an item is lost."""


@dataclass(frozen=True)
class Judge:
    """What is needed to judge translations."""

    tokenizer: Tokenizer
    compiler: ConstraintCompiler
    facts: Facts
    least_confidence: float
    ranked: bool
    """Whether the first translation of a list is the best; if not, all are samples of equal rank."""

    def flagged(self, translation: Translation, line: Reading, text: str) -> Translation:
        """A translation of a line with its flags; `text`: the line as a reader sees it, in characters that the
        vocabulary has."""
        user_items, tokenizer = line.user_items, self.tokenizer
        seen = shown(line, translation.text)
        sure = translation.confidence >= self.least_confidence
        ratio = self.facts.length_ratio
        flags = suspicions(text, seen, user_items, ratio, finished=translation.finished, sure=sure)
        read = " ".join(part.read for part in translation.parts)
        spelling, known = tokenizer.familiar(read, seen, user_items)
        is_strange = spelling < self.facts.least_spelling or known < self.facts.least_known
        if read and (is_strange or tokenizer.lacks(read, user_items)):
            flags.append("unknown")
        if text and line.constraints and not self.compiler.are_met(line.constraints, seen):
            flags.append("constraints")
        return translation.flagged(*flags) if flags else translation


def shown(line: Reading, text: str) -> str:
    """A text of a line, source or translation, as a reader sees it: without tags."""
    return visible(text, "html") if line.segment else text


def translate_lines(lines: Sequence[Reading], search: SearchConfig, attempt: Attempt, judge: Judge) -> Lists:
    """The n-best list of each line. It depends only on that line."""
    lists = attempt(lines, USUAL, search)
    lost = [n for n, translations in enumerate(lists) if not translations]
    for n, translations in zip(lost, attempt([lines[n] for n in lost], AS_WRITTEN, search), strict=True):
        lists[n] = translations
    if search.guard:
        judged = [Line(judge, *line) for line in zip(lines, lists, strict=True)]
        retry_wrong(judged, search, attempt)
        lists = [line.translations for line in judged]
    return lists


def retry_wrong(lines: "list[Line]", search: SearchConfig, attempt: Attempt) -> None:
    """The retries of the lines of a call."""

    def retry(name: str, steps: Steps, chosen: list["Line"], search: SearchConfig = search) -> None:
        lists = attempt([line.reading for line in chosen], steps, search) if chosen else []
        for line, translations in zip(chosen, lists, strict=True):
            if translations:
                line.consider(translations, name)

    retry("sentences", CLAUSES, [line for line in lines if line.may_have_lost_clauses])
    retry("items", LIFTED, [line for line in lines if "items" in line.flags])
    knows_case = bool(lines) and lines[0].judge.tokenizer.words is not None
    in_small = [line for line in lines if line.flags and not (knows_case or line.reading.constraints)]
    retry("lower case", LOWERED, [line for line in in_small if in_capitals(line.text, line.reading)])
    for line in lines:
        if line.flags and not line.reading.constraints and not any(map(str.isalpha, line.text)):
            copy = Translation(tidy(line.reading.text)[0], 0.0, ())
            line.consider([copy] * len(line.translations), "copy")
    retry("plain", PLAIN, [line for line in lines if "constraints" in line.flags])
    wrong = [line for line in lines if line.flags - line.bearable]
    if wrong and not search.samples:
        search = replace(
            search,
            beam_size=min(MAX_HYPOTHESES, max(BEAM, search.beam_size, search.n_best)),
            no_repeat_ngram=min(NGRAM, search.no_repeat_ngram or NGRAM),
            min_length=max(1, search.min_length),
        )
        retry("no repeats", USUAL, wrong, search)
    retry("shorter spans", HALVES, [line for line in wrong if line.flags - line.bearable], search)


class Line:
    """A line and its translations so far, with their flags."""

    def __init__(self, judge: Judge, reading: Reading, n_best: list[Translation]) -> None:
        self.judge, self.reading = judge, reading
        # Flags that no other search mends. Many terms make a translation long, however it is searched.
        bearable: set[Flag] = {"items", "too_long"} if len(reading.constraints.must) > MOST_TERMS else {"items"}
        self.bearable = ADVICE | bearable
        self.text = judge.tokenizer.readable(tidy(shown(reading, reading.text))[0], reading.user_items)
        self.translations = [self.judge.flagged(translation, reading, self.text) for translation in n_best]

    @property
    def flags(self) -> set[Flag]:
        """The flags of the first translation, or of all samples: what retries are for."""
        judged = self.translations[: 1 if self.judge.ranked else None]
        return {flag for translation in judged for flag in translation.flags}

    @property
    def may_have_lost_clauses(self) -> bool:
        """Whether a line lost its label or number or, if not each clause was translated alone, some clauses; or joined
        clauses that may be sentences; or has such clauses, and the model was unsure."""
        clauses, best = split_clauses(self.text), self.translations[0]
        if self.flags & {"sentences", "numbers"} and find_label(self.text):
            return True
        if len(clauses) < 2 or len(best.parts) >= len(clauses):
            return False
        n_capital = sum(not clause[:1].islower() for clause, _ in clauses)  # those that may be sentences
        has_joined = self.judge.ranked and n_missing(n_capital, best.text) > 0
        may_be_wrong = has_joined or "unsure" in self.flags
        return "sentences" in self.flags or (may_be_wrong and len(clauses) > len(split_sentences(self.text)))

    def consider(self, translations: list[Translation], name: str) -> None:
        """Take those of these translations that look less wrong; `name`: the retry that made them."""
        ranked = self.judge.ranked
        if ranked:
            translations = translations[:1]
        elif len(translations) == 1:  # a line of items alone leaves nothing to sample
            translations = translations * len(self.translations)
        retried = [self.judge.flagged(translation, self.reading, self.text) for translation in translations]
        new = [replace(translation, fallback=name) for translation in retried]
        if not ranked:
            pairs = zip(self.translations, new, strict=True)
            self.translations = [min(pair, key=lambda translation: gravity(translation.flags)) for pair in pairs]
        elif wins(new[0], self.translations[0], name):
            others = [translation for translation in self.translations if translation.text != new[0].text]
            self.translations = [new[0], *others][: len(self.translations)]


def wins(new: Translation, old: Translation, name: str) -> bool:
    """Whether a retry is less wrong or, clause by clause, as right and more probable."""
    if gravity(new.flags) == gravity(old.flags):
        return name == "sentences" and new.confidence > old.confidence
    return gravity(new.flags) < gravity(old.flags)


def in_capitals(text: str, line: Reading) -> bool:
    """Whether a line of several words is in capitals; `text`: as a reader sees it."""
    text = prose(text, line.user_items)
    return text.upper() == text != text.lower() and len(text.split()) > 1 and not is_uncased(text)


def gravity(flags: Sequence[Flag]) -> tuple[int, int]:
    """Severity of flags, for comparison: their number without those of ADVICE, then the number of these."""
    advice = len(ADVICE.intersection(flags))
    return len(flags) - advice, advice
