from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest

from oreqa.errors import InputError
from oreqa.evaluation.compare import compare_runs
from oreqa.evaluation.metrics import mean_metrics, question_metrics
from oreqa.evaluation.report import published_rows, write_report
from oreqa.evaluation.runs import QuestionResult, Run, load_run, save_run
from oreqa.files import resume_rows
from oreqa.provenance import data_hash


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


def test_comparison(tmp_path: Path) -> None:
    save(tmp_path / "a", [[1.0], [3.0], [2.0], [1.0]])
    save(tmp_path / "b", [[1.0], [1.0], [5.0], [2.0]])
    found = compare_runs(load_run(tmp_path / "a"), load_run(tmp_path / "b"))
    assert found.errors == {"both": 1, "only_a": 1, "only_b": 1, "neither": 1}
    assert found.error_shares == {"both": 25, "only_a": 25, "only_b": 25, "neither": 25}
    assert [row["id"] for row in found.won] == ["1"]
    assert [row["id"] for row in found.lost] == ["3"]
    assert found.differences["mrr"].mean == pytest.approx((2 / 3 - 0.3 - 0.5) / 4, abs=1e-6)


def test_the_largest_gains_and_losses_come_first(tmp_path: Path) -> None:
    save(tmp_path / "a", [[1.0], [1.0], [1.0], [2.0], [5.0], [3.0]])
    save(tmp_path / "b", [[3.0], [9.0], [2.0], [1.0], [1.0], [1.0]])
    compared = compare_runs(load_run(tmp_path / "a"), load_run(tmp_path / "b"))
    assert [row["id"] for row in compared.lost] == ["1", "0", "2"]
    assert [row["id"] for row in compared.won] == ["4", "5", "3"]


def test_runs_that_cannot_be_compared(tmp_path: Path) -> None:
    save(tmp_path / "a", [[1.0]])
    save(tmp_path / "b", [[1.0]], data="other")
    with pytest.raises(InputError, match="different data"):
        compare_runs(load_run(tmp_path / "a"), load_run(tmp_path / "b"))
    with pytest.raises(InputError, match="not a finished run"):
        load_run(tmp_path)


@pytest.mark.parametrize("task", ["reqa", "generator"])
def test_runs_that_number_other_questions(task: str) -> None:
    """Question 1 of a draw is not question 1 of all; a generator's texts differ by what it reads of the same passage."""
    a, b, c = (
        Run(
            name,
            {"data_sha256": "x", "task": task, "mrr": 50.0},
            {str(n): {"question": q, "mrr": 0.5} for n, q in enumerate(asked)},
        )
        for name, asked in (("a", ["p", "q", "r"]), ("b", ["p", "r"]), ("c", ["p", "q", "r"]))
    )
    assert compare_runs(a, c).questions == 3
    if task == "reqa":
        with pytest.raises(
            InputError, match=r"^a and b asked different questions: make both with the same --held-out, --min-q"
        ):
            compare_runs(a, b)
    else:
        assert compare_runs(a, b).questions == 2


def test_runs_that_are_kept_without_texts_are_compared_by_how_they_were_drawn() -> None:
    def run(name: str, questions: int = 2, text: bool = False, **settings: bool) -> Run:
        rows = {str(n): {"mrr": 0.5, **({"question": f"q{n}"} if text else {})} for n in range(questions)}
        summary = {"data_sha256": "x", "task": "reqa", "mrr": 50.0, "questions": questions, "settings": settings}
        return Run(name, summary, rows)

    kept = run("a", held_out=True)
    assert compare_runs(kept, run("b", text=True, held_out=True)).questions == 2
    for other in (run("b", text=True), run("b", questions=3, held_out=True)):
        with pytest.raises(InputError, match="a and b asked different questions"):
            compare_runs(kept, other)


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


def test_data_hash_follows_content(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("1")
    first = data_hash([tmp_path / "x"])
    assert first == data_hash([tmp_path])
    (tmp_path / "x").write_text("2")
    assert first != data_hash([tmp_path / "x"])


def test_interrupted_rows_are_kept(tmp_path: Path) -> None:
    path, calls, told = tmp_path / "rows.jsonl", [], []

    def make(begin: int, end: int) -> list[dict[str, int]]:
        if begin == 4 and len(calls) < 3:
            raise KeyboardInterrupt
        calls.append((begin, end))
        return [{"n": n} for n in range(begin, end)]

    with pytest.raises(KeyboardInterrupt):
        resume_rows(path, "a", 5, 2, make, told.append)
    with path.open("a") as stream:
        stream.write('{"fingerprint": "a", "n')  # torn by the interruption
    calls.append((0, 0))
    rows = resume_rows(path, "a", 5, 2, make, told.append)
    assert [row["n"] for row in rows] == [0, 1, 2, 3, 4]
    assert calls == [(0, 2), (2, 4), (0, 0), (4, 5)]
    assert told == [0, 2, 2, 4, 1]
    assert len(resume_rows(path, "b", 5, 2, make, told.append)) == 5
    assert calls[4:] == [(0, 2), (2, 4), (4, 5)]
