"""Translate lines of text with the model in this folder: python translate.py < input > output

It needs only `pip install ctranslate2 sentencepiece`. Blanks of any kind are read as spaces, and invisible characters
are left out; a line that is too long for the model comes back untranslated, with a note. nmt, which wrote this folder,
does more: see README.md.
"""

import argparse
import json
import os
import re
import sys
import unicodedata
from itertools import islice
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
AT_ONCE = 1024  # lines that are read before they are translated
BATCH = 64  # lines that are translated together: they share a limit, so they have about the same length
PIECES = 1024  # of the sources of a batch, beyond which CTranslate2 divides it: long lines take much memory


def read_options(about: Any) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=f"Translate lines from {about['source']} to {about['target']}.")
    parser.add_argument("--beam-size", type=int, default=about["beam_size"], metavar="N", help="1 is greedy search")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, metavar="N", help="cores to use")
    options = parser.parse_args()
    if not (1 <= options.beam_size <= 200 and options.threads >= 1):
        parser.error("--beam-size must be from 1 to 200, and --threads at least 1")
    return options


def main() -> None:
    import ctranslate2
    from sentencepiece import SentencePieceProcessor

    about = json.loads((FOLDER / "translate.json").read_text(encoding="utf8"))
    options = read_options(about)
    source, target = (SentencePieceProcessor(model_file=str(FOLDER / name)) for name in about["tokenizers"])
    translator = ctranslate2.Translator(str(FOLDER), inter_threads=options.threads, intra_threads=1)
    lines = (line.decode("utf8", "replace").rstrip("\r\n") for line in sys.stdin.buffer)
    done = 0
    while chunk := list(islice(lines, AT_ONCE)):
        chunk[0] = chunk[0].removeprefix("\ufeff") if not done else chunk[0]
        tidy = [" ".join(unicodedata.normalize("NFC", re.sub(about["removed"], "", line)).split()) for line in chunk]
        # As nearly all sources in training, each ends with a mark; the translation of a line without one loses it.
        marks = [about["final_mark"] if unicodedata.category((line or " ")[-1])[0] in "LM" else "" for line in tidy]
        pieces = source.encode([line + mark for line, mark in zip(tidy, marks, strict=True)], out_type=str)
        room = about["longest"] - len(about["before_source"])
        order = sorted((n for n, p in enumerate(pieces) if 0 < len(p) <= room), key=lambda n: len(pieces[n]))
        jobs = dict[int, Any]()
        for batch in (order[first : first + BATCH] for first in range(0, len(order), BATCH)):
            limit = min(int(about["length_ratio"] * len(pieces[batch[-1]])) + 10, about["max_length"])
            limit = max(limit, about["min_length"]) + len(about["before_target"])
            results = translator.translate_batch(
                [about["before_source"] + pieces[n] for n in batch],
                target_prefix=[about["before_target"]] * len(batch),
                beam_size=options.beam_size,
                max_decoding_length=limit,
                max_input_length=0,
                max_batch_size=PIECES,
                batch_type="tokens",
                asynchronous=True,
                **about["search"],
            )
            jobs.update(zip(batch, results, strict=True))
        for n, line in enumerate(chunk):
            done += 1
            if len(pieces[n]) > room and sys.stderr:
                print(f"line {done} is too long for the model: it is not translated", file=sys.stderr)
            if n in jobs:
                hypothesis = jobs[n].result().hypotheses[0][len(about["before_target"]) :]
                line = target.decode([p for p in hypothesis if p != "<unk>"])
                # ▁ is of pieces that only the sources' model has; a line break is spelled in bytes.
                line = line.replace("\u2581", " ").strip(" ").replace("\n", " ")
                line = line.rstrip(about["marks"] + " ") if marks[n] else line
            sys.stdout.buffer.write(line.encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # Who reads the output left, as `| head` does; the rest of the buffer would fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(141)
    except ImportError as error:
        sys.exit(f"{error}: pip install ctranslate2 sentencepiece")
    except (OSError, RuntimeError, ValueError) as error:
        sys.exit(f"translate.py: {error}")
