"""Trains an index's encoder and a classifier on the adaptation's pairs, and keeps the new encoder's scores calibrated."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from oreqa.answering.answerer import PASSAGES_TOP_K
from oreqa.arrays import Doubles
from oreqa.errors import InputError
from oreqa.files import write_text
from oreqa.index.search import Index
from oreqa.models.cross_encoder.inputs import read_cross_encoder_folder
from oreqa.models.encoder.folder import EncoderFolder, read_encoder_folder
from oreqa.models.fitted import COSINES, ReplacedEncoder, write_fitted
from oreqa.models.names import CLASSIFIER, FITTED, find_model
from oreqa.models.weights import mix_weights
from oreqa.progress import Progress

TRAINED_SHARE = 0.5
"""Share of the trained weights in the mix with the previous ones."""

FIXED = ("backbone", "data_root", "data", "encoder", "pooling", "towers", "projection", "alignment", "variational", "lora")
"""Recipe keys that settings may not change: the result could not be mixed with the previous encoder."""

ENCODER_RECIPE = """kind = "retriever"
backbone = {backbone}
data_root = {folder}
data = ["{pairs}"]
context = "{encoder.context}"
pooling = "{encoder.pooling}"
similarity = "{similarity}"
input_types = {input_types}
max_tokens = {encoder.max_tokens}
scale = {scale}
negatives = 3
batches = "distinct"
chunk = 64
dropout = 0.0
seed = {seed}

[optimiser]
learning_rate = 5e-5
batch = 64
checkpoint_steps = 10
"""

CLASSIFIER_RECIPE = """kind = "classifier"
backbone = {backbone}
data_root = {folder}
data = ["{pairs}"]
loss = "cross_entropy"
marking = "{classifier.marking}"
max_tokens = {classifier.max_tokens}
freeze_embeddings = true
dropout = 0.0
seed = {seed}

[optimiser]
learning_rate = 1e-4
batch = 64
checkpoint_steps = 10
"""


def write_encoder_recipe(file: Path, pairs: Path, model: str, seed: int, settings: Sequence[str]) -> None:
    """Write the recipe that trains the encoder ``model`` on ``pairs`` without changing its kind.

    Raises InputError for an encoder that cannot be mixed with a trained one, and for invalid ``settings``.
    """
    from oreqa.training.recipes import load_recipe  # needs the train extra, unlike help pages
    from oreqa.training.retriever.recipe import RetrieverRecipe

    encoder = _plain_encoder(model)
    similarity, scale = ("cosine", 20.0) if encoder.normalise else ("dot", 1.0)
    recipe = ENCODER_RECIPE.format(
        backbone=_quoted(model),
        folder=_quoted(pairs.parent),
        pairs=pairs.name,
        encoder=encoder,
        similarity=similarity,
        scale=scale,
        input_types=json.dumps(bool(encoder.query_token_type)),
        seed=seed,
    )
    write_text(file, recipe)
    plain, changed = (load_recipe(RetrieverRecipe, file, of) for of in ((), settings))
    for key in FIXED:
        if getattr(changed, key) != getattr(plain, key):
            raise InputError(
                f"settings change {key}: an adaptation trains the index's encoder, as it is, on its own questions"
            )


def _plain_encoder(model: str) -> EncoderFolder:
    """Return the settings of an index's encoder.

    Raises InputError if it has layers that cannot be mixed with trained ones.
    """
    folder = read_encoder_folder(find_model(model))
    other = folder.questions or folder.dense or folder.cell or folder.static
    if other or folder.pooling not in ("mean", "cls"):
        raise InputError(
            f"{model}: only one transformer with mean or cls pooling can be adapted, and this encoder is another: "
            "index with another model"
        )
    return folder


def _quoted(value: object) -> str:
    return json.dumps(str(value), ensure_ascii=False)


def tune_encoder(recipe: Path, trained: Path, model: str, settings: Sequence[str], out: Path, progress: Progress) -> None:
    """Train ``model`` into ``trained``, and write its mix with the original to ``out``, unless they exist."""
    from oreqa.training import train_model

    if not (out / "model.safetensors").is_file():
        if not (trained / "run.json").is_file():
            train_model("retriever", recipe, trained, settings, progress)
        mix_weights(trained, model, TRAINED_SHARE, out, keep_fitted=True)


def tune_classifier(recipe: Path, pairs: Path, base: str, seed: int, out: Path, progress: Progress) -> None:
    """Train the classifier ``base`` on ``pairs`` into ``out``, unless it exists.

    It keeps its weight against the retriever's score, as its probabilities are of the same kind.
    """
    from oreqa.training import train_model

    folder = read_cross_encoder_folder(find_model(base), CLASSIFIER)
    if not (out / "run.json").is_file():
        backbone, place = _quoted(base), _quoted(pairs.parent)
        write_text(
            recipe,
            CLASSIFIER_RECIPE.format(backbone=backbone, folder=place, pairs=pairs.name, classifier=folder, seed=seed),
        )
        train_model("classifier", recipe, out, (), progress)
    if folder.fitted.rerank_weight is not None:
        write_fitted(out / FITTED, rerank_weight=folder.fitted.rerank_weight)


def keep_calibration(retriever: Path, before: Index, after: Index, questions: Sequence[str]) -> None:
    """Write the previous index's calibration to the folder of the ``after`` index's encoder, with the mapping of cosines."""
    replaced, fitted = compare_cosines(before, after, questions), before.fitted
    calibration = fitted.calibration and fitted.calibration.rescaled(replaced.scales, replaced.offsets)
    changes = {} if calibration is None else {"calibration": asdict(calibration)}
    replaced = replaced.replacing(fitted.replaced)
    write_fitted(retriever / FITTED, encoder=after.fingerprint, replaced=asdict(replaced), **changes)


def compare_cosines(before: Index, after: Index, questions: Sequence[str]) -> ReplacedEncoder:
    """Match the cosines of the ``after`` index's encoder to those of the ``before`` index's by mean and standard deviation.

    Both are taken over the passages that would be read, the five best for each of the ``questions``.
    """
    first, second = _cosines(before, questions), _cosines(after, questions)
    deviations = second.std(0)
    scales = np.where(deviations > 0, first.std(0) / np.where(deviations > 0, deviations, 1), 1.0)
    offsets = first.mean(0) - scales * second.mean(0)
    by_name = (dict(zip(COSINES, map(float, row), strict=True)) for row in (scales, offsets))
    return ReplacedEncoder(before.fingerprint, *by_name)


def _cosines(index: Index, questions: Sequence[str]) -> Doubles:
    """Return ``[passages that are read, 2]``: the cosines of each passage and of its best sentence."""
    rankings = index.search(questions, PASSAGES_TOP_K, mode="hybrid", unit="passage")
    return np.array([[hit.scores[name] for name in COSINES] for hits in rankings for hit in hits])
