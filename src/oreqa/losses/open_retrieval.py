"""Objectives for fine-tuning a question encoder and a reader together on what the encoder retrieves.

They are those of ProQA (Xiong et al. 2021, section 2.3 and Table 4): its reader's loss with shared normalisation is
``losses.reading.span_loss``; the others are here. The early loss and the joint likelihood come from open retrieval
question answering (Lee et al. 2019).

A batch has ``G`` questions. Each has up to ``C`` passages retrieved by the question encoder, of which up to ``P`` are
read, of up to ``T`` tokens. ``spans`` (``[G, P, S, 2]``) are the first and last tokens of every occurrence of an answer,
padded with -1. Questions that no passage answers are ignored; a batch of such questions gives 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from oreqa.losses.reading import selection_loss, span_log_likelihoods, span_loss


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQAScores:
    """A batch of open question answering: ``G`` questions, each with ``C`` retrieved passages, best first, and up to ``P``
    windows of the first of them, of up to ``T`` tokens."""

    retrieval: Tensor
    """Inner products, ``[G, C]``, times the recipe's scale."""
    has_answer: Tensor
    """Bool, ``[G, C]``: passages that contain an answer."""
    start: Tensor
    end: Tensor
    """Logits of an answer's first and last token, ``[G, P, T]``."""
    selection: Tensor
    """Logits of a window's containing an answer, ``[G, P]``."""
    tokens: Tensor
    """Bool, ``[G, P, T]``: tokens that an answer may include."""
    spans: Tensor
    """``[G, P, S, 2]``: first and last tokens of the answers, padded with -1."""
    present: Tensor
    """Bool, ``[G, P]``: real windows."""
    ranks: Tensor
    """``[G, P]``: the rank of each window's passage among the retrieved ones."""


def early_loss(scores: Tensor, present: Tensor, has_answer: Tensor) -> Tensor:
    """``-log sum p(passage)`` over the retrieved passages that contain an answer, averaged over questions.

    ``scores`` are inner products ``[G, C]``, whose softmax over all retrieved passages is p, or the reader's logits of the
    passages it reads, if its head re-ranks them; ``present`` (bool) marks real passages, ``has_answer`` (bool) those with an
    answer.
    """
    return selection_loss(scores.float(), present, has_answer, null=False)


def joint_loss(start: Tensor, end: Tensor, tokens: Tensor, spans: Tensor, passages: Tensor, shared: bool) -> Tensor:
    """``-log sum p(passage) p(span | passage)`` over all spans of the answer, averaged over questions.

    The passage is a latent variable: ``passages`` are log-probabilities ``[G, P]`` of those read, from a softmax over
    all retrieved ones, so that they need not sum to 1; their gradient reaches the question encoder. The reader's
    arguments are those of ``span_loss``. With ``shared``, a span's probability is normalised over all passages read, as
    in the second row of the paper's Table 4, else inside its own passage, as in the fourth; with log-probabilities of 0,
    this is the fifth row, without the passages' probabilities.
    """
    likelihood = (passages.float() + span_log_likelihoods(start, end, tokens, spans, shared)).logsumexp(-1)
    answered = (spans[..., 0] >= 0).any(-1).any(-1)
    return torch.where(answered, -likelihood, 0.0).sum() / answered.sum().clamp(min=1)


def shared(batch: OpenQAScores, skip_unread: bool) -> Tensor:
    """The early loss and spans normalised over all passages read, the best of the paper's Table 4.

    Use it when in doubt. Alternatives: the other four rows of the table, below.
    """
    return _early(batch, skip_unread) + _shared_spans(batch)


def shared_joint(batch: OpenQAScores, skip_unread: bool) -> Tensor:
    """``shared`` with each span times its passage's probability.

    Use it to let the reader teach the question encoder, too. Alternative: ``shared``, where only the early loss does.
    """
    return _early(batch, skip_unread) + _joint(batch, is_shared=True)


def shared_rerank(batch: OpenQAScores, skip_unread: bool) -> Tensor:
    """``shared`` plus the likelihood, by the reader's selection head, of the passages that contain an answer.

    Use it to let the reader re-rank passages. Alternative: ``shared``, where the retriever's scores rank them.
    """
    has_answer = (batch.spans[..., 0] >= 0).any(-1)
    return _early(batch, skip_unread) + _shared_spans(batch) + early_loss(batch.selection, batch.present, has_answer)


def joint(batch: OpenQAScores, skip_unread: bool) -> Tensor:
    """Spans normalised inside each passage, times the passage's probability.

    Use it to compare with ORQA (Lee et al. 2019). Alternative: ``shared_joint``.
    """
    return _early(batch, skip_unread) + _joint(batch, is_shared=False)


def separate(batch: OpenQAScores, skip_unread: bool) -> Tensor:
    """Spans normalised inside each passage, summed over passages as in the released code; DPR takes the mean.

    Use it to measure the effect of shared normalisation. Alternative: ``shared``.
    """
    spans = joint_loss(batch.start, batch.end, batch.tokens, batch.spans, torch.zeros_like(batch.selection), shared=False)
    return _early(batch, skip_unread) + spans


def _early(batch: OpenQAScores, skip_unread: bool) -> Tensor:
    read = (batch.spans[..., 0] >= 0).any(-1).any(-1)
    has_answer = batch.has_answer & read[:, None] if skip_unread else batch.has_answer
    return early_loss(batch.retrieval, torch.ones_like(has_answer), has_answer)


def _shared_spans(batch: OpenQAScores) -> Tensor:
    return span_loss(batch.start, batch.end, batch.tokens, batch.spans, shared=True)


def _joint(batch: OpenQAScores, is_shared: bool) -> Tensor:
    passages = batch.retrieval.float().log_softmax(-1).gather(-1, batch.ranks)
    return joint_loss(batch.start, batch.end, batch.tokens, batch.spans, passages, is_shared)
