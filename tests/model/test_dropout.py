"""Dropout: the share of zeros, the mean, independence."""

import pytest
import torch

from nmt.model.layers import dropout


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("p", [0.001, 0.1, 0.3, 0.5])
def test_dropout_keeps_the_share_and_the_mean_it_should(p: float, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    x = torch.ones(1001, 997, requires_grad=True, dtype=dtype)
    y = dropout(x, p)
    shown = y.detach()
    assert float((shown == 0).float().mean()) == pytest.approx(p, rel=0.12 if p < 0.1 else 0.025)
    assert float(shown.float().mean()) == pytest.approx(1, abs=0.005)
    assert float(shown.max()) == pytest.approx(1 / (1 - p), rel=1e-4 if dtype == torch.float32 else 5e-3)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, shown)
    other = dropout(x.detach(), p)
    both = float(((other == 0) & (shown == 0)).float().mean())
    assert both == pytest.approx(p * p, abs=0.003), "two masks are independent"


def test_dropout_of_almost_all_is_finite() -> None:
    assert dropout(torch.ones(100, 100), 1 - 1e-9).isfinite().all()
