"""Models from other libraries: each kind is written by transformers, converted, and compared with what it was.

    python -m benchmarks.doors

The models have a width of 32 and learn a toy language for some steps, so that their translations end, and beams differ
from greedy translations. Needs transformers.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.report import markdown, origin
from benchmarks.rows import describe_run, run_script
from nmt.interop.convert import convert
from tests.interop import foreign
from tests.interop.parity import Twins, load_translator, train

KINDS: dict[str, tuple[Callable[..., Any], str, dict[str, Any], tuple[str, str]]] = {
    # name: how it is written, its tokenizer, settings, languages
    "Marian, one vocabulary": (foreign.marian, "MarianTokenizer", {"spread": 0.1}, ("", "")),
    "Marian, two vocabularies": (foreign.marian, "MarianTokenizer", {"spread": 0.1, "separate": True}, ("", "")),
    "M2M-100": (foreign.m2m, "M2M100Tokenizer", {"spread": 0.15}, ("de", "en")),
    "mBART-50": (foreign.mbart, "MBart50Tokenizer", {"spread": 0.15}, ("de_DE", "en_XX")),
}
LINES = 100


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200, help="of training each model")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = [row for kind in KINDS for row in measure(kind, args.steps)]
    print(markdown(["model", "compared", "result", "sentences"], rows))
    print(f"\n{origin([describe_run()])}")
    return 0


def measure(kind: str, steps: int) -> list[list[str]]:
    """The rows of a kind of model."""
    import transformers

    write, tokenizer_kind, settings, (source, target) = KINDS[kind]
    german, english = foreign.sides()
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = Path(folder) / "theirs", Path(folder) / "ours"
        model = write(theirs, **settings)
        options = {"src_lang": source, "tgt_lang": target} if source else {}
        tokenizer = getattr(transformers, tokenizer_kind).from_pretrained(theirs, **options)
        train(model, tokenizer, list(zip(german, english, strict=True))[:500], steps)
        model.save_pretrained(theirs)
        convert(theirs, ours, kind, source, target)
        forced = tokenizer.convert_tokens_to_ids(f"__{target}__" if kind == "M2M-100" else target) if target else None
        pair = Twins(model, tokenizer, load_translator(ours), model.config.decoder_start_token_id, forced)
        lines, references = german[500 : 500 + LINES], english[500 : 500 + LINES]
        beam = {"num_beams": 4, "early_stopping": False}
        results = {
            "log-probabilities of all pieces, largest difference": f"{pair.difference(lines, references):.1e}",
            "greedy translations, equal": f"{pair.equal(lines):.0%}",
            "beam 4, equal": f"{pair.equal(lines, **beam):.0%}",
            "beam 4 without a length penalty, equal": f"{pair.equal(lines, **beam, length_penalty=0.0):.0%}",
        }
    return [[kind, name, result, str(len(lines))] for name, result in results.items()]


if __name__ == "__main__":
    sys.argv[0] = __file__
    run_script(main)
