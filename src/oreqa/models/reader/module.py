"""The reader as a trainable model: BERT with start, end and passage-selection heads.

Its tensors are named as in transformers' BertForQuestionAnswering (``bert.*``, ``qa_outputs``), which loads them; the
third head is called ``qa_classifier``, as in DPR's reader.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel, BertPreTrainedModel


class BertReader(BertPreTrainedModel):  # type: ignore[misc]
    """Scores every token as start and as end of the answer, and the passage as the one that holds it."""

    config_class = BertConfig

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        self.bert = BertModel(config, add_pooling_layer=False)
        self.qa_outputs = nn.Linear(config.hidden_size, 2)
        self.qa_classifier = nn.Linear(config.hidden_size, 1)
        self.post_init()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits of start and end (``[N, T]``) and of selection (``[N]``, on [CLS]) for inputs ``[N, T]``."""
        hidden: Tensor = self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state
        spans = self.qa_outputs(hidden)
        return spans[..., 0], spans[..., 1], self.qa_classifier(hidden[:, 0])[..., 0]


def read_groups(model: nn.Module, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Run the reader on ``[G, P, T]`` inputs, skipping those that are only padding; logits in the same shape."""
    real = batch["attention_mask"].any(-1)
    inputs: dict[str, Any] = {name: batch[name][real] for name in ("input_ids", "attention_mask", "token_type_ids")}
    start, end, selection = model(**inputs)
    return tuple(_spread(logits, real) for logits in (start, end, selection))


def _spread(logits: Tensor, real: Tensor) -> Tensor:
    out = torch.zeros((*real.shape, *logits.shape[1:]), dtype=logits.dtype, device=logits.device)
    out[real] = logits
    return out
