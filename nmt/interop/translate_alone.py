"""Translate lines of text with the model in this folder: python translate.py < input > output

It needs only `pip install ctranslate2 sentencepiece`. Each line is read as it is; a line that is too long for the model
comes back untranslated, with a note. nmt, which wrote this folder, does more: see README.md.
"""

import argparse
import json
import os
import sys
from itertools import islice
from pathlib import Path

import ctranslate2
from sentencepiece import SentencePieceProcessor

FOLDER = Path(__file__).parent
AT_ONCE = 1024  # lines that are read before they are translated


def main() -> None:
    about = json.loads((FOLDER / "translate.json").read_text(encoding="utf8"))
    parser = argparse.ArgumentParser(description=f"Translate lines from {about['source']} to {about['target']}.")
    parser.add_argument(
        "--beam-size", type=int, default=about["beam_size"], metavar="N", help="hypotheses; 1 is greedy"
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, metavar="N", help="cores to use")
    options = parser.parse_args()
    source, target = (SentencePieceProcessor(model_file=str(FOLDER / name)) for name in about["tokenizers"])
    translator = ctranslate2.Translator(str(FOLDER), inter_threads=options.threads, intra_threads=1)
    lines = (line.decode("utf8", "replace").rstrip("\r\n") for line in sys.stdin.buffer)
    done = 0
    while chunk := list(islice(lines, AT_ONCE)):
        pieces = [about["before_source"] + source.encode(line, out_type=str) for line in chunk]
        fits = [line.strip() != "" and len(p) <= about["longest"] for line, p in zip(chunk, pieces, strict=True)]
        chosen = [p for p, fit in zip(pieces, fits, strict=True) if fit]
        results = iter(
            translator.translate_batch(
                chosen,
                target_prefix=[about["before_target"]] * len(chosen),
                beam_size=options.beam_size,
                patience=1.5,
                length_penalty=about["length_penalty"],
                min_decoding_length=0,
                max_decoding_length=min(
                    about["longest"], int(about["length_ratio"] * max(map(len, chosen), default=0)) + 10
                ),
                max_input_length=0,
                max_batch_size=64,
                disable_unk=True,
            )
        )
        for line, fit in zip(chunk, fits, strict=True):
            done += 1
            if not fit and line.strip():
                print(f"line {done} is too long for the model: it is not translated", file=sys.stderr)
            hypothesis = next(results).hypotheses[0][len(about["before_target"]) :] if fit else None
            sys.stdout.buffer.write((target.decode(hypothesis) if hypothesis is not None else line).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
