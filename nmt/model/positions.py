"""How the model is told the order of tokens: a table added to the embeddings, or rotations of queries and keys.

Shapes: B batch, H heads, T length, D head width, M model width.
"""

import math

import torch
from torch import Tensor, nn

from nmt.config import ModelConfig


def sinusoids(length: int, d_model: int) -> Tensor:
    """The table (length, d_model) of Vaswani et al. 2017, section 3.5: first the sines, then the cosines."""
    rates = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10_000.0) / d_model))
    angles = torch.arange(length)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)[:, :d_model]


class AddedPositions(nn.Module):
    """Sinusoidal or learned rows, added to embeddings; nothing is added where the model uses rotary positions."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.kind, self.max_positions = config.positions, config.max_positions
        self.table: Tensor
        if self.kind == "learned":
            self.table = nn.Parameter(torch.empty(config.max_positions, config.d_model))
        elif self.kind == "sinusoidal":
            self.register_buffer("table", sinusoids(256, config.d_model), persistent=False)

    def forward(self, x_BTM: Tensor, start: int = 0) -> Tensor:
        """Add rows `start` onwards. Raises ValueError past the end of a learned table."""
        if self.kind == "rotary":
            return x_BTM
        end, table = start + x_BTM.size(1), self.table
        if end > table.size(0):
            if self.kind == "learned":
                raise ValueError(
                    f"a sentence of {end} pieces is too long for this model: its learned positions end at "
                    f"{self.max_positions}"
                )
            with torch.inference_mode(False):  # training may use the longer table too
                self.table = table = sinusoids(2 * end, x_BTM.size(2)).to(table)
        return x_BTM + table[start:end]


class RotaryPositions(nn.Module):
    """Rotations of queries and keys by their position (Su et al. 2021, section 3.2.2), halves paired as in GPT-NeoX."""

    def __init__(self, d_head: int) -> None:
        super().__init__()
        self.d_head = d_head
        self.table: Tensor
        self.register_buffer("table", self.angles(256), persistent=False)

    def angles(self, length: int) -> Tensor:
        """Cosines and sines, shape (2, length, D / 2)."""
        rates = 10_000.0 ** (-torch.arange(0, self.d_head, 2) / self.d_head)
        angles = torch.arange(length)[:, None] * rates
        return torch.stack([angles.cos(), angles.sin()])

    def forward(self, x_BHTD: Tensor) -> Tensor:
        """Rotate positions 0 to T − 1."""
        return self.rotate(x_BHTD, 0, x_BHTD.size(2))

    def at(self, x_BHWD: Tensor, position: int) -> Tensor:
        """Rotate rows that all stand at one position."""
        return self.rotate(x_BHWD, position, position + 1)

    def rotate(self, x_BHTD: Tensor, start: int, end: int) -> Tensor:
        table = self.table
        if end > table.size(1):
            with torch.inference_mode(False):  # training may use the longer table too
                self.table = table = self.angles(2 * end).to(table)
        cos, sin = table[:, start:end].to(x_BHTD.dtype)
        a, b = x_BHTD.chunk(2, dim=3)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=3)
