"""Training of cross-encoders, through transformers' Trainer: the answer classifier and the span re-ranker.

They are one model (``BertCrossEncoder``) with two sources of examples and two losses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from oreqa.datasets.pairs import GOLD, load_pairs
from oreqa.errors import InputError
from oreqa.losses.reranking import listwise_softmax, weighted_cross_entropy
from oreqa.mining.predictions import load_predictions
from oreqa.models.cross_encoder.folder import read_cross_encoder_folder
from oreqa.models.cross_encoder.inputs import CrossEncoderInputs
from oreqa.models.cross_encoder.module import BertCrossEncoder
from oreqa.models.folders import CLASSIFIER, RERANKER, find_model
from oreqa.models.graph.weights import find_tokenizer
from oreqa.models.reader.folder import read_reader_folder
from oreqa.training.candidates import candidate_lists, collate_labelled, collate_lists, labelled_windows
from oreqa.training.fitting import Stage, copy_tokenizer, fit, quieten, silent
from oreqa.training.initial import start_from
from oreqa.training.recipes import ClassifierRecipe, RerankerRecipe

Examples = Callable[[CrossEncoderInputs, Callable[[int], None]], Sequence[Any]]
"""Makes a run's examples from the model's inputs; the callback is told of rows done."""


def train_classifier(recipe: ClassifierRecipe, out: Path, stage: Stage = silent) -> dict[str, Any]:
    """Train a classifier, does a sentence answer a question? (Yang et al. 2021, section 4.1), and save it to ``out``.

    Returns what run.json holds. Resumes from the last checkpoint if there is one. Raises InputError for data that cannot be
    learned from.
    """
    pairs = [pair for part in recipe.data for pair in load_pairs(recipe.data_root / part) if pair.source == GOLD]
    if not any(pair.negatives for pair in pairs):
        raise InputError("no pair of the data has negatives; make such pairs with: oreqa mine negatives")
    base = find_model(recipe.backbone)
    settings = {
        "kind": CLASSIFIER, "base": recipe.backbone, "marking": recipe.marking, "max_tokens": recipe.max_tokens,
        "titles": recipe.marking != "alone", "closing": True,
    }  # fmt: skip

    def examples(inputs: CrossEncoderInputs, advance: Callable[[int], None]) -> Sequence[Any]:
        return labelled_windows(pairs, inputs, recipe.epochs, recipe.optimiser.batch, recipe.seed, advance)

    def loss(model: BertCrossEncoder, batch: dict[str, Tensor]) -> Tensor:
        labels, weights = batch.pop("labels"), batch.pop("weights")
        return weighted_cross_entropy(model(**batch), labels, weights)

    count = recipe.epochs * len(pairs)
    record = _train(recipe, base, False, settings, examples, count, collate_labelled, loss, out, stage)
    return {"pairs": len(pairs), **record}


def train_reranker(recipe: RerankerRecipe, out: Path, stage: Stage = silent) -> dict[str, Any]:
    """Train a span re-ranker, one right prediction of a reader against M - 1 wrong ones (RECONSIDER, section 3), from the
    reader's weights or another re-ranker's, and save it to ``out``.

    Returns what run.json holds. Resumes from the last checkpoint if there is one. Raises InputError if no question can be
    learned from.
    """
    reader = read_reader_folder(find_model(recipe.reader))
    base = reader if recipe.backbone is None else read_cross_encoder_folder(find_model(recipe.backbone), RERANKER)
    rows = [row for row in load_predictions(recipe.data_root / recipe.predictions) if any(row.right) and not all(row.right)]
    if not rows:
        raise InputError(f"{recipe.predictions}: no question has both a right and a wrong prediction")
    settings = {
        "kind": RERANKER, "base": recipe.reader, "marking": recipe.marking, "max_tokens": recipe.max_tokens,
        "titles": base.titles, "closing": base.closing, "pooler": False,
    }  # fmt: skip

    def examples(inputs: CrossEncoderInputs, advance: Callable[[int], None]) -> Sequence[Any]:
        return candidate_lists(rows, inputs, recipe.epochs, recipe.candidates, recipe.pool, recipe.seed, advance)

    def loss(model: BertCrossEncoder, batch: dict[str, Tensor]) -> Tensor:
        present = batch.pop("present")
        scores = torch.full(present.shape, -1e9, dtype=torch.float32, device=present.device)
        scores[present] = model(**batch).float()
        return listwise_softmax(scores, present)

    count, keep_head = recipe.epochs * len(rows), recipe.backbone is not None
    record = _train(recipe, base.path, keep_head, settings, examples, count, collate_lists, loss, out, stage)
    return {"questions": len(rows), **record}


def _train(
    recipe: ClassifierRecipe | RerankerRecipe,
    base: Path,
    keep_head: bool,
    settings: dict[str, Any],
    make_examples: Examples,
    count: int,
    collate: Callable[[Sequence[Any]], dict[str, Tensor]],
    loss: Callable[[BertCrossEncoder, dict[str, Tensor]], Tensor],
    out: Path,
    stage: Stage,
) -> dict[str, Any]:
    """Train a cross-encoder that begins as the folder ``base``; ``settings`` are kept as ``config.oreqa``."""
    quieten()
    torch.manual_seed(recipe.seed)
    frozen = recipe.freeze_embeddings, recipe.frozen_layers
    model = start_from(BertCrossEncoder, base, *frozen, recipe.dropout, head=keep_head, oreqa=settings, num_labels=1)
    tokenizer = find_tokenizer(base)
    inputs = CrossEncoderInputs(tokenizer, recipe.max_tokens, recipe.marking, settings["titles"], settings["closing"])
    with stage("preparing examples", count) as advance:
        examples = make_examples(inputs, advance)
    record = fit(model, examples, collate, loss, recipe.optimiser, recipe.seed, out, stage)
    copy_tokenizer(tokenizer.parent, out)
    return record
