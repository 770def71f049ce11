"""Forced decoding: given translations flow in; the log-probability of each of their pieces flows out.

Shapes: X models, B pairs, T target length with EOS.
"""

import math
from collections.abc import Sequence

import torch

from nmt.config import SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.beam import force_score
from nmt.decode.ensemble import Ensemble
from nmt.decode.hypothesis import Hypothesis, length_divisor
from nmt.model.contract import GenerativeModel
from nmt.text.normalise import tidy
from nmt.translation.request import Part, Translation
from nmt.translation.spans import make_batches, pad

# Longest sentence, in pieces, that is scored: the memory of attention grows with its square.
MAX_SCORED = 4000


class ForcedScorer:
    """Scores pairs of a source and a given translation, by the mean of the models' probabilities.

    Of `search`, only length_penalty, length_norm and batch_size are used.
    """

    def __init__(self, models: Sequence[GenerativeModel], tokenizer: Tokenizer, search: SearchConfig) -> None:
        self.models, self.tokenizer, self.search = models, tokenizer, search
        self.limits = Ensemble(models)

    def fits(self, source: Sequence[int], target: Sequence[int]) -> bool:
        """Whether the models have positions for both sides."""
        longest_source, longest_target = self.limits.longest_source, self.limits.longest_target(len(source))
        fits = longest_source is None or len(source) <= longest_source
        return fits and (longest_target is None or len(target) <= longest_target)

    @torch.inference_mode()
    def score(self, pairs: Sequence[tuple[str, str]]) -> list[Translation | None]:
        """The translation of each pair, with its scores; None if a side is too long."""
        sources = self.tokenizer.encode_source([tidy(source)[0] for source, _ in pairs])
        targets = self.tokenizer.encode_target([tidy(target)[0] for _, target in pairs])
        lengths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
        fitting = [i for i, length in enumerate(lengths) if length <= MAX_SCORED and self.fits(sources[i], targets[i])]
        scored: list[Translation | None] = [None] * len(pairs)
        device = self.models[0].device
        for rows in make_batches(fitting, self.search.batch_size, lengths.__getitem__):
            batch = (*pad((sources[i] for i in rows), device), *pad((targets[i] for i in rows), device))
            log_probs_XBT = torch.stack([force_score(model, *batch) for model in self.models])
            log_probs_BT = log_probs_XBT.logsumexp(0) - math.log(len(self.models))
            for i, row in zip(rows, log_probs_BT.tolist(), strict=True):
                token_log_probs = row[: len(targets[i]) + 1]
                total = math.fsum(token_log_probs)
                score = total / float(length_divisor(len(token_log_probs), self.search))
                hypothesis = Hypothesis(targets[i], score, total, token_log_probs, finished=True)
                scored[i] = Translation(tidy(pairs[i][1])[0], score, (Part(tuple(sources[i]), hypothesis),))
        return scored
