"""Parts of trainings made from recipes, as the train functions make them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oreqa.datasets.pairs import Pair
    from oreqa.training.reader.recipe import ReaderRecipe
    from oreqa.training.retriever.collator import RetrieverCollator
    from oreqa.training.retriever.examples import PairPool, RetrieverExample
    from oreqa.training.retriever.loss import RetrievalLoss
    from oreqa.training.retriever.model import RetrieverModel
    from oreqa.training.retriever.recipe import RetrieverRecipe


def pool_of(recipe: RetrieverRecipe, pairs: Sequence[Pair]) -> PairPool:
    from oreqa.training.retriever.examples import PairPool

    keys = ("silver", "min_probability", "weight_power", "negatives")
    return PairPool(pairs, soft_labels=recipe.loss == "soft_labels", **{key: getattr(recipe, key) for key in keys})


def model_of(encoder: Any, recipe: RetrieverRecipe) -> RetrieverModel:
    from oreqa.training.retriever.model import start_model

    decoders = recipe.variational.kind if recipe.variational else None
    return start_model(encoder, with_cross=recipe.alignment is not None, decoders=decoders)


def loss_of(recipe: RetrieverRecipe, model: RetrieverModel, epoch_batches: float = 1) -> RetrievalLoss:
    from oreqa.training.losses import RETRIEVER_LOSSES
    from oreqa.training.retriever.loss import RetrievalLoss

    keys = ("scale", "chunk", "alignment", "variational")
    return RetrievalLoss(
        model,
        RETRIEVER_LOSSES[recipe.loss].of(recipe),
        late=recipe.is_late,
        epoch_batches=epoch_batches,
        **{key: getattr(recipe, key) for key in keys},
    )


def examples_of(draw: Any, recipe: Any, inputs: Any, **settings: Any) -> Any:
    """What ``draw``, as ``reader_groups``, makes of the files of a recipe."""
    return draw(recipe.parts, inputs, batch=recipe.optimiser.batch, seed=recipe.seed, **settings)


def reader_recipe(squad_file: Path, tiny: Path, **changes: object) -> ReaderRecipe:
    from oreqa.training.reader.recipe import ReaderRecipe

    settings = {
        "kind": "reader", "backbone": str(tiny), "data": [{"file": str(squad_file)}], "max_tokens": 48, "overlap": 8,
        "negatives": 1.0, "unanswerable": 0.5, "dropout": 0.0,
        "optimiser": {"learning_rate": 3e-3, "batch": 4, "checkpoint_steps": 3}, **changes,
    }  # fmt: skip
    return ReaderRecipe.model_validate(settings)


def retriever_recipe(squad_file: Path, tiny: Path, **changes: object) -> RetrieverRecipe:
    from oreqa.training.retriever.recipe import RetrieverRecipe

    settings = {
        "kind": "retriever", "backbone": str(tiny), "data": [str(squad_file)], "max_tokens": 48, "dropout": 0.0,
        "optimiser": {"learning_rate": 3e-3, "batch": 6, "checkpoint_steps": 3}, **changes,
    }  # fmt: skip
    return RetrieverRecipe.model_validate(settings)


def prepared(tiny: Path, recipe: RetrieverRecipe, pairs: list[Pair]) -> tuple[list[RetrieverExample], RetrieverCollator]:
    """The examples of one epoch in their order, and what makes batches of them."""
    from oreqa.models.encoder.folder import read_encoder_folder
    from oreqa.training.retriever.collator import RetrieverCollator
    from oreqa.training.retriever.examples import by_passage

    pool, rng = pool_of(recipe, pairs), random.Random(recipe.seed)
    folder = replace(read_encoder_folder(tiny), context=recipe.context, max_tokens=recipe.max_tokens)
    batches = by_passage(pool.draw(rng), recipe.optimiser.batch, rng)
    return [e for rows in batches for e in rows], RetrieverCollator(folder, pairs, pool.answers)
