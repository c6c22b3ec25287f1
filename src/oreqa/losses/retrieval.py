"""Objectives of the dual encoder.

The weighted in-batch softmax is that of cross-attention supervised data augmentation (Yang et al. 2021, section 4.4, whose
printed formula leaves out the logarithm). A batch holds ``Q`` questions and ``C`` candidates as vectors of width ``D``.
"""

from __future__ import annotations

import torch
from torch import Tensor


def weighted_softmax(
    questions: Tensor, candidates: Tensor, positives: Tensor, weights: Tensor, known: Tensor, scale: float = 100.0
) -> Tensor:
    """``1/Q sum_i w_i (-log softmax_j(scale q_i . c_j))`` at each question's positive candidate.

    ``questions`` are ``[Q, D]``, ``candidates`` ``[C, D]``, ``positives`` ``[Q]`` the numbers of the right candidates,
    ``weights`` ``[Q]``. Candidates that are ``known`` (bool, ``[Q, C]``) to answer a question too are no negatives of it.
    """
    scores = scale * (questions.float() @ candidates.float().T)
    own = scores.gather(1, positives[:, None])
    others = scores.masked_fill(known.scatter(1, positives[:, None], False), -1e9)
    return (weights * (others.logsumexp(1) - own[:, 0])).mean()


def soft_label_loss(
    questions: Tensor, candidates: Tensor, listed: Tensor, teacher: Tensor, weights: Tensor, scale: float = 100.0
) -> Tensor:
    """Cross-entropy between a classifier's distribution over some candidates of each question and the dual encoder's.

    ``listed`` (``[Q, L]``) are numbers of candidates, -1 where there are fewer than ``L``; ``teacher`` (``[Q, L]``) the
    classifier's logits of them. Questions with fewer than two listed candidates count nothing. The mean over questions,
    weighted by ``weights``.
    """
    present = listed >= 0
    scores = scale * torch.einsum("qd,qld->ql", questions.float(), candidates.float()[listed.clamp(min=0)])
    wanted = teacher.float().masked_fill(~present, -1e9).softmax(-1)
    found = scores.masked_fill(~present, -1e9).log_softmax(-1)
    of_question = -(wanted * found).sum(-1) * (present.sum(-1) > 1)
    return (weights * of_question).mean()
