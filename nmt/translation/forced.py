"""Forced decoding: given translations flow in; the log-probability of each of their pieces flows out.

A pair is read by the same steps as a line that is translated: the score is that of the text that the model must have
written for the given translation. Of several such texts, and of the plans of `nmt.translation.repair`, the most
probable one counts. A translation that no plan can have made is scored as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from nmt.config import SearchConfig
from nmt.decode.engine import Engine, IdPair, fits
from nmt.decode.hypothesis import UNSEARCHED, Hypothesis
from nmt.decode.parallel import halve_if_too_large
from nmt.decode.stop import Late, Stop
from nmt.fields import texts_of
from nmt.reading.lines import cut_text, mark_up
from nmt.reading.loop import Context, Given, Reading, Scored, force
from nmt.reading.request import Part, Request, Translation
from nmt.text.items import prose
from nmt.text.normalise import tidy
from nmt.translation.repair import AS_WRITTEN, CLAUSES, LIFTED, USUAL, shown
from nmt.translation.span_search import make_batches

# Longest sentence, in pieces, that is scored: the memory of attention grows with its square.
MAX_SCORED = 4000
PLANS = (USUAL, AS_WRITTEN, CLAUSES, LIFTED)

Known = dict[tuple[tuple[int, ...], tuple[int, ...]], Hypothesis | None]
"""Source and target ids whose scores are known."""


@dataclass(frozen=True)
class ForcedScorer:
    """Scores pairs of a source and a given translation. Of `context.search`, only length_penalty, length_norm and
    batch_size are used. `stop` and `known`, scores that need not be computed, are those of a call."""

    engine: Engine
    context: Context
    stop: Stop | None = None
    known: Known = field(default_factory=dict)

    def score(
        self, pairs: Sequence[tuple[str | Request, str]], stop: Stop | None = None, known: Known | None = None
    ) -> Scored:
        """The translation of each pair, with its scores; None if a side is too long, or the time of `stop` was up.
        Raises Stopped as `stop` says. `known`: scores that need not be computed."""
        call, found = replace(self, stop=stop, known=known or {}), list[Translation | None]()
        size = self.context.search.batch_size if stop else max(1, len(pairs))
        for first in range(0, len(pairs), size):
            portion = pairs[first : first + size]
            try:
                if stop:
                    stop.check()
                found += call.score_portion(portion)
            except Late:
                found += [None] * len(portion)
        return found

    def score_portion(self, pairs: Sequence[tuple[str | Request, str]]) -> list[Translation | None]:
        readings = [Reading.of(source if isinstance(source, Request) else Request(source)) for source, _ in pairs]
        given = list(zip(readings, texts_of((target for _, target in pairs), "pairs"), strict=True))
        found = self.with_lost(force(given, (mark_up, cut_text), self.context, self.score_lines), given)
        for n, (reading, target) in enumerate(given):
            # A text without letters outside of its items is its own translation, which needs no model.
            text = tidy(reading.text)
            if text == tidy(target) and not any(map(str.isalpha, prose(text, reading.user_items))):
                found[n] = Translation(text, 0.0, ())
        return [t and replace(t, text=tidy(target)) for t, (_, target) in zip(found, given, strict=True)]

    def score_lines(self, lines: Given) -> Scored:
        """The best score of each line by any plan."""
        best: list[Translation | None] = [None] * len(lines)
        for steps in PLANS:
            for n, translation in enumerate(force(lines, steps, self.context, self.score_leaves)):
                before = best[n]
                if translation and (before is None or translation.score > before.score):
                    best[n] = translation
        return self.with_lost(best, lines)

    def with_lost(self, found: Scored, given: Given) -> list[Translation | None]:
        """The scores found; pairs without, which no plan can have made, are scored as they are."""
        lost = [n for n, translation in enumerate(found) if translation is None]
        texts = [[shown(given[n][0], text) for text in (given[n][0].text, given[n][1])] for n in lost]
        ids = self.context.tokenizer.encode_source([tidy(text) for text, _ in texts])
        leaves = [
            (replace(given[n][0], text=text, ids=tuple(source)), target)
            for n, (text, target), source in zip(lost, texts, ids, strict=True)
        ]
        scored = dict(zip(lost, self.score_leaves(leaves), strict=True))
        return [scored.get(n, translation) for n, translation in enumerate(found)]

    def score_leaves(self, leaves: Given) -> Scored:
        """The scores of what the model reads and writes."""
        targets = self.context.tokenizer.encode_target([tidy(target) for _, target in leaves])
        pairs = [(reading.ids or (), tuple(ids)) for (reading, _), ids in zip(leaves, targets, strict=True)]
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self.known]
        self.known.update(zip(new, self.score_ids(new), strict=True))
        found: list[Translation | None] = []
        for (reading, target), pair in zip(leaves, pairs, strict=True):
            scored, places = self.known[pair], range(len(target))
            parts = (Part(pair[0], scored, reading.text, target, reading.places, places),) if scored else ()
            found.append(Translation(target, scored.score, parts) if scored else None)
        return found

    def score_ids(self, pairs: Sequence[IdPair]) -> list[Hypothesis | None]:
        """The target of each pair as a hypothesis; None if a side is too long."""
        lengths = [max(len(source), len(target)) for source, target in pairs]
        fitting = [i for i, length in enumerate(lengths) if length <= MAX_SCORED and fits(self.engine, *pairs[i])]
        scored: list[Hypothesis | None] = [None] * len(pairs)
        log_probs = partial(self.engine.score, stop=self.stop)
        for rows in make_batches(fitting, self.context.search.batch_size, lengths.__getitem__):
            for i, token_log_probs in zip(rows, halve_if_too_large(log_probs, [pairs[i] for i in rows]), strict=True):
                scored[i] = Hypothesis.of(pairs[i][1], token_log_probs, self.context.search)
        return scored


def known_of(translations: Sequence[Translation], search: SearchConfig) -> Known:
    """What translations tell of scores: by their pieces, since searches rank by others, with a repetition penalty or,
    in CTranslate2, less exact ones."""
    searched = [(part.source, part.hypothesis) for t in translations for part in t.parts]
    found = {(source, tuple(h.ids)): [*h.token_log_probs] for source, h in searched if h is not UNSEARCHED}
    return {pair: Hypothesis.of(pair[1], log_probs, search) for pair, log_probs in found.items()}
