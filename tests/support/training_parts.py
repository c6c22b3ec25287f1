"""Parts of trainings made from recipes, as the train functions make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oreqa.datasets.pairs import Pair
    from oreqa.training.retriever.examples import PairPool
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
