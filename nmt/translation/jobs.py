"""Jobs of `nmt.translate`: chunks of input lines flow in, output lines flow out; at the end, a report on them.

`make_job` chooses the job by the options: `Translating` lines, or `Scoring` given translations.
"""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nmt.config import SearchConfig
from nmt.fields import require
from nmt.messages import print_to_stderr
from nmt.reading.request import NO_CONSTRAINTS, Constraints, Term, Translation
from nmt.text.markup import Mode, mode_of, visible
from nmt.text.normalise import tidy
from nmt.text.user_items import NO_USER_ITEMS, UserItems
from nmt.translation.formats import Columns, Format, Json, Record, Text, as_bytes, as_json, decimal, lowest, read_object
from nmt.translation.glossary import Glossary, read_text
from nmt.translation.pair_scorer import PairScorer
from nmt.translation.translator import Translator

MAX_REMARKS = 1000  # that are printed; further ones are only counted
TOO_LONG = "too long to be scored"
TO_TRANSLATE = "glossary prefix must must-not item alignments n-best samples".split()  # noqa: SIM905
OF_SEARCH = "beam-size min-length max-length max-length-ratio no-repeat-ngram repetition-penalty".split()  # noqa: SIM905
NOT_UTF8 = (
    "not valid UTF-8, or half a surrogate pair, which is read as U+FFFD; if the text has another encoding, convert it, "
    "for example with iconv -f CP1252 -t UTF-8"
)
HAS_NUL = "NUL characters are left out; if the text is UTF-16, convert it, for example with iconv -f UTF-16LE -t UTF-8"
SURROGATE = re.compile("[\ud800-\udfff]")

Scored = tuple[Translation | None, float | None]
"""A given translation with its scores, and its quality; None where it is too long, or where it isn't asked for."""


@dataclass
class Remarks:
    """Remarks on single lines, for the user. They are printed on stderr as they come."""

    total: int = 0
    file: str = ""
    """Name of the file whose lines are read, if there are several; `before`: lines that were read before it."""
    before: int = 0

    def enter(self, file: str, before: int) -> None:
        """Name a file in the remarks that follow, and count its lines from 1."""
        self.file, self.before = f"{'standard input' if file == '-' else file}, ", before

    def add(self, line: int, remark: str) -> None:
        """`line`: the number of the line among all lines, from 1."""
        self.say(f"{self.file}line {line - self.before}: {remark}")

    def say(self, remark: str) -> None:
        self.total += 1
        if self.total <= MAX_REMARKS:
            print_to_stderr(remark)
        elif self.total == MAX_REMARKS + 1:
            print_to_stderr(f"{MAX_REMARKS:,} remarks are printed; further ones are only counted")

    def add_invalid(self, line: int, *texts: str) -> None:
        """Remark on a line if its texts, decoded with `surrogateescape`, may have another encoding than UTF-8."""
        if any(map(SURROGATE.search, texts)):
            self.add(line, NOT_UTF8)
        elif any("\0" in text for text in texts):
            self.add(line, HAS_NUL)

    def report(self) -> Iterator[str]:
        if self.total > MAX_REMARKS:
            yield f"and {self.total - MAX_REMARKS:,} more remarks"


