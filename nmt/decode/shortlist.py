"""A shortlist: the most probable translations of each source piece, learned from the training text. They weight the
attention when words are aligned.

Shapes: S source length, T target length, U source vocabulary, V target vocabulary, C candidates of a source piece.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from nmt.data.batches import Pairs
from nmt.data.copies.lexicon import Ids, Lexicon

CANDIDATES = 16  # of each source piece
# Weights of links (see `link_weights`), chosen on validation text. With COMMON 0.01 to 0.03, and UNLISTED from 0.02
# to 0.1, the numbers of tags that come to the right words differ by less than 1%.
COMMON, UNLISTED, FAINT = 0.02, 0.1, 1e-9


@dataclass(frozen=True)
class Shortlist:
    """Target pieces by source piece. Rows are padded with piece 0, a control piece."""

    candidates_UC: Tensor  # int32, best first

    def link_weights(self, source_S: Tensor, target_T: Tensor, *, joint: bool) -> Tensor:
        """How much attention counts as a sign that a target piece translates a source piece (T, S), float32.

        1 for the most probable translation of the source piece, 1/2 for the next one, and so on; UNLISTED for others.
        Common pieces, such as articles and endings, are candidates of most source pieces: only the most probable
        translation counts for them, and all others nearly nothing. `joint`: the same piece counts 1, too.
        """
        is_candidate_TSC = target_T[:, None, None] == self.candidates_UC[source_S].long()
        best_TS: Tensor = (is_candidate_TSC / torch.arange(1, is_candidate_TSC.shape[2] + 1)).amax(2)
        if joint:
            best_TS = best_TS.maximum((target_T[:, None] == source_S).float())
        common_T1 = torch.isin(target_T, self.common)[:, None]
        return torch.where(common_T1 & (best_TS < 1), FAINT, best_TS + UNLISTED * ~common_T1)

    @cached_property
    def common(self) -> Tensor:
        """The target pieces that are candidates of more than a COMMON share of the source pieces, int64."""
        used_UC = self.candidates_UC[self.candidates_UC[:, 0] > 0].long()
        rows_V = torch.bincount(used_UC[used_UC > 0])
        return (rows_V > COMMON * len(used_UC)).nonzero()[:, 0]


def learn_shortlist(pairs: Pairs, src_vocab_size: int, tgt_vocab_size: int) -> Shortlist:
    source_ids, target_ids = (Ids(side.flat.numpy(), side.lengths_N.numpy()) for side in (pairs.source, pairs.target))
    lexicon = Lexicon(source_ids, target_ids, src_vocab_size, tgt_vocab_size)
    (source, target), probability = lexicon.sides, lexicon.probabilities()
    order = np.lexsort((-probability, source))
    source, target = source[order], target[order]
    rank = np.arange(len(source)) - np.searchsorted(source, source)
    kept = rank < CANDIDATES
    candidates_UC = np.zeros((src_vocab_size, CANDIDATES), dtype=np.int32)
    candidates_UC[source[kept], rank[kept]] = target[kept]
    return Shortlist(torch.from_numpy(candidates_UC))
