"""Training of the reader."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import Paragraph, Question, readable_title, split_articles
from oreqa.errors import InputError
from oreqa.losses.reading import ReaderLogits
from oreqa.models.graph.torch import TorchSession, silence_transformers
from oreqa.models.names import READER, find_model, find_tokenizer
from oreqa.models.reader.inputs import ReaderInputs, read_reader_folder
from oreqa.models.reader.module import ReaderModel, read_groups
from oreqa.models.reader.reader import Reader
from oreqa.models.weights import load_weights
from oreqa.progress import Progress, no_progress, show
from oreqa.text.answers import f1_score, normalize_answer
from oreqa.training.backbone import check_positions, kept_separators, start_headed
from oreqa.training.loop import EarlyStopping, TensorBatch
from oreqa.training.lora import save_difference
from oreqa.training.losses import READER_LOSSES
from oreqa.training.reader.examples import Drawing, collate_groups, reader_groups
from oreqa.training.reader.recipe import ReaderRecipe
from oreqa.training.trainer import copy_tokenizer, dev_folder, evaluated, fit


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
    tokenizer = find_tokenizer(backbone)
    separators = model.config.oreqa.get("separators")
    inputs = ReaderInputs(tokenizer, recipe.max_tokens, recipe.overlap, separators=separators)
    drawing = Drawing(
        negatives=recipe.negatives,
        unanswerable=recipe.unanswerable,
        distant=recipe.supervision == "distant",
        depth=recipe.depth,
    )
    with show(progress, "preparing questions") as advance:
        groups = reader_groups(
            recipe.parts, inputs, drawing, batch=recipe.optimiser.batch, seed=recipe.seed, advance=advance
        )
    if not groups:
        raise InputError(
            "there is nothing to learn from: the data asks nothing, no answer stands where it says, or all of its articles "
            "are held out, as a tenth is by title"
        )
    loss_of = READER_LOSSES[recipe.loss].of(recipe)

    def loss(model: ReaderModel, batch: TensorBatch) -> Tensor:
        start, end, selection = read_groups(model, batch)
        logits = ReaderLogits(
            start=start,
            end=end,
            selection=selection,
            tokens=batch["tokens"],
            spans=batch["spans"],
            present=batch["attention_mask"].any(-1),
        )
        return loss_of(logits)

    record = fit(
        model,
        groups,
        collate_groups,
        loss,
        optimiser=recipe.optimiser,
        seed=recipe.seed,
        out=out,
        progress=progress,
        save=None if recipe.lora is None else partial(save_difference, model, recipe.backbone),
        early_stopping=dev_reading(recipe, model, tokenizer, out),
    )
    if recipe.lora is None:  # a difference has its base's
        copy_tokenizer(tokenizer.parent, out)
    return record


def _start(recipe: ReaderRecipe, backbone: Path) -> ReaderModel:
    """A reader that begins as the backbone, with its heads if it is a reader already."""
    settings: dict[str, Any] = {
        "kind": READER,
        "shared": READER_LOSSES[recipe.loss].shared,
        "max_tokens": recipe.read_tokens or recipe.max_tokens,
        "overlap": recipe.overlap,
        "answer_tokens": recipe.answer_tokens,
        "titles": True,
        "closing": True,
        **kept_separators(backbone),
    }
    model: ReaderModel = start_headed(
        ReaderModel,
        backbone,
        dropout=recipe.dropout,
        freeze_embeddings=recipe.freeze_embeddings,
        lora=recipe.lora,
        head="qa_outputs.weight" in load_weights(backbone),
        oreqa=settings,
        attention_dropout=recipe.attention_dropout,
    )
    return model


def dev_reading(recipe: ReaderRecipe, model: ReaderModel, tokenizer: Path, out: Path) -> EarlyStopping | None:
    """EM or F1 of the reader as it is on the recipe's dev set, if it has one."""
    if recipe.dev_file is None:
        return None
    asked = _dev_questions(recipe.dev_file)

    def measure() -> float:
        with evaluated(model, recipe.optimiser.precision) as device:
            folder = read_reader_folder(dev_folder(model, tokenizer, out))
            return _accuracy(Reader.of(folder, TorchSession(model, str(device))), asked, recipe.dev_metric)

    return EarlyStopping(recipe.dev_metric, measure, recipe.patience)


def _dev_questions(file: Path) -> list[tuple[Question, Paragraph]]:
    """The answered questions of a file's held-out articles, each with its paragraph."""
    paragraphs = split_articles(load_paragraphs(file))[1]
    asked = [(question, paragraph) for paragraph in paragraphs for question in paragraph.questions if question.answers]
    if not asked:
        raise InputError(f"{file}: its held-out articles, a tenth by title, answer no question; name another dev")
    return asked


def _accuracy(reader: Reader, asked: Sequence[tuple[Question, Paragraph]], metric: str) -> float:
    """EM or F1, in percent, of the reader's best span for each question in its own paragraph."""
    texts = [[(readable_title(paragraph.title), paragraph.text)] for _, paragraph in asked]
    total = 0.0
    for (question, _), spans in zip(asked, reader.read([question.text for question, _ in asked], texts, k=1), strict=True):
        answer = spans[0].text if spans else ""
        if metric == "f1":
            total += max(f1_score(answer, gold.text) for gold in question.answers)
        else:
            total += normalize_answer(answer) in {normalize_answer(gold.text) for gold in question.answers}
    return round(100 * total / len(asked), 2)
