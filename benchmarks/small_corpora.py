"""Translators of small corpora: nmt with the settings that it chooses, beside other toolkits given as long.

    python -m benchmarks.small_corpora ../corpora/chr-en --direction chr-en --minutes 12 --systems nmt,transformers

The folder has `train`, `val` and `test` files, one sentence a line. --pairs: only the first pairs of `train`. All
systems train for the same minutes, validation included, and translate `test` with beam 5; preparing the text and the
final search don't count, and `whole` is the time of all. nmt uses bf16 where the processor has it, and MarianMT fp32,
which is faster at its width. Both keep the weights that are best by chrF on `val`; for JoeyNMT and
Eole see `benchmarks.toolkits`. MarianMT has a fixed recipe for little text and time: nmt's shape for Multi30k, dropout
0.1, label smoothing 0.1, batches of 1,024 tokens, Glorot's initial weights, AdamW whose rate rises in the first 15% of
the time and then falls linearly to 0. With transformers' own initial weights, which are smaller, and with dropout 0.3,
as for longer trainings, it learned less.
"""

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import toolkits
from benchmarks.rows import Row, run_script
from benchmarks.toolkits import LABEL_SMOOTHING, PIECES, WIDTH
from nmt.vocabulary import BOS, EOS, PAD, UNK

PEAK_RATE, WARMUP, BATCH_TOKENS, VALIDATIONS, VALIDATED = 1e-3, 0.15, 1024, 7, 300


def main() -> int:
    if "--inside" in sys.argv:  # this script again, in the environment of the peer
        return train_marian(*sys.argv[sys.argv.index("--inside") + 1 :])
    from benchmarks.report import benchmark_parser, keep
    from benchmarks.setup import version_of

    parser = benchmark_parser(__doc__)
    parser.add_argument("folder", type=Path, help="folder of the corpus")
    parser.add_argument("--direction", required=True, metavar="SOURCE-TARGET", help="the endings of the files")
    parser.add_argument("--minutes", type=float, required=True, help="of training")
    parser.add_argument("--pairs", type=int, default=10**9, help="the first pairs of train")
    parser.add_argument("--test", default="test", help="the beginning of the test files")
    parser.add_argument("--unspaced", default="", metavar="LANGUAGE", help="whose words get no blanks between them")
    parser.add_argument("--systems", default="nmt", help="of nmt, transformers, joeynmt, eole")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of both systems")
    parser.add_argument("--seed", type=int, default=1, help="of both systems")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of the run folders")
    args = parser.parse_args()
    systems = args.systems.split(",")
    peers = {name: version_of(name) for name in systems if name != "nmt"}
    keep([measure(system, args) for system in systems], args, "small_corpora_peers", peers)
    return 0


def measure(system: str, args: argparse.Namespace) -> Row:
    """The row of a system. Raises ValueError if its training fails."""
    from nmt.scoring.metrics import score
    from tests.data.corpus_files import write_corpus

    source, target = args.direction.split("-")
    files = {"train": "train", "val": "val", "test": args.test}
    lines = {part: read(args.folder, name, (source, target), args.unspaced) for part, name in files.items()}
    lines["train"] = lines["train"][: args.pairs]
    name = f"{args.folder.name}-{args.direction}-{len(lines['train'])}-{args.minutes:g}-{system}-seed{args.seed}"
    scratch = args.runs / name
    started = time.perf_counter()
    corpus = scratch / "corpus" / args.folder.name
    write_corpus(corpus, source, target, **lines)
    out = ({"nmt": run_nmt, "transformers": run_marian} | toolkits.RUN)[system](corpus, scratch, args)
    whole = (time.perf_counter() - started) / 60
    scores = {s.name.lower(): s for s in score(out, [pair[1] for pair in lines["test"]], language=target)}
    about = {"benchmark": "small_corpora_peers", "corpus": args.folder.name, "direction": args.direction}
    figures: Row = {name: round(scores[name].value, 2) for name in ("bleu", "chrf")}
    signatures = {f"{name}_signature": scores[name].signature for name in ("bleu", "chrf")}
    times = {"minutes": args.minutes, "whole": round(whole, 1), "threads": args.threads, "seed": args.seed}
    return {**about, "system": system, "pairs": len(lines["train"]), **figures, **times, **signatures}


