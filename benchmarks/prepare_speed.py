"""How fast a corpus is prepared, how much memory that takes, and how soon training starts on it.

    python -m benchmarks.prepare_speed corpora/tatoeba/train corpora/multi30k/train --pairs 10000 100000 1000000

The corpora are made: each pair is two random pairs of the given ones, one after the other, so that texts are about as
long as those of news and seldom repeated; one pair in fifty occurs again. Each is prepared by nmt.prepare; then a new
process loads it as training does, and makes batches. With --sockeye (make benchmark-setup PEERS=sockeye), SentencePiece
cuts the same pairs into pieces with the tokenizer of nmt.prepare, and sockeye.prepare_data prepares these; it neither
cleans, nor drops repeated pairs, nor trains a tokenizer. Memory is the peak of the sum over all processes of a command,
in which a page that n processes share counts 1/n in each.
"""

import argparse
import itertools
import random
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, read_pairs, rounded, run_script
from benchmarks.setup import PEERS, peer_command

REPEATED = 50  # one pair in so many occurs again
BATCH_TOKENS = 4096
SAMPLE = 10_000_000  # characters that the tokenizer is trained on


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("corpora", nargs="*", help="prefixes of files of pairs (.de and .en)")
    parser.add_argument("--pairs", type=int, nargs="+", default=[10_000, 100_000], help="sizes of the made corpora")
    parser.add_argument("--workers", default="0", help="as nmt.prepare's (default: one for each core)")
    parser.add_argument("--sockeye", action="store_true", help="beside it, the preparation of Sockeye")
    parser.add_argument("--only", choices=[*ALONE], help=argparse.SUPPRESS)  # in a process of its own
    args = parser.parse_args()
    if args.only:
        print(ALONE[args.only](Path(args.corpora[0])))
        return 0
    if not args.corpora:
        parser.error("name at least one corpus, such as corpora/tatoeba/train")
    if args.sockeye:
        peer_command("sockeye.prepare_data", "sockeye")  # says so now if it is not installed
    table = "prepare_peers" if args.sockeye else "prepare_speed"
    versions = {"Sockeye": PEERS["sockeye"][0].removeprefix("sockeye==")} if args.sockeye else {}
    rows: list[Row] = []
    for size in args.pairs:
        with tempfile.TemporaryDirectory() as folder:
            rows.append({"benchmark": table, **measure(Path(folder), args, size)})
    keep(rows, args, peers=versions)
    return 0


def measure(folder: Path, args: argparse.Namespace, size: int) -> Row:
    """The figures for a corpus of this size."""
    corpus = folder / "made.tsv"
    characters = make_corpus(args.corpora, size, corpus)
    command = ["nmt.prepare", "--data.corpus", corpus, "--runs", folder, "--name", "run", "--workers", args.workers]
    command += ["--tokenizer.sample_characters", SAMPLE]
    _, seconds, memory = watched(*command)
    row: Row = {"pairs": size, "characters": characters, "prepare": {"seconds": seconds, "memory": memory}}
    for only in ALONE if args.sockeye else ["load"]:
        found, _, memory = watched("benchmarks.prepare_speed", "--only", only, folder / "run")
        row[only] = {"seconds": rounded(float(found.splitlines()[-1])), "memory": memory}
    return row


def make_corpus(prefixes: list[str], size: int, file: Path) -> int:
    """Write a made corpus as TSV, and return the number of its characters."""
    pairs: list[tuple[str, str]] = []
    for prefix in map(Path, prefixes):
        pairs += read_pairs(prefix.parent, prefix.name, "de", "en")
    generator, lines, characters = random.Random(1), [""] * REPEATED, 0
    with file.open("w", encoding="utf8") as out:
        for n in range(size):
            if n % REPEATED:
                one, other = generator.choices(pairs, k=2)
                lines[n % REPEATED] = "\t".join(f"{a} {b}" for a, b in zip(one, other, strict=True))
            else:
                lines[0] = lines[-1] or "Ja.\tYes."  # again
            out.write(f"{lines[n % REPEATED]}\n")
            characters += len(lines[n % REPEATED]) - 1
    return characters


def watched(module: str, *options: object) -> tuple[str, float, int]:
    """Run a module: what it prints, its seconds, and the peak of the memory of all its processes, in bytes."""
    started, peak = time.perf_counter(), 0
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([sys.executable, "-m", module, *map(str, options)], stdout=out)
        while process.poll() is None:
            peak = max(peak, sum(map(resident, family(process.pid))))
            time.sleep(0.5)  # reading these figures takes time from the processes
        seconds = rounded(time.perf_counter() - started)
        if process.returncode:
            raise ValueError(f"{module} ended with status {process.returncode}")
        out.seek(0)
        return out.read(), seconds, peak


def family(pid: int) -> list[int]:
    """A process and all that it started."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(other for child in children for other in family(int(child)))]


def resident(pid: int) -> int:
    """Bytes of a process in memory; of pages shared by n processes, 1/n."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def load(run: Path) -> float:
    """The seconds in which prepared data are loaded as training does, and the first batch is made."""
    from nmt.config import TrainingConfig
    from nmt.data.store.prepared import Prepared
    from nmt.training.data import Feed, TrainingData
    from nmt.training.distributed import SINGLE_PROCESS

    started = time.perf_counter()
    model: Any = SimpleNamespace(sequence_lengths=lambda *lengths: list(lengths))  # an encoder–decoder's
    settings = TrainingConfig(batch_tokens=BATCH_TOKENS)
    feed = Feed(TrainingData.load(Prepared.load(run)), model, settings, SINGLE_PROCESS, in_threads=False)
    feed.go_to((0, 0))
    feed.make(next(feed.planned))
    return time.perf_counter() - started


def sockeye(run: Path) -> float:
    """The seconds in which SentencePiece cuts the corpus into pieces, and Sockeye prepares these, on all cores."""
    from sentencepiece import SentencePieceProcessor

    from nmt.data.store.engines import usable_cores

    pieces = SentencePieceProcessor(model_file=str(run / "tokenizer" / "joint.model"))
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        files = [Path(name) / code for code in ("de", "en")]
        with (run.parent / "made.tsv").open(encoding="utf8") as lines, ExitStack() as opened:
            sides = [opened.enter_context(file.open("w", encoding="utf8")) for file in files]
            while part := list(itertools.islice(lines, 10_000)):
                sources, _, targets = zip(*(line.partition("\t") for line in part), strict=True)
                for text, out in zip((sources, targets), sides, strict=True):
                    rows = pieces.encode(list(text), out_type=str, num_threads=usable_cores())
                    out.writelines(f"{' '.join(row)}\n" for row in rows)
        options = ["--source", files[0], "--target", files[1], "--shared-vocab", "--output", Path(name) / "prepared"]
        # As many shards as cores: it prepares each in a process. Pairs of any length are kept, as by nmt.prepare.
        options += ["--min-num-shards", usable_cores(), "--max-processes", usable_cores(), "--max-seq-len", 256]
        command = [*peer_command("sockeye.prepare_data", "sockeye"), *map(str, options), "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


ALONE = {"load": load, "sockeye": sockeye}
"""What is measured in a process of its own, from the folder of a run."""

if __name__ == "__main__":
    run_script(main)
