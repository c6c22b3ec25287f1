"""Objectives of question generation: which spans of a passage people ask about (the extractor), and the question's tokens.

A batch of windows: ``scores`` (``[N, T, W]``) are those of the spans from token i to token i + d in ``N`` windows of up to
``T`` tokens, ``allowed`` (bool, the same shape) marks the spans that an answer may be, ``asked`` (bool) the spans that were
asked about; every span that was asked about is allowed.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

_IMPOSSIBLE = -1e9  # a finite number, so that a row without any choice gives no NaN


def span_softmax(scores: Tensor, allowed: Tensor, asked: Tensor) -> Tensor:
    """Negative log-likelihood of each span that was asked about, among all spans of its window; averaged over these spans.

    The target of a window is thus an equal share for each of its spans, which rewards finding all of them, where a marginal
    likelihood rewards finding one. A batch without any gives 0.

    Use when the best spans of a passage are wanted, in their order. Rival: ``span_cross_entropy``, span by span.
    """
    scores = scores.float().masked_fill(~allowed, _IMPOSSIBLE)
    total = scores.flatten(1).logsumexp(-1)[:, None, None]
    return torch.where(asked, total - scores, 0.0).sum() / asked.sum().clamp(min=1)


def span_cross_entropy(scores: Tensor, allowed: Tensor, asked: Tensor, negatives: int) -> Tensor:
    """Binary cross-entropy of each span that was asked about, and of ``negatives`` others for each, drawn at random.

    Use when a span's score is to be its probability, and passages may hold none. Rival: ``span_softmax``.

    They are drawn by torch's generator, which checkpoints keep. Averaged over the spans that were asked about; a batch
    without any gives 0.
    """
    positives = int(asked.sum())
    others = (allowed & ~asked).flatten().nonzero()[:, 0]
    drawn = others[torch.randperm(len(others), device=others.device)[: negatives * positives]]
    right, wrong = scores.float()[asked], scores.float().flatten()[drawn]
    return (nn.functional.softplus(-right).sum() + nn.functional.softplus(wrong).sum()) / max(positives, 1)


def token_loss(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """Negative log-likelihood of the tokens ``targets`` (``[P]``) under ``logits`` (``[P, V]``), averaged over tokens.

    Use for every generator, BERT, BART or T5; it has no rival here.

    With ``smoothing`` e the target distribution is 1 - e for the right token plus e / V for each (Szegedy et al. 2016).
    """
    return nn.functional.cross_entropy(logits.float(), targets, label_smoothing=smoothing)
