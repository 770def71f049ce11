"""Forced decoding: given translations flow in; the log-probability of each of their pieces flows out.

Shapes: X models, B pairs, T target length with EOS.
"""

import math
from collections.abc import Sequence

import torch

from nmt.config import SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.beam import force_score
from nmt.decode.begun import BegunModel
from nmt.decode.ctranslate2 import CTranslate2Model
from nmt.decode.ensemble import least
from nmt.decode.hypothesis import Hypothesis, length_divisor
from nmt.decode.parallel import halve_if_too_large
from nmt.model.contract import GenerativeModel
from nmt.text.normalise import tidy
from nmt.text.sentences import split_sentences
from nmt.translation.request import Part, Request, Translation
from nmt.translation.spans import Limits, cut_lines, make_batches, pad

IdPair = tuple[Sequence[int], Sequence[int]]  # source and target

# Longest sentence, in pieces, that is scored: the memory of attention grows with its square.
MAX_SCORED = 4000


class ForcedScorer:
    """Scores pairs of a source and a given translation, by the mean of the models' probabilities.

    Of `search`, only length_penalty, length_norm and batch_size are used. A pair whose source would be translated
    sentence by sentence (`limits`) is scored so, if both sides have the same number of sentences.
    """

    def __init__(
        self,
        models: Sequence[GenerativeModel | BegunModel | CTranslate2Model],
        tokenizer: Tokenizer,
        search: SearchConfig,
        limits: Limits,
    ) -> None:
        self.models, self.tokenizer, self.search, self.cut_at = models, tokenizer, search, limits

    def fits(self, source: Sequence[int], target: Sequence[int]) -> bool:
        """Whether the models have positions for both sides."""
        longest_source = least(model.longest_source for model in self.models)
        longest_target = least(model.longest_target(len(source)) for model in self.models)
        fits = longest_source is None or len(source) <= longest_source
        return fits and (longest_target is None or len(target) <= longest_target)

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[Translation | None]:
        """The translation of each pair, with its scores; None if a side is too long."""
        parts_of = self.parts(pairs)
        hypotheses = iter(self.score_ids([part for parts in parts_of for part in parts]))
        scored: list[Translation | None] = []
        for (_, target), parts in zip(pairs, parts_of, strict=True):
            found = [(source, next(hypotheses)) for source, _ in parts]
            whole = tuple(Part(tuple(source), h) for source, h in found if h)
            score = sum(part.hypothesis.score for part in whole) / len(found)
            scored.append(Translation(tidy(target)[0], score, whole) if len(whole) == len(found) else None)
        return scored

    def parts(self, pairs: Sequence[tuple[str, str]]) -> list[list[IdPair]]:
        """The ids of the sides of each pair, or of their sentences."""
        cut = cut_lines([Request(source) for source, _ in pairs], self.tokenizer, self.cut_at)
        targets = [[text for text, _ in split_sentences(tidy(target)[0])] for _, target in pairs]
        for n, (spans, sentences) in enumerate(zip(cut, targets, strict=True)):
            if len(spans) != len(sentences) or not all(span.ends_sentence for span in spans):
                cut[n], targets[n] = [], [tidy(pairs[n][1])[0]]
        sources = iter(self.tokenizer.encode_source([tidy(source)[0] for source, _ in pairs]))
        ids = iter(self.tokenizer.encode_target([text for sentences in targets for text in sentences]))
        lines = [[span.ids for span in spans] or [tuple(whole)] for spans, whole in zip(cut, sources, strict=True)]
        return [[(source, next(ids)) for source in line] for line in lines]

    @torch.inference_mode()
    def score_ids(self, pairs: Sequence[IdPair]) -> list[Hypothesis | None]:
        """The target of each pair as a hypothesis; None if a side is too long."""
        lengths = [max(len(source), len(target)) for source, target in pairs]
        fitting = [i for i, length in enumerate(lengths) if length <= MAX_SCORED and self.fits(*pairs[i])]
        scored: list[Hypothesis | None] = [None] * len(pairs)
        for rows in make_batches(fitting, self.search.batch_size, lengths.__getitem__):
            for i, row in zip(rows, halve_if_too_large(self.log_probs, [pairs[i] for i in rows]), strict=True):
                target = pairs[i][1]
                token_log_probs = row[: len(target) + 1]
                total = math.fsum(token_log_probs)
                score = total / float(length_divisor(len(token_log_probs), self.search))
                scored[i] = Hypothesis(list(target), score, total, token_log_probs, finished=True)
        return scored

    def log_probs(self, pairs: Sequence[IdPair]) -> list[list[float]]:
        """The log-probability of each piece of the targets, and of EOS; what follows it is padding."""
        if isinstance(self.models[0], CTranslate2Model):
            return self.models[0].force_score(pairs)
        device = self.models[0].device
        batch = (*pad((source for source, _ in pairs), device), *pad((target for _, target in pairs), device))
        log_probs_XBT = torch.stack(
            [force_score(model, *batch) for model in self.models if not isinstance(model, CTranslate2Model)]
        )
        log_probs: list[list[float]] = (log_probs_XBT.logsumexp(0) - math.log(len(self.models))).tolist()
        return log_probs
