"""Run a command as on a machine where precision `auto` means fp32 or bf16.

python tests/pretend.py bf16 -m nmt.translate --model DIR FILE
"""

import runpy
import sys
from typing import Any

import torch


def patches(precision: str) -> list[tuple[Any, str, Any]]:
    """(object, attribute, value) to set, so that the machine seems to have this precision as its fastest."""
    bf16 = {"avx512_bf16": precision == "bf16", "amx_bf16": False}
    capabilities = {**torch.cpu.get_capabilities(), **bf16}
    return [(torch.cpu, "get_capabilities", lambda: capabilities)]


if __name__ == "__main__":
    wanted, option, name, *arguments = sys.argv[1:]
    assert option == "-m"
    for patched in patches(wanted):
        setattr(*patched)
    sys.argv = [name, *arguments]
    runpy.run_module(name, run_name="__main__", alter_sys=True)
