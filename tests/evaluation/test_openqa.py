from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from oreqa.cli import app
from oreqa.datasets.load import load_task
from oreqa.datasets.questions import OpenQuestion
from oreqa.evaluation import evaluate_openqa, open_answers
from oreqa.evaluation.open_scores import (
    Prediction,
    has_answer,
    reranking_analysis,
    retrieval_accuracy,
    score_open,
    score_predictions,
)
from oreqa.evaluation.runs import load_run
from oreqa.index.passages import index_passages
from oreqa.index.store import Settings

QUESTION = OpenQuestion("1", "who", ("The Fox", "dog"))
PATTERN = OpenQuestion("2", "when", (), r"19\d\d")


def test_answers_and_patterns_score() -> None:
    assert score_open(QUESTION, "fox").em == 1
    assert score_open(QUESTION, "fox dog").f1 == pytest.approx(2 / 3)
    assert score_open(PATTERN, "1912").em == 1
    assert score_open(PATTERN, "in 1912").em == 0
    assert score_open(PATTERN, "").em == 0


def test_a_passage_holds_an_answer_by_its_words() -> None:
    assert has_answer("It is the FOX's", QUESTION)
    assert not has_answer("It is the foxes", QUESTION)
    assert has_answer("caf\u00e9", OpenQuestion("", "", ("cafe\u0301",)))
    assert not has_answer("anything", OpenQuestion("", "", ("",)))
    assert has_answer("in 1912", PATTERN)


def test_metrics_of_a_question() -> None:
    rows = [
        Prediction([("cat", 2.0), ("fox", 1.0)], "fox", [("p", "a cat", 0.5), ("q", "the fox", 0.4)]),  # broken
        Prediction([("1912", 2.0), ("x", 1.0)], "x", [("p", "in 1912", 0.5)]),  # mended
        Prediction([], "", []),
    ]
    results = score_predictions([QUESTION, PATTERN, QUESTION], rows)
    assert [r.metrics["em"] for r in results] == [0, 1, 0]
    assert results[0].metrics["em@3"] == 1
    assert (results[0].metrics["acc@1"], results[1].metrics["acc@1"]) == (0, 1)
    assert [list(r.ranks) for r in results[:2]] == [[2], [1]]
    assert reranking_analysis(results, 5) == {"right_before": 1, "mendable": 1, "mended": 1, "broken": 1}


def test_retrieval_is_judged_by_the_questions_that_have_an_answer() -> None:
    questions = [QUESTION, OpenQuestion("3", "who", ()), PATTERN]
    rows = [
        Prediction([("fox", 1.0)], "fox", [("p", "the fox", 0.5)]),
        Prediction([], "", [("p", "a cat", 0.5)]),
        Prediction([], "", [("p", "a cat", 0.5)]),
    ]
    results = score_predictions(questions, rows)
    assert not any("acc@1" in result.metrics for result in results)
    assert retrieval_accuracy(questions, rows) == {"acc@1": 50.0}
    assert [(result.metrics["em"], result.metrics["em_before"]) for result in results] == [(1, 1), (1, 1), (0, 0)]


def test_what_is_refused_is_not_counted_as_re_ranked(
    squad_file: Path, tiny_reader: Path, tiny_reranker: Path, tmp_path: Path
) -> None:
    content = json.loads(squad_file.read_text())
    content["data"][0]["paragraphs"][0]["qas"][0]["answers"] = []
    squad_file.write_text(json.dumps(content))
    arguments: dict[str, Any] = {"reader": tiny_reader, "span_reranker": tiny_reranker, "gold_passages": True}
    silent = evaluate_openqa(squad_file, tmp_path / "silent", null=1e9, **arguments)
    assert silent["em"] == silent["em_before"] == pytest.approx(100 / 48, abs=0.01)
    assert silent["reranking"] == {"right_before": 0, "mendable": 0, "mended": 0, "broken": 0}
    assert silent["acc@1"] == 100
    talkative = evaluate_openqa(squad_file, tmp_path / "talkative", null=-1e9, **arguments)
    assert talkative["reranking"]["right_before"] == round(48 * talkative["em_before"] / 100)
    rows = load_run(tmp_path / "talkative").questions.values()
    assert [row["em"] for row in rows if not row["gold"][0]] == [0]  # nothing is refused


