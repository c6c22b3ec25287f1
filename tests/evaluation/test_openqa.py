from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from oreqa.cli import app
from oreqa.core import MODES
from oreqa.evaluation import evaluate_openqa
from oreqa.evaluation.runs import load_run
from oreqa.index.search import Index


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
    assert 0 <= first["em"] <= first["em@5"] <= first["em@10"] < first["em@25"] <= 100  # more than ten answers are kept
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


def test_passages_are_read_that_a_mode_finds(squad_file: Path, tiny: Path, tiny_reader: Path, tmp_path: Path) -> None:
    read: dict[str, list[list[str]]] = {}
    for mode in MODES:
        out = tmp_path / mode
        evaluate_openqa(
            squad_file, out, mode=mode, model=tiny, reader=tiny_reader, passages=2, draw=9, index=tmp_path / "kb"
        )
        run_of_mode = load_run(out)
        assert run_of_mode.summary["settings"]["search"] == mode
        assert run_of_mode.summary["mode"] == ("reader" if mode == "hybrid" else f"{mode}, reader")
        rows = run_of_mode.questions.values()
        read[mode] = [[hit["text"] for hit in row["top"]] for row in rows]
        with Index.open(tmp_path / "kb") as index:
            rankings = index.search([row["question"] for row in rows], 2, mode=mode, unit="passage")
        assert read[mode] == [[hit.passage.text for hit in hits] for hits in rankings]
    assert read["sparse"] != read["dense"]


def test_bad_requests(squad_file: Path, tiny_reader: Path, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"question": "a", "answers": ["b"]}\n')
    (tmp_path / "e.json").write_text('{"data": []}')
    content, unanswerable = json.loads(squad_file.read_text()), tmp_path / "unanswerable.json"
    content["data"][0]["paragraphs"][0]["qas"][0] |= {"answers": [], "is_impossible": True}
    unanswerable.write_text(json.dumps(content))
    common = ("eval", "openqa", "--reader", tiny_reader, "--reranker", "none", "--out", tmp_path / "o")
    for more, message in (
        (("--data", tmp_path / "q.jsonl"), "name the index to search"),
        (("--data", tmp_path / "q.jsonl", "--gold-passages"), "have no paragraphs"),
        (("--data", tmp_path / "e.json"), "no question with an answer"),
        (("--data", squad_file, "--null", "0"), "null needs gold passages"),
        (("--data", squad_file, "--gold-passages", "--mode", "dense"), "without a search: leave index, mode and"),
        (("--data", unanswerable, "--mode", "sparse"), "by the hybrid search: leave mode out"),
        (("--data", squad_file, "--combine", "speed=1"), "the weights are selection"),
        (("--data", squad_file, "--combine", "retrieval=x"), "write a number"),
    ):
        found = run(*common, *more)
        assert found.exit_code == 2
        assert message in found.stderr
