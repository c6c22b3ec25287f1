"""The data that is mined, as a task and the index of its passages."""

from __future__ import annotations

from pathlib import Path

from oreqa.datasets.load import load_task
from oreqa.datasets.reqa import ReqaTask, draw_questions
from oreqa.index.passages import index_passages
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.progress import Progress


def open_task(
    data: Path,
    split: str,
    held_out: bool,
    draw: int | None,
    seed: int,
    work: Path,
    model: str | Path,
    device: str,
    progress: Progress,
) -> tuple[ReqaTask, Index]:
    """A task with ``draw`` of its questions, and the index of its passages, which is kept in ``work``."""
    task = load_task(data, split, held_out)
    index = index_passages(work, task.passages, Settings(model=str(model)), device, progress)
    return draw_questions(task, draw, seed), index


def default_work(out: Path) -> Path:
    """Where the index of the data is kept, if nothing else is named: beside the file that is written."""
    return out.with_name(f"{out.name}.index")
