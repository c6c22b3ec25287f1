"""The trainable cross-encoder, saved in the layout of BertForSequenceClassification."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor
from transformers import BertConfig, BertForSequenceClassification

from oreqa.models.cross_encoder.inputs import CrossEncoderFolder
from oreqa.models.graph.torch import TorchSession, load_module
from oreqa.models.weights import load_weights


class BertCrossEncoder(BertForSequenceClassification):  # type: ignore[misc]
    """Scores a question with a candidate answer, by a linear layer on [CLS].

    It takes BERT's pooled [CLS], as sentence-transformers' CrossEncoder does; with ``pooler`` false in ``config.oreqa``, the
    hidden state of [CLS] itself (RECONSIDER, Iyer et al. 2021, Eq. 1).
    """

    config_class = BertConfig

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        self.pooled = bool((getattr(config, "oreqa", None) or {}).get("pooler", True))
        if not self.pooled:
            self.bert.pooler = None

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return scores ``[N]`` of inputs ``[N, T]``; with two classes, no and yes, the log-odds of yes."""
        output = self.bert(input_ids, attention_mask, token_type_ids)
        first = self.dropout(output.pooler_output) if self.pooled else output.last_hidden_state[:, 0]
        logits: Tensor = self.classifier(first)
        return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]


def open_session(folder: CrossEncoderFolder, precision: str | None, device: str = "cuda") -> TorchSession:
    """Return a session with the same output as OpenVINO's, on ``device`` (always in f32 if that is the CPU)."""
    weights = load_weights(folder.path)
    classes = len(weights["classifier.weight"]) if "classifier.weight" in weights else 1
    folder.check_classes(classes)
    settings = {**(folder.config.get("oreqa") or {}), "pooler": "bert.pooler.dense.weight" in weights}
    folder = replace(folder, config={**folder.config, "oreqa": settings, "num_labels": classes})
    return TorchSession(load_module(BertCrossEncoder, folder, weights, device, precision), device)
