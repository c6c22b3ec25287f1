"""Training of the reader."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from oreqa.errors import InputError
from oreqa.models.folders import READER, find_model
from oreqa.models.graph.weights import find_tokenizer, load_weights
from oreqa.models.reader.inputs import ReaderInputs
from oreqa.models.reader.module import BertReader, read_groups
from oreqa.progress import Progress, no_progress, show
from oreqa.training.backbone import check_positions, start_bert
from oreqa.training.losses import READER_LOSSES, ReaderLogits
from oreqa.training.reader.examples import Group, reader_groups
from oreqa.training.reader.recipe import ReaderRecipe
from oreqa.training.trainer import Tensors, copy_tokenizer, fit, silence_transformers


@silence_transformers()
def train_reader(recipe: ReaderRecipe, out: Path, progress: Progress = no_progress) -> dict[str, Any]:
    """Train a reader and save it to ``out``; returns what run.json holds.

    Resumes from the last checkpoint if there is one. Raises InputError for data that cannot be learned from.
    """
    backbone = find_model(recipe.backbone)
    torch.manual_seed(recipe.seed)
    check_positions(backbone, max_tokens=recipe.max_tokens)
    if recipe.read_tokens is not None:
        check_positions(backbone, read_tokens=recipe.read_tokens)
    model = _start(recipe, backbone)
    inputs = ReaderInputs(find_tokenizer(backbone), recipe.max_tokens, recipe.overlap)
    with show(progress, "preparing questions") as advance:
        groups = reader_groups(recipe, inputs, advance)
    if not groups:
        raise InputError(
            "there is nothing to learn from: the data asks nothing, no answer stands where it says, or all of its articles "
            "are held out, as a tenth is by title"
        )

    def loss(model: BertReader, batch: Tensors) -> Tensor:
        start, end, selection = read_groups(model, batch)
        logits = ReaderLogits(
            start=start,
            end=end,
            selection=selection,
            tokens=batch["tokens"],
            spans=batch["spans"],
            present=batch["attention_mask"].any(-1),
        )
        return READER_LOSSES[recipe.loss](recipe, logits)

    record = fit(
        model,
        groups,
        collate_groups,
        loss,
        optimiser=recipe.optimiser,
        seed=recipe.seed,
        out=out,
        progress=progress,
    )
    copy_tokenizer(find_tokenizer(backbone).parent, out)
    return record


def _start(recipe: ReaderRecipe, backbone: Path) -> BertReader:
    """A reader that begins as the backbone, with its heads if it is a reader already."""
    settings: dict[str, Any] = {
        "kind": READER,
        "shared": recipe.loss == "shared",
        "max_tokens": recipe.read_tokens or recipe.max_tokens,
        "overlap": recipe.overlap,
        "answer_tokens": recipe.answer_tokens,
        "titles": True,
        "closing": True,
    }
    rates: dict[str, Any] = {}
    if recipe.attention_dropout is not None:
        rates["attention_probs_dropout_prob"] = recipe.attention_dropout
    model: BertReader = start_bert(
        BertReader,
        backbone,
        dropout=recipe.dropout,
        freeze_embeddings=recipe.freeze_embeddings,
        head="qa_outputs.weight" in load_weights(backbone),
        oreqa=settings,
        **rates,
    )
    return model


def collate_groups(groups: Sequence[Group]) -> Tensors:
    """Padded tensors ``[G, P, T]`` of a batch, as ``losses.reading`` takes them."""
    passages = max(len(group.windows) for group in groups)
    length = max(group.tokens for group in groups)
    answers = max(max(len(spans) for spans in group.spans) for group in groups)
    shape = (len(groups), passages, length)
    ids, mask, types = (torch.zeros(shape, dtype=torch.long) for _ in range(3))
    tokens = torch.zeros(shape, dtype=torch.bool)
    spans = torch.full((len(groups), passages, max(answers, 1), 2), -1)
    for g, group in enumerate(groups):
        for p, (window, answer_spans) in enumerate(zip(group.windows, group.spans, strict=True)):
            size = len(window.ids)
            ids[g, p, :size] = torch.tensor(window.ids)
            mask[g, p, :size] = 1
            types[g, p, window.segment : size] = 1
            tokens[g, p, window.first : window.last] = True
            if answer_spans:
                spans[g, p, : len(answer_spans)] = torch.tensor(answer_spans)
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types, "tokens": tokens, "spans": spans}
