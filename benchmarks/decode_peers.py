"""A system translates what `decode_speed.py` gives it, with the weights of an nmt model. Started by that script, once a
row.

    PYTHON -m benchmarks.decode_peers ctranslate2-int8 --model DIR --source FILE --reference FILE --beam 5 --batch 64

nmt translates text. Its peers run in the environment `transformers` of `setup.py`, and get pieces: their time is that
of decoding alone, warmed up, in the mode that is fastest here. They get the model as `nmt.export` writes it.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from benchmarks.marian import LONGEST, search
from benchmarks.rows import run_script
from nmt.commands.options import keep_what_is_loaded
from nmt.config import Backend, SearchConfig
from nmt.data.batches import Sequences
from nmt.data.tokenizer import Tokenizer
from nmt.decode.ctranslate2 import PATIENCE
from nmt.interop.export import export
from nmt.scoring.metrics import score
from nmt.translation.translator import Translator

Peer = tuple[Callable[[], list[Any]], str]
"""What translates all sources, to texts (nmt) or ids, and the mode in which it does."""


@dataclass(frozen=True)
class Job:
    """What to translate, and how."""

    folder: Path
    tokenizer: Tokenizer
    lines: list[str]
    sources: list[list[int]]
    beam: int
    batch: int


def nmt(job: Job, dtype: Any) -> Peer:
    """As users run it; ":pytorch": by PyTorch alone; ":ids": also without the guard and the steps of reading."""
    precision, _, extra = dtype.partition(":")
    backend: Backend = "pytorch" if extra else "auto"
    search = SearchConfig(beam_size=job.beam, batch_size=job.batch)
    translator = Translator.load(job.folder, precision=precision, search=search, backend=backend)
    if extra == "ids":
        return partial(translate_ids, translator, job), ""
    return partial(translator.translate, job.lines), ""


def translate_ids(translator: Translator, job: Job) -> list[str]:
    """Search alone, one batch after another."""
    ids = sorted(enumerate(job.tokenizer.encode_source(job.lines)), key=lambda numbered: len(numbered[1]))
    found = dict[int, list[int]]()
    for start in range(0, len(ids), job.batch):
        numbers, rows = zip(*ids[start : start + job.batch], strict=True)
        for number, (best, *_) in zip(numbers, translator.engine.search(rows, translator.search), strict=True):
            found[number] = best.ids
    return job.tokenizer.decode_target([found[number] for number in range(len(ids))])


def ctranslate2(job: Job, compute_type: str) -> Peer:
    """CTranslate2 in its fastest mode: a worker of one thread for each core, or one worker with all threads. On a GPU,
    one worker. With ":patience", it searches as long as nmt does; its own beam search ends earlier, with less BLEU."""
    import ctranslate2

    on_gpu, (compute_type, _, is_patient) = torch.cuda.is_available(), compute_type.partition(":")
    threads = torch.get_num_threads()
    pieces = [job.tokenizer.source_pieces(ids) for ids in job.sources]
    number = {piece: i for i, piece in enumerate(job.tokenizer.target_pieces(range(job.tokenizer.tgt_vocab_size)))}
    with tempfile.TemporaryDirectory() as folder:
        exported = Path(folder) / "exported"
        export(job.folder, exported, "ctranslate2")
        translators = {
            f"{workers} × {each}": ctranslate2.Translator(
                str(exported),
                device="cuda" if on_gpu else "cpu",
                compute_type=compute_type,
                inter_threads=workers,
                intra_threads=each,
            )
            for workers, each in ([(1, 1)] if on_gpu else dict.fromkeys(((threads, 1), (1, threads))))
        }

    def translate(mode: str) -> list[list[int]]:
        results = translators[mode].translate_batch(
            pieces,
            beam_size=job.beam,
            patience=PATIENCE if is_patient else 1.0,
            max_batch_size=job.batch,
            max_decoding_length=LONGEST,
            length_penalty=1.0,
        )
        return [[number[piece] for piece in result.hypotheses[0]] for result in results]

    def seconds(mode: str) -> float:
        translate(mode)
        started = time.perf_counter()
        translate(mode)
        return time.perf_counter() - started

    fastest = min(translators, key=seconds)
    return partial(translate, fastest), f"workers × threads: {fastest}"


def transformers(job: Job, dtype: str) -> Peer:
    from transformers import AutoModelForSeq2SeqLM

    device = "cuda" if torch.cuda.is_available() else "cpu"
    with tempfile.TemporaryDirectory() as folder:
        exported = Path(folder) / "exported"
        export(job.folder, exported, "hf")
        model = AutoModelForSeq2SeqLM.from_pretrained(exported, dtype=getattr(torch, dtype)).eval().to(device)
    return partial(search, model, Sequences.of(job.sources), job.beam, job.batch), ""


PEERS: dict[str, Callable[[Job, str], Peer]] = {"nmt": nmt, "ctranslate2": ctranslate2, "transformers": transformers}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", help="as decode_speed's --peer, or nmt-DTYPE")
    for name in ("--model", "--source", "--reference"):
        parser.add_argument(name, type=Path, required=True)
    for name in ("--beam", "--batch", "--repeats"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--threads", type=int, default=0)
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    system, _, dtype = args.system.partition("-")
    tokenizer = Tokenizer.load(args.model)
    lines, references = (file.read_text(encoding="utf8").splitlines() for file in (args.source, args.reference))
    sources = tokenizer.encode_source(lines)
    job = Job(args.model, tokenizer, lines, sources, args.beam, args.batch)
    translate, mode = PEERS[system](job, dtype or "float32")
    translate()
    keep_what_is_loaded()  # as nmt.translate does
    best, output = float("inf"), []
    for _ in range(args.repeats):
        started = time.perf_counter()
        output = translate()
        best = min(best, time.perf_counter() - started)
    is_text = system == "nmt"
    (bleu,) = score(output if is_text else tokenizer.decode_target(output), references, metrics=["bleu"])
    about = {"mode": mode} | ({} if is_text else {"version": version(system)})
    print(json.dumps({"sentences_per_second": len(sources) / best, "bleu": bleu.value, **about}))
    return 0


if __name__ == "__main__":
    run_script(main)
