"""Export to CTranslate2 (`nmt.translation.exported`), with its check and its usage."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from nmt.data.tokenizer import Tokenizer
from nmt.data.tokenizer.mapped import SOURCE, TARGET
from nmt.decode.ctranslate2 import longest_sequence
from nmt.decode.engine import Ids
from nmt.interop.export import GREEDY, About, Export, Parity, compare
from nmt.translation.exported import obstacles as obstacles
from nmt.translation.exported import run_exported, write_model

QUANTIZATIONS = ["float32", "float16", "bfloat16", "int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16"]


def write(export: Export, folder: Path) -> None:
    write_model(export.model, export.tokenizer, export.info, folder, export.quantization)


def check(export: Export, folder: Path, lines: Sequence[str]) -> Parity:
    engine = run_exported(folder, export.tokenizer, export.info).begun(*export.tokenizer.starts())

    def greedy(sources: Sequence[Ids]) -> list[list[int]]:
        return [best.ids for best, *_ in engine.search(sources, GREEDY)]

    return compare(export, greedy, engine.score, lines, engine.precision)


def about(export: Export) -> About:
    runtime, most = (f"CTranslate2 {version('ctranslate2')}", longest_sequence(export.info.model))
    notes = ["nmt runs this folder with --backend ctranslate2."]
    notes += [f"A source, or a translation, has at most {most - 1:,} pieces."] if most else []
    before, after = export.tokenizer.languages.starts()
    first = f"{before} + " if before else "", f", target_prefix=[{after}]" if after else "", "[1:]" if after else ""
    return About(runtime, USAGE.format(*tokenizer_files(export.tokenizer), *first), tuple(notes))


def tokenizer_files(tokenizer: Tokenizer) -> tuple[str, str]:
    """The SentencePiece models of sources and of targets, as `Tokenizer.save` calls them."""
    if tokenizer.mapped:
        return SOURCE, TARGET
    return ("joint.model", "joint.model") if tokenizer.joint else ("source.model", "target.model")


USAGE = """
import ctranslate2
from sentencepiece import SentencePieceProcessor

source = SentencePieceProcessor(model_file="{}")
target = SentencePieceProcessor(model_file="{}")
translator = ctranslate2.Translator(".")
pieces = {}source.encode(input(), out_type=str)
[result] = translator.translate_batch([pieces]{}, min_decoding_length=0, disable_unk=True)
print(target.decode(result.hypotheses[0]{}))
"""