@dataclass
class Translating:
    """Translates lines, all with the same search settings; `constraints` are added to those of each line."""

    translator: Translator
    search: SearchConfig
    form: Format
    constraints: Constraints = NO_CONSTRAINTS
    glossary: Glossary | None = None
    user_items: UserItems = NO_USER_ITEMS
    """Items that the user describes."""
    markup: Mode = "none"
    """Which lines are read as mark-up."""
    scorer: PairScorer | None = None
    """Estimates the quality of the translations."""
    lines: int = 0
    seconds: float = 0.0
    remarks: Remarks = field(default_factory=Remarks)

    def answer(self, chunk: list[bytes]) -> bytes:
        started = time.perf_counter()
        records = [self.constrain(self.form.read(line.decode("utf-8", "surrogateescape"))) for line in chunk]
        requests = [request for record in records for request in record.requests]
        translated = self.translator.translate_n_best(requests, self.search, markup=self.markup)
        if self.form.shows_scores:
            translated = self.translator.with_forced_scores(requests, translated, self.search, self.markup)
        if self.scorer:
            translated = self.scorer.rate([request.text for request in requests], translated, self.markup)
        if self.form.alignments:
            translated = self.translator.spans.with_attention(translated)
        results, output = iter(translated), list[str]()
        for record in records:
            n_best = [next(results) for _ in record.requests]
            first = [best for best, *_ in n_best]
            output += self.form.write(self.lines, record, n_best)
            self.lines += 1
            self.remark(record, first)
        self.seconds += time.perf_counter() - started
        return as_bytes(output)

    def constrain(self, record: Record) -> Record:
        """Add the job's constraints to those of the line; `Format.refuse` handles lines that can't meet them."""
        requests = [
            replace(r, constraints=r.constraints.joined(self.constraints), user_items=self.user_items)
            for r in record.requests
        ]
        compiler = self.translator.compiler
        problem = next(filter(None, (compiler.problem(r.constraints, self.search) for r in requests)), "")
        if problem:
            return self.form.refuse(record, problem)
        if not self.glossary:
            return replace(record, requests=requests)
        glossed = [self.glossary.add_terms(r, self.translator, self.search, self.markup) for r in requests]
        note = next((note for _, note in glossed if note), record.note)
        return replace(record, requests=[request for request, _ in glossed], note=note)

    def remark(self, record: Record, translations: Sequence[Translation]) -> None:
        self.remarks.add_invalid(self.lines, *(request.text for request in record.requests))
        if record.note:
            self.remarks.add(self.lines, record.note)
        for request, translation in zip(record.requests, translations, strict=True):
            if translation.flags:
                self.remarks.add(self.lines, ", ".join(translation.flags))
            self.count(request.text, translation.text)

    def count(self, text: str, translation: str) -> None:
        """Count the terms of a text, and those that its translation meets."""
        if self.glossary:
            mode = mode_of(text, self.markup)
            self.glossary.count(read_text(text, self.translator, mode), visible(translation, mode))

    def report(self, *, verbose: bool) -> Iterator[str]:
        yield from self.remarks.report()
        if self.glossary:
            yield self.glossary.report()
        if verbose:
            yield f"{self.lines:,} lines in {self.seconds:.1f} s: {self.lines / max(self.seconds, 1e-9):,.1f} a second"


def read_columns(line: str) -> Record:
    line = line.removesuffix("\r")
    source, target = f"{line}\t".split("\t")[:2]
    return Record([], {"line": line}, given=[(source, target)])


def read_pair(line: str) -> Record:
    """Read a JSON object with "text" and "translation"; a blank line is an object with two empty strings."""
    value, problem = read_object(line)
    value = value if line.strip() else {"text": "", "translation": ""}
    if problem or not isinstance(value.get("translation"), str):
        return Record([], value, problem or 'a line must be an object with "text" and "translation"')
    sources, targets = value["text"].split("\n"), value["translation"].split("\n")
    if len(sources) != len(targets):
        sources, targets = [value["text"]], [value["translation"]]
    return Record([], value, given=list(zip(sources, targets, strict=True)))


