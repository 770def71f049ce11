"""A machine where precision `auto` means fp32 or bf16."""

from typing import Any

import torch


def patches(precision: str) -> list[tuple[Any, str, Any]]:
    """(object, attribute, value) to set, so that the machine seems to have this precision as its fastest."""
    bf16 = {"avx512_bf16": precision == "bf16", "amx_bf16": False}
    capabilities = {**torch.cpu.get_capabilities(), **bf16}
    return [(torch.cpu, "get_capabilities", lambda: capabilities)]
