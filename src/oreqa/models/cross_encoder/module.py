"""The trainable cross-encoder: transformers' own class for sequence classification, of any architecture.

sentence-transformers' CrossEncoder loads the folder it saves.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from torch import Tensor, nn
from transformers import MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING, PreTrainedConfig, PreTrainedModel

from oreqa.errors import ModelError
from oreqa.models.cross_encoder.inputs import CrossEncoderFolder
from oreqa.models.graph.module import HeadedModel, fuse_attention, has_segments
from oreqa.models.graph.torch import TorchSession, load_module
from oreqa.models.weights import head_layer, load_weights, output_layer


def new_cross_encoder(config: PreTrainedConfig) -> PreTrainedModel:
    """Return a randomly initialised cross-encoder of the architecture of ``config``.

    It is called with ``input_ids``, ``attention_mask`` and ``token_type_ids`` ``[N, T]`` and returns scores ``[N]``:
    with two classes, no and yes, the log-odds of yes. It has the architecture's own head; with ``pooler`` false in
    ``config.oreqa``, a linear layer on the hidden state of [CLS] (RECONSIDER, Iyer et al. 2021, Eq. 1). Raises
    ModelError for an architecture without a classifier.
    """
    if not (getattr(config, "oreqa", None) or {}).get("pooler", True):
        return FirstTokenModel(config)
    kind = MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING.get(type(config), None)
    if kind is None:
        raise ModelError(f"transformers has no cross-encoder of the model type {config.model_type!r}")
    return fuse_attention(_scoring(kind)(config))


class FirstTokenModel(HeadedModel):
    """A cross-encoder with a linear layer on the hidden state of [CLS]."""

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__(config)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return scores ``[N]`` of inputs ``[N, T]``."""
        return _log_odds(self.classifier(self.states(input_ids, attention_mask, token_type_ids)[:, 0]))


@cache
def _scoring(kind: type[PreTrainedModel]) -> type[PreTrainedModel]:
    """Return a transformers class that returns scores and keeps its name, which its saved config.json contains."""

    class Scoring(kind):  # type: ignore[misc]
        def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
            segments = {"token_type_ids": token_type_ids} if has_segments(self.base_model) else {}
            return _log_odds(super().forward(input_ids=input_ids, attention_mask=attention_mask, **segments).logits)

    Scoring.__name__ = kind.__name__
    return Scoring


def _log_odds(logits: Tensor) -> Tensor:
    return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]


def open_session(folder: CrossEncoderFolder, precision: str | None, device: str = "cuda") -> TorchSession:
    """Return a session with the same output as OpenVINO's, on ``device`` (always in f32 if that is the CPU)."""
    weights = load_weights(folder.path)
    output = weights.get(f"{output_layer(weights)}.weight")
    classes = 1 if output is None else len(output)
    folder.check_classes(classes)
    settings = {**(folder.config.get("oreqa") or {}), "pooler": head_layer(weights) is not None}
    folder = replace(folder, config={**folder.config, "oreqa": settings, "num_labels": classes})
    model = load_module(new_cross_encoder, folder, weights, device, precision)
    return TorchSession(model if classes == 1 or folder.yes else lambda *inputs: -model(*inputs), device)
