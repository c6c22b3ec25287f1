"""The losses that a recipe can name, each a pure function of ``oreqa.losses`` applied to what a batch gives.

A new loss is a file in ``oreqa/losses``, a row here, and its name in the recipe of its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from oreqa.losses.alignment import AlignmentWeights, Kernel, PairVectors, alignment_loss
from oreqa.losses.extraction import span_cross_entropy, span_softmax
from oreqa.losses.open_retrieval import early_loss, joint_loss, rerank_loss
from oreqa.losses.reading import selection_loss, span_loss
from oreqa.losses.reranking import listwise_softmax, weighted_cross_entropy
from oreqa.losses.retrieval import soft_label_loss, weighted_softmax
from oreqa.training.cross_encoder.recipe import CrossEncoderLoss
from oreqa.training.extractor.recipe import ExtractorLoss, ExtractorRecipe
from oreqa.training.openqa.recipe import OpenQALoss, OpenQARecipe
from oreqa.training.reader.recipe import ReaderLoss, ReaderRecipe
from oreqa.training.retriever.recipe import Alignment, RetrieverLoss, RetrieverRecipe


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieverVectors:
    """A batch of the dual encoder: ``Q`` questions and the ``C`` candidates of all of them, of all processes."""

    questions: Tensor
    """``[Q, D]``, unit vectors unless the recipe says otherwise."""
    candidates: Tensor
    """``[C, D]``; with late chunking a sentence's vector plus ``passage_weight`` times its passage's."""
    positives: Tensor
    """``[Q]``: the number of each question's positive candidate."""
    weights: Tensor
    """``[Q]``: how much each question counts."""
    answering: Tensor
    """Bool, ``[Q, C]``: candidates that are known to answer the question, or are blank, and are no negatives of it."""
    scored: Tensor
    """``[Q, L]``: numbers of candidates that a classifier scored for the question, -1 where there are fewer than ``L``."""
    teacher: Tensor
    """``[Q, L]``: the classifier's logits of these."""


def _softmax(recipe: RetrieverRecipe, v: RetrieverVectors) -> Tensor:
    return weighted_softmax(v.questions, v.candidates, v.positives, v.weights, v.answering, recipe.scale)


def _soft_labels(recipe: RetrieverRecipe, v: RetrieverVectors) -> Tensor:
    hard = _softmax(recipe, v)
    if not v.scored.shape[1]:
        return hard
    soft = soft_label_loss(v.questions, v.candidates, v.scored, v.teacher, v.weights, recipe.scale)
    return (1 - recipe.soft_share) * hard + recipe.soft_share * soft


