"""Decoder-only translators as CTranslate2 runs them: its generator continues sequences `<s> source </s> <s> target`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nmt.data.tokenizer import Tokenizer
from nmt.decode.engine import IdPair, Ids
from nmt.decode.hypothesis import forbidden_ids, longest_output
from nmt.extras import package
from nmt.interop.parity import GREEDY
from nmt.translation.ctranslate2_files import names_of_pieces
from nmt.vocabulary import BOS, EOS


class GeneratorRunner:
    """An exported folder, as the comparison calls it."""

    def __init__(self, folder: Path, tokenizer: Tokenizer) -> None:
        library = package("ctranslate2", "ctranslate2")
        self.generator: Any = library.Generator(str(folder), device="cpu", intra_threads=1)
        self.precision = str(self.generator.compute_type)
        self.names = names_of_pieces(tokenizer)[1]
        self.number = {name: i for i, name in enumerate(self.names)}

    def pieces(self, ids: Ids) -> list[str]:
        return [self.names[i] for i in ids]

    def greedy(self, sources: Sequence[Ids]) -> list[list[int]]:
        return [self.translate(source) for source in sources]

    def translate(self, source: Ids) -> list[int]:
        [result] = self.generator.generate_batch(
            [self.pieces([BOS, *source, EOS, BOS])],
            max_length=longest_output(len(source), GREEDY, None),
            include_prompt_in_result=False,
            sampling_topk=1,
            suppress_sequences=[[self.names[i]] for i in forbidden_ids(GREEDY)],
        )
        return [self.number[piece] for piece in result.sequences[0]]

    def score(self, pairs: Sequence[IdPair]) -> list[list[float]]:
        sequences = [self.pieces([BOS, *source, EOS, BOS, *target, EOS]) for source, target in pairs]
        results = self.generator.score_batch(sequences, max_batch_size=32)
        scored = zip(results, pairs, strict=True)
        return [list(result.log_probs)[len(result.log_probs) - len(target) - 1 :] for result, (_, target) in scored]


USAGE = """
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
