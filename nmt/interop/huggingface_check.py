"""The check of the format `hf`: a folder is loaded by transformers, and compared with the model that it was made of.

Shapes: T length of a sequence, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from nmt.config import SearchConfig
from nmt.decode.pytorch import TorchEngine, pad
from nmt.decode.sampling import Continuations
from nmt.extras import package
from nmt.fields import require
from nmt.interop.export import Export, Parity
from nmt.interop.fast_tokenizer import CONTENT
from nmt.interop.huggingface_layouts import Layout
from nmt.model.contract import GenerativeModel, without_sources
from nmt.model.decoder_only import DecoderOnly
from nmt.text.normalise import tidy
from nmt.vocabulary import BOS, EOS, PAD, SPECIAL_PIECES

MOST_DIFFERENCE = 1e-4  # of logits, with float32 weights
MOST_PIECES = 60  # that greedy search writes
BATCH = 16

Ids = list[int]
Compared = tuple[float, list[Ids]]
"""The largest difference of logits, and what greedy search writes here."""


@dataclass(frozen=True)
class TransformersModel:
    """A model of transformers, with its tokenizer."""

    model: Any
    tokenizer: Any

    @classmethod
    def load(cls, folder: Path, layout: Layout) -> "TransformersModel":
        """Raises ValueError if transformers finds weights missing, or more than it knows."""
        transformers = package("transformers", "transformers")
        logging, kind = transformers.utils.logging, getattr(transformers, layout.auto)
        bars = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        try:
            model, found = kind.from_pretrained(folder, output_loading_info=True, dtype=torch.float32)
        finally:
            if bars:
                logging.enable_progress_bar()
        wrong = {name: sorted(keys) for name, keys in found.items() if keys}
        require(not wrong, f"transformers doesn't load the exported weights as they are: {wrong}")
        require(type(model).__name__ == layout.name, f"transformers took {type(model).__name__}, not {layout.name}")
        return cls(model.eval(), transformers.AutoTokenizer.from_pretrained(folder))

    @torch.inference_mode()
    def write(self, inputs: Sequence[Ids], most: int, beams: int = 1) -> list[Ids]:
        """What `generate` writes, at most so many pieces, without EOS."""
        written = list[Ids]()
        for start in range(0, len(inputs), BATCH):
            batch = self.padded(inputs[start : start + BATCH])
            options = {"num_beams": beams, "do_sample": False, "no_repeat_ngram_size": 0}
            plain = {"repetition_penalty": 1.0, "min_new_tokens": 0}
            output = self.model.generate(**batch, **options, **plain, max_new_tokens=most)
            first = 1 if self.model.config.is_encoder_decoder else batch["input_ids"].size(1)
            written += [row[: row.index(EOS)] if EOS in row else row for row in output[:, first:].tolist()]
        return written

    def padded(self, inputs: Sequence[Ids]) -> dict[str, Tensor]:
        """Ids and the mask of real positions, with padding on the side that the tokenizer names."""
        side, rows = self.tokenizer.padding_side, [torch.tensor(ids) for ids in inputs]
        ids = pad_sequence(rows, batch_first=True, padding_value=PAD, padding_side=side)
        masks = [torch.ones_like(row) for row in rows]
        return {"input_ids": ids, "attention_mask": pad_sequence(masks, batch_first=True, padding_side=side)}

    def logits(self, ids: Ids, target: Ids) -> Tensor:
        """The logits (T, V) of the pieces after each piece of `target`, which `ids` come before: as a source, or in the
        same sequence."""
        if self.model.config.is_encoder_decoder:
            output = self.model(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([target]))
        else:
            output = self.model(input_ids=torch.tensor([ids + target]))
        return output.logits[0, -len(target) :]


@torch.inference_mode()
def compare(export: Export, folder: Path, layout: Layout, template: str, lines: Sequence[str]) -> Parity:
    """The largest difference of logits, and whether greedy search writes the same. ValueError if float32 weights give
    anything else than the model does. `template`: a text, which is $A, and the pieces around it."""
    exported = TransformersModel.load(folder, layout)
    before, after = (list(map(SPECIAL_PIECES.index, names.split())) for names in template.split(CONTENT))
    before = [*before, *export.tokenizer.starts()[0]]
    texts = export.tokenizer.encode_source([tidy(line)[0] for line in lines])
    longest = exported.tokenizer.model_max_length - len(before) - len(after) - MOST_PIECES
    kept = [n for n, ids in enumerate(texts) if 0 < len(ids) <= longest]
    require(bool(kept), f"none of the {len(lines)} lines fits into the {longest} pieces that can be compared")
    inputs = [[*before, *texts[n], *after] for n in kept]
    # Marian's tokenizer takes the piece of a language from the text.
    tags = export.tokenizer.languages.starts()[0]
    found = [exported.tokenizer(" ".join([*tags, lines[n]]))["input_ids"] for n in kept]
    alike = sum(ids == given for ids, given in zip(found, inputs, strict=True))
    write = write_continuations if export.info.objective == "lm" else write_translations
    largest, written = write(export, exported, [texts[n] for n in kept], inputs)
    equal = sum(a == b for a, b in zip(written, exported.write(inputs, MOST_PIECES), strict=True))
    same = f"Greedy search writes the same for {equal:,} of {len(kept):,} sentences"
    if export.quantization == "float32":
        problem = f"{same}, and logits differ by up to {largest:.1e}"
        advice = f"equality for all, and at most {MOST_DIFFERENCE:.0e}, is needed"
        is_right = largest <= MOST_DIFFERENCE and equal == len(kept)
        require(is_right, f"the exported model gives something else than nmt: {problem}; {advice}")
    tokens = f"The tokenizer divides {alike:,} of {len(kept):,} sentences in the same way."
    return Parity("logits", largest, len(kept), (f"{same}.", tokens))


def write_translations(export: Export, exported: TransformersModel, texts: list[Ids], inputs: list[Ids]) -> Compared:
    """`inputs`: the ids of the texts with the special pieces around them."""
    assert isinstance(export.model, GenerativeModel)
    engine = TorchEngine.make([export.model]).begun(*export.tokenizer.starts())
    model = engine.readers[0]
    allow_unk = export.info.search.allow_unk
    options = SearchConfig(beam_size=1, max_length=MOST_PIECES, max_length_ratio=100, allow_unk=allow_unk)
    batches = (texts[start : start + BATCH] for start in range(0, len(texts), BATCH))
    written = [best.ids for batch in batches for best, *_ in engine.search(batch, options)]
    largest = 0.0
    for text, ids, target in zip(texts, inputs, written, strict=True):
        source, real = pad([text], engine.device)
        our_TV = model(source, real, torch.tensor([[BOS, *target]]))[0]
        # The last piece before the target begins it, in the same sequence; an encoder–decoder has no such piece.
        shared = ids if exported.model.config.is_encoder_decoder else ids[:-1]
        largest = max(largest, float((our_TV - exported.logits(shared, [BOS, *target])).abs().max()))
    return largest, written


def write_continuations(export: Export, exported: TransformersModel, texts: list[Ids], inputs: list[Ids]) -> Compared:
    """As `write_translations`, for a language model."""
    model = export.model
    assert isinstance(model, DecoderOnly)
    written = [list[int]() for _ in texts]
    batch = Continuations(model, texts, [MOST_PIECES] * len(texts), SearchConfig(samples=0))
    while batch.live:
        for prompt, _, piece, _ in batch.step():
            written[prompt] += [piece] if piece != EOS else []
    largest = 0.0
    for ids in inputs:
        our_TV = model(*without_sources(1, model.device), torch.tensor([ids]))[0]
        largest = max(largest, float((our_TV - exported.logits([], ids)).abs().max()))
    return largest, written