@dataclass
class Scoring:
    """Scores given translations. Without a translator, only their quality is told. A pair that is blank on both sides
    is not scored: its score is 0 and its quality 1, as where a blank line is translated."""

    translator: Translator | None
    search: SearchConfig
    form: str  # text, tsv or jsonl
    scorer: PairScorer | None = None
    markup: Mode = "auto"
    lines: int = 0
    remarks: Remarks = field(default_factory=Remarks)

    def answer(self, chunk: list[bytes]) -> bytes:
        is_json = self.form == "jsonl"
        read = read_pair if is_json else read_columns
        records = [read(line.decode("utf-8", "surrogateescape")) for line in chunk]
        results, output = iter(self.score([pair for record in records for pair in record.given])), list[str]()
        for record in records:
            self.lines += 1
            scored = [next(results) for _ in record.given]
            lacks = [(self.translator and not found) or (self.scorer and rate is None) for found, rate in scored]
            problem = record.note or (TOO_LONG if any(lacks) else "")
            self.remarks.add_invalid(self.lines, *(side for pair in record.given for side in pair))
            if not is_json and record.rest["line"].strip() and "\t" not in record.rest["line"]:
                self.remarks.add(self.lines, "no tab: scored as if its translation were empty")
            if problem:
                self.remarks.add(self.lines, problem)
            show = self.show_json if is_json else self.show
            output.append(show(record, scored, problem))
        return as_bytes(output)

    def score(self, pairs: list[tuple[str, str]]) -> list[Scored]:
        """The translation of each pair with its scores, and the pair's quality; None where it is too long."""
        unknown = [None] * len(pairs)
        scored = self.translator.scorer(self.search, self.markup).score(pairs) if self.translator else unknown
        rated = self.scorer.score(pairs, markup=self.markup) if self.scorer else unknown
        both = zip(pairs, scored, rated, strict=True)
        return [(found, quality if any(map(tidy, pair)) else 1.0) for pair, found, quality in both]

    def show(self, record: Record, scored: list[Scored], problem: str) -> str:
        [(translation, quality)] = scored
        numbers = [decimal(translation.score if translation else None)] if self.translator else []
        numbers += [decimal(quality)] if self.scorer else []
        return "\t".join([record.rest["line"], *numbers] if self.form == "tsv" else numbers)

    def show_json(self, record: Record, scored: list[Scored], problem: str) -> str:
        answer: dict[str, Any] = {**record.rest, **({"error": problem} if problem else {})}
        if not scored:
            return as_json(answer)
        translations = [translation for translation, _ in scored if translation]
        if self.translator and len(translations) == len(scored):
            answer |= Json(self.translator).answer([source for source, _ in record.given], translations)
        if self.scorer:
            answer["quality"] = lowest([quality for _, quality in scored])
        return as_json({**answer, "translation": record.rest["translation"]})

    def report(self, *, verbose: bool) -> Iterator[str]:
        yield from self.remarks.report()


def make_job(
    options: Any, translator: Translator | None, search: SearchConfig, scorer: PairScorer | None
) -> Translating | Scoring:
    """The job that the options of `nmt.translate` ask for; ValueError if they don't go together. Only the quality of
    given translations needs no translator."""
    require(not (options.format == "tsv" and options.alignments), "--alignments goes with --format text or jsonl")
    if options.force_decode:
        for name in TO_TRANSLATE + OF_SEARCH:
            given = options.get(name.replace("-", "_"))
            require(not given, f"--{name} is for lines to translate: it doesn't go with --force-decode")
        return Scoring(translator, search, options.format, scorer, options.markup)
    assert translator
    translator.check(search)
    rated = scorer is not None
    shown = options.format != "text" or options.scores or "n_best" in options or not rated
    require(shown, "--scorer with --format text needs --scores or --n-best, where the quality is shown")
    forms = {
        "text": Text(translator, "n_best" in options, options.scores, options.alignments, rated),
        "tsv": Columns(rated),
        "jsonl": Json(translator, options.alignments, rated, whole=options.markup == "html"),
    }
    must = tuple(Term(tuple(phrases.split("|"))) for phrases in options.must)
    must_not = tuple(phrase for phrases in options.must_not for phrase in phrases.split("|"))
    constraints = Constraints(options.prefix, must, must_not)
    problem = translator.compiler.problem(constraints, search)
    require(not problem, f"the constraints of every line can't be met: {problem}")
    glossary = Glossary.load(Path(options.glossary)) if "glossary" in options else None
    user_items = UserItems.parse(options.item)
    return Translating(
        translator, search, forms[options.format], constraints, glossary, user_items, options.markup, scorer
    )
