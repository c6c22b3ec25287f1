"""The order in which a reader sees its questions, each with passages drawn anew for every epoch."""

from __future__ import annotations

import random
from collections.abc import Sequence

from oreqa.core import Mode
from oreqa.index.search import Index
from oreqa.models.reader.inputs import ReaderInputs
from oreqa.progress import Advance, ignore
from oreqa.training.batches import in_a_row, similar_length_batches
from oreqa.training.loop import TensorBatch
from oreqa.training.reader.examples import DataFile, Drawing, Group, collate_groups
from oreqa.training.reader.recipe import DataPart
from oreqa.training.reader.retrieved import RetrievedGroup, RetrievedPart

DrawnGroup = Group | RetrievedGroup
"""A question with its passages, as windows or as numbers from which they are made."""


def data_files(parts: Sequence[DataPart], inputs: ReaderInputs, drawing: Drawing) -> list[DataFile | RetrievedPart]:
    """Prepare files whose questions are asked of their own paragraphs."""
    return [DataFile(part, inputs, drawing) for part in parts]


def retrieved_parts(
    parts: Sequence[DataPart], index: Index, mode: Mode, inputs: ReaderInputs, drawing: Drawing, advance: Advance
) -> list[DataFile | RetrievedPart]:
    """Prepare files whose questions are asked of an index."""
    return [RetrievedPart(part, index, mode, inputs, drawing, advance) for part in parts]


def reader_groups(
    parts: Sequence[DataPart],
    files: Sequence[DataFile | RetrievedPart],
    *,
    batch: int,
    seed: int,
    advance: Advance = ignore,
) -> list[DrawnGroup]:
    """Return all groups of a run in training order, epoch by epoch.

    An epoch's groups depend only on the seed and the epoch's number; they are in batches of similar length in random order.
    """
    epochs = []
    for epoch in range(max(part.epochs for part in parts)):
        rng = random.Random(f"{seed} {epoch}")
        drawn: list[DrawnGroup] = []
        for part, file in zip(parts, files, strict=True):
            drawn += file.draw(part.questions, rng, advance) if epoch < part.epochs else []
        rng.shuffle(drawn)
        epochs.append(similar_length_batches(drawn, lambda group: group.size, batch, rng))
    return in_a_row(epochs, batch)


def collate_drawn(groups: Sequence[DrawnGroup]) -> TensorBatch:
    """Make the windows of groups, and return their ``collate_groups``."""
    return collate_groups([group.windowed() for group in groups])
