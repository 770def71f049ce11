"""Jobs of `nmt.translate`: chunks of input lines flow in, output lines flow out; at the end, a report on them.

`make_job` chooses the job by the options: `Translating` lines, or `Scoring` given translations.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from PIL import Image

from nmt.config import SearchConfig
from nmt.fields import require
from nmt.translation.formats import Columns, Format, Json, Record, Text, as_bytes, decimal
from nmt.translation.glossary import Glossary
from nmt.translation.pair_scorer import PairScorer
from nmt.translation.pictures import attention_picture
from nmt.translation.request import NO_CONSTRAINTS, Constraints, Request, Term, Translation
from nmt.translation.translator import Translator

# Maximum number of remarks that are printed; the rest are only counted.
MAX_REMARKS = 20
TOO_LONG = "too long to be scored"


@dataclass
class Remarks:
    """Remarks on single lines, for the user."""

    first: list[str] = field(default_factory=list)
    total: int = 0

    def add(self, line: int, remark: str) -> None:
        self.total += 1
        if self.total <= MAX_REMARKS:
            self.first.append(f"line {line}: {remark}")

    def report(self) -> Iterator[str]:
        yield from self.first
        if self.total > MAX_REMARKS:
            yield f"and {self.total - MAX_REMARKS:,} more lines"


@dataclass
class Translating:
    """Translates lines, all with the same search settings; `constraints` are added to those of each line."""

    translator: Translator
    search: SearchConfig
    form: Format
    constraints: Constraints = NO_CONSTRAINTS
    glossary: Glossary | None = None
    pictures: Path | None = None
    """Folder for pictures of the attention of each line's translation: LINE.png, and LINE-2.png … for further spans."""
    scorer: PairScorer | None = None
    """Estimates the quality of the translations."""
    lines: int = 0
    seconds: float = 0.0
    remarks: Remarks = field(default_factory=Remarks)

    def answer(self, chunk: list[bytes]) -> bytes:
        """The output for a chunk of lines."""
        started = time.perf_counter()
        records = [self.constrain(self.form.read(line.decode("utf-8", "surrogateescape"))) for line in chunk]
        requests = [request for record in records for request in record.requests]
        translated = self.translator.translate_n_best(requests, self.search)
        rated = self.scorer.rate([r.text for r in requests], translated) if self.scorer else translated
        results, output = iter(rated), list[str]()
        for record in records:
            n_best = [next(results) for _ in record.requests]
            first = [best for best, *_ in n_best]
            output += self.form.write(self.lines, record, n_best)
            self.lines += 1
            self.remark(record, first)
            if self.pictures:
                self.draw(self.pictures / f"{self.lines:06}", first)
        self.seconds += time.perf_counter() - started
        return as_bytes(output)

    def problem(self, constraints: Constraints) -> str:
        return self.translator.compiler.problem(constraints, self.search)

    def constrain(self, record: Record) -> Record:
        """Add the job's constraints to those of the line; `Format.refuse` handles lines that can't meet them."""
        requests = [replace(r, constraints=r.constraints.joined(self.constraints)) for r in record.requests]
        problem = next(filter(None, (self.problem(request.constraints) for request in requests)), "")
        if problem:
            return self.form.refuse(record, problem)
        glossed = [self.apply_glossary(request) for request in requests]
        note = next((note for _, note in glossed if note), record.note)
        return replace(record, requests=[request for request, _ in glossed], note=note)

    def apply_glossary(self, request: Request) -> tuple[Request, str]:
        """Add the terms of the glossary that can be met; the note says why terms were left out (else empty)."""
        terms = self.glossary.terms_in(request.text) if self.glossary else ()
        constraints = request.constraints
        problem = self.problem(constraints.joined(Constraints(must=terms))) if terms else ""
        for term in terms:
            more = constraints.joined(Constraints(must=(term,)))
            if not problem or not self.problem(more):
                constraints = more
        note = f"without some terms of the glossary: {problem}" if problem else ""
        return replace(request, constraints=constraints), note

    def remark(self, record: Record, translations: Sequence[Translation]) -> None:
        if record.note:
            self.remarks.add(self.lines, record.note)
        for request, translation in zip(record.requests, translations, strict=True):
            if translation.flags:
                self.remarks.add(self.lines, ", ".join(translation.flags))
            if self.glossary:
                self.glossary.count(request.text, translation.text)

    def draw(self, path: Path, translations: Sequence[Translation]) -> None:
        maps = [part for translation in translations for part in self.translator.aligner.attention(translation)]
        drawable = [part for part in maps if part[1] and part[2]]
        for i, part in enumerate(drawable):
            Image.fromarray(attention_picture(*part)).save(f"{path}{f'-{i + 1}' if i else ''}.png")

    def report(self, *, verbose: bool) -> Iterator[str]:
        """Lines for the user, at the end."""
        yield from self.remarks.report()
        if self.glossary:
            yield self.glossary.report()
        if verbose:
            yield f"{self.lines:,} lines in {self.seconds:.1f} s: {self.lines / max(self.seconds, 1e-9):,.1f} a second"


