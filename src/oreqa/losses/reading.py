"""Objectives of the extractive reader.

Passage selection and marginal span likelihood come from Dense Passage Retrieval (Karpukhin et al. 2020, section 6.1),
on which RECONSIDER (Iyer et al. 2021, section 4) builds; shared normalisation comes from Clark & Gardner (2018), and is
used by ProQA (Xiong et al. 2021, section 2.3).

A batch has ``G`` questions with up to ``P`` passages of up to ``T`` tokens. ``spans`` (``[G, P, S, 2]``) are the first
and last tokens of every occurrence of an answer, padded with -1.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderLogits:
    """A batch of the reader: ``G`` questions with up to ``P`` passages of up to ``T`` tokens each."""

    start: Tensor
    end: Tensor
    """Logits of an answer's first and last token, ``[G, P, T]``."""
    selection: Tensor
    """Logits of a passage's containing an answer, ``[G, P]``."""
    tokens: Tensor
    """Bool, ``[G, P, T]``: tokens that an answer may include."""
    spans: Tensor
    """``[G, P, S, 2]``: first and last tokens of the answers, padded with -1."""
    present: Tensor
    """Bool, ``[G, P]``: real passages."""


def dpr(batch: ReaderLogits, null: bool) -> Tensor:
    """``span_loss`` inside each passage plus ``selection_loss``, as in DPR; ``null`` is that of ``selection_loss``.

    Use it to read passages separately and compare them by selection logits. Alternative: ``shared_normalisation``.
    """
    return _span_and_selection(batch, null, shared=False)


def shared_normalisation(batch: ReaderLogits, null: bool) -> Tensor:
    """``span_loss`` over all passages of a question plus ``selection_loss``; ``null`` is that of ``selection_loss``.

    Use it to rank spans of several passages by their own scores, as ProQA does. Alternative: ``dpr``.
    """
    return _span_and_selection(batch, null, shared=True)


def _span_and_selection(batch: ReaderLogits, null: bool, shared: bool) -> Tensor:
    has_answer = (batch.spans[..., 0] >= 0).any(-1)
    selection = selection_loss(batch.selection, batch.present, has_answer, null)
    return span_loss(batch.start, batch.end, batch.tokens, batch.spans, shared) + selection


def span_loss(start: Tensor, end: Tensor, tokens: Tensor, spans: Tensor, shared: bool) -> Tensor:
    """Negative marginal log-likelihood of the answer's spans: ``-log sum p_start(i) p_end(j)``, averaged over questions.

    ``start`` and ``end`` are logits ``[G, P, T]``; ``tokens`` (bool, ``[G, P, T]``) marks tokens that an answer may
    include. With ``shared``, probabilities are normalised over all passages of a question and all matching spans are summed;
    without, over each passage, and the losses of passages that contain an answer are averaged. Questions without a span are
    ignored; a batch without any gives 0.
    """
    has_answer = (spans[..., 0] >= 0).any(-1)
    likelihood = span_log_likelihoods(start, end, tokens, spans, shared)
    if shared:
        likelihood = likelihood.logsumexp(-1, keepdim=True)
        has_answer = has_answer.any(-1, keepdim=True)
    losses = torch.where(has_answer, -likelihood, 0.0).sum(-1) / has_answer.sum(-1).clamp(min=1)
    return losses.sum() / has_answer.any(-1).sum().clamp(min=1)


def span_log_likelihoods(start: Tensor, end: Tensor, tokens: Tensor, spans: Tensor, shared: bool) -> Tensor:
    """``log sum p_start(i) p_end(j)`` over the answer's spans in each passage, ``[G, P]``.

    The arguments are those of ``span_loss``. A passage without a span gets a large negative number.
    """
    annotated = spans[..., 0] >= 0
    inside = _log_softmax(start, tokens, shared).gather(-1, spans[..., 0].clamp(min=0))
    inside = inside + _log_softmax(end, tokens, shared).gather(-1, spans[..., 1].clamp(min=0))
    likelihood = inside.masked_fill(~annotated, _IMPOSSIBLE).logsumexp(-1)
    return likelihood.masked_fill(~annotated.any(-1), _IMPOSSIBLE)


def selection_loss(selection: Tensor, present: Tensor, has_answer: Tensor, null: bool) -> Tensor:
    """Negative log-likelihood of choosing a passage that contains the answer, averaged over questions.

    ``selection`` are logits ``[G, P]``, ``present`` (bool) marks real passages, ``has_answer`` those with an answer, which
    are summed. With ``null`` there is one more choice, with logit 0: that no passage answers. It is the right one for
    questions without an answer, so that a passage's logit becomes the log-odds that it answers. Without ``null``, such
    questions are ignored.
    """
    choices = selection.masked_fill(~present, _IMPOSSIBLE)
    right = selection.masked_fill(~has_answer, _IMPOSSIBLE)
    answered = has_answer.any(-1)
    if null:
        zero = torch.zeros_like(choices[:, :1])
        choices = torch.cat([zero, choices], -1)
        right = torch.cat([zero.masked_fill(answered[:, None], _IMPOSSIBLE), right], -1)
        answered = torch.ones_like(answered)
    likelihood = right.logsumexp(-1) - choices.logsumexp(-1)
    return torch.where(answered, -likelihood, 0.0).sum() / answered.sum().clamp(min=1)


_IMPOSSIBLE = -1e9  # a finite number, so that a row without any choice gives no NaN


def _log_softmax(logits: Tensor, allowed: Tensor, shared: bool) -> Tensor:
    logits = logits.float().masked_fill(~allowed, _IMPOSSIBLE)
    total = logits.flatten(1).logsumexp(-1)[:, None, None] if shared else logits.logsumexp(-1, keepdim=True)
    return logits - total
