"""How fast a model translates on this machine, from text to text through `Translator`, and beside peers.

    python -m benchmarks.decode_speed --model runs/reference --corpus multi30k --rounds 3 --peer all

Each system is a process of its own (see `decode_peers.py`). They run in turn (A B A B …), since the speed of a shared
machine drifts: a ratio is taken within a round. Peers decode pieces to pieces with the same weights; nmt's time
includes cutting text into pieces and joining them. Sentences are those of the corpus's first test set (or of train,
which has more of them), and BLEU is sacreBLEU's 13a.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, ratios, rounded, run_script, spread
from benchmarks.setup import peer_command

PEERS = ("ctranslate2-float32", "ctranslate2-int8", "ctranslate2-int8:patience", "transformers")
ON_GPU = ("ctranslate2-float16", "transformers-bfloat16")
SETTINGS = ("1x1", "1x16", "1x64", "5x1", "5x16", "5x64")


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
    known = f"{', '.join(PEERS)} or all these; on a GPU {' or '.join(ON_GPU)}; repeatable"
    choices = (*PEERS, *ON_GPU, "all")
    parser.add_argument("--peer", action="append", default=[], choices=choices, metavar="PEER", help=known)
    args = parser.parse_args()
    args.peer = PEERS if "all" in args.peer else args.peer
    with tempfile.TemporaryDirectory() as folder:
        files = write_test_set(args, Path(folder))
        rounds = [
            [figures for setting in args.setting or SETTINGS for figures in measure(args, files, setting)]
            for _ in range(args.rounds)
        ]
    peers = {figures["system"]: figures.pop("version") for figures in rounds[0] if "version" in figures}
    keep(make_rows(rounds), args, peers=peers)
    return 0


def write_test_set(args: argparse.Namespace, folder: Path) -> Path:
    """The sources and references, as files that every process reads."""
    from benchmarks.real_text import corpus_of
    from nmt.text.normalise import tidy
    from nmt.translation.translator import find_model

    _, corpus = corpus_of(find_model(str(args.model)), args.corpus)
    pairs = corpus.train if args.part == "train" else next(iter(corpus.tests.values()))
    for i, name in enumerate(("source", "reference")):
        lines = [tidy(pair[i]) for pair in pairs[: args.sentences or len(pairs)]]
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf8")
    return folder


def measure(args: argparse.Namespace, files: Path, setting: str) -> list[Row]:
    """The figures of nmt in each dtype, and of each peer."""
    beam, batch = map(int, setting.split("x"))
    names = [f"nmt-{dtype}" for dtype in args.dtype or ["auto"]]
    names += [peer for peer in args.peer if beam > 1 or not peer.endswith(":patience")]  # greedy search has none
    commands = {name: command_of(name, args, files, setting) for name in names}
    found = []
    for name, command in commands.items():
        system, _, dtype = name.partition("-")
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(f"decode_speed: {system} {dtype} ended with status {done.returncode}")
        about = {"system": system, "dtype": dtype or "float32", "beam": beam, "batch": batch}
        found.append(about | json.loads(done.stdout.splitlines()[-1]))
        print(found[-1], file=sys.stderr, flush=True)
    return found


def command_of(system: str, args: argparse.Namespace, files: Path, setting: str) -> list[str]:
    """The command that times a system."""
    from nmt.translation.translator import find_model

    beam, batch = setting.split("x")
    options = ["--model", find_model(str(args.model)), "--source", files / "source", "--reference", files / "reference"]
    options += ["--beam", beam, "--batch", batch, "--repeats", args.repeats, "--threads", args.threads]
    module = "benchmarks.decode_peers"
    ours = [sys.executable, "-m", module] if system.startswith("nmt-") else peer_command(module, "transformers")
    return [*ours, system, *map(str, options)]


def make_rows(rounds: list[list[Row]]) -> list[Row]:
    """A row for each system and setting; the ratios are the speed of nmt, in each dtype, to that of the row."""
    systems = rounds[0]
    speeds = [[one["sentences_per_second"] for one in series] for series in zip(*rounds, strict=True)]
    rows = list[Row]()
    for row, speed in zip(systems, speeds, strict=True):
        ours = {
            other["dtype"]: ratios(its_speed, speed)
            for other, its_speed in zip(systems, speeds, strict=True)
            if (other["system"], other["beam"], other["batch"]) == ("nmt", row["beam"], row["batch"])
            and other is not row
        }
        more = {"bleu": rounded(row["bleu"]), "rounds": len(rounds), "ratios": ours}
        rows.append({"benchmark": "decode_speed", **row, **more, "sentences_per_second": spread(speed)})
    return rows


if __name__ == "__main__":
    run_script(main)
