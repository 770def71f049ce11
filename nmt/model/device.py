"""Which device and which precision a model runs in, when the user leaves it to us."""

import torch


def choose_device(name: str) -> torch.device:
    """The device of that name; auto: a GPU if there is one. Raises ValueError for one that isn't there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ValueError(f"{name!r} is no device: take auto, cpu, cuda or cuda:N") from error
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"device {name!r} is not supported: take auto, cpu, cuda or cuda:N")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"device {name!r} is not there: PyTorch sees {torch.cuda.device_count()} GPUs")
    return device


def choose_precision(name: str, device: torch.device) -> str:
    """fp32 or bf16; auto: bf16 where the device multiplies it in hardware (elsewhere it is a hundred times slower)."""
    if name != "auto":
        return name
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    able = torch.cpu.get_capabilities()
    return "bf16" if able.get("avx512_bf16") or able.get("amx_bf16") else "fp32"
