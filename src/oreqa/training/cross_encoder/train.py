"""Training of cross-encoders: the answer classifier and the span re-ranker.

They are one model (``new_cross_encoder``) with two sources of examples; either can have any loss of
``CROSS_ENCODER_LOSSES``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from oreqa.arrays import Flags, Floats
from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.pairs import GOLD, Candidate, load_pairs
from oreqa.datasets.paragraphs import split_articles
from oreqa.errors import InputError
from oreqa.losses.reranking import CrossEncoderScores
from oreqa.mining.predictions import load_predictions
from oreqa.models.cross_encoder.inputs import CrossEncoderInputs, read_cross_encoder_folder
from oreqa.models.cross_encoder.module import new_cross_encoder
from oreqa.models.graph.torch import silence_transformers
from oreqa.models.names import CLASSIFIER, RERANKER, find_model, find_tokenizer, read_config
from oreqa.models.reader.inputs import read_reader_folder
from oreqa.progress import Progress, no_progress, show
from oreqa.training.backbone import check_positions, start_headed
from oreqa.training.batches import in_a_row, shuffled, similar_length_batches
from oreqa.training.cross_encoder.examples import (
    CandidateList,
    DrawnPredictions,
    collate_candidates,
    collate_predictions,
    draw_predictions,
    first_predictions,
    negative_lists,
    pair_lists,
    plausible_candidates,
)
from oreqa.training.cross_encoder.recipe import ClassifierRecipe, RerankerRecipe
from oreqa.training.loop import EarlyStopping, TensorBatch
from oreqa.training.lora import save_difference
from oreqa.training.losses import CROSS_ENCODER_LOSSES
from oreqa.training.trainer import copy_tokenizer, dev_batches, evaluated, fit

DEV_SPANS = 5
"""Predictions per question that are re-ranked on dev, as in the paper's tests."""

CHARACTERS_A_TOKEN = 5
"""About the most characters of a token, to sort inputs by their length before they are made."""

DevLists = Callable[[Path, CrossEncoderInputs], Sequence[CandidateList]]
"""Returns the candidate lists of a dev file."""


@dataclass(frozen=True, slots=True)
class CandidateSource:
    """Where the examples of a training come from."""

    draw: Callable[[random.Random], list[Any]]
    """Returns the examples of an epoch, in random order."""
    length: Callable[[Any], int]
    """Returns the length of an example, by which pointwise batches are sorted."""
    collate: Callable[[Sequence[Any]], TensorBatch]
    """Returns a batch of examples as tensors, as ``collate_candidates`` does."""


def train_classifier(recipe: ClassifierRecipe, out: Path, progress: Progress = no_progress) -> dict[str, Any]:
    """Train a classifier of whether a sentence answers a question (Yang et al. 2021, section 4.1); save it to ``out``.

    Its negatives are those of the pairs, and sentences that only seem to answer questions (``recipe.plausible``).

    Returns the content of run.json. Resumes from the last checkpoint if there is one. Raises InputError for unusable data.
    """
    pairs = [pair for part in recipe.data for pair in load_pairs(recipe.data_root / part) if pair.source == GOLD]
    if not any(pair.negatives for pair in pairs):
        raise InputError("no pair of the data has negatives; make such pairs with: oreqa mine negatives")
    rejected = [row for part in recipe.plausible for row in _rejected(recipe.data_root / part)]
    pointwise = CROSS_ENCODER_LOSSES[recipe.loss].pointwise
    settings = {"kind": CLASSIFIER, "base": recipe.backbone, "titles": recipe.marking != "alone", "closing": True}

    def prepare(inputs: CrossEncoderInputs) -> CandidateSource:
        with show(progress, "preparing examples", len(pairs) + len(rejected)) as advance:
            lists = pair_lists(pairs, inputs, advance) + negative_lists(rejected, inputs, advance)
        if pointwise:
            lists = [[candidate] for candidates in lists for candidate in candidates]
        return CandidateSource(
            partial(shuffled, lists), lambda candidates: len(candidates[0].window.ids), collate_candidates
        )

    keep_head = (read_config(find_model(recipe.backbone)).get("oreqa") or {}).get("kind") == CLASSIFIER
    record = _train(recipe, recipe.backbone, settings, prepare, _dev_pairs, out, progress, keep_head)
    return {"pairs": len(pairs), **({"rejected": len(rejected)} if recipe.plausible else {}), **record}