def read(folder: Path, name: str, languages: Sequence[str], unspaced: str = "") -> list[tuple[str, str]]:
    """The pairs of a file; the text of the language `unspaced` without its blanks."""
    sides = [(folder / f"{name}.{language}").read_text(encoding="utf8").split("\n") for language in languages]
    if unspaced in languages:
        side = languages.index(unspaced)
        sides[side] = [line.replace(" ", "") for line in sides[side]]
    return [(a, b) for a, b in zip(*sides, strict=True) if a or b]


def run_nmt(corpus: Path, scratch: Path, args: argparse.Namespace) -> list[str]:
    """The translations of the test set by a model with the settings that nmt chooses."""
    source, target = args.direction.split("-")
    options = {"--data.corpus": corpus, "--data.source": source, "--data.target": target, "--runs": scratch}
    options |= {"--name": "run", "--training.max_minutes": args.minutes, "--training.seed": args.seed}
    options |= {"--training.threads": args.threads}
    run([sys.executable, "-m", "nmt.train", "--resume", *flat(options)], scratch)
    return run([sys.executable, "-m", "nmt.translate", "--model", str(scratch / "run"), str(corpus / f"test.{source}")])


def run_marian(corpus: Path, scratch: Path, args: argparse.Namespace) -> list[str]:
    """The translations of the test set by MarianMT."""
    from benchmarks.setup import peer_command

    command = [*peer_command("benchmarks.small_corpora", "transformers"), "--inside", str(corpus), args.direction]
    run([*command, str(args.minutes), str(args.threads), str(args.seed), str(scratch / "out")], scratch)
    return (scratch / "out").read_text(encoding="utf8").split("\n")


def flat(options: dict[str, Any]) -> list[str]:
    return [str(part) for option in options.items() for part in option]


def run(command: Sequence[str], scratch: Path | None = None) -> list[str]:
    """The lines that a command prints. With a folder, they go into its log. Raises ValueError if the command fails."""
    if scratch:
        with (scratch / "log").open("a", encoding="utf8") as log:
            status, lines = subprocess.run(command, stdout=log, stderr=log, check=False).returncode, list[str]()
    else:
        done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf8", check=False)
        status, lines = done.returncode, done.stdout.removesuffix("\n").split("\n")
    if status:
        raise ValueError(f"this command failed: {' '.join(command)}{f'; see {scratch}/log' if scratch else ''}")
    return lines


def train_marian(corpus: str, direction: str, minutes: str, threads: str, seed: str, out: str) -> int:
    """Train MarianMT, and translate the test set into the file `out`. Runs where transformers is installed."""
    import torch

    torch.manual_seed(int(seed))
    torch.set_num_threads(int(threads))
    languages = direction.split("-")
    text = {part: read(Path(corpus), part, languages) for part in ("train", "val", "test")}
    marian = Marian(text["train"], out)
    marian.train(text["train"], text["val"][:VALIDATED], 60 * float(minutes), random.Random(int(seed)))
    Path(out).write_text("\n".join(marian.translate([pair[0] for pair in text["test"]], 5)), encoding="utf8")
    return 0


