"""Translation jobs: chunks of input lines in, output lines out, in the formats of text, columns and JSON objects.

Whatever a line holds, it is answered by one line (by up to N with n-best).
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from PIL import Image

from nmt.text.normalise import tidy
from nmt.translation.glossary import Glossary
from nmt.translation.pictures import attention_picture
from nmt.translation.request import Request, Term, Translation
from nmt.translation.translator import Translator

# Lines with something to remark that are named one by one; the others are counted.
NAMED = 20


@dataclass
class Remarks:
    """What there is to say of single lines."""

    first: list[str] = field(default_factory=list)
    total: int = 0

    def add(self, line: int, remark: str) -> None:
        self.total += 1
        if self.total <= NAMED:
            self.first.append(f"line {line}: {remark}")

    def report(self) -> Iterator[str]:
        yield from self.first
        if self.total > NAMED:
            yield f"and {self.total - NAMED:,} more lines"


@dataclass(frozen=True)
class Record:
    """An input line."""

    requests: list[Request]
    """What is to be translated of it: one, or one for each line of a text in JSON."""

    rest: dict[str, Any] = field(default_factory=dict)
    """What else it holds, and its answer will."""

    error: str = ""
    """Why it can't be translated, or not as was asked."""

    note: str = ""
    """What else to say of it."""


class Format(Protocol):
    """How lines are read and answered."""

    def read(self, line: str) -> Record: ...

    def refuse(self, record: Record, problem: str) -> Record:
        """What becomes of a line whose demands can't be met."""
        ...

    def write(self, index: int, record: Record, answers: Sequence[Sequence[Translation]]) -> list[str]:
        """The output lines: answers are the n-best lists of the record's requests."""
        ...


@dataclass
class Text:
    """A line is a source; its answer is the translation alone, or after its score, or before its alignment."""

    translator: Translator
    n_best: bool = False
    scores: bool = False
    alignments: bool = False

    def read(self, line: str) -> Record:
        return Record([Request(line)])

    def write(self, index: int, record: Record, answers: Sequence[Sequence[Translation]]) -> list[str]:
        return [self.show(index, translation) for translation in answers[0]]

    def refuse(self, record: Record, problem: str) -> Record:
        return without_demands(record, problem)

    def show(self, index: int, translation: Translation) -> str:
        links = f" ||| {pharaoh(self.translator.align(translation))}" if self.alignments else ""
        if self.n_best:
            return f"{index} ||| {translation.text} ||| {translation.score:.4f}{links}"
        return (f"{translation.score:.4f}\t" if self.scores else "") + translation.text + links


@dataclass
class Columns:
    """A line's first column is the source; columns with translation, score and flags are added to the line."""

    def read(self, line: str) -> Record:
        return Record([Request(line.partition("\t")[0])], {"line": line.rstrip("\r")})

    def refuse(self, record: Record, problem: str) -> Record:
        return without_demands(record, problem)

    def write(self, index: int, record: Record, answers: Sequence[Sequence[Translation]]) -> list[str]:
        line = record.rest["line"].encode("utf-8", "replace").decode()
        return [
            "\t".join([line, translation.text, f"{translation.score:.4f}", ",".join(translation.flags)])
            for translation in answers[0]
        ]


