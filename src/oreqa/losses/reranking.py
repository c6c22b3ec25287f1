"""Objectives of the cross-encoder: pointwise, each candidate by itself, and listwise, the candidates of a question."""

from __future__ import annotations

from torch import Tensor, nn


def listwise_softmax(scores: Tensor, present: Tensor, weights: Tensor) -> Tensor:
    """``-w log softmax(scores)[0]``, averaged over questions (RECONSIDER, Iyer et al. 2021, Eq. 2, where w is 1).

    ``scores`` (``[G, M]``) are a question's positive, at 0, and its negatives; ``present`` (bool) says which of them are
    real; ``weights`` are ``[G]``. Blanks that fill a short list take no part.
    """
    scores = scores.float().masked_fill(~present, -1e9)
    return (weights * (scores.logsumexp(-1) - scores[:, 0])).mean()


def weighted_cross_entropy(logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Binary cross-entropy of log-odds (all ``[N]``), each times its weight, averaged (Yang et al. 2021, section 4.1)."""
    return nn.functional.binary_cross_entropy_with_logits(logits.float(), labels, weights)
