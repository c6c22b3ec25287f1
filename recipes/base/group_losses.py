"""The losses that readers are trained with on groups: of the labels, and of a teacher's probabilities.

Batches are those of ``collate_labelled``: ``G`` questions with up to ``P`` passages of up to ``T`` tokens. ``Outputs``
are those of ``read_groups`` for a reader with blocks: logits of start and end ``[G, P, T]``, of selection ``[G, P]`` and of
blocks ``[G, P, T]``.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from oreqa.losses.reading import selection_loss, span_loss
from oreqa.training.loop import TensorBatch

Outputs = tuple[Tensor, ...]

BLOCK_WEIGHT = 0.5
WRONG_PASSAGE = 0.25
"""Weight of a window without an answer in ``block_loss``; a window with a block weighs 1."""
TEMPERATURE = 2.0
LABEL_SHARE = 0.3
"""Share of ``label_loss`` in the pupil's loss."""

_IMPOSSIBLE = -1e9


def label_loss(outputs: Outputs, batch: TensorBatch) -> Tensor:
    """Return the loss of spans normalised over all passages of a question (Clark & Gardner 2018), plus that of selecting a
    passage or none, plus half of ``block_loss``."""
    start, end, selection, blocks = (logits.float() for logits in outputs)
    spans = span_loss(start, end, batch["tokens"], batch["spans"], shared=True)
    selected = selection_loss(selection, _present(batch), batch["holds"], null=True)
    return spans + selected + BLOCK_WEIGHT * block_loss(blocks, batch)


def block_loss(blocks: Tensor, batch: TensorBatch) -> Tensor:
    """Return the cross-entropy of each token's membership of the answer: passage means, then their weighted mean.

    A window that answers but has no labelled block has no weight.
    """
    labelled = batch["block"].any(-1)
    weights = torch.where(labelled, 1.0, torch.where(batch["holds"] | ~_present(batch), 0.0, WRONG_PASSAGE))
    return (_token_mean(blocks, batch["block"], batch["tokens"]) * weights).sum() / weights.sum().clamp(min=1)


def pupil_loss(outputs: Outputs, teacher: Outputs, batch: TensorBatch) -> Tensor:
    """Return the distillation loss (Hinton et al. 2015): ``LABEL_SHARE`` of ``label_loss``, the rest of ``teacher_loss``."""
    return LABEL_SHARE * label_loss(outputs, batch) + (1 - LABEL_SHARE) * teacher_loss(outputs, teacher, batch)


def teacher_loss(outputs: Outputs, teacher: Outputs, batch: TensorBatch) -> Tensor:
    """Return the divergence of the pupil's probabilities from the teacher's.

    It is the sum of three: of start and end over all passages of a question (their mean); of the passages, with "none" as
    one more choice; and half of the cross-entropy of blocks.
    """
    pairs = [(pupil.float(), expert.float()) for pupil, expert in zip(outputs, teacher, strict=True)]
    edges = [divergence(*(_allowed(logits, batch["tokens"]) for logits in pair)) for pair in pairs[:2]]
    selection = divergence(*(_with_none(_allowed(logits, _present(batch))) for logits in pairs[2]))
    pupil, expert = pairs[3]
    present = _present(batch)
    blocks = _token_mean(pupil, expert.sigmoid(), batch["tokens"])[present].sum() / present.sum()
    return sum(edges) / 2 + selection + BLOCK_WEIGHT * blocks


def divergence(pupil: Tensor, teacher: Tensor) -> Tensor:
    """Return ``T^2 KL(softmax(teacher / T) || softmax(pupil / T))`` of logits ``[G, choices]``, averaged over ``G``: Hinton
    et al. (2015, section 2)."""
    expected, learned = ((logits / TEMPERATURE).log_softmax(-1) for logits in (teacher, pupil))
    return (expected.exp() * (expected - learned)).sum(-1).mean() * TEMPERATURE**2


def _present(batch: TensorBatch) -> Tensor:
    return batch["attention_mask"].any(-1)


def _allowed(logits: Tensor, allowed: Tensor) -> Tensor:
    """Return the logits of all choices of each question, ``[G, choices]``."""
    return logits.masked_fill(~allowed, _IMPOSSIBLE).flatten(1)


def _with_none(choices: Tensor) -> Tensor:
    return torch.cat([torch.zeros_like(choices[:, :1]), choices], -1)


def _token_mean(logits: Tensor, targets: Tensor, tokens: Tensor) -> Tensor:
    """Return the mean cross-entropy of each window's ``tokens``, ``[G, P]``; 0 for a window without any."""
    entropy = binary_cross_entropy_with_logits(logits, targets, reduction="none") * tokens
    return entropy.sum(-1) / tokens.sum(-1).clamp(min=1)
