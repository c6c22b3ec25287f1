"""Training of the dual encoder on gold and silver pairs (Yang et al. 2021)."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from oreqa.datasets.load import load_task, load_training_pairs
from oreqa.datasets.pairs import passage_pairs
from oreqa.errors import InputError
from oreqa.models.encoder.folder import EncoderFolder
from oreqa.models.encoder.module import QUERY_TOKEN_TYPE, DualEncoder
from oreqa.models.graph.torch import silence_transformers
from oreqa.models.names import find_model
from oreqa.progress import Progress, no_progress, show
from oreqa.training.backbone import check_positions, layers_of, start_encoder, trainable_encoder
from oreqa.training.batches import in_a_row
from oreqa.training.checkpoints import checkpoints_of
from oreqa.training.loop import EarlyStopping
from oreqa.training.lora import add_lora, save_difference
from oreqa.training.losses import RETRIEVER_LOSSES
from oreqa.training.retriever.collator import RetrieverCollator
from oreqa.training.retriever.dev import dev_score, passage_vectors
from oreqa.training.retriever.examples import PairPool, RetrieverExample, by_passage
from oreqa.training.retriever.loss import PASSAGE_WEIGHT, RetrievalLoss
from oreqa.training.retriever.model import RetrieverModel, save_cross, start_model
from oreqa.training.retriever.recipe import RetrieverRecipe
from oreqa.training.retriever.rounds import PassageClusters, RetrieverRounds
from oreqa.training.retriever.save import keep_fusion, save_encoder
from oreqa.training.trainer import epoch_batches, fit, uses_bf16
from oreqa.visible import counted

CLUSTER_BATCHES = 8
"""Batches of questions per cluster, unless a recipe sets the number of clusters; there are at least two."""


@silence_transformers()
def train_retriever(recipe: RetrieverRecipe, out: Path, progress: Progress = no_progress) -> dict[str, Any]:
    """Train a dual encoder and save it to ``out`` as a sentence-transformers folder; return the content of run.json.

    Resumes from the last checkpoint if there is one. Raises InputError for unusable data.
    """
    torch.manual_seed(recipe.seed)
    backbone = trainable_encoder(find_model(recipe.backbone))
    check_positions(backbone.transformer, max_tokens=recipe.max_tokens)
    folder = _with_recipe_settings(backbone, recipe)
    if recipe.lora is not None:
        _check_difference(recipe, backbone)
    model = _start(recipe, folder)
    with show(progress, "preparing pairs") as advance:
        pairs = []
        for part in recipe.data:
            loaded = load_training_pairs(recipe.data_root / part)
            pairs += loaded
            advance(len(loaded))
        if recipe.unit == "passage":
            pairs = passage_pairs(pairs)
        pool = PairPool(
            pairs,
            silver=recipe.silver,
            min_probability=recipe.min_probability,
            weight_power=recipe.weight_power,
            negatives=recipe.negatives,
            soft_labels=recipe.loss == "soft_labels",
        )
        collate = RetrieverCollator(folder, pairs, pool.answers, recipe.unit)
        examples, clusters = _examples(recipe, pool, folder, model, out)
    training_model = start_model(
        model,
        with_cross=recipe.alignment is not None,
        decoders=recipe.variational.kind if recipe.variational else None,
    )

    record = fit(
        training_model,
        examples,
        collate,
        RetrievalLoss(
            training_model,
            RETRIEVER_LOSSES[recipe.loss].of(recipe),
            late=recipe.is_late,
            scale=recipe.scale,
            epoch_batches=epoch_batches(examples, recipe.epochs, recipe.optimiser.batch),
            chunk=recipe.chunk,
            alignment=recipe.alignment,
            variational=recipe.variational,
        ),
        optimiser=recipe.optimiser,
        seed=recipe.seed,
        out=out,
        progress=progress,
        save=partial(_save, training_model, recipe, backbone),
        early_stopping=_early_stopping(recipe, folder, model),
    )
    return {"pairs": len(pairs), **({"clusters": clusters} if clusters else {}), **record}


def _save(model: RetrieverModel, recipe: RetrieverRecipe, backbone: EncoderFolder, out: Path) -> None:
    encoder = model.encoder
    if recipe.lora is not None:
        save_difference(encoder.passages.backbone, recipe.backbone, out)
        keep_fusion(encoder, backbone, out)
        return
    save_encoder(encoder, backbone, recipe.pooling, recipe.max_tokens, out, new_layers=recipe.encoder != "backbone")
    if model.cross is not None and recipe.alignment and recipe.alignment.keep_cross:
        save_cross(model.cross, out)


def _with_recipe_settings(folder: EncoderFolder, recipe: RetrieverRecipe) -> EncoderFolder:
    """Return the backbone's settings, overridden by those of the recipe."""
    return replace(
        folder,
        pooling=recipe.pooling,
        normalise=recipe.similarity == "cosine",
        context=recipe.context,
        query_token_type=QUERY_TOKEN_TYPE if recipe.input_types else 0,
        max_tokens=recipe.max_tokens,
        questions=_with_recipe_settings(folder.questions, recipe) if folder.questions else None,
    )


