"""Predicts whether an adaptation will gain: whether the encoder has yet to learn what generated questions teach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from oreqa.adaptation.measuring import reciprocal_ranks
from oreqa.adaptation.questions import one_task
from oreqa.adaptation.report import Compare, Outlook
from oreqa.adaptation.work import Work
from oreqa.datasets.pairs import load_pairs
from oreqa.defaults import DEFAULT_ENCODER
from oreqa.files import read_json, remove, write_json
from oreqa.generation import generate_questions
from oreqa.index.change_encoder import change_encoder, copy_generation
from oreqa.index.search import Index
from oreqa.models.encoder.folder import encoder_fingerprint, read_encoder_folder
from oreqa.models.names import find_model
from oreqa.progress import Progress

FIRST_PASSAGES, FIRST_ANSWERS = 150, 2
"""Passages asked about first, and questions about each: enough to detect a difference of three points."""


def has_learned(index: Index) -> bool:
    """Return whether an index has the default encoder, which already learned from people's questions."""
    default = read_encoder_folder(find_model(DEFAULT_ENCODER))
    dim = index.settings.truncate_dim
    return index.fingerprint == encoder_fingerprint(default if dim is None or dim > default.width else default.cut_to(dim))


def foresee(
    work: Work, index: Index, arguments: Mapping[str, Any], compare: Compare, device: str, progress: Progress
) -> Outlook:
    """Return the outlook of an adaptation of ``index`` with these ``arguments``, from an earlier measurement or a new one.

    The first questions skip the round trip, which selects those whose passage the encoder finds. They are decoded greedily,
    which takes a quarter of the time.
    """
    if work.outlook.is_file():
        return Outlook.from_row(read_json(work.outlook))
    if not work.first_questions.is_file():
        first = {**arguments, "draw": FIRST_PASSAGES, "answers": FIRST_ANSWERS, "round_trip": 0, "decoding": "greedy"}
        generate_questions(work.first_questions, index=index.folder, device=device, progress=progress, **first)
    task = one_task(list(index.passages()), load_pairs(work.first_questions))
    ranks = reciprocal_ranks(task, index, "searching with its encoder", progress)
    if not work.by_default.is_dir():
        copy_generation(index.folder, work.by_default)
    change_encoder(work.by_default, DEFAULT_ENCODER, device, progress)
    with Index.open(work.by_default, device) as by_default:
        default_ranks = reciprocal_ranks(task, by_default, "searching with the default encoder", progress)
    outlook = Outlook(len(task.questions), compare(ranks, default_ranks))
    write_json(work.outlook, asdict(outlook))
    remove(work.by_default)
    return outlook
