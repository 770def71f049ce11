"""Batches of spans are bounded."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.translation.spans import Span, make_batches


@settings(max_examples=200, derandomize=True)
@given(lengths=st.lists(st.integers(1, 200), max_size=50), batch_size=st.integers(1, 9))
def test_batches_hold_every_span_once_and_are_bounded_in_sentences_and_pieces(
    lengths: list[int], batch_size: int
) -> None:
    spans = [Span((i, *[0] * (length - 1))) for i, length in enumerate(lengths)]
    batches = list(make_batches(spans, batch_size, len))
    assert dict.fromkeys(spans, 1) == Counter(span for batch in batches for span in batch)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * len(batch[0].ids) <= batch_size * 64
        assert len(batch) <= batch_size
