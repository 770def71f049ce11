"""Threads share the tables of positions."""

from threading import Event, Thread
from typing import Any

import pytest

from nmt.config import ModelConfig
from nmt.model import positions
from nmt.model.positions import LENGTH, AddedPositions, RotaryPositions


@pytest.mark.parametrize("kind", ["rotary", "sinusoidal"])
def test_a_thread_with_a_shorter_text_never_makes_a_table_shorter(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread with the longer text begins first, and ends while the other one still computes."""
    is_rotary = kind == "rotary"
    module = RotaryPositions(8) if is_rotary else AddedPositions(ModelConfig(), causal=True)
    place, name = (RotaryPositions, "angles") if is_rotary else (positions, "sinusoids")
    compute, begun, ended = getattr(place, name), {5000: Event(), 9000: Event()}, Event()

    def slow(*arguments: Any) -> Any:
        length = next(number for number in arguments if isinstance(number, int))
        begun[length // 2].set()
        # Where the other thread must wait for this one, these waits end by their limits.
        begun[5000].wait(0.3) if length == 18_000 else ended.wait(2)
        return compute(*arguments)

    monkeypatch.setattr(place, name, slow)
    longer, shorter = (Thread(target=module.reserve, args=(end,)) for end in (9000, 5000))
    longer.start()
    assert begun[9000].wait(2)
    shorter.start()
    longer.join()
    ended.set()
    shorter.join()
    assert module.table.size(1 if is_rotary else 0) == 18_000 > LENGTH
