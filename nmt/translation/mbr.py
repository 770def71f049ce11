"""Minimum Bayes risk decoding: of several translations of a sentence, the one that is most like all the others.

Texts flow in; the expected utility of each, or the choice, flows out. The utilities are sacreBLEU's sentence scores
(Post 2018), but of all pairs at once: each text's n-grams are counted once, and matches are a product of matrices.

Shapes: C candidates, U different ones, which are H as hypotheses and R as references; N orders of n-grams, from 1 up;
L items (characters or words) of all sequences, end to end; F features, of which a sequence has each or not.
Source: Kumar and Byrne 2004; with samples, Eikema and Aziz 2022. Utilities: chrF2 (Popović 2015); BLEU (Papineni et al.
2002) of a sentence, smoothed by method 3 of Chen and Cherry 2014.
"""

import math
from collections.abc import Sequence
from functools import reduce
from typing import Literal

import torch
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from torch import Tensor

Metric = Literal["chrf", "bleu"]

CHRF_ORDER, BETA = 6, 2
BLEU_ORDER = 4
# Elements of the largest matrix of sequences by features, 16 MiB; what is wider is gone through in parts.
MATRIX_SIZE = 2**22

tokenize = Tokenizer13a()  # type: ignore[no-untyped-call]


def choose(candidates: Sequence[str], log_probs: Sequence[float] | None, metric: Metric) -> int:
    """The index of the candidate with the highest of `expected_utilities`; of equals, the first."""
    utilities = expected_utilities(candidates, log_probs, metric)
    return utilities.index(max(utilities))


def expected_utilities(candidates: Sequence[str], log_probs: Sequence[float] | None, metric: Metric) -> list[float]:
    """The mean score, 0 to 100, of each candidate with every candidate, itself too, as its reference.

    Args:
        candidates: translations of one sentence; one that occurs twice counts twice.
        log_probs: of an n-best list, the natural logarithms of the probabilities that references are weighted by; they
            need not sum to 1. None for samples: each stands for the probability that it was drawn with.
        metric: the score that is the utility.
    """
    scores_CC = pairwise_chrf(candidates) if metric == "chrf" else pairwise_bleu(candidates)
    if log_probs is None:
        log_probs = [0.0] * len(candidates)
    highest = max(log_probs, default=0.0)  # becomes weight 1, so that whatever the others are, the sum is not 0
    weights = [math.exp(log_prob - highest) for log_prob in log_probs]
    # fsum gives the same in any order, so that candidates that are equally good come out as equals wherever they are.
    total = math.fsum(weights)
    return [
        math.fsum(score * weight for score, weight in zip(scores_C, weights, strict=True)) / total
        for scores_C in scores_CC.tolist()
    ]


def pairwise_chrf(candidates: Sequence[str]) -> Tensor:
    """chrF2, 0 to 100, of each candidate with each as the reference: (C, C), float64, a row for each hypothesis.

    As sacreBLEU's `CHRF().sentence_score`: characters without spaces, and the orders that both texts are long enough
    for.
    """
    texts = list(dict.fromkeys(candidates))
    matches_NHR, totals_NU = count_matches([[*map(ord, "".join(text.split()))] for text in texts], CHRF_ORDER)
    orders_U = (totals_NU > 0).sum(0)
    orders_HR = torch.minimum(orders_U[:, None], orders_U)
    divisors_NU = totals_NU.clamp(min=1)
    precision_HR = add(matches_NHR / divisors_NU[:, :, None]) / orders_HR
    recall_HR = add(matches_NHR / divisors_NU[:, None]) / orders_HR
    scores_HR = 100 * (1 + BETA**2) * precision_HR * recall_HR / (BETA**2 * precision_HR + recall_HR)
    return expand(scores_HR.nan_to_num(0.0), texts, candidates)  # it is 0 / 0 where nothing matches


