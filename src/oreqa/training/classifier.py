"""Training of the cross-attention classifier: does a sentence answer a question? (Yang et al. 2021, section 3.1)"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import BertForSequenceClassification

from oreqa.datasets.pairs import GOLD, Candidate, Pair, load_pairs
from oreqa.errors import InputError
from oreqa.models.folders import find_model
from oreqa.models.heads import CLASSIFIER, find_tokenizer
from oreqa.models.inputs import InputMaker, Window
from oreqa.runtime.classifier import show
from oreqa.training.batches import batches_by_length
from oreqa.training.fitting import Stage, copy_tokenizer, fit, quieten, silent
from oreqa.training.heads import start_from
from oreqa.training.recipes import ClassifierRecipe
from oreqa.training.reranker import padded_windows

Labelled = tuple[Window, float, float]
"""An input, its label, and how much it counts."""


def train_classifier(recipe: ClassifierRecipe, out: Path, stage: Stage = silent) -> dict[str, Any]:
    """Train a classifier and save it to ``out`` in the layout of BertForSequenceClassification, which CrossEncoder loads.

    Returns what run.json holds. Begun work is gone on with from its last checkpoint. Raises InputError for data that
    cannot be learned from.
    """
    quieten()
    torch.manual_seed(recipe.seed)
    base = find_model(recipe.backbone)
    frozen = recipe.freeze_embeddings, recipe.frozen_layers
    model = start_from(BertForSequenceClassification, base, *frozen, recipe.dropout, num_labels=1)
    titles = recipe.marking != "alone"
    model.config.oreqa = {
        "kind": CLASSIFIER, "base": recipe.backbone, "marking": recipe.marking, "max_tokens": recipe.max_tokens,
        "titles": titles, "closing": True,
    }  # fmt: skip
    tokenizer = find_tokenizer(base)
    inputs = InputMaker(tokenizer, recipe.max_tokens, 0, titles)
    pairs = [pair for part in recipe.data for pair in load_pairs(recipe.data_root / part) if pair.source == GOLD]
    if not any(pair.negatives for pair in pairs):
        raise InputError("no pair of the data has negatives; make such pairs with: oreqa mine negatives")
    with stage("preparing pairs", recipe.epochs * len(pairs)) as advance:
        examples = []
        rng = random.Random(recipe.seed)
        for _ in range(recipe.epochs):
            labelled: list[Labelled] = []
            for begin in range(0, len(pairs), _BLOCK):
                block = pairs[begin : begin + _BLOCK]
                labelled += labelled_windows(block, inputs, recipe.marking)
                advance(len(block))
            rng.shuffle(labelled)
            batches = batches_by_length(labelled, lambda example: len(example[0].ids), recipe.optimiser.batch, rng)
            examples += [example for batch in batches for example in batch]

    def loss(model: BertForSequenceClassification, batch: dict[str, Tensor]) -> Tensor:
        labels, weights = batch.pop("labels"), batch.pop("weights")
        return weighted_loss(model(**batch).logits[:, 0], labels, weights)

    record = fit(model, examples, collate, loss, recipe.optimiser, recipe.seed, out, stage)
    copy_tokenizer(tokenizer.parent, out)
    return {"pairs": len(pairs), **record}


def weighted_loss(logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Binary cross-entropy of log-odds (all ``[N]``), each times its weight, averaged."""
    return nn.functional.binary_cross_entropy_with_logits(logits.float(), labels, weights)


def labelled_windows(pairs: Sequence[Pair], inputs: InputMaker, marking: str) -> list[Labelled]:
    """The inputs of every pair (label 1, the pair's weight) and of its negatives (label 0, weight 1)."""
    rows: list[tuple[str, Candidate, float, float]] = []
    for pair in pairs:
        rows.append((pair.question, pair.positive, 1.0, pair.weight))
        rows += [(pair.question, negative, 0.0, 1.0) for negative in pair.negatives]
    windows = show(inputs, [(question, candidate) for question, candidate, _, _ in rows], marking)
    return [(window, label, weight) for window, (_, _, label, weight) in zip(windows, rows, strict=True)]


def collate(examples: Sequence[Labelled]) -> dict[str, Tensor]:
    """Padded inputs ``[N, T]``, their ``labels`` and ``weights`` (``[N]``)."""
    windows, labels, weights = zip(*examples, strict=True)
    return {**padded_windows(windows), "labels": torch.tensor(labels), "weights": torch.tensor(weights)}


_BLOCK = 1024
