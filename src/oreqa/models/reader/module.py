"""The trainable reader: BERT with heads for start, end and passage selection.

Its tensor names are those of transformers' BertForQuestionAnswering (``bert.*``, ``qa_outputs``), which can load it. The
selection head is ``qa_classifier``, as in DPR's reader.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel, BertPreTrainedModel

from oreqa.models.graph.torch import TorchSession, load_module
from oreqa.models.names import hidden_size
from oreqa.models.reader.inputs import ReaderFolder
from oreqa.models.weights import load_weights


class BertReader(BertPreTrainedModel):  # type: ignore[misc]
    """Scores each token as the start and the end of the answer, and the passage as containing it."""

    config_class = BertConfig

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        self.bert = BertModel(config, add_pooling_layer=False)
        self.qa_outputs = nn.Linear(config.hidden_size, 2)
        self.qa_classifier = nn.Linear(config.hidden_size, 1)
        self.post_init()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return start and end logits ``[N, T]`` and selection logits ``[N]`` (on [CLS]) for inputs ``[N, T]``."""
        hidden: Tensor = self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state
        spans = self.qa_outputs(hidden)
        return spans[..., 0], spans[..., 1], self.qa_classifier(hidden[:, 0])[..., 0]


def read_groups(model: nn.Module, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Run the reader on ``[G, P, T]`` inputs, skipping passages that are only padding.

    Returns start and end logits ``[G, P, T]`` and selection logits ``[G, P]``; those of skipped passages are 0.
    """
    real = batch["attention_mask"].any(-1)
    inputs: dict[str, Any] = {name: batch[name][real] for name in ("input_ids", "attention_mask", "token_type_ids")}
    start, end, selection = model(**inputs)
    return tuple(_spread(logits, real) for logits in (start, end, selection))


def _spread(logits: Tensor, real: Tensor) -> Tensor:
    out = torch.zeros((*real.shape, *logits.shape[1:]), dtype=logits.dtype, device=logits.device)
    out[real] = logits
    return out


def open_session(folder: ReaderFolder, precision: str | None, device: str = "cuda") -> TorchSession:
    """Return a session with the same outputs as OpenVINO's, on ``device`` (always in f32 if that is the CPU)."""
    weights = load_weights(folder.path)
    if "qa_classifier.weight" not in weights:  # a reader of single passages, none of which it selects
        width = hidden_size(folder.config, folder.path)
        weights |= {
            "qa_classifier.weight": np.zeros((1, width), np.float32),
            "qa_classifier.bias": np.zeros(1, np.float32),
        }
    return TorchSession(load_module(BertReader, folder, weights, device, precision), device)
