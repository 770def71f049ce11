"""Export to CTranslate2 (`nmt.translation.ctranslate2_files`), with its check and its usage."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from nmt.data.tokenizer.mapped import SOURCE, TARGET
from nmt.decode.ctranslate2 import longest_sequence
from nmt.extras import package
from nmt.interop.ctranslate2_generator import USAGE as GENERATE
from nmt.interop.ctranslate2_generator import GeneratorRunner
from nmt.interop.export import About, Export, Parity
from nmt.interop.parity import compare, greedy
from nmt.model.contract import PromptedModel
from nmt.translation.ctranslate2_files import obstacles as obstacles
from nmt.translation.ctranslate2_files import write_model
from nmt.translation.exported import run_exported

QUANTIZATIONS = ["float32", "float16", "bfloat16", "int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16"]


def write(export: Export, folder: Path) -> None:
    write_model(export.model, export.tokenizer, export.info, folder, export.quantization)


def check(export: Export, folder: Path, lines: Sequence[str]) -> Parity:
    if isinstance(export.model, PromptedModel):
        runner = GeneratorRunner(folder, export.tokenizer)
        return compare(export, runner.greedy, runner.score, lines, runner.precision)
    engine = run_exported(folder, export.tokenizer, export.info).begun(*export.tokenizer.starts())
    return compare(export, partial(greedy, engine), engine.score, lines, engine.precision)


def about(export: Export) -> About:
    config, version = export.info.model, package("ctranslate2", "ctranslate2").__version__
    positions = longest_sequence(config)
    of_both = f"A source and its translation have at most {(positions or 0) - 4:,} pieces together."
    notes = f"A source, or a translation, has at most {positions - 1:,} pieces." if positions else ""
    files = ("joint.model", "joint.model") if export.tokenizer.joint else ("source.model", "target.model")
    before, after = export.tokenizer.languages.starts()
    first = f"{before} + " if before else "", f", target_prefix=[{after}]" if after else "", "[1:]" if after else ""
    if isinstance(export.model, PromptedModel):
        return About(f"CTranslate2 {version}", GENERATE, (of_both,) if positions else ())
    usage = USAGE.format(*((SOURCE, TARGET) if export.tokenizer.mapped else files), *first)
    return About(f"CTranslate2 {version}", usage, (notes,) if notes else ())


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
