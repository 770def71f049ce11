"""Batches are bounded; if memory runs out nevertheless, smaller batches give the same translations."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.config import SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.engine import Ids
from nmt.decode.hypothesis import Hypothesis
from nmt.decode.pytorch import TorchEngine
from nmt.decode.sampling import MAX_SLOTS
from nmt.translation.span_search import MAX_ROWS, MAX_SCORES, Span, bounded, make_batches
from nmt.translation.translator import Translator
from tests.tiny import PAIRS, SHORT, make_model

LINES = [source for source, _ in PAIRS] + ["Ein Hund.", "Wo?"]


@settings(max_examples=100, derandomize=True)
@given(lengths=st.lists(st.integers(1, 200), max_size=50), batch_size=st.integers(1, 9))
def test_batches_hold_every_span_once_and_bound_sentences_and_pieces(lengths: list[int], batch_size: int) -> None:
    spans = [Span((i, *[0] * (length - 1))) for i, length in enumerate(lengths)]
    batches = list(make_batches(spans, batch_size, lambda span: len(span.ids)))
    assert dict.fromkeys(spans, 1) == Counter(span for batch in batches for span in batch)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * len(batch[0].ids) <= batch_size * 64
        assert len(batch) <= batch_size


@given(
    st.integers(1, 300),
    st.integers(1, 200),
    st.sampled_from([0, 0, 1, 100, 1000]),
    st.sampled_from([2, 74, 410, 20_000]),
)
def test_rows_and_slots_and_scores_of_a_batch_are_bounded(size: int, beam_size: int, samples: int, steps: int) -> None:
    search = SearchConfig(beam_size=beam_size, samples=samples)
    parts = list(bounded(list(range(size)), search, steps))
    assert [item for part in parts for item in part] == list(range(size))
    rows = samples or beam_size
    for n in map(len, parts):
        assert n * rows <= MAX_ROWS or n == 1
        assert n * rows * steps <= MAX_SLOTS or n == 1
        assert n * rows * steps * (1 if samples else rows) <= MAX_SCORES or n == 1
    usual = SearchConfig()
    assert len(list(bounded([0] * usual.batch_size, usual, 2 * 64 + 11))) == 1, "usual batches stay whole"


@pytest.mark.parametrize("search", [SHORT, replace(SHORT, samples=3, n_best=3)])
def test_small_batches_give_the_same(
    tokenizer: Tokenizer, search: SearchConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = Translator(make_model(tokenizer), tokenizer, replace(search, batch_size=5))
    expected = translator.translate_n_best(LINES)
    sizes = []

    find = TorchEngine.search

    def limited(largest: int) -> None:
        def fail_or_search(engine: TorchEngine, sources: Sequence[Ids], *arguments: Any) -> list[list[Hypothesis]]:
            sizes.append(len(sources))
            if len(sources) > largest:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return find(engine, sources, *arguments)

        monkeypatch.setattr(TorchEngine, "search", fail_or_search)

    limited(2)
    found = translator.translate_n_best(LINES)
    assert [[t.text for t in n_best] for n_best in found] == [[t.text for t in n_best] for n_best in expected]
    assert sizes == [5, 2, 3, 1, 2, 1]
    limited(0)
    with pytest.raises(ValueError, match="memory ran out over a single sentence or text: lower beam_size"):
        translator.translate(LINES)
