"""The cache of a decoder: how large it is."""

from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.model.cache import DecoderCache
from tests.model.settings import combinations, make, sentences


@given(combinations(), st.integers(1, 3))
def test_the_bytes_of_a_token_are_those_that_the_cache_takes(settings: Any, width: int) -> None:
    model, length = make(settings, 1), 3
    cache = model.start(*sentences(1, [5, 5]), length, width)
    assert isinstance(cache, DecoderCache)
    source = cache.source_2NKSD or [target[:, :, :, : cache.n_prefix] for target in cache.target_2NKLD]
    target = [target[:, :, :, cache.n_prefix :] for target in cache.target_2NKLD]
    n_source = 2 * source[0].size(3)
    distinct = {s.data_ptr(): s for s in source}.values()  # layers of one block share the source's
    taken = sum(t.nbytes for t in target) // (2 * length * width), sum(s.nbytes for s in distinct) // n_source
    cache.keep(torch.tensor([1]))
    kept = {s.data_ptr() for s in cache.source_2NKSD or source}
    assert len(kept) == len(distinct)
    assert tuple(model.cache_bytes().values()) == taken
    assert model.bfloat16().cache_bytes()["target"] == taken[0] // 2
