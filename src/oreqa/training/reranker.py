"""Training of the span re-ranker: one right prediction of the reader against M - 1 wrong ones (RECONSIDER, section 3)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from oreqa.errors import InputError
from oreqa.losses.reranking import listwise_softmax
from oreqa.mining.predictions import Predicted, load_predictions
from oreqa.models.folders import find_model
from oreqa.models.heads import READER, RERANKER, read_head_folder, shares_layers
from oreqa.models.inputs import InputMaker, Window
from oreqa.models.reranker import Reranker
from oreqa.training.fitting import Stage, copy_tokenizer, fit, quieten, silent
from oreqa.training.heads import start_from
from oreqa.training.recipes import RerankerRecipe

Candidates = list[Window]


def train_reranker(recipe: RerankerRecipe, out: Path, stage: Stage = silent) -> dict[str, Any]:
    """Train a re-ranker from a reader's weights, or another's, and save it to ``out``; returns steps, losses and seconds.

    Begun work is gone on with from its last checkpoint. Raises InputError if no question can be learned from.
    """
    quieten()
    reader = read_head_folder(find_model(recipe.reader), READER)
    start, shared = reader, recipe.frozen_layers
    if recipe.backbone is not None:
        start = read_head_folder(find_model(recipe.backbone), RERANKER)
        shared = min(shared, start.layers) if shares_layers(reader, start) else 0
    torch.manual_seed(recipe.seed)
    frozen = recipe.freeze_embeddings, recipe.frozen_layers
    model = start_from(Reranker, start.path, *frozen, recipe.dropout, head=start is not reader)
    model.config.oreqa = {
        "kind": RERANKER, "base": recipe.reader, "layers": shared, "marking": recipe.marking,
        "max_tokens": recipe.max_tokens, "titles": start.titles, "closing": start.closing,
    }  # fmt: skip
    inputs = InputMaker(start.tokenizer, recipe.max_tokens, 0, start.titles, start.closing)
    rows = [row for row in load_predictions(recipe.data_root / recipe.predictions) if any(row.right) and not all(row.right)]
    if not rows:
        raise InputError(f"{recipe.predictions}: no question has both a right and a wrong prediction")
    with stage("preparing questions", recipe.epochs * len(rows)) as advance:
        examples = candidate_lists(recipe, rows, inputs, advance)

    def loss(model: Reranker, batch: dict[str, Tensor]) -> Tensor:
        present = batch.pop("present")
        scores = torch.full(present.shape, -1e9, dtype=torch.float32, device=present.device)
        scores[present] = model(**batch).float()
        return listwise_softmax(scores, present)

    record = fit(model, examples, collate, loss, recipe.optimiser, recipe.seed, out, stage)
    copy_tokenizer(start.tokenizer.parent, out)
    return {"questions": len(rows), **record}


def candidate_lists(
    recipe: RerankerRecipe, rows: Sequence[Predicted], inputs: InputMaker, progress: Callable[[int], None] | None = None
) -> list[Candidates]:
    """For each question and epoch one right span, first, and up to M - 1 wrong ones, drawn anew, as inputs."""
    rng = random.Random(recipe.seed)
    lists = []
    for _ in range(recipe.epochs):
        for row in rng.sample(rows, len(rows)):
            right = [place for place, is_right in enumerate(row.right) if is_right]
            wrong = [place for place, is_right in enumerate(row.right) if not is_right]
            wrong = rng.sample(wrong[: recipe.pool], min(recipe.candidates - 1, len(wrong[: recipe.pool])))
            chosen = [row.spans[place] for place in (rng.choice(right), *wrong)]
            question, *texts = inputs.tokenize(
                [row.question, *(part for span in chosen for part in row.passages[span.passage])]
            )
            lists.append([
                inputs.marked(question, texts[2 * i], texts[2 * i + 1], span, recipe.marking)
                for i, span in enumerate(chosen)
            ])  # fmt: skip
            if progress:
                progress(1)
    return lists


def collate(lists: Sequence[Candidates]) -> dict[str, Tensor]:
    """Padded inputs ``[N, T]`` of all candidates of a batch, and ``present`` (``[G, M]``), which says whose they are."""
    inputs = padded_windows([window for candidates in lists for window in candidates])
    most = max(len(candidates) for candidates in lists)
    present = torch.tensor([[place < len(candidates) for place in range(most)] for candidates in lists])
    return {**inputs, "present": present}


def padded_windows(windows: Sequence[Window]) -> dict[str, Tensor]:
    """The windows as padded inputs ``[N, T]``."""
    length = max(len(window.ids) for window in windows)
    ids, mask, types = (torch.zeros((len(windows), length), dtype=torch.long) for _ in range(3))
    for row, window in enumerate(windows):
        size = len(window.ids)
        ids[row, :size] = torch.tensor(window.ids)
        mask[row, :size] = 1
        types[row, window.segment : size] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
