from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest
from tiny_runs import save

from oreqa.evaluation.compare import compare_runs
from oreqa.evaluation.runs import load_run


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