def _rejected(path: Path) -> list[tuple[str, Candidate]]:
    """Return the questions of a SQuAD 2.0 file's training articles with sentences that only seem to answer them."""
    pairs = plausible_candidates(split_articles(load_paragraphs(path))[0])
    if not pairs:
        raise InputError(f"{path}: no question of its training articles has plausible answers, as in SQuAD 2.0")
    return pairs


def train_reranker(recipe: RerankerRecipe, out: Path, progress: Progress = no_progress) -> dict[str, Any]:
    """Train a span re-ranker and save it to ``out``: one right prediction of a reader against M - 1 wrong ones.

    This is RECONSIDER, section 3; training starts from the reader's weights or another re-ranker's. Returns the content of
    run.json. Resumes from the last checkpoint if there is one. Raises InputError if no question is usable.
    """
    reader = read_reader_folder(find_model(recipe.reader))
    base = reader if recipe.backbone is None else read_cross_encoder_folder(find_model(recipe.backbone), RERANKER)
    rows = [row for row in load_predictions(recipe.data_root / recipe.predictions) if any(row.right) and not all(row.right)]
    if not rows:
        raise InputError(f"{recipe.predictions}: no question has both a right and a wrong prediction")
    settings = {"kind": RERANKER, "base": recipe.reader, "titles": base.titles, "closing": base.closing, "pooler": False}

    def prepare(inputs: CrossEncoderInputs) -> CandidateSource:
        longest = CHARACTERS_A_TOKEN * recipe.max_tokens  # of inputs that are cut all are equally long
        return CandidateSource(draw, lambda drawn: min(drawn.length, longest), partial(collate_predictions, inputs))

    def draw(rng: random.Random) -> list[DrawnPredictions]:
        drawn = list(draw_predictions(rows, recipe.candidates, recipe.pool, rng))
        if not CROSS_ENCODER_LOSSES[recipe.loss].pointwise:
            return drawn
        return shuffled([prediction for predictions in drawn for prediction in predictions.one_by_one()], rng)

    keep_head = recipe.backbone is not None
    record = _train(recipe, recipe.backbone or recipe.reader, settings, prepare, _dev_predictions, out, progress, keep_head)
    return {"questions": len(rows), **record}


def _train(
    recipe: ClassifierRecipe | RerankerRecipe,
    name: str,
    settings: dict[str, Any],
    prepare: Callable[[CrossEncoderInputs], CandidateSource],
    dev_lists: DevLists,
    out: Path,
    progress: Progress,
    keep_head: bool,
) -> dict[str, Any]:
    """Train a cross-encoder that starts from the model ``name``, on the examples that ``prepare`` makes its inputs for.

    ``settings`` are saved as ``config.oreqa``; ``dev_lists`` returns the lists of a dev file.
    """
    torch.manual_seed(recipe.seed)
    base = find_model(name)
    check_positions(base, max_tokens=recipe.max_tokens)
    settings = {**settings, "marking": recipe.marking, "max_tokens": recipe.max_tokens}
    with silence_transformers():
        model = start_headed(
            new_cross_encoder,
            base,
            freeze_embeddings=recipe.freeze_embeddings,
            frozen_layers=recipe.frozen_layers,
            dropout=recipe.dropout,
            head=keep_head,
            lora=recipe.lora,
            oreqa=settings,
            num_labels=1,
        )
        tokenizer = find_tokenizer(base)
        inputs = CrossEncoderInputs(tokenizer, recipe.max_tokens, recipe.marking, settings["titles"], settings["closing"])
        objective = CROSS_ENCODER_LOSSES[recipe.loss]
        loss_of = objective.of(recipe)
        rng = random.Random(recipe.seed)
        batch_size = recipe.optimiser.batch
        source = prepare(inputs)
        epochs = (source.draw(rng) for _ in range(recipe.epochs))
        if objective.pointwise:
            batches = (similar_length_batches(epoch, source.length, batch_size, rng) for epoch in epochs)
            examples = in_a_row(batches, batch_size)
        else:
            examples = [example for epoch in epochs for example in epoch]

        def loss(model: PreTrainedModel, batch: TensorBatch) -> Tensor:
            return loss_of(_scores(model, batch))

        record = fit(
            model,
            examples,
            source.collate,
            loss,
            optimiser=recipe.optimiser,
            seed=recipe.seed,
            out=out,
            progress=progress,
            save=None if recipe.lora is None else partial(save_difference, model, name),
            early_stopping=_early_stopping(recipe, model, inputs, dev_lists),
        )
    if recipe.lora is None:  # a difference uses its base's
        copy_tokenizer(tokenizer.parent, out)
    return record


