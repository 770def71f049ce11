"""How fast a model translates on this machine, from text to text through `Translator`, and beside peers.

    python benchmarks/decode_speed.py --model runs/reference --corpus multi30k --rounds 3 --peer ctranslate2-int8

Each row is a process of its own. They run in turn (A B A B …), since the speed of a shared machine drifts: a ratio
is taken within a round, and the median of the rounds is printed. Peers (see `decode_peers.py`) decode pieces to pieces
with the same weights; nmt's time includes cutting text into pieces and joining them. Sentences are those of the
corpus's first test set, BLEU is sacreBLEU's 13a, and tokens are output pieces.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from nmt.translation.translator import Translator

PEERS = ("ctranslate2-float32", "ctranslate2-int8", "transformers")
SETTINGS = ("1x1", "1x16", "1x64", "5x1", "5x16", "5x64")


@dataclass(frozen=True)
class Row:
    """One process's figures: the best of its repeats."""

    system: str
    dtype: str
    beam: int
    batch: int
    sentences_per_second: float
    tokens_per_second: float
    bleu: float


class Help(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Defaults shown, line ends of the description kept."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=Help)
    parser.add_argument("--model", type=Path, required=True, help="run or model folder")
    parser.add_argument("--corpus", default="multi30k", help="as nmt.train's --data.corpus")
    parser.add_argument(
        "--dtype",
        action="append",
        default=[],
        help="of nmt: fp32, bf16, int8 or auto; with a shortlist as int8:8; repeatable",
    )
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="BEAMxBATCH",
        help=f"beam and batch size; repeatable; otherwise {' '.join(SETTINGS)}",
    )
    parser.add_argument("--sentences", type=int, default=0, help="of the test set, the first; 0: all")
    parser.add_argument("--repeats", type=int, default=2, help="times that a process translates, the best counts")
    parser.add_argument("--rounds", type=int, default=1, help="times that each row is measured")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0: all cores")
    parser.add_argument("--peer", action="append", default=[], choices=PEERS, help="run in turn with nmt; repeatable")
    parser.add_argument("--peer-python", default=sys.executable, metavar="PYTHON", help="which has the peers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    parser.add_argument("--profile", action="store_true", help="show where nmt's time goes, instead")
    parser.add_argument("--files", type=Path, help=argparse.SUPPRESS)  # the test set: be the process that is timed
    args = parser.parse_args()
    if args.files:
        print(json.dumps(time_translator(args)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        files = write_test_set(args, Path(folder))
        if args.profile:
            return subprocess.run(
                own_command(args, files, args.dtype[0] if args.dtype else "auto", "5x64"), check=False
            ).returncode
        rows = [
            row
            for _ in range(args.rounds)
            for setting in args.setting or SETTINGS
            for row in measure(args, files, setting)
        ]
    print_table(rows)
    if args.json:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    return 0


def write_test_set(args: argparse.Namespace, folder: Path) -> Path:
    """The sources and references, as files that every process reads."""
    from nmt.config import DataConfig
    from nmt.data.corpora import load_corpus
    from nmt.text.normalise import tidy
    from nmt.translation.model_folder import load_model
    from nmt.translation.translator import find_model

    _, _, info = load_model(find_model(str(args.model)))
    corpus = load_corpus(DataConfig(corpus=args.corpus, source=info.source, target=info.target))
    pairs = next(iter(corpus.tests.values()))
    for i, name in enumerate(("source", "reference")):
        lines = [tidy(pair[i])[0] for pair in pairs[: args.sentences or len(pairs)]]
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf8")
    return folder


def measure(args: argparse.Namespace, files: Path, setting: str) -> list[Row]:
    """A row for nmt in each dtype and for each peer."""
    from nmt.translation.translator import find_model

    beam, batch = map(int, setting.split("x"))
    commands = [(("nmt", dtype), own_command(args, files, dtype, setting)) for dtype in args.dtype or ["auto"]]
    for peer in args.peer:
        system, _, dtype = peer.partition("-")
        command = [
            args.peer_python,
            str(Path(__file__).with_name("decode_peers.py")),
            peer,
            "--model",
            str(find_model(str(args.model))),
            "--source",
            str(files / "source"),
            "--reference",
            str(files / "reference"),
            "--beam",
            str(beam),
            "--batch",
            str(batch),
            "--repeats",
            str(args.repeats),
            "--threads",
            str(args.threads),
        ]
        commands.append(((system, dtype or "float32"), command))
    rows = []
    for (system, dtype), command in commands:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(f"decode_speed: {system} {dtype} ended with status {done.returncode}")
        figures = json.loads(done.stdout.splitlines()[-1])
        rows.append(Row(**{"system": system, "dtype": dtype, "beam": beam, "batch": batch} | figures))
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def own_command(args: argparse.Namespace, files: Path, dtype: str, setting: str) -> list[str]:
    profile = ["--profile"] if args.profile else []
    return [
        sys.executable,
        __file__,
        "--model",
        str(args.model),
        "--files",
        str(files),
        "--dtype",
        dtype,
        "--setting",
        setting,
        "--repeats",
        str(args.repeats),
        "--threads",
        str(args.threads),
        *profile,
    ]


def time_translator(args: argparse.Namespace) -> dict[str, float | str]:
    """The timed process."""
    import torch

    from nmt.config import SearchConfig
    from nmt.scoring.metrics import score
    from nmt.translation.translator import Translator, find_model

    if args.threads:
        torch.set_num_threads(args.threads)
    beam, batch = map(int, args.setting[0].split("x"))
    precision, _, shortlist = args.dtype[0].partition(":")
    search = SearchConfig(beam_size=beam, batch_size=batch, shortlist=int(shortlist or 0))
    translator = Translator.load(find_model(str(args.model)), precision=precision, search=search)
    sources, references = (
        (args.files / name).read_text(encoding="utf8").splitlines() for name in ("source", "reference")
    )
    if args.profile:
        show_profile(translator, sources)
    best, output = float("inf"), [""]
    for _ in range(args.repeats):
        started = time.perf_counter()
        output = translator.translate(sources)
        best = min(best, time.perf_counter() - started)
    tokens = sum(map(len, translator.tokenizer.encode_target(output)))
    (bleu,) = score(output, references, metrics=["bleu"])
    return {
        "dtype": translator.precision + (f":{shortlist}" if shortlist else ""),
        "sentences_per_second": len(sources) / best,
        "tokens_per_second": tokens / best,
        "bleu": bleu.value,
    }


def show_profile(translator: "Translator", sources: list[str]) -> None:
    """Where the time goes, by operation."""
    from torch.profiler import ProfilerActivity, profile

    translator.translate(sources)
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        translator.translate(sources)
    print(recorded.key_averages().table(sort_by="self_cpu_time_total", row_limit=25), file=sys.stderr)


def print_table(rows: list[Row]) -> None:
    """Medians, and nmt's ratio to each other row: the median of the rounds' ratios."""
    table = Table("beam", "batch", "system", "sentences/s", "tokens/s", "BLEU", "nmt's ratio to it")
    kinds = dict.fromkeys((row.beam, row.batch, row.system, row.dtype) for row in rows)
    own: dict[tuple[int, int], list[tuple[str, list[float]]]] = {(row.beam, row.batch): [] for row in rows}
    for beam, batch, system, dtype in kinds:
        same = [row for row in rows if (row.beam, row.batch, row.system, row.dtype) == (beam, batch, system, dtype)]
        if system == "nmt":
            own[beam, batch].append((dtype, [row.sentences_per_second for row in same]))
            ratios = "–"
        else:
            ratios = ", ".join(f"{name} {ratio(ours, same)}" for name, ours in own[beam, batch])
        table.add_row(
            str(beam),
            str(batch),
            f"{system} {dtype}",
            f"{statistics.median(row.sentences_per_second for row in same):.1f}",
            f"{statistics.median(row.tokens_per_second for row in same):.0f}",
            f"{same[0].bleu:.2f}",
            ratios,
        )
    Console().print(table)


def ratio(ours: list[float], theirs: list[Row]) -> str:
    ratios = [a / b.sentences_per_second for a, b in zip(ours, theirs, strict=True)]
    spread = f" ({min(ratios):.2f} to {max(ratios):.2f})" if len(ratios) > 1 else ""
    return f"{statistics.median(ratios):.2f}{spread}"


if __name__ == "__main__":
    sys.exit(main())
