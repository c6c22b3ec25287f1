"""The trainable question generator: one BERT with UniLM's prefix mask (Dong et al. 2019), and BERT's language model head.

The prefix (context and answer) sees all of itself, the question sees the prefix and what stands before it in the question.
One stack of layers both reads and writes, so that nothing but the head is new; the output embeddings are the input's. The
tensor names are those of transformers' BertLMHeadModel, which can load the folder.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertLMHeadModel


def prefix_mask(prefixes: Tensor, lengths: Tensor, tokens: int) -> Tensor:
    """The additive attention mask ``[N, 1, T, T]`` float32: 0 where row i may see column j, else the lowest number.

    ``prefixes`` and ``lengths`` (``[N]``) are the tokens of the prefix, and of prefix and question together; ``tokens`` is
    T. A float mask, because transformers' eager attention adds it to the scores: a bool mask would mask nothing there.
    """
    place = torch.arange(tokens, device=prefixes.device)
    in_prefix = place < prefixes[:, None, None]
    before = (place <= place[:, None]) & (place < lengths[:, None, None])
    mask = torch.zeros(in_prefix.shape[0], tokens, tokens, device=prefixes.device)
    return mask.masked_fill(~(in_prefix | before), torch.finfo(torch.float32).min)[:, None]


class BertGenerator(BertLMHeadModel):  # type: ignore[misc]
    """Predicts each token of a question from its passage, the answer and the tokens before it."""

    config_class = BertConfig

    def forward(
        self, input_ids: Tensor, prefixes: Tensor, lengths: Tensor, token_type_ids: Tensor, predicts: Tensor
    ) -> Tensor:
        """Return logits ``[P, V]`` of the token after each of the P tokens that ``predicts`` (bool, ``[N, T]``) marks.

        ``input_ids`` and ``token_type_ids`` (1 for the question) are ``[N, T]``; see ``prefix_mask`` for the others.
        """
        mask = prefix_mask(prefixes, lengths, input_ids.shape[1])
        hidden = self.bert(input_ids, mask, token_type_ids, use_cache=False).last_hidden_state
        logits: Tensor = self.cls(hidden[predicts])
        return logits


def start_head(model: BertGenerator) -> None:
    """Initialise the head that an encoder lacks: its layer is the identity, before GELU and layer norm."""
    dense = model.cls.predictions.transform.dense
    with torch.no_grad():
        nn.init.eye_(dense.weight)
        nn.init.zeros_(dense.bias)
