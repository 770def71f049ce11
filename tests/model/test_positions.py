"""Positions: threads share the tables."""

from threading import Event, Thread

import pytest
from torch import Tensor

from nmt.config import ModelConfig
from nmt.model.positions import LENGTH, AddedPositions, RotaryPositions


@pytest.mark.parametrize("kind", ["rotary", "sinusoidal"])
def test_a_thread_with_a_shorter_text_never_makes_a_table_shorter(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread with the longer text begins first, and ends while the other one still computes."""
    module = RotaryPositions(8) if kind == "rotary" else AddedPositions(ModelConfig())
    compute, begun, ended = module.rows, {5000: Event(), 9000: Event()}, Event()

    def slow(length: int) -> Tensor:
        begun[length // 2].set()
        # Where the other thread must wait for this one, these waits end by their limits.
        begun[5000].wait(0.3) if length == 18_000 else ended.wait(2)
        return compute(length)

    monkeypatch.setattr(module, "rows", slow)
    longer, shorter = (Thread(target=module.reserve, args=(end,)) for end in (9000, 5000))
    longer.start()
    assert begun[9000].wait(2)
    shorter.start()
    longer.join()
    ended.set()
    shorter.join()
    assert module.table.size(-2) == 18_000 > LENGTH