def _check_difference(recipe: RetrieverRecipe, backbone: EncoderFolder) -> None:
    """Raise InputError if a difference from the backbone could not store all that the recipe trains."""
    if backbone.questions or backbone.dense or backbone.attention or backbone.cell:
        raise InputError(
            f"{recipe.backbone}: [lora] trains one transformer with its pooling; this is two, or has other layers"
        )
    kept = {"pooling": backbone.pooling, "similarity": "cosine" if backbone.normalise else "dot"}
    for key, value in kept.items():
        if getattr(recipe, key) != value:
            raise InputError(
                f"{key} = {getattr(recipe, key)} is not {recipe.backbone}'s, which [lora] keeps: set {key}={value}"
            )
    if recipe.max_tokens > backbone.max_tokens:
        raise InputError(
            f"max_tokens = {recipe.max_tokens} is more than the {backbone.max_tokens} tokens that {recipe.backbone} reads: "
            "set it lower, or leave [lora] out"
        )


def _start(recipe: RetrieverRecipe, folder: EncoderFolder) -> DualEncoder:
    settings = {
        "kind": "encoder",
        "context": folder.context,
        "query_token_type": folder.query_token_type,
        "projection": recipe.projection,
    }
    if recipe.lora is not None:  # whose folder has no other place for it
        settings["max_tokens"] = recipe.max_tokens
    if recipe.towers == "separate":
        settings["towers"] = recipe.towers
    if recipe.similarity == "dot":
        settings["similarity"] = recipe.similarity
    if recipe.pooling == "attention":
        settings |= {"hops": recipe.hops, "joining": recipe.joining}
    model = start_encoder(folder.path, settings, recipe.dropout, None if recipe.encoder == "backbone" else recipe.encoder)
    if recipe.lora is not None:
        add_lora(model.passages.backbone, recipe.lora, layers_of(model.passages.backbone))
    elif recipe.freeze_embeddings:
        for tower in model.towers:
            for name, module in tower.backbone.named_modules():
                if isinstance(module, nn.Embedding) and not name.endswith("token_type_embeddings"):
                    module.requires_grad_(False)
    return model


def _examples(
    recipe: RetrieverRecipe, pool: PairPool, folder: EncoderFolder, model: DualEncoder, out: Path
) -> tuple[list[RetrieverExample] | RetrieverRounds, int]:
    """Return all examples of a run in training order, or the rounds that create them; and the number of clusters."""
    batch, rng = recipe.optimiser.batch, random.Random(recipe.seed)
    examples = pool.draw(random.Random(recipe.seed))
    if len(examples) == 1:
        raise InputError("the data has one pair: its answer has no other to be told from; name data with more")
    if not examples:
        raise InputError(
            f"no pair of the data can be learned from: none is gold, and silver = {recipe.silver} with min_probability = "
            f"{recipe.min_probability} takes no silver one; lower min_probability, or set silver=positives"
        )
    if recipe.batches == "by_passage":
        return in_a_row((by_passage(pool.draw(rng), batch, rng) for _ in range(recipe.epochs)), batch), 0
    passages = list(dict.fromkeys(example.source for example in examples))
    number = _cluster_count(recipe, len(examples), len(passages)) if recipe.batches == "clusters" else 0
    clusters = PassageClusters(
        passages=passages,
        encode=partial(passage_vectors, folder, model, uses_bf16(recipe.optimiser.precision)),
        number=number,
        interval=max(1, round(recipe.cluster_epochs)),
        seed=recipe.seed,
        folder=checkpoints_of(out),
    )
    parts = max(1, round(1 / recipe.cluster_epochs))
    draw, cluster = pool.draw, clusters.clusters_of_part
    return RetrieverRounds(recipe.batches, recipe.epochs, batch, recipe.seed, draw, cluster, parts), number


def _cluster_count(recipe: RetrieverRecipe, pairs: int, passages: int) -> int:
    """Return the number of clusters. Raises InputError if there are no more passages: each would be a cluster."""
    number = recipe.clusters or max(2, -(-pairs // (CLUSTER_BATCHES * recipe.optimiser.batch)))
    if number >= passages:
        raise InputError(
            f"the data has {counted(passages, 'passage')}, too few for {number:,} clusters: "
            "set clusters lower, or batches=distinct"
        )
    return number


def _early_stopping(recipe: RetrieverRecipe, folder: EncoderFolder, model: DualEncoder) -> EarlyStopping | None:
    if recipe.dev_file is None:
        return None
    measure = partial(
        dev_score,
        load_task(recipe.dev_file, "dev", held_out=True),
        folder,
        model,
        uses_bf16(recipe.optimiser.precision),
        metric=recipe.dev_metric,
        unit=recipe.unit,
        passage_weight=PASSAGE_WEIGHT if recipe.context == "late_chunking" else 0.0,
    )
    return EarlyStopping(recipe.dev_metric, measure, recipe.patience)
