"""Objectives of variational text autoencoders beside a dual encoder: Dual-VAE and Cross-VAE.

Dual-VAE (Shen et al. 2018, *Deconvolutional Latent-Variable Model for Text Sequence Matching*) generates each text from its
own latent vector. Cross-VAE (Yu et al. 2020, *Crossing Variational Autoencoders for Answer Retrieval*) generates the
question from the answer's latent vector and the answer from the question's. Besides the matching loss, both minimise

    alpha [- log p(question | z) - log p(answer | z')] + beta [KL(p(z_q | question) || N) + KL(p(z_a | answer) || N)]

with N = N(0, I) and (z, z') = (z_q, z_a) in Dual-VAE, (z_a, z_q) in Cross-VAE. A batch has ``B`` texts or pairs of texts.
Everything is computed in float32.
"""

from __future__ import annotations

from torch import Tensor, nn


def gaussian_kl(means: Tensor, log_variances: Tensor) -> Tensor:
    """``KL(N(m, diag(v)) || N(0, I)) = 1/2 sum_d (m_d^2 + v_d - log v_d - 1)`` of each row, in nats.

    ``means`` (m) and ``log_variances`` (log v) are ``[B, D]``; returns ``[B]``. The formula is that of Kingma and Welling
    (2014, appendix B).
    """
    log_variances = log_variances.float()
    return 0.5 * (means.float().square() + log_variances.exp() - log_variances - 1).sum(-1)


def token_nll(logits: Tensor, targets: Tensor) -> Tensor:
    """``-log softmax(logits_t)[target_t]`` of each token, in nats.

    ``logits`` are ``[N, V]``, ``targets`` (``[N]``) token ids; returns ``[N]``. A text's loss is their sum, not their mean,
    as in the variational bound (Bowman et al. 2016), where the KL is a sum over dimensions.
    """
    return nn.functional.cross_entropy(logits.float(), targets, reduction="none")


def variational_loss(
    reconstruction: Tensor, kl: Tensor, weights: Tensor, reconstruction_weight: float, kl_weight: float
) -> Tensor:
    """``1/B sum_i w_i (alpha R_i + beta K_i)``, to be added to the matching loss.

    ``reconstruction`` (``[B]``) is R, the sum of ``token_nll`` over both texts of a pair; ``kl`` (``[B]``) is K, the sum of
    ``gaussian_kl`` over its two latent vectors; ``weights`` (``[B]``) are those of the pairs. alpha is
    ``reconstruction_weight`` and beta ``kl_weight``; alpha = beta = 1 is the negative variational bound.

    Use it to compare with geometry alignment (``losses.alignment``), the alternative.
    """
    return (weights * (reconstruction_weight * reconstruction + kl_weight * kl)).mean()
