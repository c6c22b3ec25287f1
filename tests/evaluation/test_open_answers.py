from __future__ import annotations

import itertools
import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import make_head
from typer.testing import CliRunner, Result

from oreqa.answer import Answer
from oreqa.answering import Answerer
from oreqa.answering.reply import Reply
from oreqa.cli import app
from oreqa.core import Hit, Passage, Sentence
from oreqa.datasets.load import load_task
from oreqa.datasets.questions import OpenQuestion
from oreqa.defaults import DEFAULT_ENCODER
from oreqa.evaluation import evaluate_openqa, open_answers
from oreqa.evaluation.metrics import roc_area
from oreqa.evaluation.open_answers import Judged, judge, risk_coverage, trust_metrics, trust_section
from oreqa.evaluation.open_scores import Prediction
from oreqa.evaluation.runs import load_run
from oreqa.index.ingest import index_files
from oreqa.index.passages import index_passages
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.graph.precision import heads_precision, offered_precisions


def _passage(name: str) -> Passage:
    return Passage(f"of {name}", "", "", "text", 0, 4, ())


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def same_run(summary: dict[str, Any], function_out: Path, command: dict[str, Any], command_out: Path) -> None:
    """The two folders hold the same run; the functions and commands returned what is in them."""
    assert json.loads((function_out / "metrics.json").read_text()) == summary
    assert list(summary) == list(command)
    assert {**summary, "seconds": 0} == {**command, "seconds": 0}
    for name in ("per_question.jsonl", "run.trec"):
        assert (function_out / name).read_bytes() == (command_out / name).read_bytes()
    assert (function_out / "report.html").is_file()


