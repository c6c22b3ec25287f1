"""Runs of a few questions."""

from __future__ import annotations

from pathlib import Path

from oreqa.evaluation.metrics import mean_metrics, question_metrics
from oreqa.evaluation.report import write_report
from oreqa.evaluation.runs import QuestionResult, save_run


def results(ranks: list[list[float]]) -> list[QuestionResult]:
    return [
        QuestionResult(
            str(i),
            f"<b>question</b> {i}?",
            question_metrics(r),
            ["1"],
            r,
            [("c 1", 2.0), ("c2", 1.0)],
            ["<i>text</i>"],
        )
        for i, r in enumerate(ranks)
    ]


def save(folder: Path, ranks: list[list[float]], data: str = "h") -> list[QuestionResult]:
    rows = results(ranks)
    summary = {
        "task": "reqa", "mode": "hybrid", **mean_metrics([r.metrics for r in rows]), "questions": len(rows),
        "candidates": 10, "data_sha256": data, "model": "m", "settings": {"seed": 0}, "seconds": 1.0, "versions": {},
    }  # fmt: skip
    save_run(folder, summary, rows, "tag")
    write_report(folder / "report.html", summary, rows, [("Published", {"mrr": 12.34})])
    return rows
