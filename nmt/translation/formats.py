"""Formats of input and output lines: plain text, columns, and JSON objects.

Every input line gives one output line (with n-best, up to N). Bytes that aren't UTF-8 are surrogates in the text of a
line (as by `surrogateescape`), so that columns which aren't translated can be written as they were. To add a format:
a subclass of `Format`, its name in `nmt.translation.jobs.make_job` and in the choices of --format in `nmt.translate`.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nmt.fields import require
from nmt.reading.request import NO_CONSTRAINTS, Constraints, Request, Term, Translation, join, ranks
from nmt.text.normalise import one_line, tidy, with_blanks
from nmt.translation.translator import Translator


@dataclass(frozen=True)
class Record:
    """An input line."""

    requests: list[Request]
    """A request for each line of the text (JSON texts may have several); none if it can't be translated."""

    rest: dict[str, Any] = field(default_factory=dict)
    """Other contents of the line, which the output repeats."""

    note: str = ""
    """A remark for the user: why the line, or its constraints, can't be used."""

    given: list[tuple[str, str]] = field(default_factory=list)
    """To score translations, in place of requests: source and translation, of each line if both sides of a JSON object
    have equally many, else of the whole."""


class Format(ABC):
    """A format: input lines to records with requests, translations to output lines."""

    shows_scores = True
    alignments = False
    """Whether the output has the word alignment."""

    @abstractmethod
    def read(self, line: str) -> Record: ...

    @abstractmethod
    def write(self, index: int, record: Record, n_best: Sequence[Sequence[Translation]]) -> list[str]:
        """The output for input line `index`, from 0; `n_best` has the translations of each of the record's requests."""

    def refuse(self, record: Record, problem: str) -> Record:
        """The record of a line whose constraints can't be met: it is translated without them, with a remark."""
        requests = [replace(request, constraints=NO_CONSTRAINTS) for request in record.requests]
        return replace(record, requests=requests, note=f"translated without its constraints: {problem}")


@dataclass
class Text(Format):
    """Plain text. Output: the translation, optionally after its score and quality and before its alignment."""

    translator: Translator
    n_best: bool = False
    scores: bool = False
    alignments: bool = False
    quality: bool = False

    @property
    def shows_scores(self) -> bool:  # type: ignore[override]
        return self.scores or self.n_best

    def read(self, line: str) -> Record:
        return Record([Request(line)])

    def write(self, index: int, record: Record, n_best: Sequence[Sequence[Translation]]) -> list[str]:
        return [self.show(index, record.requests[0].text, translation) for translation in n_best[0]]

    def show(self, index: int, line: str, translation: Translation) -> str:
        text = translation.text.replace("\t", " ") if self.scores else translation.text  # tabs separate columns
        links = f" ||| {pharaoh(self.translator.align(line, translation))}" if self.alignments else ""
        numbers = [decimal(translation.score), *([decimal(translation.quality)] if self.quality else [])]
        if self.n_best:
            return " ||| ".join([str(index), text, *numbers]) + links
        return "\t".join([*(numbers if self.scores else []), text]) + links


@dataclass
class Columns(Format):
    """The first column of a line is the source; columns with translation, score, flags and optionally quality are
    added to the line. The translation has the source's blanks at its ends."""

    quality: bool = False

    def read(self, line: str) -> Record:
        return Record([Request(line.partition("\t")[0])], {"line": line.removesuffix("\r")})

    def write(self, index: int, record: Record, n_best: Sequence[Sequence[Translation]]) -> list[str]:
        line, found = record.rest["line"], list[str]()
        for best in n_best[0]:
            text = with_blanks(one_line(line.partition("\t")[0]), best.text)
            quality = [decimal(best.quality)] if self.quality else []
            found.append("\t".join([line, text, decimal(best.score), ",".join(best.flags), *quality]))
        return found


