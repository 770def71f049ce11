"""How the model knows the order of tokens: a table added to the embeddings, rotations of queries and keys, or biases
of the scores of self-attention.

Shapes: B batch, T length, D head width, M model width, H heads, R rows of a cache, X any leading sizes.
"""

import math
from threading import Lock

import torch
from torch import Tensor, nn

from nmt.config import ModelConfig
from nmt.fields import require
from nmt.model.bias import ScoreBias
from nmt.model.cache import Mask
from nmt.model.device import on_meta
from nmt.model.linear import apply
from nmt.model.norm import make_norm

LENGTH = 512  # of a new table; a longer sequence makes it longer, and compiled layers are compiled again
SINUSOIDAL = ("sinusoidal", "fairseq")
GROWING = Lock()  # of the threads that share a model, one makes a table longer, so that none makes it shorter again
Place = slice | Tensor
"""Positions in a sequence: a slice that all rows share, or the position (R,) of each row, int64, in a table that was
made long enough by `reserve`."""


def sinusoids(length: int, d_model: int, kind: str = "sinusoidal") -> Tensor:
    """The table (length, d_model) of Vaswani et al. 2017, section 3.5: first the sines, then the cosines. That of
    fairseq has the rates of tensor2tensor, and begins with position 2."""
    first, steps = (2, max(d_model // 2 - 1, 1) * 2) if kind == "fairseq" else (0, d_model)
    rates = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10_000.0) / steps))
    angles = torch.arange(first, first + length)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)[:, :d_model]


class AddedPositions(nn.Module):
    """What a stack of layers adds for positions: sinusoidal or learned rows to its embeddings, biases to the scores of
    its self-attention, or nothing if positions are rotary. `model.embedding_norm` normalises the embeddings then."""

    def __init__(self, config: ModelConfig, causal: bool) -> None:
        """`causal`: whether no position sees a later one."""
        super().__init__()
        self.kind = config.positions
        self.table: Tensor
        if self.kind == "learned":
            self.table = nn.Parameter(torch.empty(config.max_positions, config.d_model))
        elif self.kind in SINUSOIDAL:
            nothing = torch.empty(LENGTH, config.d_model)
            table = nothing if on_meta() else sinusoids(LENGTH, config.d_model, self.kind)
            self.register_buffer("table", table, persistent=False)
        self.bias = ScoreBias(config, causal) if self.kind in ("alibi", "relative") else None
        self.norm = make_norm(config) if config.embedding_norm else None

    def tables(self) -> list[nn.Parameter]:
        """The embeddings or biases of positions."""
        return [parameter for name, parameter in self.named_parameters() if not name.startswith("norm.")]

    def make_table(self) -> None:
        """Compute a sinusoidal table, for a model that was made on the device "meta"."""
        if self.kind in SINUSOIDAL:
            self.table = sinusoids(LENGTH, self.table.size(1), self.kind)

    def reserve(self, end: int) -> None:
        """Make a sinusoidal table long enough for positions below `end`."""
        if self.kind in SINUSOIDAL and end > self.table.size(0):
            with GROWING, torch.inference_mode(False):  # training may use the longer table too
                if end > self.table.size(0):
                    self.table = sinusoids(2 * end, self.table.size(1), self.kind).to(self.table)

    def forward(self, x_XTM: Tensor) -> Tensor:
        """Add the rows of positions 0 to T. Raises ValueError past a learned table."""
        return self.at(x_XTM, slice(0, x_XTM.size(-2)))

    def at(self, x_XM: Tensor, place: Place) -> Tensor:
        """Add the rows of these positions: a slice, of one position or of T, or a position for each row (X = R).

        Raises ValueError if a slice is longer than a learned table.
        """
        x_XM = self.add(x_XM, place)
        return x_XM if self.norm is None else apply(self.norm, x_XM)

    def add(self, x_XM: Tensor, place: Place) -> Tensor:
        """As `at`, without the norm."""
        if self.kind not in (*SINUSOIDAL, "learned"):
            return x_XM
        if isinstance(place, Tensor):  # a sentence that is done may go on, beyond its last position
            return x_XM + self.table[place.clamp(max=self.table.size(0) - 1)]
        self.reserve(place.stop)
        size = self.table.size(0)
        require(place.stop <= size, f"{place.stop} pieces are too long for this model, whose positions end at {size}")
        return x_XM + self.table[place]

    def self_mask(self, x_BTM: Tensor, mask: Mask) -> Mask:
        """A mask of self-attention with the biases of positions."""
        if self.bias is None:
            return mask
        bias_1HTT = self.bias.whole(x_BTM.size(1), x_BTM.device, hide_future=mask is None)
        return bias_1HTT + mask if isinstance(mask, Tensor) else bias_1HTT

    def past_bias(self, length: int, device: torch.device) -> Tensor | None:
        """As `ScoreBias.past`; None: there are no biases."""
        return None if self.bias is None else self.bias.past(length, device)


class RotaryPositions(nn.Module):
    """Rotations of queries and keys by their position (Su et al. 2021, section 3.2.2), halves paired as in GPT-NeoX."""

    def __init__(self, d_head: int) -> None:
        super().__init__()
        self.d_head = d_head
        self.table: Tensor
        nothing = torch.empty(2, LENGTH, d_head)
        self.register_buffer("table", nothing if on_meta() else self.angles(LENGTH), persistent=False)

    def make_table(self) -> None:
        """As `AddedPositions.make_table`."""
        self.table = self.angles(LENGTH)

    def angles(self, length: int) -> Tensor:
        """Cosines and sines, each for both halves of a head, shape (2, length, D). The sines of the first half are
        negative, so that heads are rotated by one product with each table."""
        rates = 10_000.0 ** (-torch.arange(0, self.d_head, 2) / self.d_head)
        angles = torch.arange(length)[:, None] * rates
        cos, sin = angles.cos(), angles.sin()
        return torch.stack([torch.cat([cos, cos], dim=1), torch.cat([-sin, sin], dim=1)])

    def reserve(self, end: int) -> None:
        """Make the table long enough for positions below `end`."""
        if end > self.table.size(1):
            with GROWING, torch.inference_mode(False):  # training may use the longer table too
                if end > self.table.size(1):
                    self.table = self.angles(2 * end).to(self.table)

    def forward(self, x_BTHD: Tensor) -> Tensor:
        """Rotate by the angles of positions 0 to T."""
        return self.at(x_BTHD, slice(0, x_BTHD.size(1)))

    def at(self, x_XHD: Tensor, place: Place) -> Tensor:
        """Rotate by the angles of these positions: (B, T, H, D) by those of a slice of T positions, (R, H, D) by those
        of a slice of one position, or of a position for each row."""
        if isinstance(place, slice):
            self.reserve(place.stop)
            # Repeated for each head: a CPU then multiplies all heads of a position at once, which is faster.
            table = self.table[:, place, None].to(x_XHD.dtype).expand(-1, -1, x_XHD.size(-2), -1).contiguous()
        else:
            table = self.table[:, place, None].to(x_XHD.dtype)
        a, b = x_XHD.chunk(2, dim=-1)
        return torch.addcmul(x_XHD * table[0], torch.cat([b, a], dim=-1), table[1])
