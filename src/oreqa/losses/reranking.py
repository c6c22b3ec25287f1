"""Objectives of the cross-encoder: pointwise, each candidate separately, and listwise, a question's candidates together."""

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
    """``[G, M]``: the weight of each candidate."""
    present: Tensor
    """Bool, ``[G, M]``: real candidates."""


def listwise_softmax(scores: Tensor, present: Tensor, weights: Tensor) -> Tensor:
    """``-w log softmax(scores)[0]``, averaged over questions (RECONSIDER, Iyer et al. 2021, Eq. 2, where w is 1).

    ``scores`` (``[G, M]``) are a question's positive, at 0, and its negatives; ``present`` (bool) marks real ones, not the
    padding of short lists; ``weights`` are ``[G]``.
    """
    scores = scores.float().masked_fill(~present, -1e9)
    return (weights * (scores.logsumexp(-1) - scores[:, 0])).mean()


def weighted_cross_entropy(logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Binary cross-entropy of log-odds (all ``[N]``), each times its weight, averaged (Yang et al. 2021, section 4.1)."""
    return nn.functional.binary_cross_entropy_with_logits(logits.float(), labels, weights)


def listwise(batch: CrossEncoderScores) -> Tensor:
    """``listwise_softmax`` of a batch.

    Use it to rank candidates of one question, such as spans. Alternative: ``cross_entropy``, whose scores are probabilities.
    """
    return listwise_softmax(batch.scores, batch.present, batch.weights[:, 0])


def cross_entropy(batch: CrossEncoderScores) -> Tensor:
    """``weighted_cross_entropy`` of a batch.

    Use it to make a score the probability of answering, across questions. Alternative: ``listwise``.
    """
    present = batch.present
    return weighted_cross_entropy(batch.scores[present], batch.labels[present], batch.weights[present])
