"""Jobs of `nmt.generate`: chunks of input lines flow in, output flows out in parts; at the end, a report on them.

`make_job` chooses the job by the options: `Generating` continues prompts, `Measuring` tells how probable texts are.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from nmt.commands.options import Options
from nmt.config import SearchConfig
from nmt.config.names import override_search
from nmt.fields import require
from nmt.text.normalise import one_line
from nmt.translation.formats import as_bytes
from nmt.translation.jobs import TOO_LONG, Remarks
from nmt.translation.language_model import LanguageModel, TextScore, bits_per_character, perplexity

NO_ROOM = "the prompt is too long for the model"


@dataclass
class Generating:
    """Continues prompts, all with the same settings. A prompt that comes alone is answered piece by piece."""

    lm: LanguageModel
    search: SearchConfig
    stop: Sequence[str] = ()
    lines: int = 0
    remarks: Remarks = field(default_factory=Remarks)

    def answer(self, chunk: list[bytes]) -> Iterator[bytes]:
        """The output for a chunk of lines, in parts."""
        prompts = [line.decode("utf-8", "surrogateescape") for line in chunk]
        for number, prompt in enumerate(prompts, start=self.lines + 1):
            self.remarks.add_invalid(number, prompt)
        if len(prompts) == 1 and self.search.samples <= 1 and self.lm.fits(prompts[0]):
            self.lines += 1
            for text in self.lm.stream(prompts[0], self.search, self.stop):
                yield one_line(text).encode()
            yield b"\n"
            return
        for found in self.lm.generate(prompts, self.search, self.stop):
            self.lines += 1
            if found[0].ending == "no room":
                self.remarks.add(self.lines, NO_ROOM)
            yield as_bytes([one_line(continuation.text) for continuation in found])

    def report(self) -> Iterator[str]:
        yield from self.remarks.report()


@dataclass
class Measuring:
    """Tells the probability of texts, each a line. Blank lines and lines that are too long don't count in the sum."""

    lm: LanguageModel
    search: SearchConfig
    lines: int = 0
    scored: int = 0
    pieces: int = 0
    characters: int = 0
    log_prob: float = 0.0
    remarks: Remarks = field(default_factory=Remarks)

    def answer(self, chunk: list[bytes]) -> Iterator[bytes]:
        texts, output = [line.decode("utf-8", "surrogateescape") for line in chunk], list[str]()
        for text, score in zip(texts, self.lm.score(texts, self.search), strict=True):
            self.lines += 1
            self.remarks.add_invalid(self.lines, text)
            if score is None:
                self.remarks.add(self.lines, TOO_LONG)
            output.append(self.show(score))
        yield as_bytes(output)

    def show(self, score: TextScore | None) -> str:
        """The figures of a text, which is added to the sum."""
        if score is None:
            return "\t".join(["nan"] * 4)
        if not score.text:
            return ""
        self.scored += 1
        self.pieces += len(score.token_log_probs)
        self.characters += score.n_characters
        self.log_prob += score.log_prob
        bits = bits_per_character(score.log_prob, score.n_characters)
        return "\t".join(f"{value:.4f}" for value in (score.log_prob, score.mean, perplexity(score.mean), bits))

    def report(self) -> Iterator[str]:
        yield from self.remarks.report()
        text = f"{self.scored:,} of {self.lines:,} lines scored"
        if self.pieces:
            bits = bits_per_character(self.log_prob, self.characters)
            text += f"; with their ends {self.pieces:,} pieces and {self.characters:,} characters"
            text += f": perplexity {perplexity(self.log_prob / self.pieces):.4f}, {bits:.4f} bits a character"
        yield text


def make_job(options: Options, lm: LanguageModel) -> Generating | Measuring:
    """The job that the options of `nmt.generate` ask for; ValueError if they don't go together."""
    if not options.score:
        require("" not in options.stop, "--stop is empty: give the text before which a continuation ends")
        return Generating(lm, settings_of(options, lm.search), options.stop)
    for name in ("prompt", "stop", "greedy", "samples", "max_length", "temperature", "top_k", "top_p", "min_p", "seed"):
        given = name in options and options[name] not in (False, [])
        require(not given, f"--{name.replace('_', '-')} is for continuations: it doesn't go with --score")
    return Measuring(lm, override_search(lm.search, options))


def settings_of(options: Options, stored: SearchConfig) -> SearchConfig:
    """The model's search settings, replaced by the options. Without sampling (temperature 0), samples is 0."""
    samples, greedy = options.get("samples", stored.samples), options.greedy or options.get("temperature") == 0
    require(samples > 0, f"--samples is {samples}: it must be at least 1")
    several = greedy and "samples" in options and samples != 1
    require(not several, f"--samples is {samples}: --greedy gives only one continuation")
    left_out = {"samples": greedy, "temperature": options.get("temperature") == 0}
    given = Options({name: value for name, value in options.items() if not left_out.get(name)})
    longest = options.get("max_length", 0)
    shortest = min(stored.min_length, longest) if longest > 0 else stored.min_length  # there is no --min-length
    stored = replace(stored, min_length=shortest, samples=0 if greedy else stored.samples)
    try:
        return override_search(stored, given, "leave out --greedy, and temperature 0")
    except ValueError as error:
        named = re.sub(r"search\.(\w+)", lambda match: f"--{match[1].replace('_', '-')}", str(error))
        raise ValueError(named) from error
