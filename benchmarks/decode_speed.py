"""How fast a model translates on this machine, from text to text through `Translator`, and beside peers.

    python -m benchmarks.decode_speed --model runs/reference --corpus multi30k --rounds 3 --peer all

Each system is a process of its own. They run in turn (A B A B …), since the speed of a shared machine drifts: a ratio
is taken within a round. Peers (see `decode_peers.py`) decode pieces to pieces with the same weights; nmt's time
includes cutting text into pieces and joining them. Sentences are those of the corpus's first test set (or of train,
which has more of them), BLEU is sacreBLEU's 13a, and tokens are output pieces.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, ratios, rounded, run_script, spread
from benchmarks.setup import peer_command

if TYPE_CHECKING:
    from nmt.translation.translator import Translator

ON_GPU = ("ctranslate2-float16", "ctranslate2-int8_float16")
PEERS = (
    "ctranslate2-float32",
    "ctranslate2-int8",
    "ctranslate2-int8:patience",
    "transformers",
    "transformers-bfloat16",
    *ON_GPU,
)
ALL_PEERS = PEERS[:4]  # of a CPU
SETTINGS = ("1x1", "1x16", "1x64", "5x1", "5x16", "5x64")


@dataclass(frozen=True)
class Figures:
    """One process's figures: the best of its repeats."""

    system: str
    dtype: str
    beam: int
    batch: int
    sentences_per_second: float
    tokens_per_second: float
    bleu: float
    version: str = ""
    """Of a peer; `mode`: its workers and threads."""
    mode: str = ""


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--model", type=Path, default=Path("runs/reference"), help="run or model folder")
    parser.add_argument("--corpus", default="multi30k", help="as nmt.train's --data.corpus")
    dtypes = "of nmt: fp32, bf16, int8, auto; by PyTorch alone: fp32:pytorch, or from ids to ids: fp32:ids; repeatable"
    parser.add_argument("--dtype", action="append", default=[], help=dtypes)
    settings = f"beam and batch size; repeatable; otherwise {' '.join(SETTINGS)}"
    parser.add_argument("--setting", action="append", default=[], metavar="BEAMxBATCH", help=settings)
    parser.add_argument("--part", choices=("test", "train"), default="test", help="train: for more sentences")
    parser.add_argument("--sentences", type=int, default=0, help="of the part, the first; 0: all")
    parser.add_argument("--repeats", type=int, default=2, help="times that a process translates, the best counts")
    parser.add_argument("--rounds", type=int, default=1, help="times that each row is measured")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0: all cores")
    known = f"{', '.join(PEERS)} or all: run in turn with nmt; repeatable"
    parser.add_argument("--peer", action="append", default=[], choices=(*PEERS, "all"), metavar="PEER", help=known)
    parser.add_argument("--profile", action="store_true", help="show where nmt's time goes, instead")
    parser.add_argument("--files", type=Path, help=argparse.SUPPRESS)  # the test set: be the process that is timed
    args = parser.parse_args()
    args.peer = ALL_PEERS if "all" in args.peer else args.peer
    if args.files:
        print(json.dumps(time_translator(args)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        files = write_test_set(args, Path(folder))
        if args.profile:
            command = own_command(args, files, args.dtype[0] if args.dtype else "auto", "5x64")
            return subprocess.run(command, check=False).returncode
        rounds = [
            [figures for setting in args.setting or SETTINGS for figures in measure(args, files, setting)]
            for _ in range(args.rounds)
        ]
    peers = {figures.system: figures.version for figures in rounds[0] if figures.version}
    keep(make_rows(rounds), args, peers=peers)
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
    pairs = corpus.train if args.part == "train" else next(iter(corpus.tests.values()))
    for i, name in enumerate(("source", "reference")):
        lines = [tidy(pair[i]) for pair in pairs[: args.sentences or len(pairs)]]
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf8")
    return folder


def measure(args: argparse.Namespace, files: Path, setting: str) -> list[Figures]:
    """The figures of nmt in each dtype, and of each peer."""
    beam, batch = map(int, setting.split("x"))
    commands = [(("nmt", dtype), own_command(args, files, dtype, setting)) for dtype in args.dtype or ["auto"]]
    for peer in args.peer:
        if beam == 1 and peer.endswith(":patience"):
            continue  # greedy search has none
        system, _, dtype = peer.partition("-")
        commands.append(((system, dtype or "float32"), command_of(peer, args, files, setting)))
    found = []
    for (system, dtype), command in commands:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(f"decode_speed: {system} {dtype} ended with status {done.returncode}")
        measured = json.loads(done.stdout.splitlines()[-1])
        found.append(Figures(**{"system": system, "dtype": dtype, "beam": beam, "batch": batch} | measured))
        print(found[-1], file=sys.stderr, flush=True)
    return found


def command_of(peer: str, args: argparse.Namespace, files: Path, setting: str) -> list[str]:
    """The command that times a peer."""
    from nmt.translation.translator import find_model

    beam, batch = setting.split("x")
    options = ["--model", find_model(str(args.model)), "--source", files / "source", "--reference", files / "reference"]
    options += ["--beam", beam, "--batch", batch, "--repeats", args.repeats, "--threads", args.threads]
    return [*peer_command("benchmarks.decode_peers", "transformers"), peer, *map(str, options)]


def own_command(args: argparse.Namespace, files: Path, dtype: str, setting: str) -> list[str]:
    options = ["--model", args.model, "--files", files, "--dtype", dtype, "--setting", setting]
    options += ["--repeats", args.repeats, "--threads", args.threads, *["--profile"] * args.profile]
    return [sys.executable, "-m", "benchmarks.decode_speed", *map(str, options)]


def time_translator(args: argparse.Namespace) -> dict[str, float | str]:
    """The timed process."""
    import torch

    from nmt.commands.options import keep_what_is_loaded
    from nmt.config import SearchConfig
    from nmt.scoring.metrics import score
    from nmt.translation.translator import Translator, find_model

    if args.threads:
        torch.set_num_threads(args.threads)
    beam, batch = map(int, args.setting[0].split("x"))
    precision, _, extra = args.dtype[0].partition(":")
    search = SearchConfig(beam_size=beam, batch_size=batch)
    backend: Any = "pytorch" if extra else "auto"
    translator = Translator.load(find_model(str(args.model)), precision=precision, search=search, backend=backend)
    texts = ((args.files / name).read_text(encoding="utf8") for name in ("source", "reference"))
    sources, references = map(str.splitlines, texts)
    if args.profile:
        show_profile(translator, sources)
    translate = partial(translate_ids, translator, batch) if extra == "ids" else translator.translate
    best, output = float("inf"), [""]
    translate(sources)
    keep_what_is_loaded()  # as nmt.translate does
    for _ in range(args.repeats):
        started = time.perf_counter()
        output = translate(sources)
        best = min(best, time.perf_counter() - started)
    tokens = sum(map(len, translator.tokenizer.encode_target(output)))
    (bleu,) = score(output, references, metrics=["bleu"])
    return {
        "dtype": args.dtype[0],
        "sentences_per_second": len(sources) / best,
        "tokens_per_second": tokens / best,
        "bleu": bleu.value,
    }


def translate_ids(translator: "Translator", batch: int, sources: list[str]) -> list[str]:
    """Search alone, with neither guard nor the steps of reading, one batch after another."""
    tokenizer, search = translator.tokenizer, translator.search
    ids = sorted(enumerate(tokenizer.encode_source(sources)), key=lambda numbered: len(numbered[1]))
    found = dict[int, list[int]]()
    for start in range(0, len(ids), batch):
        numbers, rows = zip(*ids[start : start + batch], strict=True)
        for number, (best, *_) in zip(numbers, translator.engine.search(rows, search), strict=True):
            found[number] = best.ids
    return tokenizer.decode_target([found[number] for number in range(len(ids))])


def show_profile(translator: "Translator", sources: list[str]) -> None:
    """Where the time goes, by operation."""
    from torch.profiler import ProfilerActivity, profile

    translator.translate(sources)
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        translator.translate(sources)
    print(recorded.key_averages().table(sort_by="self_cpu_time_total", row_limit=25), file=sys.stderr)


def make_rows(rounds: list[list[Figures]]) -> list[Row]:
    """A row for each system and setting; the ratios are the speed of nmt, in each dtype, to that of the row."""
    speeds = {
        name: {index: [getattr(figures[index], name) for figures in rounds] for index in range(len(rounds[0]))}
        for name in ("sentences_per_second", "tokens_per_second")
    }
    sentences, rows = speeds["sentences_per_second"], []
    for number, row in enumerate(rounds[0]):
        ours = {
            other.dtype: ratios(sentences[index], sentences[number])
            for index, other in enumerate(rounds[0])
            if (other.system, other.beam, other.batch) == ("nmt", row.beam, row.batch) and index != number
        }
        kind = {"benchmark": "decode_speed", "system": row.system, "dtype": row.dtype, "beam": row.beam}
        figures = {name: spread(series[number]) for name, series in speeds.items()}
        rest = {"batch": row.batch, "bleu": rounded(row.bleu), "rounds": len(rounds), "ratios": ours, "mode": row.mode}
        rows.append(kind | rest | figures)
    return rows


if __name__ == "__main__":
    run_script(main)
