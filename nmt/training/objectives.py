"""Objectives: what a model learns to predict. Pairs flow in; batches whose targets are the predictions flow out.

Shapes: N pairs of a corpus, B batch, L pieces of the longest text, S source length, T target length.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from nmt.config import Config
from nmt.data.batches import Batch, Pairs, Sequences, join, make_batch
from nmt.data.copies.false_pairs import FALSE, TRUE, IdPair, Material, PieceKinds, as_read, spoil
from nmt.data.copies.noise import OF_MLM, hidden_counts, infill, mask_pieces
from nmt.data.tokenizer import Tokenizer
from nmt.fields import require
from nmt.vocabulary import BOS, EOS

FALSE_SHARE = 0.5  # of the pairs, which are spoiled to teach the model to tell them from true pairs


class Objective:
    """What a model learns to predict. In this class it is translation; the others replace what differs."""

    n_sides = 2
    """Number of sides of a pair that the model reads: 1 for texts."""

    def budget(self, batch_tokens: int, n_sequences: int) -> int:
        """The most positions of each sequence in a batch; twice `batch_tokens` if both sides are one sequence."""
        return batch_tokens * self.n_sides // n_sequences

    def pairs(self, pairs: Pairs) -> Pairs:
        """The corpus as the model reads it, apart from noise: `batch` takes this."""
        return pairs

    def lengths(self, source_N: Tensor, target_N: Tensor) -> tuple[Tensor, Tensor]:
        """`Pairs.lengths` of what `pairs` gives, from the numbers of pieces."""
        return source_N + 1, target_N + 1

    def batch(self, pairs: Pairs, index_B: Tensor, generator: Generator) -> Batch:
        """The batch of the pairs with these indices; `generator`: the random numbers of noise."""
        return make_batch(pairs, index_B)

    def predictions(self, pairs: Pairs, index_B: Tensor) -> int:
        """The number of targets in the batch of these pairs, whatever its noise."""
        return int(pairs.target.lengths_N[index_B].sum()) + len(index_B)


class LanguageModel(Objective):
    """Each next piece of a text; a text is a pair without a source."""

    n_sides = 1

    def pairs(self, pairs: Pairs) -> Pairs:
        return replace(pairs, target_only=True)

    def lengths(self, source_N: Tensor, target_N: Tensor) -> tuple[Tensor, Tensor]:
        return source_N, target_N + 1


@dataclass(frozen=True)
class MaskedPieces(Objective):
    """The hidden pieces of `<s> text </s>` (Devlin et al. 2019, section 3.1), hidden anew in each epoch."""

    vocab_size: int
    n_sides = 1

    def pairs(self, pairs: Pairs) -> Pairs:
        whole = join(BOS, pairs.target)
        return Pairs(whole, whole)

    def lengths(self, source_N: Tensor, target_N: Tensor) -> tuple[Tensor, Tensor]:
        return target_N + 2, target_N + 2

    def batch(self, pairs: Pairs, index_B: Tensor, generator: Generator) -> Batch:
        whole_BS, mask_BS = pairs.source.padded(index_B, eos=True)
        pieces_B = pairs.source.lengths_N[index_B] - 1
        noised_BL, hidden_BL = mask_pieces(whole_BS[:, 1:-1], pieces_B, self.vocab_size, generator)
        hidden_BS = F.pad(hidden_BL, (1, 1))
        noised_BS = torch.where(hidden_BS, F.pad(noised_BL, (1, 1)), whole_BS)
        return Batch(noised_BS, mask_BS, noised_BS, whole_BS, hidden_BS)

    def predictions(self, pairs: Pairs, index_B: Tensor) -> int:
        return int(hidden_counts(pairs.source.lengths_N[index_B] - 1, OF_MLM).sum())


class Denoising(Objective):
    """The text from the noised text (see `nmt.data.copies.noise`)."""

    def pairs(self, pairs: Pairs) -> Pairs:
        return Pairs(pairs.target, pairs.target)

    def lengths(self, source_N: Tensor, target_N: Tensor) -> tuple[Tensor, Tensor]:
        return target_N + 1, target_N + 1

    def batch(self, pairs: Pairs, index_B: Tensor, generator: Generator) -> Batch:
        ids_BL, _ = pairs.target.padded(index_B)
        lengths_B, every_B = pairs.target.lengths_N[index_B], torch.arange(len(index_B))
        src_BS, src_mask_BS = infill(ids_BL, lengths_B, generator).padded(every_B, eos=True)
        return replace(make_batch(pairs, index_B), src_BS=src_BS, src_mask_BS=src_mask_BS)


@dataclass(frozen=True)
class TruePairs(Objective):
    """Whether a pair is true, or was spoiled: in `<s> source </s> <s> target </s>`, the piece at the first position."""

    kinds: PieceKinds
    most: int = sys.maxsize
    """Pieces of both sides together that the model can read."""

    def pairs(self, pairs: Pairs) -> Pairs:
        whole = as_read(pairs)
        return Pairs(whole, whole)

    def lengths(self, source_N: Tensor, target_N: Tensor) -> tuple[Tensor, Tensor]:
        return source_N + target_N + 4, source_N + target_N + 4

    def batch(self, pairs: Pairs, index_B: Tensor, generator: Generator) -> Batch:
        random = Random(int(torch.randint(2**62, (1,), generator=generator)))
        pool = [split_row(row) for row in pairs.source.rows(index_B)]
        if len(pool) == 1:  # another pair is needed
            pool += [split_row(row) for row in pairs.source.rows(torch.tensor([random.randrange(len(pairs.source))]))]
        read = [self.perhaps_spoiled(pool, n, random) for n in range(len(index_B))]
        sequences = Sequences.of([BOS, *source, EOS, BOS, *target] for source, target in read)
        whole_BS, mask_BS = sequences.padded(torch.arange(len(read)), eos=True)
        is_true_B = torch.tensor([now == before for now, before in zip(read, pool, strict=False)])
        labels_BS, first_BS = whole_BS.clone(), torch.zeros_like(mask_BS)
        labels_BS[:, 0] = torch.where(is_true_B, TRUE, FALSE)
        first_BS[:, 0] = True
        return Batch(whole_BS, mask_BS, whole_BS, labels_BS, first_BS)

    def perhaps_spoiled(self, pool: Sequence[IdPair], n: int, random: Random) -> IdPair:
        """Pair n of the pool, or a false pair made of it and another one of the batch, whose lengths are similar."""
        if random.random() >= FALSE_SHARE:
            return pool[n]
        other = pool[(n + random.randrange(1, len(pool))) % len(pool)]
        found = spoil(pool[n], Material(other, self.kinds, random), self.most)
        return found[1] if found else pool[n]

    def predictions(self, pairs: Pairs, index_B: Tensor) -> int:
        return len(index_B)


def split_row(row: list[int]) -> IdPair:
    """The two sides of `<s> source </s> <s> target`."""
    end = row.index(EOS)
    return row[1:end], row[end + 2 :]


def make_objective(config: Config, tokenizer: Tokenizer, *, first: bool = False) -> Objective:
    """The objective of training, or of its first steps. ValueError if one vocabulary is needed, and there are two."""
    name, denoise_steps = config.training.objective, config.training.denoise_steps
    setting = f"training.objective is {name}"
    if first and denoise_steps:
        name, setting = "denoise", f"training.denoise_steps is {denoise_steps}"
    if name == "translation":
        problem = "the tokenizer has a vocabulary for each language, but the model needs one vocabulary"
        advice = "take model.family encoder-decoder and model.tied_embeddings decoder or none"
        require(tokenizer.joint or not config.model.one_vocabulary, f"{problem}: {advice}")
        return Objective()
    require(tokenizer.joint, f"{setting}, which needs a joint tokenizer: this one has two vocabularies")
    if name == "lm":
        return LanguageModel()
    if name == "mlm":
        return MaskedPieces(tokenizer.tgt_vocab_size)
    if name == "denoise":
        return Denoising()
    pieces = tokenizer.target_pieces(range(tokenizer.tgt_vocab_size))
    most = config.model.max_positions - 4 if config.model.positions == "learned" else sys.maxsize
    return TruePairs(PieceKinds.of(pieces), most)
