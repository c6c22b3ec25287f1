"""Folders of readers, span re-rankers and classifiers: what they say about themselves, their weights under common names.

Read are our own, transformers' BertForQuestionAnswering, DPRReader and BertForSequenceClassification (CrossEncoders), and
readers of DPR's own naming, as safetensors.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.errors import ModelError
from oreqa.models.differences import unpack_difference
from oreqa.models.folders import LEAST_TOKENS, find_model, load_tensors, read_config, sound_settings, whole_number

Weights = dict[str, NDArray[np.float32]]

READER, RERANKER, CLASSIFIER = "reader", "reranker", "classifier"

MAX_ANSWER_TOKENS = 16
"""Where a reader's folder does not say otherwise. DPR's reader takes 10; FairytaleQA and QED have clauses as answers."""


@dataclass(frozen=True, slots=True)
class HeadFolder:
    """The folder of a reader, re-ranker or classifier, read but not loaded.

    ``max_tokens``, ``overlap``, ``titles`` and ``closing`` are those of ``models.inputs``; ``shared`` says whether spans
    were normalised over all passages of a question; ``answer_tokens`` how long they are at most; ``marking`` how a span, or
    a classifier's sentence, is shown; ``base`` and ``layers`` the model of which it shares the embeddings and the lowest
    layers.
    """

    path: Path
    kind: str
    config: dict[str, Any]
    tokenizer: Path
    max_tokens: int
    overlap: int
    titles: bool
    closing: bool
    shared: bool
    answer_tokens: int
    marking: str
    base: str
    layers: int


def read_head_folder(path: Path, kind: str) -> HeadFolder:
    """Read a folder's settings. Raises ModelError, with the reason, if it is not a ``kind``."""
    with sound_settings(path):
        return _head_folder(path, kind)


def _head_folder(path: Path, kind: str) -> HeadFolder:
    config = read_config(path)
    own = config.get("oreqa") or {}
    known = [_KINDS[name] for name in config.get("architectures") or () if name in _KINDS]
    found = own.get("kind") or (known[0] if known else None)
    if found != kind:
        what = f"a {found}" if found else f"a model of class {', '.join(config.get('architectures') or ['(none)'])}"
        raise ModelError(f"{path}: it is {what}, not a {kind}")
    base = str(own.get("base", ""))
    dpr = "DPRReader" in (config.get("architectures") or ())
    positions = whole_number(config, "max_position_embeddings", path, 512, LEAST_TOKENS)
    return HeadFolder(
        path, kind, config, find_tokenizer(path),
        max_tokens=min(whole_number(own, "max_tokens", path, 350 if dpr else 384, LEAST_TOKENS), positions),
        overlap=whole_number(own, "overlap", path, 128),
        titles=bool(own.get("titles", dpr)),
        closing=bool(own.get("closing", not dpr)),
        shared=bool(own.get("shared", False)),
        answer_tokens=whole_number(own, "answer_tokens", path, MAX_ANSWER_TOKENS, 1),
        marking=str(own.get("marking", "alone" if kind == CLASSIFIER else "marked")),
        base=base,
        layers=whole_number(own, "layers", path, 0),
    )  # fmt: skip


def shares_layers(reader: HeadFolder, reranker: HeadFolder) -> bool:
    """Whether a re-ranker was trained on this reader, and may share its lowest layers."""
    return bool(reranker.base) and find_model(reranker.base).resolve() == reader.path.resolve()


def find_tokenizer(path: Path) -> Path:
    """The folder's tokenizer, or its base's. Raises ModelError if there is none."""
    if (path / "tokenizer.json").is_file():
        return path / "tokenizer.json"
    if base := (read_config(path).get("oreqa") or {}).get("base"):
        return find_tokenizer(find_model(str(base)))
    raise ModelError(f"{path}: tokenizer.json is missing; save the model's fast tokenizer into the folder")


def load_weights(path: Path) -> Weights:
    """All tensors, the encoder's under ``bert.``, the heads as ``qa_outputs``, ``qa_classifier``, ``classifier``.

    A model that is kept as a difference from another is put together. Raises ModelError if there are no safetensors.
    """
    if base := (read_config(path).get("oreqa") or {}).get("difference_from"):
        return unpack_difference(load_tensors(path / "difference.safetensors"), load_weights(find_model(str(base))))
    file = path / "model.safetensors"
    if not file.is_file():
        raise ModelError(
            f"{path}: model.safetensors is missing; load the model in transformers and save_pretrained() it, "
            "for pickled weights (.bin, .cp, .pt) are not read"
        )
    weights = {}
    for name, value in load_tensors(file).items():
        for old, new in _NAMES:
            if name.startswith(old):
                name = new + name.removeprefix(old)
                break
        weights[name] = np.asarray(value, np.float32)
    return weights


def linear_head(weights: Weights, name: str, folder: HeadFolder) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Weight ``[outputs, width]`` and bias ``[outputs]`` of a head. Raises ModelError if it is missing or does not fit."""
    try:
        weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    except KeyError as error:
        raise ModelError(f"{folder.path}: its weights lack {error.args[0]}: they are not a {folder.kind}'s") from None
    width = folder.config["hidden_size"]
    if weight.ndim != 2 or weight.shape[1] != width or bias.shape != weight.shape[:1]:
        raise ModelError(f"{folder.path}: its {name} of shape {weight.shape} does not fit a model of hidden_size {width}")
    return weight, bias


def log_odds_head(weights: Weights, folder: HeadFolder) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Weight ``[1, width]`` and bias ``[1]`` of a classifier's log-odds, whether it has one output or two.

    Raises ModelError if it has more classes.
    """
    weight, bias = linear_head(weights, "classifier", folder)
    if len(weight) not in (1, 2):
        raise ModelError(
            f"{folder.path}: the classifier has {len(weight)} classes; it must have one output, or two: no and yes"
        )
    return (weight, bias) if len(weight) == 1 else (weight[1:] - weight[:1], bias[1:] - bias[:1])


_KINDS = {
    "Reader": READER, "BertForQuestionAnswering": READER, "DPRReader": READER,
    "BertForSequenceClassification": CLASSIFIER,
}  # fmt: skip
_NAMES = (
    ("span_predictor.encoder.bert_model.", "bert."),
    ("span_predictor.", ""),
    ("encoder.embeddings.", "bert.embeddings."),
    ("encoder.encoder.", "bert.encoder."),
    ("embeddings.", "bert.embeddings."),
    ("encoder.layer.", "bert.encoder.layer."),
)
