"""Lines are those between LF, however many bytes each read returns."""

import io

from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.translation.streams import read_chunks


@settings(max_examples=200, derandomize=True)
@given(data=st.binary(max_size=60).map(lambda data: data.replace(b"\x00", b"\n")), size=st.integers(1, 20))
def test_reading_in_chunks_gives_the_lines(data: bytes, size: int) -> None:
    lines = [line for chunk in read_chunks(io.BytesIO(data), size) for line in chunk]
    assert lines == (data.removesuffix(b"\n").split(b"\n") if data else [])
