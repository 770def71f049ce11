"""What rules cost."""

from math import inf
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from nmt.decode.phrases import Automaton
from nmt.decode.rules import Phrases
from nmt.decode.surfaces import Surfaces

PIECES = ["<unk>", "<s>", "</s>", "<pad>", "▁", "a", "b", "c", "▁a", "▁b", "ab"]


class Counting(TorchDispatchMode):
    operations = 0

    def __torch_dispatch__(self, function: Any, _: Any, arguments: Any = (), options: Any = None) -> Any:
        self.operations += 1
        return function(*arguments, **(options or {}))


def test_phrases_are_applied_to_all_sentences_at_once() -> None:
    automaton, counts, n_hypotheses = Automaton(Surfaces(PIECES), [["a b"]], ["c"]), list[int](), 4
    for n in (1, 2, 20):
        rule = Phrases([automaton] * n, [100] * n)
        rule.advance(torch.zeros(n, n_hypotheses, dtype=torch.int64), torch.tensor([[8, 9, 4, 7]] * n))
        log_probs_NKV = torch.zeros(n, n_hypotheses, len(PIECES))
        with Counting() as counting:  # type: ignore[no-untyped-call]
            rule.apply(log_probs_NKV, torch.zeros_like(log_probs_NKV), 1)
        counts.append(counting.operations)
        assert torch.equal(log_probs_NKV, log_probs_NKV[:1].expand(n, -1, -1))
        assert log_probs_NKV[0, 3, 4] == -inf, "c is forbidden as a word"
        assert log_probs_NKV[0, 3, 5] == 0
    assert len(set(counts)) == 1
