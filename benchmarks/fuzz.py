"""Fuzzing: odd lines flow through the real commands, with tiny random models; failures, time and memory flow out.

    python -m benchmarks.fuzz --lines 1000000

The lines of each job, a command with its options, are made by `benchmarks.fuzz_lines` from the seed. Checked is that
the command ends with exit status 0 and no traceback, within bounds of memory and processor time, and that each line of
input gives a line of valid UTF-8; for some formats more. Some lines have a million characters. Of each failure the seed
is printed, and the lines are written to a file: if a command fails as a whole, they are halved as long as it fails.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.fuzz_lines import fuzzed_line, json_line, pair_line
from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import rounded, run_script
from nmt.config import SearchConfig
from nmt.data.tokenizer import encode_pairs
from nmt.decode.shortlist import learn_shortlist
from nmt.model.weights import write_tensors
from nmt.text.normalise import tidy
from nmt.text.words import Words
from nmt.translation.model_folder import SHORTLIST
from tests.tiny import PAIRS, TINY, make_model, make_tokenizer, save_tiny

AT_ONCE, LONG = 5_000, 1_000_000  # lines of a process; characters of a long line
MEMORY, SECONDS = 2_000, 1_200  # most MiB, and processor seconds, that a process may need
FAST = SearchConfig(beam_size=1, max_length=3, batch_size=256, guard=False)
ADDED = {"translation", "score", "confidence", "tokens", "token_log_probs", "flags", "fallback", "alignment", "quality"}
ADDED |= {"error", "continuation", "ending", "log_prob", "mean_log_prob", "perplexity", "bits_per_character"}


def any_line(given: bytes, answer: bytes) -> str:
    """The check of plain text: any line of UTF-8 will do."""
    answer.decode()
    return ""


def columns(given: bytes, answer: bytes) -> str:
    """The columns of a TSV line stay as they are, byte for byte, and three are added."""
    line = given.removesuffix(b"\r")
    answer[len(line) :].decode()
    return "" if answer.startswith(line + b"\t") and answer.count(b"\t") == line.count(b"\t") + 3 else "columns changed"


def members(given: bytes, answer: bytes) -> str:
    """The other members of an object stay as they are, and so does the number of lines of its text."""
    made = json.loads(answer.decode(), parse_constant=refuse)
    try:
        value = json.loads(given.decode() if given.strip() else '""', parse_constant=refuse)
        json.dumps(value, allow_nan=False)
    except UnicodeDecodeError:
        return ""  # it may be repaired
    except (ValueError, RecursionError):
        is_whole = "error" in made and made.get("line") == given.decode()
        return "" if is_whole else "an invalid line has no error, or is lost"
    value = {"text": value} if isinstance(value, str) else value
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return "" if "error" in made else "a line without text has no error"
    translation = {**made, **value}.get("translation", value["text"])
    if "translation" not in value and translation.count("\n") != value["text"].count("\n"):
        return "line breaks changed"
    changed = [name for name in value.keys() - ADDED if made.get(name, refuse) != value[name]]
    return f"members {sorted(changed)} changed" if changed else ""


def refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def round_trip(given: bytes, answer: bytes) -> str:
    """Pieces give the tidied text again, with single spaces."""
    text = tidy(given.decode("utf-8", "surrogateescape"))
    return "" if answer.decode().split(" ") == (list(filter(None, text.split(" "))) or [""]) else "text changed"


@dataclass(frozen=True)
class Job:
    """A command with its options; MODEL, LM and TOKENIZER are folders."""

    command: str
    make_line: Callable[[Random, int], bytes] = fuzzed_line
    check: Callable[[bytes, bytes], str] = any_line
    """What is wrong with a line of output, given its line of input; empty if nothing is. ValueError: it is invalid."""
    share: float = 1.0
    """Number of lines, relative to --lines."""
    then: str = ""
    """A command that reads the output of the first."""


@dataclass
class Outcome:
    """What became of a job. Processor seconds, and the largest memory of a process in MiB."""

    job: str
    lines: int = 0
    characters: int = 0
    seconds: float = 0.0
    peak_memory_mib: float = 0.0
    failures: list[str] = field(default_factory=list)


TRANSLATE = "nmt.translate --model MODEL --precision fp32"
GUARDED = f"{TRANSLATE} --guard true --beam-size 2 --alignments"
GENERATE = "nmt.generate --model LM --precision fp32 --batch-size 256"
ENCODE, DECODE = "nmt.tokenizer encode TOKENIZER", "nmt.tokenizer decode TOKENIZER"
JOBS = {
    "text": Job(TRANSLATE),
    "text, sampled": Job(f"{TRANSLATE} --samples 1 --temperature 3 --max-length 20", share=0.3),
    "text, guarded": Job(GUARDED, share=0.1),
    "scores": Job(f"{TRANSLATE} --force-decode", pair_line, share=0.1),
    "tsv": Job(f"{TRANSLATE} --format tsv", check=columns),
    "jsonl": Job(f"{TRANSLATE} --format jsonl", json_line, members),
    "jsonl, guarded": Job(f"{GUARDED} --format jsonl", json_line, members, 0.1),
    "generate": Job(f"{GENERATE} --max-length 3 --greedy", share=0.2),
    "generate jsonl": Job(f"{GENERATE} --max-length 3 --format jsonl", json_line, members, 0.2),
    "generate scores": Job(f"{GENERATE} --score --format jsonl", json_line, members, 0.2),
    "pieces": Job(ENCODE, check=round_trip, share=0.2, then=DECODE),
    "ids": Job(f"{ENCODE} --ids", check=round_trip, share=0.2, then=f"{DECODE} --ids"),
}


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--lines", type=int, default=10_000, help="of all jobs together, about")
    parser.add_argument("--longest", type=int, default=10_000, help="characters; lengths are log-uniform")
    parser.add_argument("--long", type=int, default=1, help="lines of a million characters in each job")
    parser.add_argument("--job", action="append", choices=JOBS, metavar="JOB", help="only this; repeatable")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--failures", type=Path, default=Path("fuzz"), metavar="DIR", help="folder for failing lines")
    args = parser.parse_args()
    jobs = {name: JOBS[name] for name in args.job or JOBS}
    total = sum(job.share for job in jobs.values())
    rows = []
    with TemporaryDirectory() as folder:
        make_folders(Path(folder))
        for name, job in jobs.items():
            outcome = Fuzzing(name, job, Path(folder), args).run(round(args.lines * job.share / total))
            rows.append({"benchmark": "fuzz"} | asdict(outcome) | {"failures": len(outcome.failures)})
    keep(rows, args)
    return int(any(row["failures"] for row in rows))


def make_folders(folder: Path) -> None:
    """The folders that stand in commands."""
    tokenizer = make_tokenizer(folder / "TOKENIZER")
    tokenizer = tokenizer.with_words(Words.learn(source for source, _ in PAIRS))
    small = replace(TINY, decoder_layers=1)
    save_tiny(folder / "MODEL", make_model(tokenizer, config=small), tokenizer, FAST)
    vocabularies = tokenizer.src_vocab_size, tokenizer.tgt_vocab_size
    write_tensors(folder / "MODEL" / SHORTLIST, asdict(learn_shortlist(encode_pairs(tokenizer, PAIRS), *vocabularies)))
    lm = make_model(tokenizer, config=replace(small, family="decoder-only"))
    save_tiny(folder / "LM", lm, tokenizer, FAST, ("en", "en"), "lm")


def limit() -> None:
    """In the process of a command: end it when it has used too much time."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


