"""Training of the answer extractor."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from oreqa.errors import InputError
from oreqa.models.extractor.inputs import ExtractorInputs
from oreqa.models.extractor.module import ExtractorModel, banded
from oreqa.models.graph.torch import silence_transformers
from oreqa.models.names import EXTRACTOR, find_model, find_tokenizer
from oreqa.progress import Progress, no_progress, show
from oreqa.training.backbone import start_headed
from oreqa.training.extractor.examples import collate_windows, dev_windows, extractor_examples
from oreqa.training.extractor.recipe import ExtractorRecipe
from oreqa.training.loop import EarlyStopping, TensorBatch
from oreqa.training.losses import EXTRACTOR_LOSSES
from oreqa.training.trainer import copy_tokenizer, dev_batches, evaluated, fit


@silence_transformers()
def train_extractor(recipe: ExtractorRecipe, out: Path, progress: Progress = no_progress) -> dict[str, Any]:
    """Train an extractor on all spans of a passage that were asked about, and save it to ``out``.

    Returns the content of run.json. Resumes from the last checkpoint if there is one. Raises InputError for unusable data.
    """
    torch.manual_seed(recipe.seed)
    backbone = find_model(recipe.backbone)
    settings = {
        "kind": EXTRACTOR,
        "max_tokens": recipe.max_tokens,
        "overlap": recipe.overlap,
        "answer_tokens": recipe.answer_tokens,
    }
    model = start_headed(
        ExtractorModel,
        backbone,
        dropout=recipe.dropout,
        freeze_embeddings=recipe.freeze_embeddings,
        frozen_layers=recipe.frozen_layers,
        attention_dropout=recipe.attention_dropout,
        oreqa=settings,
    )
    tokenizer = find_tokenizer(backbone)
    inputs = ExtractorInputs(tokenizer, recipe.max_tokens, recipe.overlap)
    with show(progress, "preparing passages") as advance:
        examples = extractor_examples(
            recipe.parts,
            inputs,
            answer_tokens=recipe.answer_tokens,
            batch=recipe.optimiser.batch,
            seed=recipe.seed,
            advance=advance,
        )
    if not examples:
        raise InputError("no question of the data has an answer in its passage: there is nothing to learn from")

    loss_of = EXTRACTOR_LOSSES[recipe.loss].of(recipe)

    record = fit(
        model,
        examples,
        partial(collate_windows, answer_tokens=recipe.answer_tokens),
        lambda module, batch: loss_of(*_scored(module, batch)),
        optimiser=recipe.optimiser,
        seed=recipe.seed,
        out=out,
        progress=progress,
        early_stopping=_early_stopping(recipe, model, inputs),
    )
    copy_tokenizer(tokenizer.parent, out)
    return record


def _scored(model: ExtractorModel, batch: TensorBatch) -> tuple[Tensor, Tensor, Tensor]:
    """Return the scores of a batch's spans, which are allowed, and which were asked about."""
    allowed, gold = batch.pop("allowed"), batch.pop("gold")
    return banded(model(**batch), allowed.shape[-1]), allowed, gold


def _early_stopping(recipe: ExtractorRecipe, model: ExtractorModel, inputs: ExtractorInputs) -> EarlyStopping | None:
    if recipe.dev_file is None:
        return None
    dev = dev_windows(recipe.dev_file, inputs, recipe.answer_tokens)
    if not dev:
        raise InputError(f"{recipe.dev_file}: its held-out articles, a tenth by title, hold no answer; name another dev")
    collate = partial(collate_windows, answer_tokens=recipe.answer_tokens)
    total = sum(len(set(example.spans)) for example in dev)

    def measure() -> float:
        with evaluated(model, recipe.optimiser.precision) as device:
            batches = dev_batches(dev, collate, recipe.optimiser.batch, device)
            return round(100 * sum(gold_among_best(*_scored(model, batch)) for batch in batches) / total, 2)

    return EarlyStopping(recipe.dev_metric, measure, recipe.patience)


def gold_among_best(scores: Tensor, allowed: Tensor, gold: Tensor) -> int:
    """Return how many of the spans asked about are among equally many best ones of their window: precision equals recall."""
    scores = scores.float().masked_fill(~allowed, -torch.inf).flatten(1)
    counts = gold.flatten(1).sum(1)
    hits = 0
    for row, is_gold, count in zip(scores, gold.flatten(1), counts.tolist(), strict=True):
        hits += int(is_gold[row.topk(count).indices].sum())
    return hits
