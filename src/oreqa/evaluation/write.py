"""From the outcomes of all questions to the files of a run: metrics.json, per_question.jsonl, run.trec and report.html."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oreqa.arguments import as_path
from oreqa.errors import InputError
from oreqa.evaluation.metrics import mean_metrics
from oreqa.evaluation.papers import published_rows
from oreqa.evaluation.report import write_report
from oreqa.evaluation.runs import QuestionResult, save_run
from oreqa.index.generations import newest_generation
from oreqa.provenance import data_hash, versions


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRun:
    """An evaluation that is done, before it is written.

    ``data`` are the files that were measured on, in the order in which they are hashed; ``candidates`` is how many there
    were to choose from. ``settings`` hold all that decided the numbers. ``metrics`` are kept beside the means over the
    ``results``; those that people are shown are in percent. ``figure`` is a title and an SVG for the report, in place of the
    curve of ranks; ``examples`` are a title and HTML, in place of the questions whose gold is not on top.
    """

    task: str
    mode: str
    results: Sequence[QuestionResult]
    candidates: int | None = None
    data: Sequence[Path]
    model: str
    settings: Mapping[str, Any]
    seconds: float
    metrics: Mapping[str, Any] = field(default_factory=dict)
    figure: tuple[str, str] | None = None
    examples: tuple[str, str] | None = None


def run_folder(out: str | Path) -> Path:
    """The folder that a run is to be written to. Raises InputError if it holds what would be lost or mixed with the run: a
    finished run, a model or an index; and if it is a file."""
    folder = as_path(out, "out")
    if (folder / "metrics.json").is_file():
        held = "a finished run"
    elif any((folder / name).is_file() for name in ("config.json", "run.json")):
        held = "a model"
    elif newest_generation(folder) is not None:
        held = "an index"
    elif folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: it is a file; name a folder for the run")
    else:
        return folder
    raise InputError(f"{folder}: it holds {held} already; choose another folder, or remove it")


def write_run(out: Path, run: EvalRun) -> dict[str, Any]:
    """Write the run's files into the folder ``out``. Returns what metrics.json holds."""
    summary = {
        "task": run.task,
        "mode": run.mode,
        **mean_metrics([result.metrics for result in run.results]),
        **run.metrics,
        "questions": len(run.results),
        **({} if run.candidates is None else {"candidates": run.candidates}),
        "data_sha256": data_hash(run.data),
        "model": run.model,
        "settings": dict(run.settings),
        "seconds": round(run.seconds, 2),
        "versions": versions(),
    }
    published = published_rows(summary["data_sha256"], len(run.results)) if run.task == "reqa" else ()
    write_report(out / "report.html", summary, run.results, published, run.figure, run.examples)
    save_run(out, summary, run.results, f"oreqa-{run.mode}")
    return summary