def test_an_interrupted_run_goes_on_and_refusals_are_empty(
    library: Path, tiny: Path, tiny_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replied: list[str] = []

    def reply(self: Answerer, texts: Sequence[str]) -> list[Reply]:
        if "q16" in texts and not replied[16:]:
            replied.append("interrupted")
            raise KeyboardInterrupt
        replied.extend(texts)
        sentence = Sentence("s", 0, 1)
        hits = [Hit(1.0, _passage(text), sentence, 0, 0, {}) for text in texts]
        answers = [() if t == "q3" else (Answer(t, 0, 1, 0.5, sentence, _passage(t), 2.0, {}),) for t in texts]
        return [
            Reply(question_answers, (hit,) * 9, best=next(iter(question_answers), None))
            for question_answers, hit in zip(answers, hits, strict=True)
        ]

    monkeypatch.setattr(Answerer, "reply", reply)
    index_files(tmp_path / "kb", [library], Settings(str(tiny)))
    data, out = tmp_path / "q.jsonl", tmp_path / "run"
    data.write_text("".join(json.dumps({"id": str(n), "question": f"q{n}", "answers": []}) + "\n" for n in range(20)))

    def evaluate(reader: Path = tiny_reader) -> dict[str, object]:
        return evaluate_openqa(data, out, reader=reader, span_reranker=None, index=tmp_path / "kb")

    with pytest.raises(KeyboardInterrupt):
        evaluate()
    assert not (out / "metrics.json").exists()
    metrics = evaluate()
    assert replied == [f"q{n}" for n in range(16)] + ["interrupted"] + [f"q{n}" for n in range(16, 20)]  # none twice
    assert not (out / "asking.jsonl").exists()
    assert (metrics["unanswerable"], metrics["refused_unanswerable"]) == (20, 5.0)
    assert metrics["model"] == str(tiny)  # the index's own
    predictions = json.loads((out / "predictions.json").read_text())
    assert predictions == {str(n): "" if n == 3 else f"q{n}" for n in range(20)}
    rows = [line.split() for line in (out / "run.trec").read_text().splitlines()]
    assert [row[2] for row in rows if row[0] == "7"] == ["of_q7"]  # five of its passages were read
    row_of_q7 = json.loads((out / "per_question.jsonl").read_text().splitlines()[7])
    assert [row["candidate"] for row in row_of_q7["top"]] == ["of q7"] * 3
    assert row_of_q7["best"] == {"text": "q7", "confidence": 0.5}


@pytest.mark.slow
@pytest.mark.parametrize("changed", ["index", "reader", "classifier"])
def test_questions_are_asked_anew_of_another_model(
    changed: str, library: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replied: list[str] = []

    def reply(self: Answerer, texts: Sequence[str]) -> list[Reply]:
        replied.extend(texts)
        if len(replied) == 10:
            raise KeyboardInterrupt
        return [Reply((), ())] * len(texts)

    monkeypatch.setattr(Answerer, "reply", reply)
    index_files(tmp_path / "kb", [library], Settings(str(tiny)))
    data = tmp_path / "q.jsonl"
    data.write_text("".join(json.dumps({"id": str(n), "question": f"q{n}", "answers": []}) + "\n" for n in range(10)))
    reader, classifier = (make_head(tmp_path / kind, kind, seed=5) for kind in ("reader", "classifier"))
    arguments: dict[str, Any] = {"index": tmp_path / "kb", "reader": reader, "hit_reranker": classifier, "rerank_hits": 2}
    with pytest.raises(KeyboardInterrupt):
        evaluate_openqa(data, tmp_path / "run", **arguments)
    if changed == "index":
        monkeypatch.setattr(Index, "fingerprint", property(lambda self: "another encoder under the same name"))
    else:
        other = make_head(tmp_path / "other", changed, seed=6)
        shutil.copy(other / "model.safetensors", tmp_path / changed)
    evaluate_openqa(data, tmp_path / "run", **arguments)
    assert replied[10:] == [f"q{n}" for n in range(10)]


def test_eval_openqa_answers_as_ask_does(
    library: Path, tiny: Path, tiny_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {
            "id": "1",
            "question": "hearts of the octopus",
            "answers": ["three"],
            "document": "octopus.md",
            "collection": "sea",
        },
        {"id": "2", "question": "sting of drones", "answers": ["no"], "document": "bees.txt", "collection": "land"},
        {"id": "3", "question": "price of the tent", "answers": [], "collection": "land"},
    ]
    data = tmp_path / "q.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("index", library, "--index", tmp_path / "kb", "--model", tiny).exit_code == 0
    common = ("eval", "openqa", "--data", data, "--reader", tiny_reader, "--reranker", "none", "--json")
    monkeypatch.setenv("OREQA_INDEX", str(tmp_path / "kb"))
    done = run(*common, "--out", tmp_path / "o")
    monkeypatch.delenv("OREQA_INDEX")
    assert done.exit_code == 0, done.output
    metrics = json.loads(done.stdout)
    assert (metrics["questions"], metrics["answerable"], metrics["unanswerable"]) == (3, 2, 1)
    assert set(metrics["by"]["collection"]) == {"land", "sea"}
    given = Answerer.load(tmp_path / "kb", reader=tiny_reader, span_reranker=None).ask(
        [str(row["question"]) for row in rows]
    )
    expected = {str(row["id"]): own[0].text if own else "" for row, own in zip(rows, given, strict=True)}
    assert json.loads((tmp_path / "o" / "predictions.json").read_text()) == expected
    assert run("compare", tmp_path / "o", tmp_path / "o").exit_code == 0
    for more, message in (((), "name the index"), (("--index", tmp_path / "kb", "--gold-passages"), "have no paragraphs")):
        wrong = run(*common, *more, "--out", tmp_path / "w")
        assert wrong.exit_code == 2
        assert message in wrong.output


@pytest.mark.slow
def test_an_interrupted_reading_goes_on(
    squad_file: Path, tiny: Path, tiny_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments: dict[str, Any] = {"model": tiny, "reader": tiny_reader, "span_reranker": None}
    monkeypatch.setattr(open_answers, "CHUNK", 16)
    whole = evaluate_openqa(squad_file, tmp_path / "whole", **arguments)
    read, questions_read = open_answers.read_answers, []

    def fail_once(reader: Any, reranker: Any, questions: list[str], *rest: Any) -> Any:
        if len(questions_read) == 32:
            questions_read.append("interrupted")
            raise KeyboardInterrupt
        questions_read.extend(questions)
        return read(reader, reranker, questions, *rest)

    monkeypatch.setattr(open_answers, "read_answers", fail_once)
    with pytest.raises(KeyboardInterrupt):
        evaluate_openqa(squad_file, tmp_path / "run", **arguments)
    assert not (tmp_path / "run" / "metrics.json").exists()
    again = evaluate_openqa(squad_file, tmp_path / "run", **arguments)
    assert len(questions_read) == 48 + 1  # no question was read twice
    same_run(again, tmp_path / "run", whole, tmp_path / "whole")
    assert not (tmp_path / "run" / "reading.jsonl").exists()


def test_a_reading_begins_anew_under_other_titles(
    squad_file: Path, tiny_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    titles: list[str] = []
    read = open_answers.read_answers

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    def read_titles(reader: Any, reranker: Any, questions: Any, passages: Any, *rest: Any) -> Any:
        titles.extend(passage.title for question_passages in passages for passage in question_passages)
        return read(reader, reranker, questions, passages, *rest)

    arguments: dict[str, Any] = {"reader": tiny_reader, "span_reranker": None, "gold_passages": True}
    monkeypatch.setattr(open_answers, "CHUNK", 40)  # two chunks
    monkeypatch.setattr(open_answers, "read_answers", lambda *rest: interrupted() if titles else read_titles(*rest))
    with pytest.raises(KeyboardInterrupt):
        evaluate_openqa(squad_file, tmp_path / "run", **arguments)
    assert len(titles) == 40
    squad_file.write_text(squad_file.read_text().replace("story_", "tale_"))
    monkeypatch.setattr(open_answers, "read_answers", read_titles)
    evaluate_openqa(squad_file, tmp_path / "run", **arguments)
    assert len(titles) == 40 + 48


def test_a_reading_begins_anew_in_another_precision(
    squad_file: Path, tiny_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = next((name for name in offered_precisions() if name != heads_precision()), None)
    if other is None:
        pytest.skip("this processor offers one precision")
    read, calls = open_answers.read_answers, []

    def fail_once(*rest: Any) -> Any:
        calls.append(rest)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return read(*rest)

    monkeypatch.setattr(open_answers, "CHUNK", 30)  # two chunks
    monkeypatch.setattr(open_answers, "read_answers", fail_once)
    arguments: dict[str, Any] = {"reader": tiny_reader, "span_reranker": None, "gold_passages": True, "passages": 5}
    with pytest.raises(KeyboardInterrupt):
        evaluate_openqa(squad_file, tmp_path / "run", **arguments)
    monkeypatch.setenv("OREQA_PRECISION", other)
    summary = evaluate_openqa(squad_file, tmp_path / "run", **arguments)
    assert summary["settings"]["precision"] == {"reader": other}
    assert summary["model"] == summary["settings"]["model"] == DEFAULT_ENCODER
    assert len(calls) == 2 + 2


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
    (hits,) = index.search(["who jumps"], 10, mode="hybrid", unit="passage")
    row = load_run(tmp_path / "o").questions["1"]
    assert [entry["candidate"] for entry in row["top"]] == [hit.passage.document_key for hit in hits[:6:-1]]


HEARTS = OpenQuestion("1", "How many hearts?", ("three hearts",))
NOTHING = OpenQuestion("2", "Who won?", ())
YEAR = OpenQuestion("3", "When?", (), pattern=r"19\d\d")


def predicted(text: str, confidence: float | None) -> Prediction:
    return Prediction([], "", [], (text, confidence))


def judged(confidence: list[float], right: list[bool], answerable: list[bool]) -> Judged:
    return Judged(np.array(confidence), np.array(right), np.array(answerable))


def test_refused_answers_are_judged_and_missing_ones_have_no_confidence() -> None:
    questions = [HEARTS, HEARTS, NOTHING, YEAR, HEARTS]
    best = [predicted("three", 0.5), predicted("two", 0.25), predicted("three", 0.125), predicted("1914", 0.0625)]
    result = judge(questions, [*best, Prediction([], "", [])])
    assert result is not None
    assert result.confidence.tolist() == [0.5, 0.25, 0.125, 0.0625, 0.0]
    assert result.right.tolist() == [True, False, False, True, False]  # "three" has an F1 of two thirds
    assert result.answerable.tolist() == [True, True, False, True, True]


def test_models_without_calibration_are_not_judged() -> None:
    assert judge([HEARTS, NOTHING], [predicted("three", 0.5), predicted("three", None)]) is None
    assert judge([], []) is None
    assert judge([HEARTS, NOTHING], [Prediction([], "", [])] * 2) is None


def test_the_area_is_that_of_all_pairs() -> None:
    draw = random.Random(0)
    for size in [*range(1, 12)] * 20:
        scores = np.array([draw.choice((0.1, 0.2, 0.5, 0.9)) for _ in range(size)])
        labels = np.array([draw.random() < 0.5 for _ in range(size)])
        pairs = list(itertools.product(scores[labels], scores[~labels]))
        obvious = sum((true > false) + 0.5 * (true == false) for true, false in pairs) / len(pairs) if pairs else 0.5
        assert roc_area(scores, labels) == pytest.approx(obvious)


def test_what_has_one_class_has_no_area() -> None:
    metrics = trust_metrics(judged([0.75, 0.25], [True, False], [True, True]))
    assert metrics == {"auc_right": 100.0, "ece": 25.0}
    assert trust_metrics(judged([0.5], [False], [False])) == {"ece": 50.0}


def test_risk_is_that_of_an_obvious_version() -> None:
    draw = random.Random(1)
    confidence = [draw.choice((0.1, 0.4, 0.4, 0.7)) for _ in range(30)]
    right = [draw.random() < 0.5 for _ in confidence]
    rows = list(zip(confidence, right, strict=True))
    coverage, risk = risk_coverage(judged(confidence, right, [True] * 30))
    thresholds = sorted(set(confidence), reverse=True)
    given = [[correct for value, correct in rows if value >= threshold] for threshold in thresholds]
    assert coverage == pytest.approx([len(part) / 30 for part in given])
    assert risk == pytest.approx([part.count(False) / len(part) for part in given])


def test_the_report_draws_both() -> None:
    title, svg = trust_section(judged([0.75, 0.25], [True, False], [True, True]))
    assert "confidence" in title
    assert svg.startswith("<svg")
    assert all(f"<!-- {label} -->" in svg for label in ("confidence, %", "wrong answers among them, %"))
