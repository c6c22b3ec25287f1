"""The span re-ranker's objective (RECONSIDER, Iyer et al. 2021, Eq. 2)."""

from __future__ import annotations

from torch import Tensor


def listwise_softmax(scores: Tensor, present: Tensor) -> Tensor:
    """``-log softmax(scores)[0]``, averaged over questions.

    ``scores`` (``[G, M]``) are a question's positive, at 0, and its negatives; ``present`` (bool) says which of them are
    real. Blanks that fill a short list take no part.
    """
    scores = scores.float().masked_fill(~present, -1e9)
    return (scores.logsumexp(-1) - scores[:, 0]).mean()
