"""Which device and which precision a model runs in, when the user leaves it to us."""

import contextlib
import ctypes
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Numerics:
    """Where and how precisely a model computes; its weights stay in float32 either way."""

    device: torch.device
    bf16: bool

    def autocast(self) -> torch.autocast:
        """A context in which matrix products are taken in bfloat16, if they are to be."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16)

    def __str__(self) -> str:
        threads = f", {torch.get_num_threads()} threads" if self.device.type == "cpu" else ""
        return f"{'bf16 autocast' if self.bf16 else 'fp32'} on {self.device}{threads}"


def choose_numerics(device: str, precision: str) -> Numerics:
    """From the settings' device and precision. Raises ValueError for a device that isn't there."""
    chosen = choose_device(device)
    return Numerics(chosen, choose_precision(precision, chosen) == "bf16")


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


# From glibc's malloc.h.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


def keep_freed_memory() -> bool:
    """Let glibc keep for the next step what this one frees, rather than hand it back to the system and fetch it again.

    Each page fetched is first filled with zeros: a twentieth of a training step on a CPU. Returns whether it was done;
    other C libraries are left as they are.
    """
    with contextlib.suppress(OSError, AttributeError):
        set_option = ctypes.CDLL("libc.so.6").mallopt
        return bool(set_option(M_MMAP_THRESHOLD, 1 << 25) and set_option(M_TRIM_THRESHOLD, (1 << 31) - 1))
    return False
