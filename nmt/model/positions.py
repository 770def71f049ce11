"""How the model knows the order of tokens: a table added to the embeddings, or rotations of queries and keys.

Shapes: B batch, T length, D head width, M model width, X any leading sizes.
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
    """Adds sinusoidal or learned rows to embeddings, or nothing if the model uses rotary positions."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.kind = config.positions
        self.table: Tensor
        if self.kind == "learned":
            self.table = nn.Parameter(torch.empty(config.max_positions, config.d_model))
        elif self.kind == "sinusoidal":
            self.register_buffer("table", sinusoids(256, config.d_model), persistent=False)

    def forward(self, x_XTM: Tensor, start: int = 0, end: int | None = None) -> Tensor:
        """Add rows `start` to `end`, or one row to all; 0 to T if not given. Raises ValueError past a learned table."""
        if self.kind == "rotary":
            return x_XTM
        end, table = end or x_XTM.size(-2), self.table
        if end > table.size(0):
            if self.kind == "learned":
                raise ValueError(f"{end} pieces are too long for this model, whose positions end at {table.size(0)}")
            with torch.inference_mode(False):  # training may use the longer table too
                self.table = table = sinusoids(2 * end, table.size(1)).to(table)
        return x_XTM + table[start:end]


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

    def forward(self, x_XTD: Tensor, start: int = 0, end: int | None = None) -> Tensor:
        """Rotate by the angles of positions `start` to `end`, or all by those of one position; 0 to T if not given."""
        end, table = end or x_XTD.size(-2), self.table
        if end > table.size(1):
            with torch.inference_mode(False):  # training may use the longer table too
                self.table = table = self.angles(2 * end).to(table)
        cos, sin = table[:, start:end].to(x_XTD.dtype)
        a, b = x_XTD.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)
