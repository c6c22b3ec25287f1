from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from oreqa.datasets.questions import OpenQuestion
from oreqa.evaluation.open_scores import (
    Prediction,
    score_replies,
)
from oreqa.evaluation.report import published_rows, write_report
from oreqa.provenance import data_hash

HEARTS = OpenQuestion("1", "How many hearts?", ("three", "3 hearts"), document="octopus.md", collection="sea", kind="fact")
NOTHING = OpenQuestion("2", "How many ears?", (), collection="sea", kind="unanswerable")
YEAR = OpenQuestion("3", "When?", (), r"19\d\d", collection="war", kind="fact")


def test_the_report_lists_what_was_answered_wrong(tmp_path: Path) -> None:
    questions = [HEARTS, HEARTS, NOTHING, NOTHING, YEAR]
    passages = [("octopus.md", "three hearts", 1.0)]
    given = [[("three", 1.0)], [], [], [("<Oslo>", 1.0)], [("1815", 1.0)]]
    results = score_replies(questions, [Prediction(answers, "", passages) for answers in given])
    summary = {
        "task": "openqa",
        "mode": "asked",
        "model": "m",
        "data_sha256": "",
        "settings": {},
        "seconds": 1,
        "versions": {},
    }
    write_report(tmp_path / "report.html", summary, results)
    page = (tmp_path / "report.html").read_text()
    assert "3 of 5; a sample" in page
    assert "refused (right: three" in page
    assert "&lt;Oslo&gt; (right: no answer)" in page
    assert "1815 (right: " in page


def test_published_rows_only_for_their_task() -> None:
    reqa = "8124914ec97487b88624f2a5ebc60523609cac3b4946a5038adf44f1e94457fa"
    assert dict(published_rows(reqa, 10539))["ENDX-BERT"]["mrr"] == 73.43
    assert published_rows(reqa, 10) == published_rows("0" * 64, 10539) == ()


@pytest.mark.shared_data
def test_published_tasks_are_known_by_their_data(data: Path, tmp_path: Path) -> None:
    squad = data / "squad"
    for name, row in (("reqa", ("ENDX-BERT", 63.94)), ("multireqa", ("USE-QA", 51.0))):
        packed = [squad / "squad-v1.1-dev.json.gz", squad / f"{name}-squad-dev-sentences.jsonl.gz"]
        plain = [tmp_path / file.stem for file in packed]
        for source, target in zip(packed, plain, strict=True):
            target.write_bytes(gzip.decompress(source.read_bytes()))
        for files in (packed, plain):
            rows = dict(published_rows(data_hash(files), 10539))
            assert row[1] in rows[row[0]].values()
        assert published_rows(data_hash(packed[:1]), 10539) == ()
