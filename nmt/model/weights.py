"""Weights in safetensors files: written and read by name, without pickle."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from nmt.model.positions import LENGTH, Table


def set_weights(model: nn.Module, tensors: Mapping[str, Tensor], origin: Path) -> None:
    """Copy weights by name. Raises ValueError if a name or a shape differs from the model's own."""
    require_fitting(model, tensors, origin)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[name])


def fill(model: nn.Module, tensors: Mapping[str, Tensor], origin: Path) -> None:
    """Give a model that was made on the device "meta" copies of these weights, and its tables of positions. Nothing is
    allocated before names and shapes are found to fit: ValueError if one differs."""
    require_fitting(model, tensors, origin)
    # By identity: a matrix that modules share has one name, and stays shared.
    weights = {
        id(parameter): nn.Parameter(tensors[name].to(parameter.dtype, copy=True), requires_grad=parameter.requires_grad)
        for name, parameter in model.named_parameters()
    }
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False, remove_duplicate=False):
            setattr(module, name, weights[id(parameter)])
        if isinstance(module, Table) and module.grows:
            module.table = module.rows(LENGTH)


def require_fitting(model: nn.Module, tensors: Mapping[str, Tensor], origin: Path) -> None:
    parameters = dict(model.named_parameters())
    wrong = sorted(parameters.keys() ^ tensors.keys())
    wrong = wrong or [
        n for n, p in parameters.items() if p.shape != tensors[n].shape or not tensors[n].is_floating_point()
    ]
    if wrong:
        raise ValueError(f"the weights in {origin} don't fit the model's settings: {wrong[0]} is missing or different")


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write a safetensors file. Raises OSError if the system refuses."""
    try:
        save_file({name: tensor.detach().contiguous() for name, tensor in tensors.items()}, path)
    except SafetensorError as error:
        raise OSError(f"{path} can't be written: {error}") from error
    path.chmod(path.parent.stat().st_mode & 0o666)  # safetensors makes it readable for its owner only


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file. Raises ValueError, with its name, if it is missing or damaged."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise ValueError(f"{path} can't be read: {error}") from error


def hash_of(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of the names and the numbers (as float32) of weights, whichever order and device they have."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(f"{name} {tuple(tensors[name].shape)}".encode())
        digest.update(tensors[name].detach().float().cpu().contiguous().numpy().data)
    return digest.hexdigest()
