"""Dual-VAE and Cross-VAE: decoders that generate a pair's texts from the dual encoder's vectors, in training only.

The equations are in ``losses.variational``. The vector that the encoder exports is the mean of its text's latent Gaussian.
Only the variance needs a layer, which is here; the exported model is only the dual encoder, which compares the means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from oreqa.losses.variational import gaussian_kl, token_nll

FIRST_LOG_VARIANCE = -2.0
"""Initial log-variance: noise of 0.37 beside means of about 1 leaves the decoders something to read from the start."""


@dataclass(frozen=True, slots=True)
class VariationalTerms:
    """For ``B`` pairs, each ``[B]`` in nats: ``-log p`` of the two texts and the KL of the two latent vectors."""

    question_nll: Tensor
    answer_nll: Tensor
    question_kl: Tensor
    answer_kl: Tensor

    @property
    def reconstruction(self) -> Tensor:
        """Return ``-log p`` of both texts of each pair."""
        return self.question_nll + self.answer_nll

    @property
    def kl(self) -> Tensor:
        """Return the KL of both latent vectors of each pair."""
        return self.question_kl + self.answer_kl


class VariationalDecoders(nn.Module):  # type: ignore[misc]
    """Generates questions and answers: for the ``kind`` "dual" from their own vectors (Shen et al. 2018), for "cross"
    from each other's (Yu et al. 2020). The decoders are GRUs in both; Shen et al. have deconvolutions.

    ``width`` is that of the encoder's vectors, ``embedding_width`` that of its word embeddings. Vectors of ``unit_length``
    are scaled to the length sqrt(width), where N(0, I) has its mass: noise as small as means of length 1 would need costs a
    large KL. The means' part of the KL is then the constant width / 2; only the variances' part is trained.

    In training, a share ``word_dropout`` of the words that a decoder reads is blanked, so that it cannot do without the
    latent vector (Bowman et al. 2016). Texts are truncated to ``max_target_tokens``. Logits are computed for
    ``tokens_at_once``.
    """

    def __init__(
        self,
        width: int,
        embedding_width: int,
        kind: Literal["dual", "cross"],
        *,
        unit_length: bool,
        decoder_width: int = 512,
        word_dropout: float = 0.25,
        max_target_tokens: int = 48,
        tokens_at_once: int = 256,
    ) -> None:
        super().__init__()
        self.kind = kind
        self.spread = width**0.5 if unit_length else 1.0
        self.max_target_tokens = max_target_tokens
        self.tokens_at_once = tokens_at_once
        self.question_log_variance, self.answer_log_variance = nn.Linear(width, width), nn.Linear(width, width)
        for layer in (self.question_log_variance, self.answer_log_variance):
            nn.init.constant_(layer.bias, FIRST_LOG_VARIANCE)
        self.question_decoder = TextDecoder(width, embedding_width, decoder_width, word_dropout)
        self.answer_decoder = TextDecoder(width, embedding_width, decoder_width, word_dropout)

    def forward(
        self,
        questions: Tensor,
        answers: Tensor,
        question_ids: Tensor,
        question_mask: Tensor,
        answer_ids: Tensor,
        answer_mask: Tensor,
        word_embeddings: Tensor,
    ) -> VariationalTerms:
        """Return the terms; ``questions`` and ``answers`` are the vectors ``[B, D]`` of the two sides of ``B`` pairs.

        ``*_ids`` (``[B, T]``) are the tokens of their texts where ``*_mask`` (``[B, T]``, bool or 0 and 1) is true: a
        sentence may be inside its passage. Omit [CLS], which is certain; with [SEP] a decoder learns where a text ends.
        ``word_embeddings`` (``[V, E]``) are passed to each call, not to the constructor: they are weights of the
        encoder, and a second owner would save them twice. Reconstruction does not train them.

        In evaluation, latent vectors are the means, and no word is blanked.
        """
        means = self.spread * questions.float(), self.spread * answers.float()
        log_variances = self.question_log_variance(questions), self.answer_log_variance(answers)
        question_sample, answer_sample = (self._sample(*both) for both in zip(means, log_variances, strict=True))
        if self.kind == "cross":
            question_sample, answer_sample = answer_sample, question_sample
        frozen = word_embeddings.detach()
        return VariationalTerms(
            question_nll=self._nll(self.question_decoder, question_sample, question_ids, question_mask, frozen),
            answer_nll=self._nll(self.answer_decoder, answer_sample, answer_ids, answer_mask, frozen),
            question_kl=gaussian_kl(means[0], log_variances[0]),
            answer_kl=gaussian_kl(means[1], log_variances[1]),
        )

    def _sample(self, means: Tensor, log_variances: Tensor) -> Tensor:
        if not self.training:
            return means
        return means + (0.5 * log_variances.float()).exp() * torch.randn_like(means)

    def _nll(self, decoder: TextDecoder, latents: Tensor, ids: Tensor, mask: Tensor, word_embeddings: Tensor) -> Tensor:
        """Return ``-log p`` of each text, ``[B]``."""
        ids, real = _leading(ids, mask.bool(), self.max_target_tokens)
        states = decoder(latents, ids, word_embeddings)[real]
        nll = tokens_nll(states, ids[real], word_embeddings, self.tokens_at_once)
        return nll.new_zeros(real.shape).masked_scatter(real, nll).sum(1)


def _leading(ids: Tensor, real: Tensor, limit: int) -> tuple[Tensor, Tensor]:
    """Return the first ``limit`` real tokens of each row, moved to its left, and which of the remaining ones are real."""
    length = min(limit, max(1, int(real.sum(1).max())))
    order = real.byte().argsort(dim=1, descending=True, stable=True)[:, :length]
    return ids.gather(1, order), real.gather(1, order)


class TextDecoder(nn.Module):  # type: ignore[misc]
    """A GRU that generates a text from a latent vector, which is its initial state and a part of every input."""

    def __init__(self, latent_width: int, embedding_width: int, width: int, word_dropout: float) -> None:
        super().__init__()
        self.word_dropout = word_dropout
        self.start = nn.Parameter(0.02 * torch.randn(embedding_width))
        self.state = nn.Linear(latent_width, width)
        self.gru = nn.GRU(embedding_width + latent_width, width, batch_first=True)
        self.output = nn.Linear(width, embedding_width)

    def forward(self, latents: Tensor, ids: Tensor, word_embeddings: Tensor) -> Tensor:
        """Return vectors ``[B, T, E]`` whose inner products with ``word_embeddings`` (``[V, E]``) are each token's logits.

        They depend on ``latents`` (``[B, D]``) and on the tokens before it in ``ids`` (``[B, T]``: teacher forcing).
        """
        texts, length = ids.shape
        words = nn.functional.embedding(ids[:, :-1], word_embeddings)
        if self.training and self.word_dropout:
            kept = torch.rand(words.shape[:2], device=words.device) >= self.word_dropout
            words = words * kept[..., None]
        inputs = torch.cat([self.start.expand(texts, 1, -1), words], 1)
        inputs = torch.cat([inputs, latents[:, None].expand(-1, length, -1)], -1)
        hidden, _ = self.gru(inputs, self.state(latents).tanh()[None])
        vectors: Tensor = self.output(hidden)
        return vectors


def tokens_nll(states: Tensor, targets: Tensor, word_embeddings: Tensor, at_once: int) -> Tensor:
    """Return ``-log softmax(W s_n)[target_n]`` of each of ``N`` tokens, ``[N]`` in float32.

    ``states`` (s) are ``[N, E]``, ``targets`` ``[N]`` token ids, ``word_embeddings`` (W) ``[V, E]``. Logits are computed for
    ``at_once`` tokens and dropped, then recomputed for the gradients.
    """

    def nll(states: Tensor, targets: Tensor) -> Tensor:
        return token_nll(states @ word_embeddings.T, targets)

    chunks = zip(states.split(at_once), targets.split(at_once), strict=True)
    return torch.cat([checkpoint(nll, *chunk, use_reentrant=False) for chunk in chunks])
