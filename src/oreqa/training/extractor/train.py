"""Training of the answer extractor."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from oreqa.errors import InputError
from oreqa.models.extractor.inputs import ExtractorInputs
from oreqa.models.extractor.module import BertExtractor, banded
from oreqa.models.folders import EXTRACTOR, find_model
from oreqa.models.graph.weights import find_tokenizer
from oreqa.progress import Progress, no_progress, show
from oreqa.training.backbone import start_bert
from oreqa.training.extractor.examples import collate_windows, extractor_examples
from oreqa.training.extractor.recipe import ExtractorRecipe
from oreqa.training.losses import EXTRACTOR_LOSSES, ExtractorScores
from oreqa.training.trainer import Tensors, copy_tokenizer, fit, silence_transformers


@silence_transformers()
def train_extractor(recipe: ExtractorRecipe, out: Path, progress: Progress = no_progress) -> dict[str, Any]:
    """Train an extractor on all spans of a passage that were asked about, and save it to ``out``.

    Returns what run.json holds. Resumes from the last checkpoint if there is one. Raises InputError for data that cannot be
    learned from.
    """
    torch.manual_seed(recipe.seed)
    backbone = find_model(recipe.backbone)
    settings = {
        "kind": EXTRACTOR,
        "max_tokens": recipe.max_tokens,
        "overlap": recipe.overlap,
        "answer_tokens": recipe.answer_tokens,
    }
    model = start_bert(
        BertExtractor,
        backbone,
        dropout=recipe.dropout,
        freeze_embeddings=recipe.freeze_embeddings,
        frozen_layers=recipe.frozen_layers,
        attention_probs_dropout_prob=recipe.attention_dropout,
        oreqa=settings,
    )
    tokenizer = find_tokenizer(backbone)
    inputs = ExtractorInputs(tokenizer, recipe.max_tokens, recipe.overlap)
    with show(progress, "preparing passages") as advance:
        examples = extractor_examples(recipe, inputs, advance)
    if not examples:
        raise InputError("no question of the data has an answer in its passage: there is nothing to learn from")

    def loss(module: BertExtractor, batch: Tensors) -> Tensor:
        allowed, asked = batch.pop("allowed"), batch.pop("asked")
        scores = banded(module(**batch), recipe.answer_tokens)
        return EXTRACTOR_LOSSES[recipe.loss](recipe, ExtractorScores(scores=scores, allowed=allowed, asked=asked))

    record = fit(
        model,
        examples,
        partial(collate_windows, answer_tokens=recipe.answer_tokens),
        loss,
        optimiser=recipe.optimiser,
        seed=recipe.seed,
        out=out,
        progress=progress,
    )
    copy_tokenizer(tokenizer.parent, out)
    return record
