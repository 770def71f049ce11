"""Jobs of `nmt.generate`: chunks of input lines flow in, output flows out in parts; at the end, a report on them.

`make_job` chooses the job by the options: `Generating` continues prompts, `Measuring` tells how probable texts are.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nmt.config import SearchConfig
from nmt.config.names import override_search
from nmt.fields import require
from nmt.text.normalise import one_line
from nmt.translation.formats import as_bytes, as_json, read_object
from nmt.translation.jobs import Remarks
from nmt.translation.language_model import Continuation, LanguageModel, TextScore, bits_per_character, perplexity

NO_ROOM, TOO_LONG = "the prompt is too long for the model", "too long to be scored"


@dataclass(frozen=True)
class Line:
    """An input line."""

    text: str
    rest: dict[str, Any]
    """The object of a JSON line, which the output repeats."""
    problem: str = ""
    """Why a JSON line can't be used."""


def read_line(line: bytes, *, is_json: bool) -> Line:
    text = line.decode("utf-8", "surrogateescape")
    if not is_json:
        return Line(text, {})
    value, problem = read_object(text)
    return Line("" if problem else value["text"], value, problem)


def members(lm: LanguageModel, ids: list[int], token_log_probs: list[float]) -> dict[str, Any]:
    """The members of a JSON answer about single pieces."""
    pieces = [*lm.tokenizer.target_pieces(ids), "</s>"][: len(token_log_probs)]
    return {"tokens": pieces, "token_log_probs": [round(log_prob, 4) for log_prob in token_log_probs]}


@dataclass
class Generating:
    """Continues prompts, all with the same settings. A prompt that comes alone is answered piece by piece."""

    lm: LanguageModel
    search: SearchConfig
    stop: Sequence[str] = ()
    is_json: bool = False
    lines: int = 0
    remarks: Remarks = field(default_factory=Remarks)

    def answer(self, chunk: list[bytes]) -> Iterator[bytes]:
        """The output for a chunk of lines, in parts."""
        lines = [read_line(line, is_json=self.is_json) for line in chunk]
        for number, line in enumerate(lines, start=self.lines + 1):
            self.remarks.add_invalid(number, line.text)
        if len(lines) == 1 and self.search.samples <= 1 and not self.is_json and self.lm.fits(lines[0].text):
            self.lines += 1
            for text in self.lm.stream(lines[0].text, self.search, self.stop):
                yield one_line(text).encode()
            yield b"\n"
            return
        found = iter(self.lm.generate([line.text for line in lines if not line.problem], self.search, self.stop))
        for line in lines:
            self.lines += 1
            yield as_bytes(self.show(line, [] if line.problem else next(found)))

    def show(self, line: Line, found: list[Continuation]) -> list[str]:
        problem = line.problem or (NO_ROOM if found[0].ending == "no room" else "")
        if problem:
            self.remarks.add(self.lines, problem)
        if not self.is_json:
            return [one_line(c.text) for c in found]
        if problem:
            return [as_json(line.rest | {"error": problem})]
        pieces = [members(self.lm, c.ids, c.token_log_probs) for c in found]
        answers = [{"continuation": c.text, "ending": c.ending} | p for c, p in zip(found, pieces, strict=True)]
        return [as_json(line.rest | answer) for answer in answers]

    def report(self) -> Iterator[str]:
        yield from self.remarks.report()


@dataclass
class Measuring:
    """Tells the probability of texts, each a line. Blank lines and lines that are too long don't count in the sum."""

    lm: LanguageModel
    search: SearchConfig
    is_json: bool = False
    lines: int = 0
    scored: int = 0
    pieces: int = 0
    characters: int = 0
    log_prob: float = 0.0
    remarks: Remarks = field(default_factory=Remarks)

    def answer(self, chunk: list[bytes]) -> Iterator[bytes]:
        """The output for a chunk of lines."""
        lines = [read_line(line, is_json=self.is_json) for line in chunk]
        output = []
        for line, score in zip(lines, self.lm.score([line.text for line in lines], self.search), strict=True):
            self.lines += 1
            self.remarks.add_invalid(self.lines, line.text)
            problem = line.problem or ("" if score else TOO_LONG)
            if problem:
                self.remarks.add(self.lines, problem)
            output.append(self.show_json(line, score, problem) if self.is_json else self.show(score))
        yield as_bytes(output)

    def show(self, score: TextScore | None) -> str:
        if score is None:
            return "\t".join(["nan"] * 4)
        return "\t".join(f"{value:.4f}" for value in self.count(score).values()) if score.text else ""

    def show_json(self, line: Line, score: TextScore | None, problem: str) -> str:
        answer: dict[str, Any] = {"error": problem}
        if score and not problem:
            values = {name: round(value, 4) for name, value in self.count(score).items()} if score.text else {}
            answer = values and values | members(self.lm, score.ids, score.token_log_probs)
        return as_json(line.rest | answer)

    def count(self, score: TextScore) -> dict[str, float]:
        """The figures of a text, which is added to the sum."""
        self.scored += 1
        self.pieces += len(score.token_log_probs)
        self.characters += score.n_characters
        self.log_prob += score.log_prob
        bits = bits_per_character(score.log_prob, score.n_characters)
        means = {"mean_log_prob": score.mean, "perplexity": perplexity(score.mean), "bits_per_character": bits}
        return {"log_prob": score.log_prob, **means}

    def report(self) -> Iterator[str]:
        yield from self.remarks.report()
        text = f"{self.scored:,} of {self.lines:,} lines scored"
        if self.pieces:
            bits = bits_per_character(self.log_prob, self.characters)
            text += f"; with their ends {self.pieces:,} pieces and {self.characters:,} characters"
            text += f": perplexity {perplexity(self.log_prob / self.pieces):.4f}, {bits:.4f} bits a character"
        yield text


def make_job(options: Any, lm: LanguageModel) -> Generating | Measuring:
    """The job that the options of `nmt.generate` ask for; ValueError if they don't go together."""
    is_json = options.format == "jsonl"
    if not options.score:
        require("" not in options.stop, "--stop is empty: give the text before which a continuation ends")
        return Generating(lm, search_settings(options, lm.search), options.stop, is_json)
    for name in ("prompt", "stop", "greedy", "samples", "max_length", "temperature", "top_k", "top_p", "min_p", "seed"):
        given = name in options and options[name] not in (False, [])
        require(not given, f"--{name.replace('_', '-')} is for continuations: it doesn't go with --score")
    return Measuring(lm, override_search(lm.search, options), is_json)


def search_settings(options: Any, stored: SearchConfig) -> SearchConfig:
    """The model's search settings, replaced by the options. Without sampling (temperature 0), samples is 0."""
    samples, greedy = options.get("samples", stored.samples), options.greedy or options.get("temperature") == 0
    require(samples > 0, f"--samples is {samples}: it must be at least 1")
    several = greedy and "samples" in options and samples != 1
    require(not several, f"--samples is {samples}: --greedy gives only one continuation")
    given = {k: v for k, v in options.items() if not (greedy and k in ("samples", "temperature"))}
    longest = options.get("max_length", 0)
    shortest = min(stored.min_length, longest) if longest > 0 else stored.min_length  # there is no --min-length
    try:
        search = override_search(replace(stored, min_length=shortest), given)
    except ValueError as error:
        named = re.sub(r"search\.(\w+)", lambda match: f"--{match[1].replace('_', '-')}", str(error))
        raise ValueError(named) from error
    return replace(search, samples=0) if greedy else search
