"""Low-rank adaptation (Hu et al. 2022, 2106.09685): the weights are frozen, and two small matrices beside each are trained.

A linear layer W becomes W + (alpha / rank) B A, with A ``[rank, in]`` random and B ``[out, rank]`` initially 0. The saved
model is the difference from the one that training began with (``models.differences``), which loads like any other model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import torch
from peft import LoraConfig, inject_adapter_in_model
from peft.tuners.lora import LoraLayer
from safetensors.torch import save
from torch import Tensor, nn
from transformers import PreTrainedModel

from oreqa.errors import InputError
from oreqa.files import write_bytes, write_json
from oreqa.models.differences import DIFFERENCE
from oreqa.training.recipes import Lora


def add_lora(backbone: PreTrainedModel, lora: Lora, layers: nn.ModuleList) -> None:
    """Add factors to the linear layers in some of a backbone's ``layers``.

    The factors are trained, with the layers' biases and normalisation, and a pooler; the rest of the backbone is frozen.
    Raises InputError if no linear layer has the name of a target.
    """
    inside = {id(module) for module in layers.modules()}
    linear = [name for name, module in backbone.named_modules() if isinstance(module, nn.Linear) and id(module) in inside]
    for target in lora.targets:
        if not any(_is_target(name, target) for name in linear):
            kinds = dict.fromkeys(name.split(".", 2)[-1].partition(".")[2] for name in linear)
            raise InputError(f"lora.targets: no linear layer is called {target}; there are {', '.join(kinds)}")
    chosen = [name for name in linear if not lora.targets or any(_is_target(name, target) for target in lora.targets)]
    alpha = lora.rank if lora.alpha is None else lora.alpha
    inject_adapter_in_model(LoraConfig(r=lora.rank, lora_alpha=alpha, target_modules=chosen), backbone)
    vectors = [weight for weight in layers.parameters() if weight.ndim == 1]
    pooler = [weight for name, weight in backbone.named_parameters() if name.startswith("pooler.")]
    for weight in (*vectors, *pooler):
        weight.requires_grad_(True)


def _is_target(name: str, target: str) -> bool:
    return name == target or name.endswith(f".{target}")


def save_difference(model: PreTrainedModel, base: str, out: Path) -> None:
    """Write what a model with factors learned to the folder ``out``: factors in float16, other trained tensors whole.

    Its config.json names the ``base``: a model's name, or a folder.
    """
    tensors = {name: value.detach().to("cpu", torch.float16).contiguous() for name, value in _learned(model)}
    write_bytes(out / DIFFERENCE, save(tensors))
    named = os.path.abspath(base) if os.path.isdir(base) else base  # noqa: PTH100, PTH112
    config = model.config.to_dict() | {"architectures": [type(model).__name__]}
    write_json(out / "config.json", {**config, "oreqa": {**config["oreqa"], "difference_from": named, "base": named}})


def _learned(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of a difference with their names in it."""
    for name, module in model.named_modules():
        if isinstance(module, LoraLayer):
            yield f"{name}.a", module.lora_A["default"].weight
            yield f"{name}.b", module.lora_B["default"].weight * module.scaling["default"]
    for name, weight in model.named_parameters():
        if weight.requires_grad and ".lora_" not in name:
            yield name.replace(".base_layer.", "."), weight
