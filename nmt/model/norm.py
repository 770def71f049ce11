"""Normalisation of states over the model width; add a kind of norm here."""

from torch import Tensor, nn
from torch.nn import functional as F

from nmt.config import ModelConfig


class LayerNorm(nn.LayerNorm):
    """LayerNorm (Ba et al. 2016) in the type of its input, as `nmt.model.linear.Linear`. Inside, PyTorch computes in
    float32."""

    def forward(self, x: Tensor) -> Tensor:
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return F.layer_norm(x, self.normalized_shape, self.weight.to(x.dtype), bias, self.eps)


class RMSNorm(nn.RMSNorm):
    """RMSNorm (Zhang and Sennrich 2019) in the type of its input."""

    def __init__(self, width: int, eps: float = 1e-6) -> None:
        super().__init__(width, eps=eps)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight.to(x.dtype), self.eps)


def make_norm(config: ModelConfig) -> nn.Module:
    width, eps = config.d_model, config.epsilon
    return RMSNorm(width, eps) if config.norm == "rms" else LayerNorm(width, eps, bias=config.bias)
