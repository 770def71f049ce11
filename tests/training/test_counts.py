"""What a training step does that costs a GPU much, counted on the CPU: casts, and waits for a number."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from nmt.config import ModelConfig
from nmt.training.data import TrainingData
from nmt.training.monitor import Window
from tests.training.reversal import TINY, new_trainer

Shape = tuple[int, ...]


class Casts(TorchDispatchMode):
    """Counts the tensors that change between float32 and bfloat16, by shape."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.shapes = Counter[Shape]()

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is torch.ops.aten._to_copy.default and args[0].is_floating_point() and result.dtype != args[0].dtype:
            self.shapes[tuple(result.shape)] += 1
        return result


def casts_of_a_step(data: TrainingData, folder: Path, model: ModelConfig) -> tuple[Counter[Shape], list[Tensor]]:
    """The casts of the second step, and the weights of the layers."""
    trainer = new_trainer(data, folder, model, precision="bf16")
    batches = trainer.batches()
    trainer.step(batches, Window())
    with Casts() as casts:
        trainer.step(batches, Window())
    output = trainer.model.output
    layers = [m for m in trainer.model.modules() if isinstance(m, nn.Linear | nn.LayerNorm | nn.RMSNorm)]
    return casts.shapes, [p for layer in layers if layer is not output for p in layer.parameters()]


def test_in_bf16_each_weight_is_rounded_once_and_states_stay(data: TrainingData, tmp_path: Path) -> None:
    """Each weight is rounded in the forward pass, and its gradient widened in the backward pass. States are rounded
    after the embeddings. The loss takes the logits in float32, and rounds the output matrix and the probabilities."""
    casts, weights = casts_of_a_step(data, tmp_path, TINY)
    states = 2 * 2  # source and target, forward and backward
    of_loss = 3  # with one chunk
    assert casts.total() <= 2 * len(weights) + states + of_loss, casts


def test_more_layers_cast_nothing_but_their_weights(data: TrainingData, tmp_path: Path) -> None:
    few, weights = casts_of_a_step(data, tmp_path / "few", TINY)
    many, more_weights = casts_of_a_step(data, tmp_path / "many", replace(TINY, decoder_layers=TINY.decoder_layers + 2))
    assert many.total() - few.total() == 2 * (len(more_weights) - len(weights))
