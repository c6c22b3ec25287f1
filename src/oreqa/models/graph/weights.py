"""Load the weights of readers and cross-encoders under uniform names, whichever class saved them.

Supported, as safetensors: our own models, transformers' BertForQuestionAnswering, DPRReader and
BertForSequenceClassification (CrossEncoders), and readers with the tensor names of the original DPR code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.errors import ModelError
from oreqa.models.folders import difference_base, find_model, load_tensors, read_config
from oreqa.models.pack.differences import unpack_difference

Weights = dict[str, NDArray[np.float32]]
Linear = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Weight ``[outputs, width]`` and bias ``[outputs]`` of a linear layer."""

DIFFERENCE = "difference.safetensors"
"""The weights of a model that is stored as its difference from another one."""


def find_tokenizer(path: Path) -> Path:
    """Return the path of the folder's tokenizer, or of its base model's. Raises ModelError if there is none."""
    if (path / "tokenizer.json").is_file():
        return path / "tokenizer.json"
    if base := (read_config(path).get("oreqa") or {}).get("base"):
        return find_tokenizer(find_model(str(base)))
    raise ModelError(f"{path}: tokenizer.json is missing; save the model's fast tokenizer into the folder")


def load_weights(path: Path) -> Weights:
    """Load all tensors: the encoder's as ``bert.*``, the heads as ``qa_outputs``, ``qa_classifier`` and ``classifier``.

    For a model stored as a difference, the base's weights are added. Raises ModelError if there are no safetensors.
    """
    if base := difference_base(path):
        return unpack_difference(load_tensors(path / DIFFERENCE), load_weights(base))
    file = path / "model.safetensors"
    if not file.is_file():
        raise ModelError(
            f"{path}: model.safetensors is missing; pickled weights (.bin, .cp, .pt) are not supported: "
            "load the model in transformers and save_pretrained() it"
        )
    return {uniform_name(name): np.asarray(value, np.float32) for name, value in load_tensors(file).items()}


def uniform_name(name: str) -> str:
    """The name of a tensor in ``load_weights``, whichever class saved it."""
    old, new = next(((old, new) for old, new in _NAMES if name.startswith(old)), ("", ""))
    return new + name.removeprefix(old)


def linear_head(weights: Weights, name: str, path: Path, config: dict[str, Any]) -> Linear:
    """Return the head ``name`` of the model in ``path``. Raises ModelError if it is missing or does not fit."""
    try:
        weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    except KeyError as error:
        raise ModelError(f"{path}: its weights lack {error.args[0]}: they belong to another kind of model") from None
    width = config["hidden_size"]
    if weight.ndim != 2 or weight.shape[1] != width or bias.shape != weight.shape[:1]:
        raise ModelError(f"{path}: its {name} of shape {weight.shape} does not fit a model of hidden_size {width}")
    return weight, bias


_NAMES = (  # prefixes of other programs, and ours
    ("span_predictor.encoder.bert_model.", "bert."),
    ("span_predictor.", ""),
    ("encoder.embeddings.", "bert.embeddings."),
    ("encoder.encoder.", "bert.encoder."),
    ("embeddings.", "bert.embeddings."),
    ("encoder.layer.", "bert.encoder.layer."),
)
