"""Objectives of the cross-encoder: pointwise, each candidate by itself, and listwise, the candidates of a question."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossEncoderScores:
    """A batch of the cross-encoder: ``G`` lists of up to ``M`` candidates of one question each; the positive comes first."""

    scores: Tensor
    """``[G, M]`` float32."""
    labels: Tensor
    """``[G, M]``: 1 for a positive, 0 for a negative."""
    weights: Tensor
    """``[G, M]``: how much each candidate counts."""
    present: Tensor
    """Bool, ``[G, M]``: real candidates."""


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


def listwise(batch: CrossEncoderScores) -> Tensor:
    """``listwise_softmax`` of a batch.

    Use when candidates of one question are ranked, as spans are. Rival: ``cross_entropy``, whose scores are probabilities.
    """
    return listwise_softmax(batch.scores, batch.present, batch.weights[:, 0])


def cross_entropy(batch: CrossEncoderScores) -> Tensor:
    """``weighted_cross_entropy`` of a batch.

    Use when a score is to be the probability of answering, across questions. Rival: ``listwise``.
    """
    present = batch.present
    return weighted_cross_entropy(batch.scores[present], batch.labels[present], batch.weights[present])
