"""Mix the weights of a trained model with those that its training began with (LM-Cocktail, Xiao et al. 2024)."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from oreqa.errors import ModelError
from oreqa.files import write_bytes
from oreqa.models.names import FITTED, find_model, load_tensors
from oreqa.models.weights import load_weights, uniform_name


def mix_weights(trained: Path, before: str | Path, share: float, out: Path, keep_fitted: bool = False) -> None:
    """Write a copy of the folder ``trained`` to ``out`` whose weights are ``share`` of it and the rest of ``before``.

    A share of 1 is the trained model, 0 the one that its training began with, whose general abilities a mix keeps. What was
    fitted for the trained model is left out unless ``keep_fitted``: the weights of a retriever's scores fit its mixes, whose
    cosines are of the same scale, and a reader's do not. Raises ModelError if the two are not of one shape.
    """
    base, mixed = load_weights(find_model(before)), {}
    if others := sorted(file.parent.name for file in trained.glob("*/*.safetensors")):
        raise ModelError(f"{trained}: it has new layers ({', '.join(others)}), which no other model has to mix them with")
    for name, value in load_tensors(trained / "model.safetensors").items():
        start = base.get(uniform_name(name))
        if start is None or start.shape != value.shape:
            raise ModelError(f"{trained}: its {name} does not stand in {before}: only what was trained from it can be mixed")
        mixed[name] = np.asarray(start + share * (value.astype(np.float32) - start), np.float32)
    left_out = ["*.safetensors", "checkpoints", *([] if keep_fitted else [FITTED])]
    shutil.copytree(trained, out, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*left_out))
    write_bytes(out / "model.safetensors", save(mixed))
