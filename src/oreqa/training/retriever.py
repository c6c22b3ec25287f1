"""Training of the dual encoder on gold and silver pairs (Yang et al. 2021), with gradient caching for large batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from sentence_transformers.base.losses.gradcache import RandContext
from torch import Tensor

from oreqa.datasets.tasks import load_task
from oreqa.errors import InputError
from oreqa.losses.retrieval import soft_label_loss, weighted_softmax
from oreqa.models.encoder.folder import read_encoder_folder
from oreqa.models.encoder.module import QUERY_TOKEN_TYPE, save_encoder, start_from
from oreqa.models.folders import find_model
from oreqa.training.data import load_gold
from oreqa.training.dev import dev_mrr
from oreqa.training.distributed import gather_padded
from oreqa.training.fitting import Stage, fit, quieten, silent
from oreqa.training.pairs import PairMaker
from oreqa.training.recipes import RetrieverRecipe

Inputs = dict[str, Tensor]

LIKE, FEWEST = 0.6, 16
"""Passages are encoded together if the shortest has at least so much of the longest's length, or if there are so few."""


def train_retriever(recipe: RetrieverRecipe, out: Path, stage: Stage = silent) -> dict[str, Any]:
    """Train a dual encoder and save it to ``out`` as a sentence-transformers folder; returns what run.json holds.

    Begun work is gone on with from its last checkpoint. Raises InputError for data that cannot be read.
    """
    quieten()
    torch.manual_seed(recipe.seed)
    origin = read_encoder_folder(find_model(recipe.backbone))
    pooling = "mean" if recipe.context == "late_chunking" else recipe.pooling
    kind = QUERY_TOKEN_TYPE if recipe.input_types else 0
    settings = {"kind": "encoder", "context": recipe.context, "query_token_type": kind, "projection": recipe.projection}
    folder = replace(origin, pooling=pooling, context=recipe.context, query_token_type=kind, max_tokens=recipe.max_tokens)
    model = start_from(origin.path, settings, recipe.dropout)
    if recipe.freeze_embeddings:
        model.bert.embeddings.word_embeddings.requires_grad_(False)
        model.bert.embeddings.position_embeddings.requires_grad_(False)
    with stage("preparing pairs", None) as advance:
        pairs = []
        for part in recipe.data:
            pairs += load_gold(recipe.data_root / part)
            advance(len(pairs))
        maker = PairMaker(folder, recipe, pairs)
        examples = maker.ordered(pairs, recipe.epochs)
    if not examples:
        raise InputError(
            f"no pair of the data can be learned from: none is gold, and mined = {recipe.mined} with least = {recipe.least} "
            "takes no silver one; lower least, or set mined=positives"
        )
    measure = None
    if recipe.dev is not None:
        task = load_task(recipe.data_root / recipe.dev, "dev", held_out=True)
        dim = recipe.projection or int(origin.config["hidden_size"])
        weight = recipe.passage_weight if recipe.context == "late_chunking" else 0.0
        measure = partial(dev_mrr, task, folder, model, dim, weight)
    record = fit(
        model, examples, maker.collate, RetrievalLoss(recipe), recipe.optimiser, recipe.seed, out, stage,
        lambda path: save_encoder(model, origin, pooling, recipe.max_tokens, path), measure, recipe.patience,
    )  # fmt: skip
    return {"pairs": len(pairs), **record}


class RetrievalLoss:
    """The recipe's loss of a batch (``PairMaker.collate``), over the candidates of all processes.

    A batch of more than ``recipe.chunk`` questions or passages is encoded so many at a time and twice: first without
    gradients, for the loss and its gradients at the vectors, then with them (gradient caching, Gao et al. 2021): memory is
    that of one chunk.
    """

    def __init__(self, recipe: RetrieverRecipe) -> None:
        self.recipe = recipe

    def __call__(self, model: Any, batch: Inputs) -> Tensor:
        sides = [{name: batch[f"{side}_{name}"] for name in _INPUTS} for side in ("question", "passage")]
        chunk_size = self.recipe.chunk
        most = max(len(inputs["input_ids"]) for inputs in sides)
        if chunk_size is None or most <= chunk_size or not model.training:
            passages = torch.cat([model(**part) for part in _of_like_length(sides[1])])
            return self.of_vectors(model(**sides[0]), passages, batch)
        replays, vectors = [], []
        with torch.no_grad():
            for inputs in sides:
                rows = []
                for chunk in _chunks(inputs, chunk_size):
                    replays.append(RandContext(*chunk.values()))
                    rows.append(model(**chunk))
                vectors.append(torch.cat(rows).requires_grad_())
        with torch.enable_grad():
            loss = self.of_vectors(vectors[0], vectors[1], batch)
        gradients = torch.autograd.grad(loss, vectors)
        chunks = [
            (chunk, gradient)
            for inputs, of_side in zip(sides, gradients, strict=True)
            for chunk, gradient in zip(_chunks(inputs, chunk_size), of_side.split(chunk_size), strict=True)
        ]
        for number, ((chunk, gradient), replay) in enumerate(zip(chunks, replays, strict=True)):
            last = number == len(chunks) - 1
            with nullcontext() if last or not hasattr(model, "no_sync") else model.no_sync():
                with replay:  # the same dropout as in the first pass
                    again = model(**chunk)
                again.backward(gradient)
        return loss.detach().requires_grad_()

    def of_vectors(self, questions: Tensor, passages: Tensor, batch: Inputs) -> Tensor:
        """The loss from unit vectors of questions ``[Q, 1, D]`` and of passages and their sentences ``[N, outputs, D]``."""
        recipe = self.recipe
        candidates = passages[batch["rows"], batch["outputs"]]
        if recipe.context == "late_chunking":
            candidates = candidates + recipe.passage_weight * passages[batch["rows"], 0]
        questions = questions[:, 0]
        candidates, answers, shift = gather_padded(candidates, batch["answers"])
        known = (answers[None, :, None] == batch["known"][:, None, :]).any(-1) | (answers < 0)
        positives, weights = batch["positives"] + shift, batch["weights"]
        loss = weighted_softmax(questions, candidates, positives, weights, known, recipe.scale)
        if recipe.mined == "soft" and batch["listed"].shape[1]:
            listed = torch.where(batch["listed"] >= 0, batch["listed"] + shift, -1)
            soft = soft_label_loss(questions, candidates, listed, batch["teacher"], weights, recipe.scale)
            loss = (1 - recipe.soft_share) * loss + recipe.soft_share * soft
        return loss


_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "pool")


def _of_like_length(inputs: Inputs) -> list[Inputs]:
    """Inputs that come sorted by length in parts, so that little is computed on padding."""
    lengths = inputs["attention_mask"].sum(1).tolist()
    cuts = [len(lengths)]
    for row in range(len(lengths) - 1, 0, -1):
        if cuts[0] - row >= FEWEST and lengths[row - 1] < LIKE * lengths[cuts[0] - 1]:
            cuts.insert(0, row)
    return [_rows(inputs, begin, end) for begin, end in pairwise([0, *cuts])]


def _chunks(inputs: Inputs, size: int) -> Iterator[Inputs]:
    for begin in range(0, len(inputs["input_ids"]), size):
        yield _rows(inputs, begin, begin + size)


def _rows(inputs: Inputs, begin: int, end: int) -> Inputs:
    """Some of the inputs, padded no further than their longest."""
    longest = int(inputs["attention_mask"][begin:end].sum(1).max())
    return {name: value[begin:end, ..., :longest] for name, value in inputs.items()}
