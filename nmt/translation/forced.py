"""Forced decoding: given translations flow in; the log-probability of each of their pieces flows out."""

from collections.abc import Sequence
from functools import partial

from nmt.config import SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.engine import Engine, IdPair
from nmt.decode.hypothesis import Hypothesis
from nmt.decode.parallel import halve_if_too_large
from nmt.decode.stop import Stop
from nmt.text.normalise import tidy
from nmt.text.sentences import split_sentences
from nmt.translation.request import Part, Request, Translation
from nmt.translation.spans import Limits, cut_lines, make_batches

# Longest sentence, in pieces, that is scored: the memory of attention grows with its square.
MAX_SCORED = 4000


class ForcedScorer:
    """Scores pairs of a source and a given translation.

    Of `search`, only length_penalty, length_norm and batch_size are used. A pair whose source would be translated
    sentence by sentence (`limits`) is scored so, if both sides have the same number of sentences.
    """

    def __init__(self, engine: Engine, tokenizer: Tokenizer, search: SearchConfig, limits: Limits) -> None:
        self.engine, self.tokenizer, self.search, self.cut_at = engine, tokenizer, search, limits

    def score(self, pairs: Sequence[tuple[str, str]], stop: Stop | None = None) -> list[Translation | None]:
        """The translation of each pair, with its scores; None if a side is too long. Raises Stopped as `stop` says."""
        parts_of = self.parts(pairs)
        hypotheses = iter(self.score_ids([part for parts in parts_of for part in parts], stop))
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

    def score_ids(self, pairs: Sequence[IdPair], stop: Stop | None = None) -> list[Hypothesis | None]:
        """The target of each pair as a hypothesis; None if a side is too long."""
        lengths = [max(len(source), len(target)) for source, target in pairs]
        fitting = [i for i, length in enumerate(lengths) if length <= MAX_SCORED and self.engine.fits(*pairs[i])]
        scored: list[Hypothesis | None] = [None] * len(pairs)
        log_probs = partial(self.engine.score, stop=stop)
        for rows in make_batches(fitting, self.search.batch_size, lengths.__getitem__):
            for i, token_log_probs in zip(rows, halve_if_too_large(log_probs, [pairs[i] for i in rows]), strict=True):
                scored[i] = Hypothesis.of(pairs[i][1], token_log_probs, self.search)
        return scored
