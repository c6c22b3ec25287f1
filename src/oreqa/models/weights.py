"""Weights of models: read under uniform names, stored as small differences from a base, and mixed.

Supported, as safetensors: our own models, transformers' BertForQuestionAnswering, DPRReader and
BertForSequenceClassification (CrossEncoders), and readers with the tensor names of the original DPR code.

A fine-tuned model may be stored as its difference from the base model, in four bits: an eighth of the size. The differences
of a matrix are small: four bits with one scale per row err by about a seventh of the difference, which in a reader is itself
a sixth of the weights. Tensors that did not change are left out; vectors are stored as float32 differences, new heads as
they are.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from oreqa.errors import ModelError
from oreqa.files import write_bytes
from oreqa.models.names import FITTED, difference_base, find_model, load_tensors

Weights = dict[str, NDArray[np.float32]]
Linear = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Weight ``[outputs, width]`` and bias ``[outputs]`` of a linear layer."""

DIFFERENCE = "difference.safetensors"
"""The weights of a model that is stored as its difference from another one."""

_NAMES = (  # prefixes of other programs, and ours
    ("span_predictor.encoder.bert_model.", "bert."),
    ("span_predictor.", ""),
    ("encoder.embeddings.", "bert.embeddings."),
    ("encoder.encoder.", "bert.encoder."),
    ("embeddings.", "bert.embeddings."),
    ("encoder.layer.", "bert.encoder.layer."),
)

_SCALE = ".scale"
_HIGHEST = 7
"""The largest value of four bits; the smallest is its negative."""


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


def language_head(weights: Weights, path: Path, config: dict[str, Any]) -> tuple[Linear, Linear, NDArray[np.float32]]:
    """Return BERT's language model head: its linear layer, weight and bias of its layer norm, and the bias of the output.

    The output's matrix is that of the word embeddings. Raises ModelError if a part is missing or does not fit.
    """
    transform = "cls.predictions.transform"
    dense = linear_head(weights, f"{transform}.dense", path, config)
    try:
        norm = weights[f"{transform}.LayerNorm.weight"], weights[f"{transform}.LayerNorm.bias"]
        output_bias = weights["cls.predictions.bias"]
        vocabulary, width = weights["bert.embeddings.word_embeddings.weight"].shape
    except KeyError as error:
        raise ModelError(f"{path}: its weights lack {error.args[0]}: they belong to another kind of model") from None
    sound = dense[0].shape == (width, width) and {part.shape for part in norm} == {(width,)}
    if not sound or output_bias.shape != (vocabulary,) or not config.get("tie_word_embeddings", True):
        raise ModelError(f"{path}: its language model head does not fit its word embeddings, which it must share")
    return dense, norm, output_bias


def pack_difference(tuned: Weights, base: Weights) -> dict[str, NDArray[np.generic]]:
    """Return ``tuned`` minus ``base``: of matrices two values a byte, with one scale per row, and float32 of all else."""
    packed: dict[str, NDArray[np.generic]] = {}
    for name, value in tuned.items():
        if name not in base or base[name].shape != value.shape:
            packed[name] = value.astype(np.float32)
        elif np.array_equal(value, base[name]):
            continue
        elif value.ndim == 2:
            delta = value - base[name]
            scale = np.maximum(np.abs(delta).max(1, keepdims=True), 1e-12) / _HIGHEST
            packed[name] = _joined(np.rint(delta / scale).astype(np.int8))
            packed[name + _SCALE] = scale[:, 0].astype(np.float32)
        else:
            packed[name] = (value - base[name]).astype(np.float32)
    return packed


def unpack_difference(packed: dict[str, NDArray[np.generic]], base: Weights) -> Weights:
    """Return the tuned weights. Raises ModelError if a tensor does not fit the base."""
    weights = {name: np.asarray(value, np.float32) for name, value in base.items()}
    for name, value in packed.items():
        if name.endswith(_SCALE):
            continue
        delta = np.asarray(value, np.float32)
        if name + _SCALE in packed:
            width = base[name].shape[-1] if name in base else 0
            delta = _parted(value, width) * np.asarray(packed[name + _SCALE], np.float32)[:, None]
        if name in weights and weights[name].shape == delta.shape:
            weights[name] = weights[name] + delta
        elif name + _SCALE in packed:
            raise ModelError(f"the difference of {name} does not fit its base model: the base has changed")
        else:
            weights[name] = delta
    return weights


def mix_weights(trained: Path, before: str | Path, share: float, out: Path, keep_fitted: bool = False) -> None:
    """Write a copy of the folder ``trained`` to ``out`` whose weights are ``share`` of it and the rest of ``before``.

    A share of 1 is the trained model, 0 the one that its training began with, whose general abilities a mix keeps
    (LM-Cocktail, Xiao et al. 2024). The fitted parameters are left out unless ``keep_fitted``: those of a
    retriever fit its mixes, whose cosines are of the same scale; those of a reader do not. Raises ModelError if the
    two are not of one shape.
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


def _joined(values: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Two values a byte: ``[rows, columns]`` of -8 to 7 to ``[rows, half of the columns, rounded up]``."""
    even = np.pad(values, ((0, 0), (0, values.shape[1] % 2)))
    low, high = (even[:, side::2].view(np.uint8) & 15 for side in (0, 1))
    return (low | high << 4).astype(np.uint8)


def _parted(values: NDArray[Any], width: int) -> NDArray[np.int8]:
    """The inverse of ``_joined`` for matrices of this width."""
    pairs = np.stack([values & 15, values >> 4], -1).astype(np.int8).reshape(len(values), -1)
    signed: NDArray[np.int8] = np.where(pairs > _HIGHEST, pairs - 16, pairs)
    return signed[:, :width] if signed.shape[1] - width in (0, 1) else signed
