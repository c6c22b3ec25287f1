"""The dual encoder's loss of a batch: encoding, in chunks if that is asked for, then the recipe's loss of the vectors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import torch
from sentence_transformers.base.losses.gradcache import RandContext
from torch import Tensor

from oreqa.training.distributed import gather_padded
from oreqa.training.losses import RETRIEVER_LOSSES, RetrieverVectors
from oreqa.training.recipes import RetrieverRecipe
from oreqa.training.retriever_batches import INPUTS
from oreqa.training.trainer import Batch

SIMILAR, FEWEST = 0.6, 16
"""Passages are encoded together if the shortest has at least so much of the longest's length, or if there are so few."""


class RetrievalLoss:
    """The recipe's loss of a batch (``RetrieverCollator``), over the candidates of all processes.

    A batch of more than ``recipe.chunk`` questions or passages is encoded so many at a time and twice: first without
    gradients, for the loss and its gradients at the vectors, then with them (gradient caching, Gao et al. 2021): memory is
    that of one chunk.
    """

    def __init__(self, recipe: RetrieverRecipe) -> None:
        self.recipe = recipe

    def __call__(self, model: Any, batch: Batch) -> Tensor:
        sides = [{name: batch[f"{side}_{name}"] for name in INPUTS} for side in ("question", "passage")]
        chunk_size = self.recipe.chunk
        largest = max(len(inputs["input_ids"]) for inputs in sides)
        if chunk_size is None or largest <= chunk_size or not model.training:
            passages = torch.cat([model(**part) for part in _of_similar_length(sides[1])])
            return self.of_vectors(model(**sides[0], questions=True), passages, batch)
        replays, vectors = [], []
        with torch.no_grad():
            for inputs, are_questions in zip(sides, (True, False), strict=True):
                rows = []
                for chunk in _chunks(inputs, chunk_size):
                    replays.append(RandContext(*chunk.values()))
                    rows.append(model(**chunk, questions=are_questions))
                vectors.append(torch.cat(rows).requires_grad_())
        with torch.enable_grad():
            loss = self.of_vectors(vectors[0], vectors[1], batch)
        gradients = torch.autograd.grad(loss, vectors)
        chunks = [
            (chunk, gradient, are_questions)
            for inputs, of_side, are_questions in zip(sides, gradients, (True, False), strict=True)
            for chunk, gradient in zip(_chunks(inputs, chunk_size), of_side.split(chunk_size), strict=True)
        ]
        again = list(zip(chunks, replays, strict=True))
        # Processes exchange the gradients in one backward pass, the last, which has to reach every weight: it is that of the
        # last chunk, or of two encoders that of the last chunk of each.
        together = again[-1:]
        if self.recipe.towers == "separate":
            together.insert(0, again.pop(len(gradients[0].split(chunk_size)) - 1))
        with nullcontext() if not hasattr(model, "no_sync") else model.no_sync():
            for (chunk, gradient, are_questions), replay in again[:-1]:
                _replayed(model, chunk, are_questions, replay).backward(gradient)
        outputs = [_replayed(model, chunk, are_questions, replay) for (chunk, _, are_questions), replay in together]
        torch.autograd.backward(outputs, [gradient for (_, gradient, _), _ in together])
        return loss.detach().requires_grad_()

    def of_vectors(self, questions: Tensor, passages: Tensor, batch: Batch) -> Tensor:
        """The loss from vectors of questions ``[Q, 1, D]`` and of passages and their sentences ``[N, outputs, D]``."""
        recipe = self.recipe
        candidates = passages[batch["rows"], batch["outputs"]]
        if recipe.context == "late_chunking" and recipe.unit == "sentence":
            candidates = candidates + recipe.passage_weight * passages[batch["rows"], 0]
        candidates, texts, shift = gather_padded(candidates, batch["candidate_texts"])
        answering = (texts[None, :, None] == batch["answer_texts"][:, None, :]).any(-1) | (texts < 0)
        vectors = RetrieverVectors(
            questions=questions[:, 0],
            candidates=candidates,
            positives=batch["positives"] + shift,
            weights=batch["weights"],
            answering=answering,
            scored=torch.where(batch["scored"] >= 0, batch["scored"] + shift, -1),
            teacher=batch["teacher"],
        )
        return RETRIEVER_LOSSES[recipe.loss](recipe, vectors)


def _replayed(model: Any, chunk: Batch, are_questions: bool, replay: RandContext) -> Tensor:
    """The vectors of a chunk, with the random state of the first pass, on the GPU too: dropout is the same."""
    with replay:
        vectors: Tensor = model(**chunk, questions=are_questions)
    return vectors


def _of_similar_length(inputs: Batch) -> list[Batch]:
    """Inputs that come sorted by length in parts, so that little is computed on padding."""
    lengths = inputs["attention_mask"].sum(1).tolist()
    cuts = [len(lengths)]
    for row in range(len(lengths) - 1, 0, -1):
        if cuts[0] - row >= FEWEST and lengths[row - 1] < SIMILAR * lengths[cuts[0] - 1]:
            cuts.insert(0, row)
    return [_rows(inputs, begin, end) for begin, end in pairwise([0, *cuts])]


def _chunks(inputs: Batch, size: int) -> Iterator[Batch]:
    for begin in range(0, len(inputs["input_ids"]), size):
        yield _rows(inputs, begin, begin + size)


def _rows(inputs: Batch, begin: int, end: int) -> Batch:
    """Some of the inputs, padded no further than their longest."""
    longest = int(inputs["attention_mask"][begin:end].sum(1).max())
    return {name: value[begin:end, ..., :longest] for name, value in inputs.items()}
