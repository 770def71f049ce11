"""Adapter folders, in the format of peft: adapter_config.json and adapter_model.safetensors, with SHA256SUMS.

An adapter fits only the model that it was trained on: adapter_config.json has the hash of the weights of that model.
Layers have the names of our own modules.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nmt.fields import require
from nmt.files import check_sums, whole_folder
from nmt.model.contract import Model
from nmt.model.lora import adapted, adapters
from nmt.model.weights import hash_of, read_tensors, write_tensors

CONFIG, WEIGHTS, HASH = "adapter_config.json", "adapter_model.safetensors", "base_model_sha256"
PREFIX = "base_model.model."  # of each name, in peft's files
ORIGINAL, LEARNED = ".parametrizations.weight.original", ".parametrizations.weight.0."  # in names of parameters


def save_adapter(folder: Path, model: Model, base: str) -> None:
    """Write the adapters of a model. `base`: the folder of the model that they were trained on."""
    layers = adapters(model)
    tensors: dict[str, Tensor] = {}
    for name, adapter in layers.items():
        a_RI, b_OR = adapter.factors()
        tensors |= {f"{PREFIX}{name}.lora_A.weight": a_RI, f"{PREFIX}{name}.lora_B.weight": b_OR}
    weights = {n.replace(ORIGINAL, ".weight"): p for n, p in model.named_parameters() if LEARNED not in n}
    ranks, alphas = ({n: getattr(a, field) for n, a in layers.items()} for field in ("rank", "alpha"))
    config = {
        "peft_type": "LORA",
        "task_type": None,
        "base_model_name_or_path": base,
        HASH: hash_of(weights),
        "r": min(ranks.values()),
        "lora_alpha": min(alphas.values()),
        "rank_pattern": ranks,
        "alpha_pattern": alphas,
        "target_modules": list(layers),
        "bias": "none",
        "inference_mode": True,
    }
    with whole_folder(folder) as draft:
        (draft / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf8")
        write_tensors(draft / WEIGHTS, tensors)


def add_adapter(model: Model, folder: Path) -> None:
    """Add the adapter in a folder, or in the folder of a run, to the weights of a model. Raises as `read_adapter`."""
    for name, (a_RI, b_OR, scale) in read_adapter(model, folder).items():
        weight = model.get_submodule(name).get_parameter("weight")
        with torch.no_grad():  # on the CPU, as when a run delivers its model: a GPU may multiply in fewer bits
            weight.copy_(adapted(weight.cpu(), a_RI, b_OR, scale))


def adapter_in(folder: Path) -> Path:
    """The adapter folder itself, or that in the folder of a run. ValueError if there is none."""
    folder = folder / "adapter" if (folder / "adapter").is_dir() else folder
    require((folder / CONFIG).is_file(), f"{folder} is not an adapter folder: it has no {CONFIG}")
    return folder


def read_adapter(model: Model, folder: Path) -> dict[str, tuple[Tensor, Tensor, float]]:
    """A, B and α / rank for the name of each layer of a model, from an adapter folder or the folder of a run. Raises
    ValueError if the folder has no adapter, if it is damaged, or if the adapter was trained on another model."""
    folder = adapter_in(folder)
    if (folder / "SHA256SUMS").is_file():
        check_sums(folder, CONFIG, WEIGHTS)
    config = read_config(folder / CONFIG)
    problem = f"the adapter in {folder} was trained on another model ({config.get('base_model_name_or_path')})"
    # An adapter that peft wrote has no hash.
    known = config.get(HASH)
    require(known in (None, hash_of(dict(model.named_parameters()))), f"{problem}: give that one with --model")
    tensors = {name.removeprefix(PREFIX): tensor for name, tensor in read_tensors(folder / WEIGHTS).items()}
    names = sorted({name.rpartition(".lora_")[0] for name in tensors})
    layers, found = dict(model.named_modules()), {}
    for name in names:
        a_RI, b_OR = (tensors.get(f"{name}.lora_{letter}.weight", torch.empty(0, 0)).float() for letter in "AB")
        layer, sizes = layers.get(name), (*b_OR.shape, *a_RI.shape)
        rank = max((1, *sizes[1:2]))
        fits = isinstance(layer, nn.Linear) and sizes == (layer.out_features, rank, rank, layer.in_features)
        fits = fits and all(bool(factor.isfinite().all()) for factor in (a_RI, b_OR))
        require(fits, f"{problem}, or is damaged: its {name} doesn't fit")
        # As in peft, the first name in alpha_pattern counts that is this one or its end.
        alphas = (alpha for end, alpha in (config.get("alpha_pattern") or {}).items() if f".{name}".endswith(f".{end}"))
        found[name] = a_RI, b_OR, next(alphas, config["lora_alpha"]) / rank
    return found


def read_config(file: Path) -> dict[str, Any]:
    """adapter_config.json; ValueError if it isn't that of a LoRA adapter that we can add."""
    try:
        config: dict[str, Any] = json.loads(file.read_text(encoding="utf8"))
        patterns = config.get("alpha_pattern") or {}
        finite = all(map(math.isfinite, (config["lora_alpha"] / config["r"], *patterns.values())))
        # In peft, they may be other regular expressions, some of which take endless time.
        plain = all(re.fullmatch(r"[\w.]+", name) for name in patterns)
        require(finite and plain, "its alphas must be finite, and the names in alpha_pattern plain")
        kind = config["peft_type"], config.get("use_dora", False), config.get("use_rslora", False), config["bias"]
    except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{file} can't be read: {error}") from error
    plain = kind == ("LORA", False, False, "none")
    require(plain, f"{file} can't be added: it must have peft_type LORA, without use_dora, use_rslora and bias")
    return config
