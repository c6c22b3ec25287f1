from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest

from oreqa.evaluation.compare import compare_runs
from oreqa.evaluation.metrics import mean_metrics, question_metrics
from oreqa.evaluation.report import write_report
from oreqa.evaluation.runs import QuestionResult, load_run, save_run


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


def test_files_of_a_run(tmp_path: Path) -> None:
    save(tmp_path / "a", [[1.0], [3.0], [math.inf]])
    assert (tmp_path / "a" / "run.trec").read_text().splitlines()[:2] == [
        "0 Q0 c_1 1 2.000000 tag",
        "0 Q0 c2 2 1.000000 tag",
    ]
    rows = [json.loads(line) for line in (tmp_path / "a" / "per_question.jsonl").read_text().splitlines()]
    assert rows[2]["ranks"] == [None]
    assert rows[1]["p@5"] == 1
    page = (tmp_path / "a" / "report.html").read_text()
    assert "12.34" in page
    assert "<svg" in page
    assert "<i>text</i>" not in page
    assert "&lt;i&gt;text&lt;/i&gt;" in page
    run = load_run(tmp_path / "a")
    assert run.summary["mrr"] == pytest.approx(44.44)
    assert len(run.questions) == 3


def test_a_kept_run_has_its_questions_packed(tmp_path: Path) -> None:
    save(tmp_path / "a", [[1.0], [3.0], [2.0]])
    rows = (tmp_path / "a" / "per_question.jsonl").read_bytes()
    (tmp_path / "a" / "per_question.jsonl").unlink()
    with gzip.open(tmp_path / "a" / "per_question.jsonl.gz", "wb") as stream:
        stream.write(rows)
    save(tmp_path / "b", [[1.0], [1.0], [2.0]])
    assert compare_runs(load_run(tmp_path / "a"), load_run(tmp_path / "b")).questions == 3
