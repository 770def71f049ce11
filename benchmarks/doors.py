"""Models from and for other libraries: each crossing, and how far the results on both sides differ.

    python -m benchmarks.doors --model runs/de-en-multi30k

In: each kind is written by transformers, converted, and compared with what it was. These models have a width of 32 and
learn a toy language for some steps, so that their translations end, and beams differ from greedy translations. Out: a
trained model is exported to each format that can express it, which checks it.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, run_script
from nmt.interop.export import FORMATS, export, load_format
from nmt.translation.model_folder import load_model, require_model
from tests.interop import foreign
from tests.interop.parity import Twins, train_on_words

KINDS: dict[str, tuple[Callable[..., Any], str, dict[str, Any], tuple[str, str]]] = {
    # name: how it is written, its tokenizer, settings, languages
    "Marian, one vocabulary": (foreign.marian, "MarianTokenizer", {"spread": 0.1}, ("", "")),
    "Marian, two vocabularies": (foreign.marian, "MarianTokenizer", {"spread": 0.1, "separate": True}, ("", "")),
    "M2M-100": (foreign.m2m, "M2M100Tokenizer", {"spread": 0.15}, ("de", "en")),
    "mBART-50": (foreign.mbart, "MBart50Tokenizer", {"spread": 0.15}, ("de_DE", "en_XX")),
}
LINES = 100


def main() -> int:
    parser = benchmark_parser(__doc__)
    text = "run or model folder of a model to export; may be repeated; default: none"
    parser.add_argument("--model", type=Path, action="append", default=[], help=text)
    parser.add_argument("--steps", type=int, default=200, help="of training each model that is converted; 0: none")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = [row for kind in KINDS if args.steps for row in come_in(kind, args.steps)]
    rows += [row for model in args.model for row in go_out(require_model(model))]
    keep(({"benchmark": "doors", **row} for row in rows), args)
    return 0


def go_out(model: Path) -> list[Row]:
    """The rows of a trained model that is exported to each format."""
    _, tokenizer, info = load_model(model)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in FORMATS:
            form = load_format(name)
            for quantization in () if form.obstacles(info, tokenizer) else form.QUANTIZATIONS[:1]:
                parity = export(model, Path(folder) / name, name, quantization)
                found = f"{parity.compared}, largest difference", f"{parity.largest:.1e}"
                rows.append(row(f"to {name}, {quantization}", info.model.family, *found, parity.sentences))
    return rows


def row(door: str, model: str, compared: str, result: str, sentences: int) -> Row:
    return {"door": door, "model": model, "compared": compared, "result": result, "sentences": sentences}


def come_in(kind: str, steps: int) -> list[Row]:
    """The rows of a kind of model that is converted."""
    write, tokenizer_kind, settings, (source, target) = KINDS[kind]
    german, english = foreign.sides()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "theirs"
        model = write(folder, **settings)
        train_on_words(folder, model, tokenizer_kind, steps, source, target)
        pair = Twins.convert(folder, model, tokenizer_kind, source, target)
        lines, references = german[500 : 500 + LINES], english[500 : 500 + LINES]
        beam = {"num_beams": 4, "early_stopping": False}
        results = {
            "log-probabilities of all pieces, largest difference": f"{pair.difference(lines, references):.1e}",
            "greedy translations, equal": f"{pair.equal(lines):.0%}",
            "beam 4, equal": f"{pair.equal(lines, **beam):.0%}",
            "beam 4 without a length penalty, equal": f"{pair.equal(lines, **beam, length_penalty=0.0):.0%}",
        }
    return [row("from transformers", kind, name, result, len(lines)) for name, result in results.items()]


if __name__ == "__main__":
    sys.argv[0] = __file__
    run_script(main)
