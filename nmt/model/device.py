"""The device and the precision that a model runs in, chosen for the machine if the settings say auto."""

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from nmt.fields import require
from nmt.messages import say


@dataclass(frozen=True)
class Numerics:
    """Where and how precisely a model computes. Its weights stay in float32."""

    device: torch.device
    bf16: bool

    @property
    def dtype(self) -> torch.dtype:
        """The type in which a model computes."""
        return torch.bfloat16 if self.bf16 else torch.float32

    def __str__(self) -> str:
        return describe("bf16" if self.bf16 else "fp32", self.device)


def describe(precision: str, device: torch.device) -> str:
    """Precision, device and threads, for the user."""
    n = torch.get_num_threads()
    threads = f", {n} thread{'s' * (n > 1)}" if device.type == "cpu" else ""
    return f"{precision} on {device}{threads}"


def choose_numerics(device: str, precision: str) -> Numerics:
    """From the settings' device and precision. Raises ValueError if the device is not available."""
    chosen = choose_device(device)
    return Numerics(chosen, choose_precision(precision, chosen) == "bf16")


def choose_device(name: str) -> torch.device:
    """The device of that name; auto: a GPU if there is one. Raises ValueError if it is not available."""
    # cuDNN plans its attention anew for each shape, which takes a tenth of a second, and nearly each batch has another
    # shape: with cuDNN, training steps in bf16 took 5 to 8 times as long (H100).
    torch.backends.cuda.enable_cudnn_sdp(False)
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ValueError(f"{name!r} is not a device: take auto, cpu, cuda or cuda:N") from error
    n_gpus = torch.cuda.device_count()
    available = device.type == "cpu" or (device.type == "cuda" and (device.index or 0) < n_gpus)
    require(available, f"device {name!r} is not available (PyTorch sees {n_gpus} GPUs): take auto, cpu, cuda or cuda:N")
    return device


def choose_precision(name: str, device: torch.device) -> str:
    """fp32 or bf16; auto: bf16 if the device has instructions for it (without, it is a hundred times slower)."""
    if name != "auto":
        return name
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    instructions = torch.cpu.get_capabilities()
    return "bf16" if instructions.get("avx512_bf16") or instructions.get("amx_bf16") else "fp32"


def on_meta() -> bool:
    """Whether a model is being made on the device "meta", without values (see `nmt.model.weights.fill`). There nothing
    should be drawn or computed: PyTorch would load its compiler for that, which takes a second."""
    return torch.get_default_device().type == "meta"


def move(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor on this device. A GPU copies it from pinned memory: for other memory, the program has to wait."""
    if device.type == "cpu" or tensor.device.type != "cpu":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def pinned(tensor: Tensor) -> Tensor:
    """The tensor in memory from which a GPU copies while the program goes on; the tensor itself without a GPU."""
    return tensor.pin_memory() if torch.cuda.is_available() else tensor


def let_segments_grow() -> None:
    """Let PyTorch's memory of a GPU grow in place, with fewer gaps, unless the user has set how. Call it before CUDA
    starts."""
    if sys.platform == "linux" and not {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"} & os.environ.keys():
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"


def allow_tf32(device: torch.device) -> None:
    """Let a GPU multiply float32 matrices in TF32 (10 bits after the point), also when it translates."""
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")


def choose_attention(device: torch.device, usual_length: float) -> None:
    """Let a GPU train with the fastest kernels of attention for sequences of this length: flash attention is made for
    long ones. On a CPU nothing changes: the same switch would turn off its only fused kernel.

    On an H100 (bf16, 24,000 positions, 8 heads of width 64, forward and backward) flash attention took 1.1 ms instead
    of 0.4 at 24 positions a sequence, 0.57 instead of 0.29 at 60, and 0.79 instead of 0.84 at 128 (16 heads, dropout).
    """
    if device.type == "cuda":
        torch.backends.cuda.enable_flash_sdp(usual_length > 100)


def keep_freed_memory() -> bool:
    """Let glibc keep freed memory for the next step; return whether this C library is glibc. To fill new pages with
    zeros takes the system a twentieth of a training step on a CPU."""
    M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # from glibc's malloc.h
    with contextlib.suppress(OSError, AttributeError):
        set_option = ctypes.CDLL("libc.so.6").mallopt
        return bool(set_option(M_MMAP_THRESHOLD, 1 << 25) and set_option(M_TRIM_THRESHOLD, (1 << 31) - 1))
    return False


def remember_few_shapes() -> None:
    """Let PyTorch keep what it prepares for 128 shapes of products, not 1,024. Call it before the first product.

    On a CPU, a product in bfloat16 has code and memory of its own for each shape, and each batch of text has other
    shapes: training a small model took 1.5 GB with 1,024 and 0.7 GB with 128, and not more time.
    """
    for name in ("LRU_CACHE_CAPACITY", "ONEDNN_PRIMITIVE_CACHE_CAPACITY"):
        os.environ.setdefault(name, "128")


def record(function: Callable[[], None], pool: Any = None) -> Callable[[], None]:
    """Record the kernels that a function starts on a GPU; return what starts them again. `pool`: the memory of what is
    computed in between, which recordings that run one after another may share."""
    graph: Any = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
        function()
    return cast(Callable[[], None], graph.replay)


def try_to(record: Callable[..., Callable[[], None]], *arguments: Any) -> Callable[[], None] | None:
    """What `record` gives; None, and a message, if something can't be recorded. Raises when memory runs out."""
    try:
        return record(*arguments)
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise
        say(f"steps are not recorded, and so slower: {str(error).splitlines()[0]}")
        return None


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that the memory of a GPU, or of the CPU, ran out."""
    message = str(error) if isinstance(error, RuntimeError) else ""
    known = "can't allocate memory" in message or "CUDA error: out of memory" in message
    return known or isinstance(error, MemoryError | torch.OutOfMemoryError)
