"""Objectives of question generation: which spans of a passage people ask about (the extractor), and the question's tokens.

A batch of windows: ``scores`` (``[N, T, W]``) are those of the spans from token i to token i + d in ``N`` windows of up to
``T`` tokens, ``allowed`` (bool, the same shape) marks possible answer spans, ``asked`` (bool) the spans that were asked
about, all of which are allowed.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

_IMPOSSIBLE = -1e9  # a finite number, so that a row without any choice gives no NaN


def span_softmax(scores: Tensor, allowed: Tensor, gold: Tensor) -> Tensor:
    """Negative log-likelihood of each span that was asked about among all spans of its window, averaged over these spans.

    The target of a window is thus an equal share for each of its spans, which rewards finding all of them, while a marginal
    likelihood rewards finding one. A batch without any gives 0.

    Use it to rank the best spans of a passage. Alternative: ``span_cross_entropy``, which treats each span separately.
    """
    scores = scores.float().masked_fill(~allowed, _IMPOSSIBLE)
    total = scores.flatten(1).logsumexp(-1)[:, None, None]
    return torch.where(gold, total - scores, 0.0).sum() / gold.sum().clamp(min=1)


def span_cross_entropy(scores: Tensor, allowed: Tensor, gold: Tensor, negatives: int) -> Tensor:
    """Binary cross-entropy of each span that was asked about, and of ``negatives`` others for each, drawn at random.

    Use it to make a span's score its probability, if passages may have no span. Alternative: ``span_softmax``.

    The negatives are drawn by torch's generator, whose state checkpoints keep. Averaged over the spans that were asked
    about; a batch without any gives 0.
    """
    positives = int(gold.sum())
    others = (allowed & ~gold).flatten().nonzero()[:, 0]
    drawn = others[torch.randperm(len(others), device=others.device)[: negatives * positives]]
    right, wrong = scores.float()[gold], scores.float().flatten()[drawn]
    return (nn.functional.softplus(-right).sum() + nn.functional.softplus(wrong).sum()) / max(positives, 1)


def token_loss(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """Negative log-likelihood of the tokens ``targets`` (``[P]``) under ``logits`` (``[P, V]``), averaged over tokens.

    Use it for every generator (BERT, BART or T5); there is no alternative here.

    With ``smoothing`` e, the target distribution is 1 - e for the right token plus e / V for each (Szegedy et al. 2016).
    """
    return nn.functional.cross_entropy(logits.float(), targets, label_smoothing=smoothing)
