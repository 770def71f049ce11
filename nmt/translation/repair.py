"""The guard: n-best lists flow in; lists flow out, where retries replace translations that look wrong, and flags.

A retry replaces a translation if it looks less wrong. The retries, in order: sentence by sentence, and clause by
clause, if some were lost;
without items (addresses, tags …) if some were lost, and with the items put back afterwards; in lower case, if the line
is in capitals; a copy, if the line has no letters; beam search without repeated n-grams; the same with shorter spans.
What still looks wrong is flagged. The flag "unsure" alone doesn't cause the last two retries, because their
translations are even less probable; nor does "numbers", since another search seldom brings a number back.

A retry searches as the first attempt did: samples are replaced by samples, one by one, and never by beam search; what
was chosen by minimum Bayes risk is chosen so again. Of a ranked list, the first translation is tried again: a retry's
best one comes before it, and the others stay.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from nmt.config import MAX_HYPOTHESES, SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.stop import Stop
from nmt.text.items import outside_items
from nmt.text.normalise import tidy
from nmt.text.restore import Lifted, lift, restore
from nmt.text.sentences import split_clauses, split_sentences
from nmt.text.suspicions import Flag, prose, suspicions
from nmt.text.tokens import tokenize, word_links
from nmt.translation.alignment import Aligner
from nmt.translation.constraints import ConstraintCompiler
from nmt.translation.model_folder import Facts
from nmt.translation.request import Request, Translation
from nmt.translation.spans import Cut

# Second attempts have at least this beam size, and don't repeat n-grams of this length.
BEAM, NGRAM = 5, 3

CUTS: dict[str, Cut] = {"sentences": "sentences", "shorter spans": "halves"}  # of retries that cut lines differently
# Flags that cause no further search.
ADVICE: frozenset[Flag] = frozenset({"unsure", "numbers", "unknown"})

NOTHING = Lifted("", "", [], [], [])

Recase = Callable[[str], str]


class Translates(Protocol):
    """The part of `nmt.translation.translator.Translator` that is needed here."""

    tokenizer: Tokenizer
    compiler: ConstraintCompiler
    aligner: Aligner
    facts: Facts

    def attempt(
        self, requests: Sequence[Request], search: SearchConfig, *, cut: Cut = "usual", stop: Stop | None = None
    ) -> list[list[Translation]]: ...


def repair(
    translator: Translates,
    search: SearchConfig,
    requests: Sequence[Request],
    n_best: list[list[Translation]],
    stop: Stop | None = None,
) -> list[list[Translation]]:
    """Return an n-best list for each line, with flags. The list of a line depends only on that line."""
    # Samples are less probable than what beam search finds: nearly all would be unsure.
    confidence = 0.0 if search.samples else translator.facts.least_confidence
    ranked = not search.samples or search.mbr != "none"
    judge = Judge(translator, confidence, ranked)
    lines = [Line(judge, *line) for line in zip(requests, n_best, strict=True)]
    no_repeats = replace(
        search,
        beam_size=min(MAX_HYPOTHESES, max(BEAM, search.beam_size, search.n_best)),
        no_repeat_ngram=min(NGRAM, search.no_repeat_ngram or NGRAM),
        min_length=max(1, search.min_length),
        shortlist=0,
    )

    def retry(name: str, chosen: list[Line], options: SearchConfig, before: Recase = str, after: Recase = str) -> None:
        if chosen:
            requests = [replace(line.request, text=outside_items(line.bare, before, line.own)) for line in chosen]
            retries = translator.attempt(requests, options, cut=CUTS.get(name, "usual"), stop=stop)
            for line, translations in zip(chosen, retries, strict=True):
                recased = [replace(one, text=outside_items(one.text, after, line.own)) for one in translations]
                line.consider([line.put_back(translation) for translation in recased], name)

    cuttable = [line for line in lines if not line.is_cut and ("sentences" in line.flags or line.is_unsure)]
    retry("sentences", cuttable, search)
    retry("items", [line for line in lines if line.lifted.nodes], search)
    retry("lower case", [line for line in lines if line.flags and line.is_capitals], search, str.lower, str.upper)
    for line in lines:
        if "invented" in line.flags and not line.request.constraints:
            line.consider([Translation(tidy(line.request.text)[0], 0.0, ())] * len(line.translations), "copy")
    for name in ("shorter spans",) if search.samples else ("no repeats", "shorter spans"):
        options = search if search.samples else no_repeats
        retry(name, [line for line in lines if line.flags - ADVICE], options)
    return [line.translations for line in lines]


@dataclass(frozen=True)
class Judge:
    """What is needed to judge translations."""

    translator: Translates
    least_confidence: float
    ranked: bool
    """Whether the first translation of a list is the best; if not, all are samples of equal rank."""

    def flagged(self, translation: Translation, text: str, request: Request, read: str) -> Translation:
        """A translation of a text, with its flags; `read`: the text that the model read."""
        sure = translation.confidence >= self.least_confidence
        flags = suspicions(text, translation.text, finished=translation.finished, sure=sure, own=request.own)
        tokenizer, least = self.translator.tokenizer, self.translator.facts.least_spelling
        if tokenizer.lacks(read, request.own) or tokenizer.spelling(read, translation.text, request.own) < least:
            flags.append("unknown")
        constraints = request.constraints
        if text and constraints and not self.translator.compiler.are_met(constraints, translation.text):
            flags.append("constraints")
        return replace(translation, flags=tuple(flags))


class Line:
    """A line and its translations so far, with their flags."""

    def __init__(self, judge: Judge, request: Request, n_best: list[Translation]) -> None:
        self.judge, self.request, self.own = judge, request, request.own
        self.text = judge.translator.tokenizer.readable(tidy(request.text)[0])
        self.translations = [judge.flagged(t, self.text, request, self.text) for t in n_best]
        self.lifted = lift(self.text, self.own) if "items" in self.flags else NOTHING
        self.bare = self.lifted.text if self.lifted.nodes else self.text

    @property
    def flags(self) -> set[Flag]:
        """The flags of the first translation, or of all samples: what retries are for."""
        return {flag for t in self.translations[: 1 if self.judge.ranked else None] for flag in t.flags}

    @property
    def is_cut(self) -> bool:
        """Whether each sentence, and each clause, was translated alone."""
        return len(self.translations[0].parts) >= len(split_clauses(self.text))

    @property
    def is_unsure(self) -> bool:
        """Whether the model was unsure of a line with several clauses, which may be sentences."""
        return "unsure" in self.flags and len(split_clauses(self.text)) > len(split_sentences(self.text))

    @property
    def is_capitals(self) -> bool:
        """Whether the line is in capitals, and its translation may be too."""
        text = prose(self.text, self.own)
        return text.upper() == text != text.lower() and len(text.split()) > 1 and not self.request.constraints

    def put_back(self, translation: Translation) -> Translation:
        """A translation of the line without its items, with the items put back."""
        if not self.lifted.nodes:
            return translation
        target = translation.text, tokenize(translation.text, own=self.own)
        links = self.judge.translator.aligner.align_tokens(translation, (self.bare, self.lifted.tokens), target)
        restored = restore(translation.text, self.lifted, links, self.own)
        return replace(
            translation, text=restored.text, links=tuple(word_links(restored.links, self.text, restored.text))
        )

    def consider(self, translations: list[Translation], name: str) -> None:
        """Take those of these translations that look less wrong; `name`: the retry that made them."""
        if not self.judge.ranked and len(translations) == 1:  # a line of items alone leaves nothing to sample
            translations = translations * len(self.translations)
        retried = translations[:1] if self.judge.ranked else translations
        flagged = [self.judge.flagged(t, self.text, self.request, self.bare) for t in retried]
        new = [replace(translation, fallback=name) for translation in flagged]
        if not self.judge.ranked:
            pairs = zip(self.translations, new, strict=True)
            self.translations = [min(pair, key=lambda t: gravity(t.flags)) for pair in pairs]
        elif gravity(new[0].flags) < gravity(self.translations[0].flags):
            others = [translation for translation in self.translations if translation.text != new[0].text]
            self.translations = [new[0], *others][: len(self.translations)]


def gravity(flags: Sequence[Flag]) -> tuple[int, int]:
    """Severity of flags, for comparison: their number without those of ADVICE, then the number of these."""
    advice = len(ADVICE.intersection(flags))
    return len(flags) - advice, advice