def test_the_passages_that_are_read_are_the_best_after_re_ranking(
    squad_file: Path, tiny: Path, tiny_reader: Path, tiny_classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = index_passages(tmp_path / "kb", load_task(squad_file).passages, Settings(model=str(tiny)))
    (tmp_path / "q.jsonl").write_text('{"question": "who jumps", "answers": ["fox"]}\n')
    monkeypatch.setattr(open_answers, "reranked_hits", lambda _model, _questions, hits, _depth: [row[::-1] for row in hits])
    arguments: dict[str, Any] = {"reader": tiny_reader, "span_reranker": None, "index": index.folder, "passages": 3}
    evaluate_openqa(tmp_path / "q.jsonl", tmp_path / "o", rerank_hits=10, hit_reranker=tiny_classifier, **arguments)
    (hits,) = index.search(["who jumps"], 10, "hybrid", "passage")
    row = load_run(tmp_path / "o").questions["1"]
    assert [entry["candidate"] for entry in row["top"]] == [hit.passage.document_key for hit in hits[:6:-1]]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_eval_openqa(squad_file: Path, tiny: Path, tiny_reader: Path, tiny_reranker: Path, tmp_path: Path) -> None:
    common = ("eval", "openqa", "--data", squad_file, "--reader", tiny_reader, "--json")
    plain = run(*common, "--model", tiny, "--reranker", "none", "--out", tmp_path / "a")
    again = run(
        *common,
        "--model",
        tiny,
        "--reranker",
        tiny_reranker,
        "--out",
        tmp_path / "b",
        "--passages",
        3,
        "--combine",
        "alone=1",
    )
    gold = run(*common, "--reranker", "none", "--gold-passages", "--draw", 10, "--out", tmp_path / "c")
    first, second, third = (json.loads(found.stdout) for found in (plain, again, gold))
    assert first["questions"] == second["questions"] == 48
    assert 0 <= first["em"] <= first["em@5"] <= 100
    assert second["settings"]["combination"]["alone"] is True
    assert second["reranking"]["right_before"] == round(48 * second["em_before"] / 100)
    assert third["questions"] == 10
    assert third["acc@1"] == 100
    content = json.loads(squad_file.read_text())
    content["data"][0]["paragraphs"][0]["qas"][0]["answers"] = []
    squad_file.write_text(json.dumps(content))
    null = run(*common, "--reranker", "none", "--gold-passages", "--null", 1e9, "--out", tmp_path / "n")
    silent = json.loads(null.stdout)  # nothing is answered: one question alone is right
    assert (silent["questions"], silent["em"]) == (48, pytest.approx(100 / 48, abs=0.01))
    for name in ("a", "b", "c"):
        assert (tmp_path / name / "report.html").is_file()
    predictions = json.loads((tmp_path / "a" / "predictions.json").read_text())
    scored = json.loads(
        run("eval", "answers", "--predictions", tmp_path / "a" / "predictions.json", "--gold", squad_file, "--json").stdout
    )
    assert len(predictions) == 48
    assert scored["em"] == pytest.approx(first["em"], abs=0.01)
    assert (
        "questions"
        in run("eval", "answers", "--predictions", tmp_path / "a" / "predictions.json", "--gold", squad_file).stdout
    )
    assert "em" in run("compare", tmp_path / "a", tmp_path / "b").stdout


def test_bad_requests(squad_file: Path, tiny_reader: Path, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"question": "a", "answers": ["b"]}\n')
    (tmp_path / "e.json").write_text('{"data": []}')
    common = ("eval", "openqa", "--reader", tiny_reader, "--reranker", "none", "--out", tmp_path / "o")
    for more, message in (
        (("--data", tmp_path / "q.jsonl"), "name the index to search"),
        (("--data", tmp_path / "q.jsonl", "--gold-passages"), "have no paragraphs"),
        (("--data", tmp_path / "e.json"), "no question with an answer"),
        (("--data", squad_file, "--null", "0"), "null needs gold passages"),
        (("--data", squad_file, "--combine", "speed=1"), "the weights are selection"),
        (("--data", squad_file, "--combine", "retrieval=x"), "write a number"),
    ):
        found = run(*common, *more)
        assert found.exit_code == 2
        assert message in found.stderr