@dataclass
class Json:
    """A line is an object with "text", and perhaps "prefix", "must" and "must_not"; or just a string.

    A member of "must" is a phrase, or a list of phrases of which one must occur. The lines of a text are translated one
    by one; its first that is not blank takes "prefix" and "must". The answer has what the object had, and the members
    that `answer` writes.
    """

    translator: Translator
    alignments: bool = False

    def read(self, line: str) -> Record:
        value: Any = None
        try:
            value = json.loads(line, parse_constant=no_number) if line.strip() else {"text": ""}
            value = {"text": value} if isinstance(value, str) else value
            json.dumps(value, allow_nan=False)  # what can't be written again is refused now
            return self.record(value)
        except (ValueError, RecursionError) as error:
            rest = value if isinstance(error, RequestError) and isinstance(value, dict) else {}
            return Record([], rest, f"no request: {error}")

    def record(self, value: Any) -> Record:
        if not isinstance(value, dict) or not isinstance(value.get("text"), str):
            raise RequestError('a line is an object with "text", or a string')
        must = [[one] if isinstance(one, str) else one for one in strings(value, "must", nested=True)]
        lines = value["text"].split("\n")
        prefix = value.get("prefix", "")
        if not isinstance(prefix, str):
            raise RequestError('"prefix" is no string')
        must_not = tuple(strings(value, "must_not"))
        requests = [Request(one, must_not=must_not) for one in lines]
        first = next((i for i, one in enumerate(lines) if tidy(one)[0]), 0)
        requests[first] = Request(lines[first], prefix, tuple(Term(tuple(one)) for one in must), must_not)
        return Record(requests, value)

    def refuse(self, record: Record, problem: str) -> Record:
        return Record([], record.rest, problem)

    def write(self, index: int, record: Record, answers: Sequence[Sequence[Translation]]) -> list[str]:
        if record.error:
            return [json.dumps({**record.rest, "error": record.error}, ensure_ascii=False)]
        # Where a line has fewer translations than another, its last one goes on.
        ways = [[some[min(k, len(some) - 1)] for some in answers] for k in range(max(map(len, answers)))]
        return [json.dumps({**record.rest, **self.answer(lines)}, ensure_ascii=False) for lines in ways]

    def answer(self, lines: list[Translation]) -> dict[str, Any]:
        """Of one way to translate all lines of a text."""
        pieces = self.translator.tokenizer.target_pieces
        parts = [part.hypothesis for line in lines for part in line.parts]
        scores = [line.score for line in lines if line.parts] or [0.0]
        result: dict[str, Any] = {
            "translation": "\n".join(line.text for line in lines),
            "score": round(sum(scores) / len(scores), 4),
            "confidence": round(min(line.confidence for line in lines), 4),
            "tokens": [piece for part in parts for piece in (*pieces(part.ids), "</s>")],
            "token_log_probs": [round(log_prob, 4) for part in parts for log_prob in part.token_log_probs],
            "flags": sorted({flag for line in lines for flag in line.flags}),
            "fallback": ", ".join(dict.fromkeys(line.fallback for line in lines if line.fallback)),
        }
        if self.alignments:
            result["alignment"] = [pharaoh(self.translator.align(line)) for line in lines]
        return result


class RequestError(ValueError):
    """A line is JSON, but doesn't say what is to be translated."""


def no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def without_demands(record: Record, problem: str) -> Record:
    """The line is translated all the same, and the problem told."""
    requests = [Request(request.text) for request in record.requests]
    return replace(record, requests=requests, error=f"translated without its demands: {problem}")


def as_bytes(lines: Sequence[str]) -> bytes:
    """Lines of UTF-8. A lone surrogate, which JSON can spell, stays spelled."""
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")


def strings(value: dict[str, Any], name: str, *, nested: bool = False) -> list[Any]:
    """A member that is a list of strings (or of lists of them), or is missing."""
    items = value.get(name, [])
    good = isinstance(items, list) and all(
        isinstance(item, str) or (nested and isinstance(item, list) and item and all(isinstance(i, str) for i in item))
        for item in items
    )
    if not good:
        raise RequestError(f'"{name}" is no list of strings')
    return items


def pharaoh(links: list[tuple[int, int]]) -> str:
    return " ".join(f"{i}-{j}" for i, j in links)


@dataclass
class Demands:
    """What is asked of every line."""

    prefix: str = ""
    must: tuple[tuple[str, ...], ...] = ()
    must_not: tuple[str, ...] = ()
    glossary: Glossary | None = None

    def add_to(self, request: Request) -> Request:
        """The request with all of it, but for the glossary."""
        return replace(
            request,
            prefix=request.prefix or self.prefix,
            must_not=(*request.must_not, *self.must_not),
            must=(*request.must, *(Term(phrases) for phrases in self.must)),
        )


class Job(Protocol):
    """Work on lines that come in chunks, and what there is to say about it in the end."""

    translator: Translator

    def answer(self, chunk: list[bytes]) -> bytes:
        """The output for a chunk of lines."""
        ...

    def report(self, *, verbose: bool) -> Iterator[str]:
        """Lines for the user."""
        ...


