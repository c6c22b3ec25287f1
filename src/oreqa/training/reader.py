"""Training of the reader, through transformers' Trainer: it checkpoints, goes on after an interruption, and scales."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from oreqa.losses.reading import selection_loss, span_loss
from oreqa.models.folders import READER, find_model
from oreqa.models.reader.inputs import ReaderInputs
from oreqa.models.reader.module import BertReader, read_groups
from oreqa.training.fitting import Stage, copy_tokenizer, fit, quieten, silent
from oreqa.training.groups import Group, reader_groups
from oreqa.training.recipes import ReaderRecipe


def train_reader(recipe: ReaderRecipe, out: Path, stage: Stage = silent) -> dict[str, Any]:
    """Train a reader and save it to ``out`` with its run.json; returns what run.json holds.

    Begun work is gone on with from its last checkpoint. Raises InputError for data that cannot be read.
    """
    quieten()
    backbone = find_model(recipe.backbone)
    torch.manual_seed(recipe.seed)
    model = BertReader.from_pretrained(backbone, **_dropout(recipe))
    model.config.oreqa = {
        "kind": READER, "shared": recipe.objective == "shared", "max_tokens": recipe.read_tokens or recipe.max_tokens,
        "overlap": recipe.overlap, "answer_tokens": recipe.answer_tokens, "titles": True, "closing": True,
    }  # fmt: skip
    if recipe.freeze_embeddings:
        model.bert.embeddings.requires_grad_(False)
    inputs = ReaderInputs(backbone / "tokenizer.json", recipe.max_tokens, recipe.overlap)
    with stage("preparing questions", None) as advance:
        groups = reader_groups(recipe, inputs, advance)

    def loss(model: BertReader, batch: dict[str, Tensor]) -> Tensor:
        start, end, selection = read_groups(model, batch)
        spans = batch["spans"]
        of_spans = span_loss(start, end, batch["tokens"], spans, recipe.objective == "shared")
        holds = (spans[..., 0] >= 0).any(-1)
        return of_spans + selection_loss(selection, batch["attention_mask"].any(-1), holds, recipe.unanswerable > 0)

    record = fit(model, groups, collate, loss, recipe.optimiser, recipe.seed, out, stage)
    copy_tokenizer(backbone, out)
    return record


def collate(groups: Sequence[Group]) -> dict[str, Tensor]:
    """Padded tensors ``[G, P, T]`` of a batch, as ``losses.reading`` takes them."""
    places = max(len(group.windows) for group in groups)
    length = max(group.tokens for group in groups)
    answers = max(max(len(spans) for spans in group.spans) for group in groups)
    shape = (len(groups), places, length)
    ids, mask, types = (torch.zeros(shape, dtype=torch.long) for _ in range(3))
    tokens = torch.zeros(shape, dtype=torch.bool)
    spans = torch.full((len(groups), places, max(answers, 1), 2), -1)
    for g, group in enumerate(groups):
        for p, (window, found) in enumerate(zip(group.windows, group.spans, strict=True)):
            size = len(window.ids)
            ids[g, p, :size] = torch.tensor(window.ids)
            mask[g, p, :size] = 1
            types[g, p, window.segment : size] = 1
            tokens[g, p, window.first : window.last] = True
            if found:
                spans[g, p, : len(found)] = torch.tensor(found)
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types, "tokens": tokens, "spans": spans}


def _dropout(recipe: ReaderRecipe) -> dict[str, float]:
    attention = recipe.dropout if recipe.attention_dropout is None else recipe.attention_dropout
    rates = {"hidden_dropout_prob": recipe.dropout, "attention_probs_dropout_prob": attention}
    return {name: rate for name, rate in rates.items() if rate is not None}
