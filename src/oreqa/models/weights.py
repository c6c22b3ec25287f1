"""Weights of models: reads them under uniform names, and mixes them.

Supported, as safetensors: our own models, transformers' encoders with and without a head, DPRReader, and readers with the
tensor names of the original DPR code.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from oreqa.errors import ModelError
from oreqa.files import write_bytes
from oreqa.models.differences import DIFFERENCE, unpack_difference
from oreqa.models.names import FITTED, difference_base, find_model, load_tensors, read_config, read_json_file, valid_settings
from oreqa.models.settings import SHARDS, encoder_prefix, has_weights, hidden_size, missing_file

Weights = dict[str, NDArray[np.float32]]
Linear = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Weight ``[outputs, width]`` and bias ``[outputs]`` of a linear layer."""

HEAD_LAYERS = {
    "bert.pooler.dense": "classifier",
    "classifier.dense": "classifier.out_proj",
    "pre_classifier": "classifier",
    "head.dense": "classifier",
}
"""Maps the layer before a head's output layer to that output layer: of BERT; of RoBERTa, MPNet and ELECTRA; of
DistilBERT; of ModernBERT."""

_OTHERS = (  # other programs' names for the encoder, and those of a bare one in place of {}
    ("span_predictor.encoder.bert_model.", "{}"),
    ("span_predictor.", ""),
    ("0.auto_model.", "{}"),
    ("encoder.embeddings.", "{}embeddings."),
    ("encoder.encoder.", "{}encoder."),
)

_ENCODER = ("embeddings.", "embeddings_project.", "encoder.", "transformer.", "layers.", "final_norm.", "recurrent.")
"""Prefixes of a bare encoder's tensors. Its pooler is omitted, as no head was trained on it."""

_OLD_KINDS = {"gamma": "weight", "beta": "bias"}
"""Names of layer normalisation parameters in old checkpoints."""


def load_weights(path: Path) -> Weights:
    """Load all tensors under the names of transformers' class with a head, whichever class saved them.

    The encoder's begin with ``encoder_prefix``; heads are ``qa_outputs``, ``classifier`` and so on. For a model stored as a
    difference, the base's weights are added. Raises ModelError if there are no safetensors.
    """
    if base := difference_base(path):
        prefix = encoder_prefix(read_config(base))
        difference = {uniform_name(name, prefix): value for name, value in load_tensors(path / DIFFERENCE).items()}
        return unpack_difference(difference, load_weights(base))
    if not has_weights(path):
        raise ModelError(missing_file(path, "model.safetensors"))
    prefix = encoder_prefix(read_config(path))
    return {uniform_name(name, prefix): np.asarray(value, np.float32) for name, value in _tensors(path).items()}


def _tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Return the tensors of a folder, from one file or from those in ``SHARDS``. Raises ModelError for damaged ones."""
    if (path / "model.safetensors").is_file():
        return load_tensors(path / "model.safetensors")
    with valid_settings(path):
        files = {str(name): str(file) for name, file in read_json_file(path / SHARDS)["weight_map"].items()}
    if outside := [file for file in files.values() if Path(file).name != file]:
        raise ModelError(f"{path / SHARDS}: it names {outside[0]!r}, which is no file of its folder")
    tensors = {name: value for file in sorted(set(files.values())) for name, value in load_tensors(path / file).items()}
    if lacking := sorted(files.keys() - tensors.keys()):
        raise ModelError(f"{path}: its files lack {lacking[0]}, which {SHARDS} names; copy or download it again")
    return tensors


def uniform_name(name: str, prefix: str) -> str:
    """Return a tensor's name in ``load_weights``, for a model with this ``encoder_prefix``."""
    head, dot, kind = name.rpartition(".")
    if head.endswith("LayerNorm") and kind in _OLD_KINDS:
        name = head + dot + _OLD_KINDS[kind]
    for old, new in _OTHERS:
        if name.startswith(old):
            return new.format(prefix) + name.removeprefix(old)
    return prefix + name if name.startswith(_ENCODER) else name


def head_layer(weights: Mapping[str, Any]) -> str | None:
    """Return the layer before the output layer, from ``HEAD_LAYERS``; None if the model has none."""
    return next((name for name in HEAD_LAYERS if f"{name}.weight" in weights), None)


def output_layer(weights: Mapping[str, Any]) -> str:
    """Return the name of a classification head's output layer."""
    name = head_layer(weights)
    return "classifier" if name is None else HEAD_LAYERS[name]


def linear_head(weights: Weights, name: str, path: Path, config: dict[str, Any]) -> Linear:
    """Return the head ``name`` of the model in ``path``. Raises ModelError if it is missing or does not fit."""
    try:
        weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    except KeyError as error:
        raise ModelError(f"{path}: its weights lack {error.args[0]}: they belong to another kind of model") from None
    width = hidden_size(config, path)
    if weight.ndim != 2 or weight.shape[1] != width or bias.shape != weight.shape[:1]:
        raise ModelError(f"{path}: its {name} of shape {weight.shape} does not fit a model of hidden_size {width}")
    return weight, bias


def language_head(weights: Weights, path: Path, config: dict[str, Any]) -> tuple[Linear, Linear, NDArray[np.float32]]:
    """Return BERT's language model head: its linear layer, the weight and bias of its layer norm, and the output bias.

    The output matrix is the word embeddings. Raises ModelError if a part is missing or does not fit.
    """
    transform = "cls.predictions.transform"
    dense = linear_head(weights, f"{transform}.dense", path, config)
    try:
        norm = weights[f"{transform}.LayerNorm.weight"], weights[f"{transform}.LayerNorm.bias"]
        output_bias = weights["cls.predictions.bias"]
        vocabulary, width = weights[f"{encoder_prefix(config)}embeddings.word_embeddings.weight"].shape
    except KeyError as error:
        raise ModelError(f"{path}: its weights lack {error.args[0]}: they belong to another kind of model") from None
    fits = dense[0].shape == (width, width) and {part.shape for part in norm} == {(width,)}
    if not fits or output_bias.shape != (vocabulary,) or not config.get("tie_word_embeddings", True):
        raise ModelError(f"{path}: its language model head does not fit its word embeddings, which it must share")
    return dense, norm, output_bias


def mix_weights(trained: Path, before: str | Path, share: float, out: Path, keep_fitted: bool = False) -> None:
    """Write a copy of the folder ``trained`` to ``out`` with weights mixed from ``share`` of it and the rest of ``before``.

    A share of 1 is the trained model, 0 the one that training began with, whose general abilities a mix keeps (LM-Cocktail,
    Xiao et al. 2024). The fitted parameters are omitted unless ``keep_fitted``: those of a retriever fit its mixes, whose
    cosines have the same scale; those of a reader do not. Raises ModelError if the two have different shapes.
    """
    base, mixed, prefix = load_weights(find_model(before)), {}, encoder_prefix(read_config(trained))
    if others := sorted(file.parent.name for file in trained.glob("*/*.safetensors")):
        raise ModelError(f"{trained}: it has new layers ({', '.join(others)}), which no other model has to mix them with")
    for name, value in _tensors(trained).items():
        start = base.get(uniform_name(name, prefix))
        if start is None or start.shape != value.shape:
            raise ModelError(f"{trained}: its {name} does not stand in {before}: only what was trained from it can be mixed")
        mixed[name] = np.asarray(start + share * (value.astype(np.float32) - start), np.float32)
    omitted = ["*.safetensors", SHARDS, "checkpoints", *([] if keep_fitted else [FITTED])]
    shutil.copytree(trained, out, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*omitted))
    write_bytes(out / "model.safetensors", save(mixed))