@dataclass
class Scoring:
    """Scores given translations: lines of source TAB translation. Without a translator, only their quality is told."""

    translator: Translator | None
    search: SearchConfig
    form: str  # text, tsv or jsonl
    scorer: PairScorer | None = None
    lines: int = 0
    remarks: Remarks = field(default_factory=Remarks)

    def answer(self, chunk: list[bytes]) -> bytes:
        lines = [line.decode("utf-8", "replace").rstrip("\r") for line in chunk]
        pairs = [(source, target) for source, _, target in (line.partition("\t") for line in lines)]
        scored = self.translator.scorer(self.search).score(pairs) if self.translator else [None] * len(pairs)
        rated = self.scorer.score(pairs) if self.scorer else [None] * len(pairs)
        output = []
        for line, translation, quality in zip(lines, scored, rated, strict=True):
            self.lines += 1
            if "\t" not in line:
                self.remarks.add(self.lines, "no tab: scored as if its translation were empty")
            if (self.translator and translation is None) or (self.scorer and quality is None):
                self.remarks.add(self.lines, TOO_LONG)
            output.append(self.show(line, translation, quality))
        return as_bytes(output)

    def show(self, line: str, scored: Translation | None, quality: float | None) -> str:
        if self.form == "jsonl":
            source, _, target = line.partition("\t")
            answer: dict[str, Any] = {"error": TOO_LONG} if self.translator or quality is None else {}
            if self.translator and scored:
                answer = Json(self.translator).answer([scored])
            answer |= {"quality": quality and round(quality, 4)} if self.scorer else {}
            return json.dumps({"text": source, **answer, "translation": target}, ensure_ascii=False)
        numbers = [decimal(scored.score if scored else None)] if self.translator else []
        numbers += [decimal(quality)] if self.scorer else []
        return "\t".join([line, *numbers] if self.form == "tsv" else numbers)

    def report(self, *, verbose: bool) -> Iterator[str]:
        yield from self.remarks.report()


def make_job(
    options: Any, translator: Translator | None, search: SearchConfig, scorer: PairScorer | None
) -> Translating | Scoring:
    """The job that the options of `nmt.translate` ask for; ValueError if they don't go together. Only the quality of
    given translations needs no translator."""
    require(not (options.format == "tsv" and options.alignments), "--alignments goes with --format text or jsonl")
    if options.force_decode:
        for name in ("lm", "pictures", "glossary", "prefix", "must", "must_not", "alignments", "n_best", "samples"):
            option = f"--{name.replace('_', '-')}"
            require(not options.get(name), f"{option} is for lines to translate: it doesn't go with --force-decode")
        return Scoring(translator, search, options.format, scorer)
    assert translator
    translator.check(search)
    rated = scorer is not None
    shown = options.format != "text" or options.scores or "n_best" in options or not rated
    require(shown, "--scorer with --format text needs --scores or --n-best, where the quality is shown")
    forms = {
        "text": Text(translator, "n_best" in options, options.scores, options.alignments, rated),
        "tsv": Columns(rated),
        "jsonl": Json(translator, options.alignments, rated),
    }
    must = tuple(Term(tuple(phrases.split("|"))) for phrases in options.must)
    must_not = tuple(phrase for phrases in options.must_not for phrase in phrases.split("|"))
    constraints = Constraints(options.prefix, must, must_not)
    problem = translator.compiler.problem(constraints, search)
    require(not problem, f"the constraints of every line can't be met: {problem}")
    glossary = Glossary.load(Path(options.glossary)) if "glossary" in options else None
    pictures = Path(options.pictures) if "pictures" in options else None
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    return Translating(translator, search, forms[options.format], constraints, glossary, pictures, scorer)
