"""Training of the reader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import held_out_paragraphs, readable_title
from oreqa.datasets.questions import OpenQuestion, is_exact
from oreqa.errors import InputError
from oreqa.index.search import Index
from oreqa.losses.reading import ReaderLogits
from oreqa.mining.predictions import by_selection
from oreqa.models.graph.torch import TorchSession, silence_transformers
from oreqa.models.graph.windows import Text
from oreqa.models.names import READER, find_model, find_tokenizer
from oreqa.models.reader.inputs import ReaderInputs, read_reader_folder
from oreqa.models.reader.module import ReaderModel, read_groups
from oreqa.models.reader.reader import Reader
from oreqa.models.weights import load_weights
from oreqa.progress import Progress, no_progress, show
from oreqa.text.answers import f1_score
from oreqa.training.backbone import check_positions, kept_separators, start_headed
from oreqa.training.loop import EarlyStopping, TensorBatch
from oreqa.training.lora import save_difference
from oreqa.training.losses import READER_LOSSES
from oreqa.training.reader.epochs import collate_drawn, data_files, reader_groups, retrieved_parts
from oreqa.training.reader.examples import DataFile, Drawing
from oreqa.training.reader.recipe import ReaderRecipe
from oreqa.training.reader.retrieved import RetrievedPart, answerable_of, retrieve
from oreqa.training.trainer import copy_tokenizer, dev_folder, evaluated, fit

_SPANS = 20
"""Best spans of a question's passages that are ranked with their passages on dev."""


@silence_transformers()
def train_reader(recipe: ReaderRecipe, out: Path, progress: Progress = no_progress) -> dict[str, Any]:
    """Train a reader and save it to ``out``; return the content of run.json.

    Resumes from the last checkpoint if there is one. Raises InputError for unusable data.
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
    dev_questions, files = _read_data(recipe, inputs, drawing, progress)
    with show(progress, "drawing passages") as advance:
        groups = reader_groups(recipe.parts, files, batch=recipe.optimiser.batch, seed=recipe.seed, advance=advance)
    if not groups:
        raise InputError(
            "there is nothing to learn from: the data asks nothing, no answer stands where it says or in what is retrieved, "
            "or all of its articles are held out, as a tenth is by title"
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
        collate_drawn,
        loss,
        optimiser=recipe.optimiser,
        seed=recipe.seed,
        out=out,
        progress=progress,
        save=None if recipe.lora is None else partial(save_difference, model, recipe.backbone),
        early_stopping=dev_reading(recipe, model, tokenizer, out, dev_questions),
    )
    if recipe.lora is None:  # a difference uses its base's
        copy_tokenizer(tokenizer.parent, out)
    unanswered = [file.unanswered for file in files if isinstance(file, RetrievedPart)]
    return {**record, "unanswered": sum(unanswered)} if unanswered else record


def _start(recipe: ReaderRecipe, backbone: Path) -> ReaderModel:
    """Return a reader that starts from the backbone, with its heads if it is a reader already."""
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


def _read_data(
    recipe: ReaderRecipe, inputs: ReaderInputs, drawing: Drawing, progress: Progress
) -> tuple[list[DevQuestion], list[DataFile | RetrievedPart]]:
    """Return the questions of dev, if any, and the training files, asked of the index if there is one."""
    if recipe.index is None:
        dev_questions = [] if recipe.dev_file is None else _own_paragraph_questions(recipe.dev_file)
        return dev_questions, data_files(recipe.parts, inputs, drawing)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with Index.open(recipe.index, device) as index, show(progress, "searching") as advance:
        parts = retrieved_parts(recipe.parts, index, recipe.mode, inputs, drawing, advance)
        if recipe.dev_file is None:
            return [], parts
        questions = answerable_of(recipe.dev_file, held_out=True)
        texts = retrieve(index, questions, recipe.dev_passages, recipe.mode, advance)
    return list(map(DevQuestion, questions, texts)), parts


def dev_reading(
    recipe: ReaderRecipe, model: ReaderModel, tokenizer: Path, out: Path, dev_questions: Sequence[DevQuestion]
) -> EarlyStopping | None:
    """Return the early stopping on EM or F1 of the current reader on the questions of dev, if there are any."""
    if not dev_questions:
        return None

    def measure() -> float:
        with evaluated(model, recipe.optimiser.precision) as device:
            folder = read_reader_folder(dev_folder(model, tokenizer, out))
            return dev_accuracy(Reader.of(folder, TorchSession(model, str(device))), dev_questions, recipe.dev_metric)

    return EarlyStopping(recipe.dev_metric, measure, recipe.patience)


@dataclass(frozen=True, slots=True)
class DevQuestion:
    """A question of dev, and the passages read for it."""

    question: OpenQuestion
    passages: Sequence[Text]


def _own_paragraph_questions(file: Path) -> list[DevQuestion]:
    """Return the answered questions of a file's held-out articles, each with its paragraph."""
    dev_questions = [
        DevQuestion(
            OpenQuestion(question.id, question.text, tuple(gold.text for gold in question.answers)),
            [(readable_title(paragraph.title), paragraph.text)],
        )
        for paragraph in held_out_paragraphs(load_paragraphs(file), file)
        for question in paragraph.questions
        if question.answers
    ]
    if not dev_questions:
        raise InputError(f"{file}: its held-out articles, a tenth by title, answer no question; name another dev")
    return dev_questions


def dev_accuracy(reader: Reader, dev_questions: Sequence[DevQuestion], metric: str) -> float:
    """Return EM or F1, in percent, of the reader's best span for each question."""
    total, several = 0.0, any(len(row.passages) > 1 for row in dev_questions)
    spans_by_question = reader.read(
        [row.question.text for row in dev_questions], [row.passages for row in dev_questions], k=_SPANS if several else 1
    )
    for row, spans in zip(dev_questions, spans_by_question, strict=True):
        best = by_selection(spans) if several and not reader.folder.shared else spans
        answer, question = best[0].text if best else "", row.question
        if metric == "f1" and question.pattern is None:
            total += max(f1_score(answer, gold) for gold in question.answers)
        else:
            total += is_exact(answer, question)
    return round(100 * total / len(dev_questions), 2)
