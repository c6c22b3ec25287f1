"""The span re-ranker as a trainable model: BERT and one linear unit on [CLS] (RECONSIDER, Iyer et al. 2021, Eq. 1)."""

from __future__ import annotations

from torch import Tensor, nn
from transformers import BertConfig, BertModel, BertPreTrainedModel


class Reranker(BertPreTrainedModel):  # type: ignore[misc]
    """Scores a question and a passage in which a span is marked: ``r = w . [CLS]``."""

    config_class = BertConfig

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        self.bert = BertModel(config, add_pooling_layer=False)
        self.classifier = nn.Linear(config.hidden_size, 1)
        self.post_init()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Scores ``[N]`` of inputs ``[N, T]``."""
        hidden: Tensor = self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state
        return self.classifier(hidden[:, 0])[..., 0]
