"""Objectives of the dual encoder.

The weighted in-batch softmax is that of cross-attention supervised data augmentation (Yang et al. 2021, section 4.4, whose
printed formula leaves out the logarithm). A batch holds ``Q`` questions and ``C`` candidates as vectors of width ``D``.
"""

from __future__ import annotations

import torch
from torch import Tensor


def weighted_softmax(
    questions: Tensor, candidates: Tensor, positives: Tensor, weights: Tensor, answering: Tensor, scale: float
) -> Tensor:
    """``1/Q sum_i w_i (-log softmax_j(scale q_i . c_j))`` at each question's positive candidate.

    ``questions`` are ``[Q, D]``, ``candidates`` ``[C, D]``, ``positives`` ``[Q]`` the numbers of the right candidates,
    ``weights`` ``[Q]``. Candidates that are ``answering`` a question too (bool, ``[Q, C]``) are no negatives of it.
    """
    scores = scale * (questions.float() @ candidates.float().T)
    positive_scores = scores.gather(1, positives[:, None])
    scores = scores.masked_fill(answering.scatter(1, positives[:, None], False), -1e9)
    return (weights * (scores.logsumexp(1) - positive_scores[:, 0])).mean()


def soft_label_loss(
    questions: Tensor, candidates: Tensor, scored: Tensor, teacher: Tensor, weights: Tensor, scale: float
) -> Tensor:
    """Cross-entropy between a classifier's distribution over some candidates of each question and the dual encoder's.

    ``scored`` (``[Q, L]``) are numbers of candidates, -1 where there are fewer than ``L``; ``teacher`` (``[Q, L]``) the
    classifier's logits of them. Questions with fewer than two scored candidates count nothing. The mean over questions,
    weighted by ``weights``.
    """
    present = scored >= 0
    scores = scale * torch.einsum("qd,qld->ql", questions.float(), candidates.float()[scored.clamp(min=0)])
    target = teacher.float().masked_fill(~present, -1e9).softmax(-1)
    log_probabilities = scores.masked_fill(~present, -1e9).log_softmax(-1)
    cross_entropy = -(target * log_probabilities).sum(-1) * (present.sum(-1) > 1)
    return (weights * cross_entropy).mean()