class Marian:
    """transformers' MarianMT with random weights, and its pieces."""

    def __init__(self, pairs: Sequence[tuple[str, str]], out: str) -> None:
        from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
        from torch.nn import init

        SentencePieceTrainer.train(
            sentence_iterator=(line for pair in pairs for line in pair), model_prefix=f"{out}.pieces",
            vocab_size=PIECES, character_coverage=1.0, unk_id=UNK, bos_id=BOS, eos_id=EOS, pad_id=PAD, minloglevel=2,
            hard_vocab_limit=False,
        )  # fmt: skip
        self.pieces = SentencePieceProcessor(model_file=f"{out}.pieces.model")
        self.model = toolkits.new_marian(toolkits.MODEL, len(self.pieces))
        for name, weights in self.model.named_parameters():
            if name.endswith("shared.weight"):
                init.normal_(weights, std=WIDTH**-0.5)
            elif weights.dim() == 2 and "embed_positions" not in name:
                init.xavier_uniform_(weights)

    def ids_of(self, line: str) -> list[int]:
        return [*self.pieces.encode(line)[:256], EOS]

    def translate(self, lines: Sequence[str], beams: int) -> list[str]:
        self.model.eval()
        order, found = sorted(range(len(lines)), key=lambda i: len(lines[i])), [""] * len(lines)
        for start in range(0, len(order), 32):
            chosen = order[start : start + 32]
            sources = padded([self.ids_of(lines[i]) for i in chosen])
            longest = min(256, 2 * sources.shape[1] + 10)
            search = {"num_beams": beams, "max_new_tokens": longest, "do_sample": False}
            outputs = self.model.generate(input_ids=sources, attention_mask=sources.ne(PAD).long(), **search)
            for i, line in zip(chosen, outputs.tolist(), strict=True):
                found[i] = self.pieces.decode([piece for piece in line if piece > PAD])
        self.model.train()
        return found

    def train(
        self, pairs: Sequence[tuple[str, str]], val: Sequence[tuple[str, str]], seconds: float, chance: random.Random
    ) -> None:
        """Train for so many seconds, and keep the weights that are best by chrF on `val`."""
        import torch
        from sacrebleu.metrics.chrf import CHRF

        sources, references = [pair[0] for pair in val], [[pair[1] for pair in val]]
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=PEAK_RATE)
        ids = [(self.ids_of(source), self.ids_of(target)) for source, target in pairs]
        best, state, validated, started = -1.0, self.model.state_dict(), 0, time.perf_counter()
        for step, batch in enumerate(batches(ids, chance)):
            passed = (time.perf_counter() - started) / seconds
            if passed >= min(1, (validated + 1) / VALIDATIONS):
                validated += 1
                chrf = CHRF().corpus_score(self.translate(sources, 1), references).score
                print(f"step {step}: chrF {chrf:.2f}", flush=True)
                if chrf > best:
                    best, state = chrf, {name: tensor.clone() for name, tensor in self.model.state_dict().items()}
                if passed >= 1:
                    break
            for group in optimizer.param_groups:
                group["lr"] = PEAK_RATE * min((passed + 0.001) / WARMUP, 1 - passed)
            loss = self.loss(batch)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step()
        self.model.load_state_dict(state)

    def loss(self, batch: "Ids") -> Any:
        import torch

        sources, targets = padded([pair[0] for pair in batch]), padded([pair[1] for pair in batch])
        given = torch.cat([torch.full((len(targets), 1), BOS), targets[:, :-1]], 1)
        inputs = {"input_ids": sources, "attention_mask": sources.ne(PAD).long(), "decoder_input_ids": given}
        logits = self.model(**inputs).logits
        labels = targets.masked_fill(targets == PAD, -100).flatten()
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels, label_smoothing=LABEL_SMOOTHING)


def padded(lines: Sequence[Sequence[int]]) -> Any:
    import torch

    rows = [torch.tensor(line) for line in lines]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)


Ids = Sequence[tuple[list[int], list[int]]]


def batches(ids: Ids, chance: random.Random) -> Iterator[Ids]:
    """Endless batches of pairs of similar length, of at most BATCH_TOKENS padded target positions, in random order."""
    order = sorted(range(len(ids)), key=lambda i: (len(ids[i][1]), len(ids[i][0])))
    plan, batch = list[Ids](), list[tuple[list[int], list[int]]]()
    for i in order:
        longest = max(len(side) for pair in [*batch, ids[i]] for side in pair)
        if batch and longest * (len(batch) + 1) > BATCH_TOKENS:
            plan.append(batch)
            batch = []
        batch.append(ids[i])
    plan.append(batch)
    while True:
        yield from chance.sample(plan, len(plan))


if __name__ == "__main__":
    run_script(main)