def pairwise_bleu(candidates: Sequence[str]) -> Tensor:
    """BLEU, 0 to 100, of each candidate with each as the reference: (C, C), float64, a row for each hypothesis.

    As sacreBLEU's `BLEU(effective_order=True).sentence_score`: 13a tokens, and the orders that the hypothesis is long
    enough for.
    """
    texts = list(dict.fromkeys(candidates))
    ids: dict[str, int] = {}
    sequences = [[ids.setdefault(token, len(ids)) for token in tokenize(text.rstrip()).split()] for text in texts]
    matches_NHR, totals_NU = count_matches(sequences, BLEU_ORDER)
    lengths_U, totals_NH1 = totals_NU[0], totals_NU[:, :, None]
    has_order_NH1 = totals_NH1 > 0
    missed_NHR = (matches_NHR == 0) & has_order_NH1
    # The first order that has no match counts as half a match, the second as a quarter, and so on.
    smoothed_NHR = torch.where(missed_NHR, 0.5 ** missed_NHR.cumsum(0), matches_NHR)
    log_precision_NHR = torch.where(has_order_NH1, smoothed_NHR / totals_NH1, 1.0).log()
    log_brevity_HR = (1 - lengths_U / lengths_U[:, None]).clamp(max=0)
    scores_HR = 100 * (log_brevity_HR + add(log_precision_NHR) / has_order_NH1.sum(0)).exp()
    return expand(torch.where(matches_NHR[0] > 0, scores_HR, 0.0), texts, candidates)


def add(values_NHR: Tensor) -> Tensor:
    """The sum over orders (H, R), rounded in the same way at every place, which Tensor.sum is not: ties stay ties."""
    return reduce(torch.add, values_NHR.unbind())


def expand(scores_UU: Tensor, texts: Sequence[str], candidates: Sequence[str]) -> Tensor:
    """From the scores of the different texts to those of all candidates, (C, C)."""
    places = {text: i for i, text in enumerate(texts)}
    places_C = torch.tensor([places[text] for text in candidates], dtype=torch.long)
    return scores_UU[places_C[:, None], places_C]


def count_matches(sequences: Sequence[Sequence[int]], max_order: int) -> tuple[Tensor, Tensor]:
    """For each order: the n-grams of each two sequences in common, each as often as where it is rarer.

    Returns:
        The numbers of matches (N, U, U), and those of all n-grams of a sequence (N, U); float64.
    """
    lengths_U = torch.tensor([len(sequence) for sequence in sequences], dtype=torch.long)
    owners_L = torch.arange(len(sequences)).repeat_interleave(lengths_U)
    ends_L = lengths_U.cumsum(0)[owners_L]
    items_L = number(torch.tensor([item for sequence in sequences for item in sequence], dtype=torch.long))
    starts_L, grams_L = torch.arange(items_L.size(0)), torch.zeros_like(items_L)
    matches = []
    for order in range(1, max_order + 1):
        # An n-gram is the one before it and an item more. Those that would cross the end of their sequence drop out.
        inside_L = starts_L + order <= ends_L[starts_L]
        starts_L, grams_L = starts_L[inside_L], grams_L[inside_L]
        grams_L = number(grams_L * items_L.size(0) + items_L[starts_L + order - 1])
        matches.append(match(grams_L, owners_L[starts_L], len(sequences)))
    totals = [(lengths_U - order).clamp(min=0) for order in range(max_order)]
    return torch.stack(matches), torch.stack(totals).double()


def match(grams_L: Tensor, owners_L: Tensor, n_sequences: int) -> Tensor:
    """Matches (U, U), float64, of n-grams that come with the index of the sequence that owns each."""
    keys_L = (grams_L * n_sequences + owners_L).sort().values
    grams_L, owners_L = keys_L // n_sequences, keys_L % n_sequences
    # The smaller of two counts is the number of k for which both sequences have the n-gram a k-th time. With "has it a
    # k-th time" as features, 0 or 1, the sums of all pairs' minima are a matrix product, exact in float32.
    occurrences_L = torch.arange(keys_L.size(0)) - torch.searchsorted(keys_L, keys_L)
    features_L = number(grams_L * keys_L.size(0) + occurrences_L)
    matches_UU = torch.zeros(n_sequences, n_sequences, dtype=torch.float64)
    width = max(1, MATRIX_SIZE // max(1, n_sequences))
    n_features = int(features_L.max()) + 1 if features_L.size(0) else 0
    for start in range(0, n_features, width):
        here_L = (features_L >= start) & (features_L < start + width)
        has_UF = torch.zeros(n_sequences, min(width, n_features - start))
        has_UF[owners_L[here_L], features_L[here_L] - start] = 1
        matches_UU += has_UF @ has_UF.t()
    return matches_UU


def number(values_L: Tensor) -> Tensor:
    """Numbers for values, the same for the same, from 0 without gaps."""
    return torch.unique(values_L, return_inverse=True)[1]
