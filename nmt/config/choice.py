"""The choice of settings for a corpus without a recipe: the number of its pairs flows in; settings flow out.

The table in docs/training.md shows what comes of it.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

# How the names of settings begin that may be chosen.
CHOSEN = ("model.", "training.", "tokenizer.vocab_size", "data.placeholders")
PLACEHOLDER_SHARE = 0.1  # share of pairs with a copy that has placeholders


class Row(NamedTuple):
    """A model that suits corpora of up to so many pairs."""

    pairs: float
    pieces: int
    width: int
    layers: int
    dropout: float


# Of 11,600 pairs of Cherokee, 12,000 pieces had 1.9 chrF more on `val` than 4,000 after as many steps, and 1.5 more
# after as much time; of 14,500 of Guaraní, 16,000 had 0.9 more after as many. Of 50,000 of Japanese and of 3,000 of
# Cherokee, both were as good after as much time (small_corpora.jsonl).
ROWS = (
    Row(5_000, 4_000, 128, 4, 0.3),
    Row(60_000, 12_000, 128, 4, 0.2),
    Row(400_000, 12_000, 256, 4, 0.1),
    Row(5_000_000, 16_000, 512, 6, 0.1),
    Row(math.inf, 32_000, 512, 6, 0.1),
)
# Over the text. Where fewer fit into the time, a narrower model is taken: of 268,000 pairs, 3 passes of width 128 gave
# 52 chrF, and 0.8 passes of width 256 in the same time 40 (small_corpora.jsonl); 4 is estimated from both curves.
LEAST_PASSES = 4
# Share of the steps in which a model learns to restore noised text, at first, of corpora of up to so many pairs, in
# trainings of at least so many steps. It helped with 3,000 pairs of Cherokee and 26,000 of Guaraní, and changed nothing
# with 11,600 of Cherokee (runs.jsonl); on `val`, it didn't help with 29,000 captions, nor in 500 steps.
DENOISE_SHARE, MOST_DENOISED, LEAST_DENOISED = 0.3, 27_000, 1_000
# With sentences that have no translations, it is half of the steps, which are as many more: 2,000 captions had
# 29.8 BLEU with 54,000 sentences, and 25.6 without (three seeds); 3,000 pairs of Cherokee 28.7 chrF with 17,000, and
# 28.1 without (two); 3,000 of Guaraní 18.5 chrF with 28,000, and 18.6 without (one; runs.jsonl).
TEXTS_SHARE, MORE_STEPS = 0.5, 1.4
VALIDATIONS, OF_FEW_STEPS = 7, 3  # in a training, and in one of fewer than 1,000 steps
# What all sizes share: what reaches a loss in the fewest steps, by the figures in recipes/README.md. With a decay of
# 0.3, 11,600 pairs of Cherokee had 33.3 chrF of `val` after 2,500 steps, and 30.4 with 0.01; 50,000 of Japanese 52.9
# and 50.3; 3,000 of Cherokee, after 1,600 steps, 26.0 and 23.9 (small_corpora.jsonl).
COMMON = {
    "model.positions": "rotary",
    "model.norm_position": "pre",
    "training.optimizer": "muon",
    "training.weight_decay": 0.3,
    "training.schedule": "cosine",
    "training.log_every": 100,
}


def row_for(pairs: int) -> Row:
    return next(row for row in ROWS if pairs <= row.pairs)


def passes_over(pairs: int) -> float:
    """How often training should read a corpus, if there is time: 60 times up to 10,000 pairs, 15 times a million."""
    return max(3.0, 60 * (max(pairs, 10_000) / 10_000) ** -0.3)


def usual_minutes(pairs: int) -> float:
    """The most minutes of training that a user expects for so many pairs, if none are given."""
    return max(3.0, 16 * (pairs / 30_000) ** (0.36 if pairs < 30_000 else 0.75))


def choose_models(pairs: int, given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The settings for a corpus of so many pairs, by their dotted names: with the model that suits its size, then with
    narrower ones, for little time. Sizes that follow from others follow those in `given`, which the user has set."""
    suits = row_for(pairs)
    models = {row.width: row.layers for row in ROWS if row.width < suits.width} | {suits.width: suits.layers}
    for suitable in sorted(models, reverse=True):
        width = given.get("model.d_model", suitable)
        yield COMMON | {
            "model.d_model": width,
            "model.n_heads": next(n for n in (8, 4, 2, 1) if (width % (2 * n) == 0 and width >= 32 * n) or n == 1),
            "model.d_ff": (2 if width < 256 else 4) * width,
            "model.encoder_layers": models[suitable],
            "model.decoder_layers": models[suitable],
            "model.dropout": suits.dropout,
            "training.batch_tokens": 2048 if pairs <= 400_000 else 4096,
            "training.learning_rate": float(f"{4e-3 * math.sqrt(128 / width):.1g}"),
        }


def is_fast_enough(pairs: int, steps_a_pass: float, fitting: float) -> bool:
    """Whether a model takes enough steps in its time, in which so many fit, to be better than a narrower one."""
    return fitting >= min(LEAST_PASSES, passes_over(pairs)) * steps_a_pass


def choose_steps(pairs: int, steps_a_pass: float, fitting: float) -> int:
    """The length of a training: as many passes as suit the corpus, but no more steps than fit in the time."""
    steps = max(20, int(min(passes_over(pairs) * steps_a_pass, fitting)))
    return steps // (unit := 10 ** max(0, len(str(steps)) - 2)) * unit


def denoise_share(pairs: int, texts: int, steps: int) -> float:
    """The share of the steps, the first ones, that restore noised text. `texts`: those without translations."""
    pays = pairs <= MOST_DENOISED and steps >= LEAST_DENOISED
    return TEXTS_SHARE if texts else DENOISE_SHARE if pays else 0.0


def course_of(steps: int, share: float) -> dict[str, Any]:
    """The settings that follow from the number of steps. `share`: of those that restore noised text."""
    return {
        "training.max_steps": steps,
        "training.denoise_steps": round(share * steps),
        "training.warmup_steps": steps // 14,
        # Validations of a model that has learned little take long, since its translations have no end.
        "training.validate_every": max(1, math.ceil(steps / (VALIDATIONS if steps >= 1000 else OF_FEW_STEPS))),
    }
