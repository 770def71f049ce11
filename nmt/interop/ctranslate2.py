"""Export to CTranslate2 (`nmt.translation.ctranslate2_files`), with its check and its usage.

Its translator runs encoder–decoders. Of decoder-only models, its generator continues `<s> source </s> <s> target`.
"""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nmt.data.tokenizer import Tokenizer
from nmt.data.tokenizer.mapped import SOURCE, TARGET
from nmt.decode.ctranslate2 import longest_sequence
from nmt.decode.engine import IdPair, Ids
from nmt.decode.hypothesis import forbidden_ids, longest_output
from nmt.interop.export import About, Export, Parity
from nmt.interop.parity import GREEDY, compare
from nmt.model.contract import PromptedModel
from nmt.translation.ctranslate2_files import names_of_pieces, write_model
from nmt.translation.ctranslate2_files import obstacles as obstacles
from nmt.translation.exported import run_exported
from nmt.vocabulary import BOS, EOS

QUANTIZATIONS = ["float32", "float16", "bfloat16", "int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16"]


def write(export: Export, folder: Path) -> None:
    write_model(export.model, export.tokenizer, export.info, folder, export.quantization)


def check(export: Export, folder: Path, lines: Sequence[str]) -> Parity:
    if isinstance(export.model, PromptedModel):
        runner = GeneratorRunner(folder, export.tokenizer)
        return compare(export, runner.greedy, runner.score, lines, runner.precision)
    engine = run_exported(folder, export.tokenizer, export.info).begun(*export.tokenizer.starts())

    def greedy(sources: Sequence[Ids]) -> list[list[int]]:
        return [best.ids for best, *_ in engine.search(sources, GREEDY)]

    return compare(export, greedy, engine.score, lines, engine.precision)


class GeneratorRunner:
    """A decoder-only translator that was exported, as the comparison calls it."""

    def __init__(self, folder: Path, tokenizer: Tokenizer) -> None:
        import ctranslate2 as library

        self.generator: Any = library.Generator(str(folder), device="cpu", intra_threads=1)
        self.precision = str(self.generator.compute_type)
        self.names = names_of_pieces(tokenizer)[1]
        self.number = {name: i for i, name in enumerate(self.names)}

    def pieces(self, ids: Ids) -> list[str]:
        return [self.names[i] for i in ids]

    def greedy(self, sources: Sequence[Ids]) -> list[list[int]]:
        translations = []
        for source in sources:
            [result] = self.generator.generate_batch(
                [self.pieces([BOS, *source, EOS, BOS])],
                max_length=longest_output(len(source), GREEDY, None),
                include_prompt_in_result=False,
                sampling_topk=1,
                suppress_sequences=[[self.names[i]] for i in forbidden_ids(GREEDY)],
            )
            translations.append([self.number[piece] for piece in result.sequences[0]])
        return translations

    def score(self, pairs: Sequence[IdPair]) -> list[list[float]]:
        sequences = [self.pieces([BOS, *source, EOS, BOS, *target, EOS]) for source, target in pairs]
        results = self.generator.score_batch(sequences, max_batch_size=32)
        scored = zip(results, pairs, strict=True)
        return [list(result.log_probs)[len(result.log_probs) - len(target) - 1 :] for result, (_, target) in scored]


def about(export: Export) -> About:
    runtime, most = (f"CTranslate2 {version('ctranslate2')}", longest_sequence(export.info.model))
    if isinstance(export.model, PromptedModel):
        notes = (f"A source and its translation have at most {most - 4:,} pieces together.",) if most else ()
        return About(runtime, GENERATE, notes)
    notes = (f"A source, or a translation, has at most {most - 1:,} pieces.",) if most else ()
    files = ("joint.model", "joint.model") if export.tokenizer.joint else ("source.model", "target.model")
    before, after = export.tokenizer.languages.starts()
    first = f"{before} + " if before else "", f", target_prefix=[{after}]" if after else "", "[1:]" if after else ""
    return About(runtime, USAGE.format(*((SOURCE, TARGET) if export.tokenizer.mapped else files), *first), notes)


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
GENERATE = """
import ctranslate2
from sentencepiece import SentencePieceProcessor

text = SentencePieceProcessor(model_file="joint.model")
generator = ctranslate2.Generator(".")
prompt = ["<s>", *text.encode(input(), out_type=str), "</s>", "<s>"]
never = [["<unk>"], ["<s>"], ["<pad>"]]  # pieces that are never written
[result] = generator.generate_batch(
    [prompt], sampling_topk=1, include_prompt_in_result=False, max_length=2 * len(prompt), suppress_sequences=never
)
print(text.decode(result.sequences[0]))
"""