class Fuzzing:
    """Runs a job."""

    def __init__(self, name: str, job: Job, folder: Path, args: argparse.Namespace) -> None:
        self.job, self.folder, self.args = job, folder, args
        self.rng = Random(f"{args.seed} {name}")
        self.outcome = Outcome(name)

    def run(self, count: int) -> Outcome:
        for start in range(0, count, AT_ONCE):
            lengths = [int(self.args.longest ** self.rng.random()) for _ in range(min(AT_ONCE, count - start))]
            self.check([self.job.make_line(self.rng, length) for length in lengths])
        for _ in range(self.args.long):
            self.check([self.job.make_line(self.rng, LONG)])
        return self.outcome

    def check(self, lines: list[bytes]) -> None:
        """Give lines to the command, and note what fails."""
        self.outcome.lines += len(lines)
        self.outcome.characters += sum(len(line.decode("utf-8", "replace")) for line in lines)
        problem, answers = self.answer(lines)
        if problem:
            self.fail(problem, self.halved(lines))
            return
        wrong: dict[str, list[bytes]] = {}
        for line, answer in zip(lines, answers, strict=True):
            if problem := self.problem(line, answer):
                wrong.setdefault(problem, []).append(line)
        for problem, found in wrong.items():
            self.fail(problem, sorted(found, key=len))

    def problem(self, line: bytes, answer: bytes) -> str:
        """What is wrong with a line of output."""
        try:
            return self.job.check(line, answer)
        except ValueError as error:
            return f"invalid output: {str(error)[:100]}"

    def answer(self, lines: Sequence[bytes]) -> tuple[str, list[bytes]]:
        """What is wrong with the command as a whole (empty: nothing), and its lines of output."""
        (self.folder / "input").write_bytes(b"".join(line + b"\n" for line in lines))
        problem = self.run_command(self.job.command, "input", "output")
        if self.job.then and not problem:
            problem = self.run_command(self.job.then, "output", "output 2")
        output = (self.folder / ("output 2" if self.job.then else "output")).read_bytes()
        answers = output.split(b"\n")[:-1]
        lost = f"{len(lines)} lines of input, but {len(answers)} of output" if len(answers) != len(lines) else ""
        return problem or lost, answers

    def run_command(self, command: str, source: str, target: str) -> str:
        """What is wrong with the run of a command; empty if nothing is."""
        words = [str(self.folder / word) if word in ("MODEL", "LM", "TOKENIZER") else word for word in command.split()]
        with (
            open(self.folder / source, "rb") as given,
            open(self.folder / target, "wb") as answers,
            open(self.folder / "errors", "w+", encoding="utf8", errors="replace") as errors,
        ):
            process = subprocess.Popen(
                [sys.executable, "-m", *words], stdin=given, stdout=answers, stderr=errors, preexec_fn=limit
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)  # else Popen would wait for it too
            errors.seek(0)
            told = errors.read()
        peak = usage.ru_maxrss / 1024
        self.outcome.seconds = rounded(self.outcome.seconds + usage.ru_utime + usage.ru_stime)
        self.outcome.peak_memory_mib = max(self.outcome.peak_memory_mib, rounded(peak))
        if process.returncode:
            return f"exit status {process.returncode}: {told[-300:]}"
        if "Traceback" in told:
            return f"a traceback: {told[-300:]}"
        return f"{peak:,.0f} MiB of memory" if peak > MEMORY else ""

    def halved(self, lines: list[bytes]) -> list[bytes]:
        """Fewer lines with which the command still fails as a whole: one, if one alone is the cause."""
        while len(lines) > 1:
            middle = len(lines) // 2
            failing = next((half for half in (lines[:middle], lines[middle:]) if self.answer(half)[0]), None)
            if failing is None:
                break
            lines = failing
        return lines

    def fail(self, problem: str, lines: list[bytes]) -> None:
        """Note a failure, and write its lines to a file."""
        self.outcome.failures.append(problem)
        self.args.failures.mkdir(parents=True, exist_ok=True)
        name = f"{self.outcome.job.replace(' ', '-').replace(',', '')}-{self.args.seed}-{len(self.outcome.failures)}"
        file = self.args.failures / name
        file.write_bytes(b"".join(line + b"\n" for line in lines))
        about = f"{self.outcome.job}, seed {self.args.seed}, {len(lines):,} lines in {file}: {problem}"
        print(about, file=sys.stderr, flush=True)


if __name__ == "__main__":
    run_script(main)