def _scores(model: PreTrainedModel, batch: TensorBatch) -> CrossEncoderScores:
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
    present = batch["present"]
    scores = torch.full(present.shape, -1e9, dtype=torch.float32, device=present.device)
    scores[present] = model(**inputs).float()
    return CrossEncoderScores(scores=scores, labels=batch["labels"], weights=batch["weights"], present=present)


def _early_stopping(
    recipe: ClassifierRecipe | RerankerRecipe, model: PreTrainedModel, inputs: CrossEncoderInputs, dev_lists: DevLists
) -> EarlyStopping | None:
    if recipe.dev_file is None:
        return None
    dev = dev_lists(recipe.dev_file, inputs)

    def measure() -> float:
        with evaluated(model, recipe.optimiser.precision) as device:
            return _ranking(model, dev, recipe.dev_metric, recipe.optimiser.batch, device)

    return EarlyStopping(recipe.dev_metric, measure, recipe.patience)


def _dev_pairs(file: Path, inputs: CrossEncoderInputs) -> Sequence[CandidateList]:
    pairs = [pair for pair in load_pairs(file) if pair.source == GOLD and pair.negatives]
    if not pairs:
        raise InputError(
            f"{file}: no pair has negatives to rank the answer among; make such pairs with: oreqa mine negatives"
        )
    return pair_lists(pairs, inputs)


def _dev_predictions(file: Path, inputs: CrossEncoderInputs) -> Sequence[CandidateList]:
    rows = [row for row in load_predictions(file) if row.spans]
    first = [row.right[:DEV_SPANS] for row in rows]
    if not any(any(right) and not all(right) for right in first):
        raise InputError(
            f"{file}: no question has both a right and a wrong span among its first {DEV_SPANS}; name another dev"
        )
    return [first_predictions(row, inputs, DEV_SPANS) for row in rows]


def _ranking(model: PreTrainedModel, lists: Sequence[CandidateList], metric: str, size: int, device: torch.device) -> float:
    """Return the metric of the model's scores of candidates, in percent."""
    scores: list[Floats] = []
    for batch in dev_batches(lists, collate_candidates, size, device):
        rows = _scores(model, batch).scores.cpu().numpy()
        scores += [row[present] for row, present in zip(rows, batch["present"].cpu().numpy(), strict=True)]
    labels = [np.array([candidate.label > 0 for candidate in candidates]) for candidates in lists]
    return ranking_metric(metric, scores, labels)


def ranking_metric(metric: str, scores: Sequence[Floats], labels: Sequence[Flags]) -> float:
    """Return a metric of the scores of each question's candidates, in percent; ``labels`` marks those that answer it.

    ``em``: how often the first candidate answers. ``mrr``: the mean reciprocal rank of the first that does, 0 if none does;
    ties share their mean rank. ``auc``: how often an answer is above any other candidate of any question.
    """
    if metric == "auc":
        all_scores, all_labels = np.concatenate(scores), np.concatenate(labels)
        right, wrong = all_scores[all_labels], np.sort(all_scores[~all_labels])
        below = np.searchsorted(wrong, right, "left") + np.searchsorted(wrong, right, "right")  # ties count half
        return round(100 * float(below.mean() / (2 * len(wrong))), 2)
    if metric == "em":
        return round(100 * float(np.mean([label[row.argmax()] for row, label in zip(scores, labels, strict=True)])), 2)
    ranks = [
        (row > row[label].max()).sum() + ((row == row[label].max()).sum() + 1) / 2 if label.any() else np.inf
        for row, label in zip(scores, labels, strict=True)
    ]
    return round(100 * float(np.mean(1 / np.array(ranks))), 2)
