"""Minimum Bayes risk decoding (Kumar and Byrne 2004; with samples, Eikema and Aziz 2022).

Candidate translations of a sentence flow in, their expected utilities flow out. The utility is chrF2 (Popović 2015) as
sacreBLEU's sentence score (Post 2018), of all pairs at once: a matrix product counts the n-grams in common.

Shapes: C candidates; U different texts, called H as hypotheses and R as references; N orders of n-grams, from 1 up;
L characters, or n-grams, of all texts in one row; F features that a text may have.
"""

import math
from collections.abc import Sequence
from functools import reduce

import torch
from torch import Tensor

ORDERS, BETA = 6, 2
# Elements of the largest matrix of texts by features, 16 MiB; features beyond it are counted in further matrices.
MATRIX_SIZE = 2**22


def expected_utilities(candidates: Sequence[str], log_probs: Sequence[float] | None = None) -> list[float]:
    """Return the mean chrF2, 0 to 100, of each candidate against all candidates (itself included) as references.

    `log_probs` weights the references by probability. None for samples: there, probable ones simply occur more often.
    """
    log_probs = [0.0] * len(candidates) if log_probs is None else log_probs
    highest = max(log_probs, default=0.0)  # gets weight 1, so that the sum of the weights is never 0
    weights = [math.exp(log_prob - highest) for log_prob in log_probs]
    # The result of fsum doesn't depend on the order: candidates that are equally good get equal utilities.
    total = math.fsum(weights)
    return [
        math.fsum(score * weight for score, weight in zip(scores, weights, strict=True)) / total
        for scores in pairwise_chrf(candidates).tolist()
    ]


def pairwise_chrf(candidates: Sequence[str]) -> Tensor:
    """Return chrF2, 0 to 100, of each candidate (row) with each as the reference (column): (C, C), float64.

    As in sacreBLEU, white space is left out, and the mean is over the orders for which both texts are long enough.
    """
    places = {text: place for place, text in enumerate(dict.fromkeys(candidates))}
    matches_NHR, totals_NU = count_matches([[*map(ord, "".join(text.split()))] for text in places])
    orders_U = (totals_NU > 0).sum(0)
    orders_HR = torch.minimum(orders_U[:, None], orders_U)
    divisors_NU = totals_NU.clamp(min=1)
    precision_HR = add(matches_NHR / divisors_NU[:, :, None]) / orders_HR
    recall_HR = add(matches_NHR / divisors_NU[:, None]) / orders_HR
    scores_HR = 100 * (1 + BETA**2) * precision_HR * recall_HR / (BETA**2 * precision_HR + recall_HR)
    places_C = torch.tensor([places[text] for text in candidates], dtype=torch.long)
    return scores_HR.nan_to_num(0.0)[places_C[:, None], places_C]  # 0 / 0 where nothing matches


def add(values_NHR: Tensor) -> Tensor:
    """Return the sum over orders (H, R). Tensor.sum rounds differently at different positions; here ties stay ties."""
    return reduce(torch.add, values_NHR.unbind())


def count_matches(texts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Return the numbers of n-grams in common (N, U, U), and of all n-grams of each text (N, U); float64.

    An n-gram in common counts as often as in the text that has it less often.
    """
    lengths_U = torch.tensor([len(text) for text in texts], dtype=torch.long)
    owners_L = torch.arange(len(texts)).repeat_interleave(lengths_U)
    ends_L = lengths_U.cumsum(0)[owners_L]
    characters_L = number(torch.tensor([character for text in texts for character in text], dtype=torch.long))
    starts_L, grams_L = torch.arange(characters_L.size(0)), torch.zeros_like(characters_L)
    matches = []
    for order in range(1, ORDERS + 1):
        # An n-gram is an (n-1)-gram and one more character; those that would cross the end of their text are left out.
        inside_L = starts_L + order <= ends_L[starts_L]
        starts_L, grams_L = starts_L[inside_L], grams_L[inside_L]
        grams_L = number(grams_L * characters_L.size(0) + characters_L[starts_L + order - 1])
        matches.append(match(grams_L, owners_L[starts_L], len(texts)))
    totals = [(lengths_U - order).clamp(min=0) for order in range(ORDERS)]
    return torch.stack(matches), torch.stack(totals).double()


def match(grams_L: Tensor, owners_L: Tensor, n_texts: int) -> Tensor:
    """Return the number of matches (U, U), float64, of n-grams that are given with the index of their text."""
    keys_L = (grams_L * n_texts + owners_L).sort().values
    grams_L, owners_L = keys_L // n_texts, keys_L % n_texts
    # The smaller of two counts is the number of k for which both texts have the n-gram a k-th time. With "has it a
    # k-th time" as features, 0 or 1, a matrix product sums the smaller counts of all pairs, exactly in float32.
    occurrences_L = torch.arange(keys_L.size(0)) - torch.searchsorted(keys_L, keys_L)
    features_L = number(grams_L * keys_L.size(0) + occurrences_L)
    matches_UU = torch.zeros(n_texts, n_texts, dtype=torch.float64)
    width = max(1, MATRIX_SIZE // max(1, n_texts))
    n_features = int(features_L.max()) + 1 if features_L.size(0) else 0
    for start in range(0, n_features, width):
        here_L = (features_L >= start) & (features_L < start + width)
        has_UF = torch.zeros(n_texts, min(width, n_features - start))
        has_UF[owners_L[here_L], features_L[here_L] - start] = 1
        matches_UU += has_UF @ has_UF.t()
    return matches_UU


def number(values_L: Tensor) -> Tensor:
    """Return a number for each value, equal for equal values, from 0 without gaps."""
    return torch.unique(values_L, return_inverse=True)[1]
