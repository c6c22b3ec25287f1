"""Objectives of fine-tuning a question encoder and a reader together, on what the encoder retrieves.

They are those of ProQA (Xiong et al. 2021, section 2.3 and Table 4): its reader's loss with shared normalisation is
``losses.reading.span_loss``, and here are the others. The early loss and the joint likelihood come from open retrieval
question answering (Lee et al. 2019).

A batch holds ``G`` questions. Each has up to ``C`` passages that the question encoder retrieved, of which up to ``P`` are
read, of up to ``T`` tokens. ``spans`` (``[G, P, S, 2]``) are the first and last tokens of every occurrence of an answer, -1
where there are fewer than ``S``. A question that no passage answers counts nothing, and a batch of such questions gives 0.
"""

from __future__ import annotations

import torch
from torch import Tensor

from oreqa.losses.reading import selection_loss, span_log_likelihoods


def early_loss(scores: Tensor, present: Tensor, holds: Tensor) -> Tensor:
    """``-log sum p(passage)`` over the retrieved passages that hold an answer, averaged over questions.

    ``scores`` are inner products ``[G, C]``, whose softmax over all retrieved passages is p; ``present`` (bool) marks real
    passages, ``holds`` (bool) those with an answer.
    """
    return selection_loss(scores.float(), present, holds, null=False)


def rerank_loss(selection: Tensor, present: Tensor, holds: Tensor) -> Tensor:
    """The same likelihood, of the reader's own logits ``[G, P]`` of the passages that it reads.

    This trains the head whose scores take the place of the retriever's in the choice of the answer.
    """
    return selection_loss(selection.float(), present, holds, null=False)


def joint_loss(start: Tensor, end: Tensor, tokens: Tensor, spans: Tensor, passages: Tensor, shared: bool) -> Tensor:
    """``-log sum p(passage) p(span | passage)`` over all spans of the answer, averaged over questions.

    The passage is a latent variable: ``passages`` are log-probabilities ``[G, P]`` of those that are read, by a softmax over
    all that were retrieved, so that they need not sum to 1; their gradient reaches the question encoder. The reader's
    arguments are those of ``span_loss``. With ``shared`` a span's probability is normalised over all passages that are read,
    as in the second row of the paper's Table 4, else inside its own passage, as in the fourth; with log-probabilities of 0
    that is the fifth row, which leaves the passages' probabilities out.
    """
    likelihood = (passages.float() + span_log_likelihoods(start, end, tokens, spans, shared)).logsumexp(-1)
    answered = (spans[..., 0] >= 0).any(-1).any(-1)
    return torch.where(answered, -likelihood, 0.0).sum() / answered.sum().clamp(min=1)