@dataclass
class Json(Format):
    """A line is an object with "text" and optionally "prefix", "must" and "must_not", or a string.

    An item of "must" is a phrase, or a list of alternative phrases. The lines of a text are translated one by one, and
    keep their blanks and carriage returns at both ends; "prefix" and "must" are for its first line that is not blank.
    The output is the object with more members.
    """

    translator: Translator
    alignments: bool = False
    quality: bool = False
    whole: bool = False
    """Whether a text is one request, since its line breaks are blanks of mark-up."""

    def read(self, line: str) -> Record:
        value, problem = read_object(line)
        try:
            require(not problem, problem)
            prefix = value.get("prefix", "")
            require(isinstance(prefix, str), '"prefix" must be a string')
            must = tuple(Term(tuple(alternatives)) for alternatives in phrases(value, "must", nested=True))
            must_not = tuple(phrase for (phrase,) in phrases(value, "must_not"))
        except ValueError as error:
            return self.refuse(Record([], value), f"no request: {error}")
        lines = [value["text"]] if self.whole else value["text"].split("\n")
        requests = [Request(text, Constraints(must_not=must_not)) for text in lines]
        first = next((i for i, text in enumerate(lines) if tidy(text)), 0)
        requests[first] = Request(lines[first], Constraints(prefix, must, must_not))
        return Record(requests, value)

    def refuse(self, record: Record, problem: str) -> Record:
        """The record of a line that is not translated: the output has the member "error"."""
        return Record([], {**record.rest, "error": problem}, problem)

    def write(self, index: int, record: Record, n_best: Sequence[Sequence[Translation]]) -> list[str]:
        if not record.requests:
            return [as_json(record.rest)]
        sources = [request.text for request in record.requests]
        return [as_json({**record.rest, **self.answer(sources, text)}) for text in ranks(n_best)]

    def answer(self, sources: Sequence[str], lines: Sequence[Translation]) -> dict[str, Any]:
        """The new members of the output, from the lines of a text and a translation of each."""
        pieces, pairs = self.translator.tokenizer.target_pieces, list(zip(sources, lines, strict=True))
        whole = join(lines)
        result: dict[str, Any] = {
            "translation": "\n".join(with_blanks(source, line.text) for source, line in pairs),
            "score": round(whole.score, 4),
            "confidence": round(min(line.confidence for line in lines), 4),
            "tokens": [piece for part in whole.parts for piece in (*pieces(part.hypothesis.ids), "</s>")],
            "token_log_probs": [round(log_prob, 4) for log_prob in whole.token_log_probs],
            "flags": sorted(whole.flags),
            "fallback": whole.fallback,
        }
        if self.quality:
            result["quality"] = lowest([line.quality for line in lines])
        if self.alignments:
            result["alignment"] = [pharaoh(self.translator.align(source, line)) for source, line in pairs]
        return result


def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of a JSON object; ValueError if one is there twice: it could not be written again."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        require(name not in found, f'the member "{name}" is there twice: keep one of them')
        found[name] = value
    return found


def refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON: write null, or a string")


JSON = json.JSONDecoder(object_pairs_hook=members, parse_constant=refuse_constant)


def read_object(line: str) -> tuple[dict[str, Any], str]:
    """The object of a JSON line, and a reason, for the user, why it can't be used; empty if it has a "text".

    A JSON string is the text of an object without other members; a blank line is an empty text. What is no object of
    strict JSON, or has a member twice, becomes an object with the member "line", so that nothing is lost.
    """
    read = line.removeprefix("\ufeff")  # where files were joined; at the start of the input it is gone already
    try:
        value = JSON.decode(read) if read.strip() else {"text": ""}
        value = {"text": value} if isinstance(value, str) else value
        json.dumps(value, allow_nan=False)  # refuse values that can't be written as JSON
    except (ValueError, RecursionError) as error:
        return {"line": line}, f"the line can't be read as JSON ({error})"
    known = value if isinstance(value, dict) else {"line": line}
    has_text = isinstance(known.get("text"), str)
    return known, "" if has_text else 'a line must be an object with "text", or a string'


def decimal(number: float | None) -> str:
    """A number with four decimals; "nan" for None."""
    return "nan" if number is None else f"{number:.4f}"


def lowest(qualities: Sequence[float | None]) -> float | None:
    """The lowest quality of the lines of a text; None if one isn't known."""
    known = [quality for quality in qualities if quality is not None]
    return round(min(known), 4) if len(known) == len(qualities) else None


def as_json(value: dict[str, Any]) -> str:
    """A JSON line. Lone surrogates, also those of bytes that aren't UTF-8, are written as escapes."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()


def as_bytes(lines: Sequence[str]) -> bytes:
    """Lines as UTF-8, each with LF; bytes that weren't UTF-8 are written as they were."""
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def phrases(value: dict[str, Any], name: str, *, nested: bool = False) -> list[list[str]]:
    """The items of an optional member, each as a list of one string or, if `nested`, of alternative strings."""
    items = value.get(name, [])
    lists = [i if nested and isinstance(i, list) else [i] for i in items] if isinstance(items, list) else [[]]
    are_strings = all(strings and all(isinstance(string, str) for string in strings) for strings in lists)
    require(are_strings, f'"{name}" must be a list of strings')
    return lists


def pharaoh(links: list[tuple[int, int]]) -> str:
    """Word alignment in the Pharaoh format, "0-0 1-2"."""
    return " ".join(f"{i}-{j}" for i, j in links)
