"""Quality estimation without references: pairs of sentences flow in; for each, the probability that it is true flows
out.

The model is one of `training.objective` pair: it reads a pair, and tells whether the two sides translate each other or
one was spoiled (see `nmt.data.copies.false_pairs`).

Shapes: B batch, S pieces of a pair with its special pieces, V vocabulary.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from nmt.config import Config, DecodingPrecision
from nmt.data.cleaning.cleaner import Pair
from nmt.data.copies.false_pairs import FALSE, TRUE, as_read
from nmt.data.tokenizer import Tokenizer, encode_pairs
from nmt.decode.parallel import halve_if_too_large
from nmt.decode.stop import Stop
from nmt.fields import require
from nmt.model.build import with_precision
from nmt.model.contract import Model
from nmt.model.device import choose_device
from nmt.model.layers import apply
from nmt.reading.request import Lists
from nmt.text.languages import same_language
from nmt.text.markup import Mode, mode_of, visible
from nmt.text.normalise import tidy
from nmt.translation.forced import MAX_SCORED
from nmt.translation.model_folder import load_model, require_objective
from nmt.translation.span_search import make_batches
from nmt.translation.translator import find_model

BATCH_SIZE = 64  # most pairs of a batch; `make_batches` bounds the pieces


class PairScorer:
    """A model that tells true pairs from false ones, with its tokenizer. Calls leave no state in it."""

    def __init__(self, model: Model, tokenizer: Tokenizer, precision: DecodingPrecision = "fp32") -> None:
        self.model, self.precision = with_precision(model.eval(), precision)
        self.tokenizer = tokenizer
        self.longest = min(MAX_SCORED, self.model.max_positions or MAX_SCORED)

    @classmethod
    def load(
        cls,
        folder: Path | str,
        device: str | torch.device = "auto",
        precision: DecodingPrecision = "auto",
        languages: tuple[str, str] | None = None,
    ) -> "PairScorer":
        """Load a model folder. ValueError if it is no pair scorer, or if its languages are others than `languages`
        (source and target; None: any)."""
        model, tokenizer, info = load_model(Path(folder), choose_device(str(device)))
        require_objective(info, folder, "pair")
        pair = info.source, info.target
        known = f"the pair scorer in {folder} knows {pair[0]} as source and {pair[1]} as target"
        require(all(map(same_language, languages or pair, pair)), f"{known}, not {' and '.join(languages or ())}")
        return cls(model, tokenizer, precision)

    @torch.inference_mode()
    def score(self, pairs: Sequence[Pair], stop: Stop | None = None, markup: Mode = "none") -> list[float | None]:
        """The probability that each pair (source, target) is true; None if the pair is too long. Of pairs whose source
        is mark-up (`markup`: which are) only the text is read. Raises Stopped as `stop` says."""
        modes = [mode_of(source, markup) for source, _ in pairs]
        texts = [(visible(s, mode), visible(t, mode)) for (s, t), mode in zip(pairs, modes, strict=True)]
        whole = as_read(encode_pairs(self.tokenizer, [(tidy(source), tidy(target)) for source, target in texts]))
        lengths = (whole.lengths_N + 1).tolist()
        fitting = [i for i, length in enumerate(lengths) if length <= self.longest]
        scores: list[float | None] = [None] * len(pairs)

        def run(rows: list[int]) -> list[float]:
            if stop:
                stop.check()
            ids_BS, mask_BS = whole.padded(torch.tensor(rows), eos=True)
            first_BS = torch.zeros_like(mask_BS)
            first_BS[:, 0] = True
            logits_BV = apply(self.model.output, self.model.target_states(ids_BS, mask_BS, ids_BS, first_BS))
            return logits_BV[:, [TRUE, FALSE]].float().softmax(1)[:, 0].tolist()

        for rows in make_batches(fitting, BATCH_SIZE, lengths.__getitem__):
            for i, quality in zip(rows, halve_if_too_large(run, rows), strict=True):
                scores[i] = quality
        return scores

    def rate(self, lines: Sequence[str], n_best: Lists, markup: Mode = "none", stop: Stop | None = None) -> Lists:
        """The translations of each line, in their order, with their `quality`; that of a blank line is 1. Otherwise as
        `score`."""
        pairs = [(line, translation.text) for line, found in zip(lines, n_best, strict=True) for translation in found]
        scores = iter(self.score(pairs, stop, markup))
        rated = [[(translation, next(scores)) for translation in found] for found in n_best]
        return [[replace(t, quality=quality if t.parts else 1.0) for t, quality in found] for found in rated]


def load_scorer(config: Config) -> Callable[[Sequence[Pair]], list[float | None]]:
    """The function that scores training pairs (see `nmt.data.store.preparing`). ValueError if `data.scorer` can't be
    used. It computes in fp32, so that the pairs that are kept hardly differ between machines."""
    languages = config.data.source, config.data.target
    return PairScorer.load(find_model(config.data.scorer), config.training.device, "fp32", languages).score
