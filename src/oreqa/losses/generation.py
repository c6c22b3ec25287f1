"""The objective of the question generator."""

from __future__ import annotations

from torch import Tensor, nn


def token_loss(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """Negative log-likelihood of the tokens ``targets`` (``[P]``) under ``logits`` (``[P, V]``), averaged over tokens.

    Use for every generator, BERT, BART or T5; it has no rival here.

    With ``smoothing`` e the target distribution is 1 - e for the right token plus e / V for each (Szegedy et al. 2016).
    """
    return nn.functional.cross_entropy(logits.float(), targets, label_smoothing=smoothing)
