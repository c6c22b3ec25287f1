"""Objectives of the dual encoder.

The weighted in-batch softmax comes from cross-attention supervised data augmentation (Yang et al. 2021, section 4.4, whose
printed formula lacks the logarithm). A batch has ``Q`` questions and ``C`` candidates as vectors of width ``D``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

SOFT_SHARE = 0.5
"""Share of the classifier's distribution in ``soft_labels``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieverVectors:
    """A batch of the dual encoder: ``Q`` questions and all ``C`` candidates, of all processes."""

    questions: Tensor
    """``[Q, D]``, unit vectors unless the recipe says otherwise."""
    candidates: Tensor
    """``[C, D]``; with late chunking, a sentence's vector plus a share of its passage's."""
    positives: Tensor
    """``[Q]``: the number of each question's positive candidate."""
    weights: Tensor
    """``[Q]``: the weight of each question."""
    answering: Tensor
    """Bool, ``[Q, C]``: candidates that are known to answer the question, or padding; they are no negatives of it."""
    scored: Tensor
    """``[Q, L]``: numbers of candidates that a classifier scored for the question, padded with -1."""
    teacher: Tensor
    """``[Q, L]``: the classifier's logits of them."""


def weighted_softmax(
    questions: Tensor, candidates: Tensor, positives: Tensor, weights: Tensor, answering: Tensor, scale: float
) -> Tensor:
    """``1/Q sum_i w_i (-log softmax_j(scale q_i . c_j))`` at each question's positive candidate.

    ``questions`` are ``[Q, D]``, ``candidates`` ``[C, D]``, ``positives`` ``[Q]`` the numbers of the right candidates,
    ``weights`` ``[Q]``. Candidates also ``answering`` a question (bool, ``[Q, C]``) are no negatives of it.
    """
    scores = scale * (questions.float() @ candidates.float().T)
    positive_scores = scores.gather(1, positives[:, None])
    scores = scores.masked_fill(answering.scatter(1, positives[:, None], False), -1e9)
    return (weights * (scores.logsumexp(1) - positive_scores[:, 0])).mean()


def soft_label_loss(
    questions: Tensor, candidates: Tensor, scored: Tensor, teacher: Tensor, weights: Tensor, scale: float
) -> Tensor:
    """Cross-entropy between a classifier's distribution over some candidates of each question and the dual encoder's.

    ``scored`` (``[Q, L]``) are numbers of candidates, padded with -1; ``teacher`` (``[Q, L]``) the classifier's logits of
    them. Questions with fewer than two scored candidates are ignored. Returns the mean over questions, weighted by
    ``weights``.
    """
    present = scored >= 0
    scores = scale * torch.einsum("qd,qld->ql", questions.float(), candidates.float()[scored.clamp(min=0)])
    target = teacher.float().masked_fill(~present, -1e9).softmax(-1)
    log_probabilities = scores.masked_fill(~present, -1e9).log_softmax(-1)
    cross_entropy = -(target * log_probabilities).sum(-1) * (present.sum(-1) > 1)
    return (weights * cross_entropy).mean()


def softmax(batch: RetrieverVectors, scale: float) -> Tensor:
    """``weighted_softmax`` of a batch, the loss ``softmax`` of recipes.

    Use it if each question has its answer. Alternative: ``soft_labels``, if a classifier has graded further candidates.
    """
    return weighted_softmax(batch.questions, batch.candidates, batch.positives, batch.weights, batch.answering, scale)


def soft_labels(batch: RetrieverVectors, scale: float) -> Tensor:
    """The mean of ``weighted_softmax`` and ``soft_label_loss``, if a batch has graded candidates.

    Use it if a classifier has scored several candidates of a question. Alternative: ``softmax`` with silver pairs as
    positives.
    """
    hard = softmax(batch, scale)
    if not batch.scored.shape[1]:
        return hard
    soft = soft_label_loss(batch.questions, batch.candidates, batch.scored, batch.teacher, batch.weights, scale)
    return (1 - SOFT_SHARE) * hard + SOFT_SHARE * soft