class Translating:
    """Translates."""

    def __init__(self, translator: Translator, form: Format, demands: Demands, pictures: Path | None = None) -> None:
        """`pictures`: a folder for the attention of each line's best translation, LINE.png; of further parts LINE-2.png
        and so on.
        """
        self.translator, self.form, self.demands, self.pictures = translator, form, demands, pictures
        self.lines, self.seconds = 0, 0.0
        self.remarks = Remarks()

    def answer(self, chunk: list[bytes]) -> bytes:
        started = time.perf_counter()
        records = [self.demand(self.form.read(line.decode("utf-8", "surrogateescape"))) for line in chunk]
        rest = iter(self.translator.translate_n_best([request for record in records for request in record.requests]))
        output: list[str] = []
        for record in records:
            answers = [next(rest) for _ in record.requests]
            output += self.form.write(self.lines, record, answers)
            self.lines += 1
            self.remark(record, [best for best, *_ in answers])
            if self.pictures:
                self.draw(self.pictures / f"{self.lines:06}", [best for best, *_ in answers])
        self.seconds += time.perf_counter() - started
        return as_bytes(output)

    def demand(self, record: Record) -> Record:
        """With what is asked of every line. Of a line that can't be had so, nothing is asked; or it is an error."""
        requests = [self.demands.add_to(request) for request in record.requests]
        problem = next(filter(None, map(self.translator.problem, requests)), "")
        if problem:
            return self.form.refuse(record, problem)
        both = [self.with_terms(request) for request in requests]
        return replace(
            record, requests=[request for request, _ in both], note=next(filter(None, (note for _, note in both)), "")
        )

    def with_terms(self, request: Request) -> tuple[Request, str]:
        """The request with the terms of the glossary that it has, those of them that can be had; and what to note."""
        whole = self.demands.glossary.apply(request) if self.demands.glossary else request
        problem = self.translator.problem(whole) if whole.must != request.must else ""
        if not problem:
            return whole, ""
        for term in whole.must[len(request.must) :]:
            more = replace(request, must=(*request.must, term))
            request = request if self.translator.problem(more) else more
        return request, f"without some terms of the glossary: {problem}"

    def remark(self, record: Record, answers: Sequence[Translation]) -> None:
        for remark in filter(None, (record.error, record.note)):
            self.remarks.add(self.lines, remark)
        for request, answer in zip(record.requests, answers, strict=True):
            if answer.flags:
                self.remarks.add(self.lines, ", ".join(answer.flags))
            if self.demands.glossary:
                self.demands.glossary.count(request.text, answer.text)

    def draw(self, path: Path, answers: Sequence[Translation]) -> None:
        maps = [one for answer in answers for one in self.translator.attention(answer) if one[1] and one[2]]
        for i, one in enumerate(maps):
            Image.fromarray(attention_picture(*one)).save(f"{path}{f'-{i + 1}' if i else ''}.png")

    def report(self, *, verbose: bool) -> Iterator[str]:
        yield from self.remarks.report()
        if self.demands.glossary:
            yield self.demands.glossary.report()
        if verbose:
            yield f"{self.lines:,} lines in {self.seconds:.1f} s: {self.lines / max(self.seconds, 1e-9):,.1f} a second"


class Scoring:
    """Scores given translations: lines of source TAB translation."""

    def __init__(self, translator: Translator, form: str) -> None:
        self.translator, self.form = translator, form
        self.remarks = Remarks()
        self.lines = 0

    def answer(self, chunk: list[bytes]) -> bytes:
        lines = [line.decode("utf-8", "replace").rstrip("\r") for line in chunk]
        pairs = [(source, target) for source, _, target in (line.partition("\t") for line in lines)]
        too_long = self.translator.too_long(pairs)
        scores = iter(self.translator.score([pair for pair, long in zip(pairs, too_long, strict=True) if not long]))
        output = []
        for line, pair, long in zip(lines, pairs, too_long, strict=True):
            self.lines += 1
            if "\t" not in line:
                self.remarks.add(self.lines, "no tab: scored as if its translation were empty")
            if long:
                self.remarks.add(self.lines, "too long to be scored")
            output.append(self.show(line, pair, None if long else next(scores)))
        return as_bytes(output)

    def show(self, line: str, pair: tuple[str, str], scored: Translation | None) -> str:
        source, target = pair
        if self.form == "jsonl":
            answer = Json(self.translator).answer([scored]) if scored else {"error": "too long to be scored"}
            return json.dumps({"text": source, **answer, "translation": target}, ensure_ascii=False)
        score = f"{scored.score:.4f}" if scored else "nan"
        return f"{line}\t{score}" if self.form == "tsv" else score

    def report(self, *, verbose: bool) -> Iterator[str]:
        yield from self.remarks.report()
