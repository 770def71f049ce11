"""A stand-in of a CUDA graph, on a CPU."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Replayed(TorchDispatchMode):
    """What `nmt.model.device.record` gives: the operations of a function, with their tensors. Recording them changes no
    tensor that was there; calling it runs them on the same memory."""

    def __init__(self, function: Callable[[], None], _: Any = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.steps: list[tuple[Any, Any, Any, Any]] = []
        self.changed: list[tuple[Tensor, Tensor]] = []
        with self:
            function()
        for tensor, before in reversed(self.changed):
            tensor.detach().copy_(before)

    def __torch_dispatch__(self, function: Any, _: Any, arguments: Any = (), options: Any = None) -> Any:
        named = zip(function._schema.arguments, arguments, strict=False)
        written = [
            tensor
            for argument, value in named
            if argument.alias_info and argument.alias_info.is_write
            for tensor in tree_leaves(value)
        ]
        self.changed += [(tensor, tensor.detach().clone()) for tensor in written]
        result = function(*arguments, **(options or {}))
        self.steps.append((function, arguments, options or {}, result))
        return result

    @torch.no_grad()
    def __call__(self) -> None:
        for function, arguments, options, result in self.steps:
            again = function(*arguments, **options)
            for old, new in zip(tree_leaves(result), tree_leaves(again), strict=True):
                if isinstance(old, Tensor) and old.untyped_storage().data_ptr() != new.untyped_storage().data_ptr():
                    old.copy_(new)
