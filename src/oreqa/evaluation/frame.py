"""The common part of all evaluations: folder, clock, resumable work, and output files."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from oreqa.arguments import as_path
from oreqa.errors import InputError
from oreqa.evaluation.metrics import mean_metrics
from oreqa.evaluation.report import published_rows, write_report
from oreqa.evaluation.runs import QuestionResult, save_run
from oreqa.files import resume_rows
from oreqa.index.generations import newest_generation
from oreqa.models.stored import pinned_name
from oreqa.progress import Advance
from oreqa.provenance import code_of_result, data_hash, fingerprint


class Evaluation:
    """An evaluation of a ``task`` on files of ``data``, which are hashed in order, written to the folder ``out``.

    Raises InputError for a folder that is in use (``run_folder``).
    """

    def __init__(self, task: str, data: Sequence[Path], out: str | Path) -> None:
        self.task, self.data, self.out = task, data, run_folder(out)
        self._unfinished: Path | None = None
        self.start()

    def start(self) -> None:
        """Start the clock: loading data and models is excluded."""
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    def resume(
        self,
        name: str,
        decisive: Sequence[Any],
        count: int,
        together: int,
        make: Callable[[int, int], list[dict[str, Any]]],
        advance: Advance,
    ) -> list[dict[str, Any]]:
        """Return the ``count`` rows of work stored in the run's file ``name`` until the run is written.

        ``make`` returns the rows from one number to another, ``together`` at a time. They are made again if anything
        ``decisive`` has changed.
        """
        self._unfinished = self.out / name
        return resume_rows(self._unfinished, fingerprint(decisive), count, together, make, advance)

    def write(
        self,
        results: Sequence[QuestionResult],
        mode: str,
        model: str,
        settings: Mapping[str, Any],
        *,
        candidates: int | None = None,
        metrics: Mapping[str, Any] | None = None,
        figure: tuple[str, str] | None = None,
        examples: tuple[str, str] | None = None,
    ) -> dict[str, Any]:
        """Write metrics.json, per_question.jsonl, run.trec and report.html, and return the content of metrics.json.

        ``candidates`` is how many there were to choose from. ``settings`` has everything that determined the numbers.
        ``metrics`` are saved with the means over the ``results``; those shown to people are in percent. ``figure`` is a
        title and an SVG for the report, replacing the curve of ranks; ``examples`` are a title and HTML, replacing the
        questions whose gold is not on top.
        """
        summary = {
            "task": self.task,
            "mode": mode,
            **mean_metrics([result.metrics for result in results]),
            **(metrics or {}),
            "questions": len(results),
            **({} if candidates is None else {"candidates": candidates}),
            "data_sha256": data_hash(self.data),
            "model": pinned_name(model),
            "settings": {key: pinned_name(value) if isinstance(value, str) else value for key, value in settings.items()},
            "seconds": round(self.seconds, 2),
            **code_of_result(),
        }
        published = published_rows(summary["data_sha256"], len(results)) if self.task == "reqa" else ()
        write_report(self.out / "report.html", summary, results, published, figure, examples)
        save_run(self.out, summary, results, f"oreqa-{mode}")
        if self._unfinished is not None:
            self._unfinished.unlink(missing_ok=True)
        return summary


def run_folder(out: str | Path) -> Path:
    """Return the folder for a run.

    Raises InputError if it contains what would be lost or mixed with the run (a finished run, a model or an index), and
    if it is a file.
    """
    folder = as_path(out, "out")
    if (folder / "metrics.json").is_file():
        contents = "a finished run"
    elif any((folder / name).is_file() for name in ("config.json", "run.json")):
        contents = "a model"
    elif newest_generation(folder) is not None:
        contents = "an index"
    elif folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: it is a file; name a folder for the run")
    else:
        return folder
    raise InputError(f"{folder}: it holds {contents} already; choose another folder, or remove it")
