"""How the model knows the order of tokens: a table added to the embeddings, or rotations of queries and keys.

Shapes: B batch, T length, D head width, M model width, H heads, R rows of a cache, X any leading sizes.
"""

import math
from threading import Lock

import torch
from torch import Tensor, nn

from nmt.config import ModelConfig
from nmt.fields import require
from nmt.model.device import on_meta
from nmt.model.layers import apply, make_norm

LENGTH = 512  # of a new table; a longer sequence makes it longer, and compiled layers are compiled again
SINUSOIDAL = ("sinusoidal", "fairseq")
GROWING = Lock()  # of the threads that share a model, one makes a table longer, so that none makes it shorter again
Place = slice | Tensor
"""Positions in a sequence: a slice that all rows share, or the position (R,) of each row, or (B, T) of each id, int64,
in a table that was made long enough by `reserve`."""


def sinusoids(length: int, d_model: int, kind: str = "sinusoidal") -> Tensor:
    """The table (length, d_model) of Vaswani et al. 2017, section 3.5: first the sines, then the cosines. That of
    fairseq has the rates of tensor2tensor, and begins with position 2."""
    first, steps = (2, max(d_model // 2 - 1, 1) * 2) if kind == "fairseq" else (0, d_model)
    rates = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10_000.0) / steps))
    angles = torch.arange(first, first + length)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)[:, :d_model]


class Table(nn.Module):
    """A table with a row for each position, which is computed again when a longer sequence needs it."""

    table: Tensor
    grows = True
    """Whether there is such a table. If not, the methods do nothing."""

    def rows(self, length: int) -> Tensor:
        """The table, in which positions are the last but one dimension."""
        raise NotImplementedError

    def reserve(self, end: int) -> None:
        """Make the table long enough for positions below `end`."""
        if self.grows and end > self.table.size(-2):
            with GROWING, torch.inference_mode(False):  # training may use the longer table too
                if end > self.table.size(-2):
                    self.table = self.rows(2 * end).to(self.table)


class AddedPositions(Table):
    """What a stack of layers adds for positions: sinusoidal or learned rows to its embeddings, or nothing if
    positions are rotary. `model.embedding_norm` normalises the embeddings then."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.kind, self.width, self.grows = config.positions, config.d_model, config.positions in SINUSOIDAL
        if self.kind == "learned":
            self.table = nn.Parameter(torch.empty(config.max_positions, config.d_model))
        elif self.grows:
            table = torch.empty(LENGTH, config.d_model) if on_meta() else self.rows(LENGTH)
            self.register_buffer("table", table, persistent=False)
        self.norm = make_norm(config) if config.embedding_norm else None

    def rows(self, length: int) -> Tensor:
        return sinusoids(length, self.width, self.kind)

    def at(self, x_XM: Tensor, place: Place) -> Tensor:
        """Add the rows of these positions: a slice, of one position or of T, or a position for each row (X = R).
        ValueError if a slice is longer than a learned table."""
        if self.grows or self.kind == "learned":
            if isinstance(place, slice):
                self.reserve(place.stop)
                size, end = self.table.size(0), place.stop
                require(end <= size, f"{end} pieces are too long for this model, whose positions end at {size}")
            else:  # a sentence that is done may go on, beyond its last position
                place = place.clamp(max=self.table.size(0) - 1)
            x_XM = x_XM + self.table[place]
        return x_XM if self.norm is None else apply(self.norm, x_XM)


class RotaryPositions(Table):
    """Rotations of queries and keys by their position (Su et al. 2021, section 3.2.2), halves paired as in GPT-NeoX."""

    def __init__(self, d_head: int) -> None:
        super().__init__()
        self.d_head = d_head
        table = torch.empty(2, LENGTH, d_head) if on_meta() else self.rows(LENGTH)
        self.register_buffer("table", table, persistent=False)

    def rows(self, length: int) -> Tensor:
        """Cosines and sines, each for both halves of a head, shape (2, length, D). The sines of the first half are
        negative, so that heads are rotated by one product with each table."""
        rates = 10_000.0 ** (-torch.arange(0, self.d_head, 2) / self.d_head)
        angles = torch.arange(length)[:, None] * rates
        cos, sin = angles.cos(), angles.sin()
        return torch.stack([torch.cat([cos, cos], dim=1), torch.cat([-sin, sin], dim=1)])

    def at(self, x_XHD: Tensor, place: Place) -> Tensor:
        """Rotate by the angles of these positions: (B, T, H, D) by those of a slice of T positions or of a position for
        each id, (R, H, D) by those of a slice of one position, or of a position for each row."""
        if isinstance(place, slice):
            self.reserve(place.stop)
        table = self.table[:, place, None].to(x_XHD.dtype)
        if isinstance(place, slice):
            # Repeated for each head: a CPU then multiplies all heads of a position at once, which is faster.
            table = table.expand(-1, -1, x_XHD.size(-2), -1).contiguous()
        a, b = x_XHD.chunk(2, dim=-1)
        return torch.addcmul(x_XHD * table[0], torch.cat([b, a], dim=-1), table[1])
