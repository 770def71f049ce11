"""transformers' MarianMTModel as a peer: its shape, an update, a search; and a whole training for some minutes.

    PYTHON -m benchmarks.marian CORPUS de-en --minutes 20 --threads 1 --seed 1 --out FILE

Runs in the environment `transformers` of `setup.py`, started by `small_corpora.py`, which says what the training does;
`train_peers.py` and `decode_peers.py` use the parts.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

from benchmarks.rows import read_pairs, run_script
from benchmarks.toolkits import LABEL_SMOOTHING, MODEL, PIECES, WIDTH
from nmt.config import ModelConfig
from nmt.data.batches import Batch, Pairs, Sequences, make_batch, plan_batches
from nmt.vocabulary import BOS, EOS, PAD, UNK

PEAK_RATE, WARMUP, BATCH_TOKENS, VALIDATIONS, VALIDATED = 1e-3, 0.15, 1024, 7, 300
LONGEST = 256  # pieces of a line
TextPairs = Sequence[tuple[str, str]]


def new_marian(config: ModelConfig, vocab_size: int) -> Any:
    """A model of this size with random weights."""
    from transformers import MarianConfig, MarianMTModel

    from nmt.interop.huggingface_layouts import SHARED, bart_settings

    return MarianMTModel(MarianConfig(vocab_size=vocab_size, **SHARED, **bart_settings(config)))


def update(model: Any, optimizer: torch.optim.Optimizer, batch: Batch, dtype: str = "fp32") -> torch.Tensor:
    """Train on a batch, and return the loss."""
    labels_BT = batch.tgt_out_BT.masked_fill(~batch.tgt_mask_BT, -100).to(model.device)
    given = {"input_ids": batch.src_BS, "attention_mask": batch.src_mask_BS, "decoder_input_ids": batch.tgt_in_BT}
    with torch.autocast(model.device.type, torch.bfloat16, enabled=dtype == "bf16"):
        output = model(**{name: tensor.to(model.device) for name, tensor in given.items()})
    logits_NV = output.logits.float().flatten(0, 1)
    loss = F.cross_entropy(logits_NV, labels_BT.flatten(), label_smoothing=LABEL_SMOOTHING)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.detach()


@torch.inference_mode()
def search(model: Any, sources: Sequences, beams: int, batch: int) -> list[list[int]]:
    """The best translation of each source, without EOS."""
    found: list[list[int]] = [[]] * len(sources)
    for index_B in sources.lengths_N.argsort(descending=True).split(batch):
        ids_BS, mask_BS = (tensor.to(model.device) for tensor in sources.padded(index_B, eos=True))
        options = {"num_beams": beams, "do_sample": False, "length_penalty": 1.0}
        longest = min(LONGEST, 2 * ids_BS.size(1) + 10)
        out_BT = model.generate(input_ids=ids_BS, attention_mask=mask_BS, **options, max_new_tokens=longest)
        for i, ids in zip(index_B.tolist(), out_BT[:, 1:].tolist(), strict=True):
            found[i] = [piece for piece in (ids[: ids.index(EOS)] if EOS in ids else ids) if piece != PAD]
    return found


class Marian:
    """A translator of a small corpus: a model with random weights, and its pieces."""

    def __init__(self, pairs: TextPairs, out: Path) -> None:
        from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
        from torch.nn import init

        SentencePieceTrainer.train(
            sentence_iterator=(line for pair in pairs for line in pair), model_prefix=f"{out}.pieces",
            vocab_size=PIECES, character_coverage=1.0, unk_id=UNK, bos_id=BOS, eos_id=EOS, pad_id=PAD, minloglevel=2,
            hard_vocab_limit=False,
        )  # fmt: skip
        self.pieces = SentencePieceProcessor(model_file=f"{out}.pieces.model")
        self.model = new_marian(MODEL, len(self.pieces))
        for name, weights in self.model.named_parameters():
            if name.endswith("shared.weight"):
                init.normal_(weights, std=WIDTH**-0.5)
            elif weights.dim() == 2 and "embed_positions" not in name:
                init.xavier_uniform_(weights)

    def encode(self, lines: Sequence[str]) -> Sequences:
        return Sequences.of(self.pieces.encode(line)[:LONGEST] for line in lines)

    def translate(self, lines: Sequence[str], beams: int) -> list[str]:
        self.model.eval()
        found = search(self.model, self.encode(lines), beams, batch=32)
        self.model.train()
        return [self.pieces.decode([piece for piece in ids if piece != UNK]) for ids in found]

    def batches(self, pairs: TextPairs, seed: int) -> Iterator[Batch]:
        """Endless batches."""
        encoded = Pairs(*(self.encode(side) for side in zip(*pairs, strict=True)))
        for epoch in count():
            for index_B in plan_batches(encoded.lengths, BATCH_TOKENS, seed, epoch):
                yield make_batch(encoded, index_B)

    def train(self, pairs: TextPairs, val: TextPairs, seconds: float, seed: int) -> None:
        """Train for so many seconds, and keep the weights that are best by chrF on `val`."""
        from sacrebleu.metrics.chrf import CHRF

        sources, references = [pair[0] for pair in val], [[pair[1] for pair in val]]
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=PEAK_RATE)
        best, state, validated, started = -1.0, self.model.state_dict(), 0, time.perf_counter()
        for step, batch in enumerate(self.batches(pairs, seed)):
            passed = (time.perf_counter() - started) / seconds
            if passed >= min(1, (validated + 1) / VALIDATIONS):
                validated += 1
                chrf = CHRF().corpus_score(self.translate(sources, 1), references).score
                print(f"step {step}: chrF {chrf:.2f}", flush=True)
                if chrf > best:
                    best, state = chrf, {name: tensor.clone() for name, tensor in self.model.state_dict().items()}
                if passed >= 1:
                    break
            for group in optimizer.param_groups:
                group["lr"] = PEAK_RATE * min((passed + 0.001) / WARMUP, 1 - passed)
            update(self.model, optimizer, batch)
        self.model.load_state_dict(state)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("direction")
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True, help="gets the translations of test")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    text = {part: read_pairs(args.corpus, part, *args.direction.split("-")) for part in ("train", "val", "test")}
    marian = Marian(text["train"], args.out)
    marian.train(text["train"], text["val"][:VALIDATED], 60 * args.minutes, args.seed)
    translations = marian.translate([pair[0] for pair in text["test"]], 5)
    args.out.write_text("\n".join(translations), encoding="utf8")
    return 0


if __name__ == "__main__":
    run_script(main)