RETRIEVER_LOSSES: Mapping[RetrieverLoss, Callable[[RetrieverRecipe, RetrieverVectors], Tensor]] = {
    "softmax": _softmax,
    "soft_labels": _soft_labels,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedVectors:
    """A batch of a dual encoder and the cross-encoder that teaches it: ``N`` questions and their answers, of all processes,
    of which ``Q`` are this one's."""

    cross: PairVectors
    dual: PairVectors
    """``[N, D]`` each."""
    anchors: Tensor
    """``[Q]``: the numbers of this process' pairs."""
    weights: Tensor
    """``[Q]``: how much each question counts."""
    answering: Tensor
    """Bool, ``[Q, N]``: answers that are known to answer the question, or are blank, and are no negatives of it."""
    blank: Tensor
    """Bool, ``[N]``: rows that are no pair."""


def aligned_loss(alignment: Alignment, scale: float, dual: Tensor, v: AlignedVectors, ramp: float) -> Tensor:
    """Eq. 13 of Wang et al. (2021): the ``dual`` encoder's loss, the cross-encoder's (Eq. 5) and the alignment of the two.

    ``scale`` is that of the dual encoder's softmax; ``ramp`` is the share of their full weights that the terms of the
    alignment have by now.
    """
    cross = weighted_softmax(v.cross.questions[v.anchors], v.cross.answers, v.anchors, v.weights, v.answering, scale)
    weights = AlignmentWeights(
        alignment.answer_question, alignment.question_answer, alignment.question_question, alignment.answer_answer
    )
    geometry = alignment_loss(
        v.dual,
        v.cross.detached() if alignment.detach else v.cross,
        weights.times(ramp),
        Kernel(alignment.kernel, alignment.width, scale if alignment.scale is None else alignment.scale),
        anchors=v.anchors,
        anchor_weights=v.weights,
        blank=v.blank,
    )
    return alignment.dual_share * dual + alignment.cross_share * cross + alignment.share * geometry


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderLogits:
    """A batch of the reader: ``G`` questions with up to ``P`` passages of up to ``T`` tokens each."""

    start: Tensor
    end: Tensor
    """Logits of an answer's first and last token, ``[G, P, T]``."""
    selection: Tensor
    """Logits of a passage's holding an answer, ``[G, P]``."""
    tokens: Tensor
    """Bool, ``[G, P, T]``: tokens that an answer may hold."""
    spans: Tensor
    """``[G, P, S, 2]``: first and last tokens of the answers, -1 where there are fewer than ``S``."""
    present: Tensor
    """Bool, ``[G, P]``: real passages."""


def _spans_and_selection(recipe: ReaderRecipe, r: ReaderLogits, shared: bool) -> Tensor:
    holds = (r.spans[..., 0] >= 0).any(-1)
    selection = selection_loss(r.selection, r.present, holds, null=recipe.unanswerable > 0)
    return span_loss(r.start, r.end, r.tokens, r.spans, shared) + selection


READER_LOSSES: Mapping[ReaderLoss, Callable[[ReaderRecipe, ReaderLogits], Tensor]] = {
    "dpr": lambda recipe, logits: _spans_and_selection(recipe, logits, shared=False),
    "shared": lambda recipe, logits: _spans_and_selection(recipe, logits, shared=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQAScores:
    """A batch of open question answering: ``G`` questions, each with ``C`` retrieved passages, best first, and up to ``P``
    windows of the first of them, of up to ``T`` tokens."""

    retrieval: Tensor
    """Inner products, ``[G, C]``, times the recipe's scale."""
    holds: Tensor
    """Bool, ``[G, C]``: passages that hold an answer."""
    start: Tensor
    end: Tensor
    """Logits of an answer's first and last token, ``[G, P, T]``."""
    selection: Tensor
    """Logits of a window's holding an answer, ``[G, P]``."""
    tokens: Tensor
    """Bool, ``[G, P, T]``: tokens that an answer may hold."""
    spans: Tensor
    """``[G, P, S, 2]``: first and last tokens of the answers, -1 where there are fewer than ``S``."""
    present: Tensor
    """Bool, ``[G, P]``: real windows."""
    ranks: Tensor
    """``[G, P]``: the place of each window's passage among the retrieved ones."""


def _early(recipe: OpenQARecipe, s: OpenQAScores) -> Tensor:
    read = (s.spans[..., 0] >= 0).any(-1).any(-1)
    holds = s.holds & read[:, None] if recipe.skip_unread else s.holds
    return early_loss(s.retrieval, torch.ones_like(holds), holds)


def _openqa_spans(s: OpenQAScores) -> Tensor:
    return span_loss(s.start, s.end, s.tokens, s.spans, shared=True)


def _openqa_separate(s: OpenQAScores) -> Tensor:
    """The sum over all passages of what each makes of its spans by itself, as in the released code; DPR takes the mean."""
    return joint_loss(s.start, s.end, s.tokens, s.spans, torch.zeros_like(s.selection), shared=False)


def _openqa_joint(s: OpenQAScores, shared: bool) -> Tensor:
    passages = s.retrieval.float().log_softmax(-1).gather(-1, s.ranks)
    return joint_loss(s.start, s.end, s.tokens, s.spans, passages, shared)


def _openqa_rerank(s: OpenQAScores) -> Tensor:
    return rerank_loss(s.selection, s.present, (s.spans[..., 0] >= 0).any(-1))


OPENQA_LOSSES: Mapping[OpenQALoss, Callable[[OpenQARecipe, OpenQAScores], Tensor]] = {
    "shared": lambda recipe, s: _early(recipe, s) + _openqa_spans(s),
    "shared_joint": lambda recipe, s: _early(recipe, s) + _openqa_joint(s, shared=True),
    "shared_rerank": lambda recipe, s: _early(recipe, s) + _openqa_spans(s) + _openqa_rerank(s),
    "joint": lambda recipe, s: _early(recipe, s) + _openqa_joint(s, shared=False),
    "separate": lambda recipe, s: _early(recipe, s) + _openqa_separate(s),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossEncoderScores:
    """A batch of the cross-encoder: ``G`` lists of up to ``M`` candidates of one question each; the positive comes first."""

    scores: Tensor
    """``[G, M]`` float32."""
    labels: Tensor
    """``[G, M]``: 1 for a positive, 0 for a negative."""
    weights: Tensor
    """``[G, M]``: how much each candidate counts."""
    present: Tensor
    """Bool, ``[G, M]``: real candidates."""


@dataclass(frozen=True, slots=True)
class CrossEncoderObjective:
    """A loss of the cross-encoder. A ``pointwise`` one sees each candidate by itself, in batches of any questions' (``M`` is
    1, and a batch is so many candidates); any other sees the candidates of a question together (a batch is so many
    questions)."""

    loss: Callable[[CrossEncoderScores], Tensor]
    pointwise: bool


def _cross_entropy(c: CrossEncoderScores) -> Tensor:
    return weighted_cross_entropy(c.scores[c.present], c.labels[c.present], c.weights[c.present])


def _listwise(c: CrossEncoderScores) -> Tensor:
    return listwise_softmax(c.scores, c.present, c.weights[:, 0])


CROSS_ENCODER_LOSSES: Mapping[CrossEncoderLoss, CrossEncoderObjective] = {
    "cross_entropy": CrossEncoderObjective(_cross_entropy, pointwise=True),
    "listwise_softmax": CrossEncoderObjective(_listwise, pointwise=False),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorScores:
    """A batch of the extractor: ``N`` windows of up to ``T`` tokens, with spans of up to ``W`` tokens from each of them."""

    scores: Tensor
    """``[N, T, W]``: the score of the span from a token on, by its length less one."""
    allowed: Tensor
    """Bool, ``[N, T, W]``: spans that an answer may be."""
    asked: Tensor
    """Bool, ``[N, T, W]``: spans that were asked about."""


EXTRACTOR_LOSSES: Mapping[ExtractorLoss, Callable[[ExtractorRecipe, ExtractorScores], Tensor]] = {
    "softmax": lambda recipe, s: span_softmax(s.scores, s.allowed, s.asked),
    "cross_entropy": lambda recipe, s: span_cross_entropy(s.scores, s.allowed, s.asked, recipe.negatives),
}
