from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import oreqa.evaluation
import oreqa.generation
import oreqa.mining
from oreqa.cli import app
from oreqa.errors import InputError
from oreqa.evaluation import (
    evaluate_answers,
    evaluate_beir,
    evaluate_classifier,
    evaluate_generator,
    evaluate_openqa,
    evaluate_reqa,
)
from oreqa.index.ingest import index_files
from oreqa.index.store import Settings
from oreqa.mining import mine_negatives
from oreqa.models.graph.precision import encoder_precision, heads_precision


def run(*arguments: object) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


def same_run(summary: dict[str, Any], function_out: Path, command: dict[str, Any], command_out: Path) -> None:
    """The two folders hold the same run; the functions and commands returned what is in them."""
    assert json.loads((function_out / "metrics.json").read_text()) == summary
    assert list(summary) == list(command)
    assert {**summary, "seconds": 0} == {**command, "seconds": 0}
    for name in ("per_question.jsonl", "run.trec"):
        assert (function_out / name).read_bytes() == (command_out / name).read_bytes()
    assert (function_out / "report.html").is_file()


def test_the_packages_list_their_functions() -> None:
    for package in (oreqa.evaluation, oreqa.generation, oreqa.mining):
        assert set(package.__all__) <= set(dir(package))
        for name in package.__all__:
            assert getattr(package, name).__name__ == name
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            package.nothing  # noqa: B018


@pytest.mark.slow
@pytest.mark.parametrize("rerank", [0, 5])
def test_reqa(squad_file: Path, tiny: Path, tiny_classifier: Path, tmp_path: Path, rerank: int) -> None:
    stages: list[tuple[str, int | None, int]] = []

    @contextmanager
    def progress(name: str, total: int | None) -> Iterator[Callable[[int], None]]:
        steps: list[int] = []
        yield steps.append
        stages.append((name, total, sum(steps)))

    more: dict[str, Any] = {"rerank_hits": rerank, "hit_reranker": tiny_classifier} if rerank else {}
    summary = evaluate_reqa(str(squad_file), tmp_path / "f", mode="hybrid", model=tiny, draw=10, progress=progress, **more)
    assert stages == [("encoding passages", 24, 24), ("ranking questions", 10, 10)]
    arguments = ("--rerank", rerank, "--classifier", tiny_classifier) if rerank else ()
    command = run("eval", "reqa", "--data", squad_file, "--model", tiny, "--draw", 10, "--out", tmp_path / "c", *arguments)
    same_run(summary, tmp_path / "f", command, tmp_path / "c")
    precision = {"encoder": encoder_precision(), **({"classifier": heads_precision()} if rerank else {})}
    assert summary["settings"]["precision"] == precision


def test_reqa_of_sentences_with_several_questions(tiny: Path, tmp_path: Path) -> None:
    """Article n asks n % 4 + 1 questions about its first sentence and one about its second; half a dozen are held out."""
    articles = []
    for number in range(40):
        text = f"fox {number} jumps over dog {number}. then it sleeps in house {number}."
        rows = [(f"{'x' * (copy + 1)} jumps {number}", text.index("fox")) for copy in range(number % 4 + 1)]
        rows.append((f"where sleeps fox {number}", text.index("house")))
        questions = [
            {
                "id": f"{number}-{q}",
                "question": question,
                "answers": [{"text": text[start : start + 3], "answer_start": start}],
            }
            for q, (question, start) in enumerate(rows)
        ]
        articles.append({"title": f"story_{number}", "paragraphs": [{"context": text, "qas": questions}]})
    file = tmp_path / "stories.json"
    file.write_text(json.dumps({"version": "1.1", "data": articles}))
    common: dict[str, Any] = {"mode": "sparse", "model": tiny, "index": tmp_path / "kb"}

    def question_texts(folder: Path) -> list[str]:
        return [json.loads(line)["question"] for line in (folder / "per_question.jsonl").read_text().splitlines()]

    summary = evaluate_reqa(file, tmp_path / "f", min_questions=3, **common)
    assert summary["questions"] == 10 * 3 + 10 * 4
    assert summary["candidates"] == 80
    assert summary["settings"]["min_questions"] == 3
    assert not any("sleeps" in question for question in question_texts(tmp_path / "f"))
    command = run(
        "eval", "reqa", "--data", file, "--min-questions", 3, "--mode", "sparse", "--model", tiny,
        "--index", tmp_path / "kb", "--out", tmp_path / "c",
    )  # fmt: skip
    same_run(summary, tmp_path / "f", command, tmp_path / "c")
    # Questions are drawn from those that are left, and counted before the draw.
    drawn = evaluate_reqa(file, tmp_path / "d", min_questions=4, draw=9, seed=1, **common)
    assert drawn["questions"] == 9
    assert {int(question.split()[-1]) % 4 for question in question_texts(tmp_path / "d")} == {3}
    common["index"] = tmp_path / "held"
    held = evaluate_reqa(file, tmp_path / "h", held_out=True, **common)
    assert "min_questions" not in held["settings"]
    numbers = {int(question.split()[-1]) for question in question_texts(tmp_path / "h")}
    assert 0 < len(numbers) < 40
    both = evaluate_reqa(file, tmp_path / "b", held_out=True, min_questions=2, **common)
    assert both["candidates"] == held["candidates"]
    assert {int(question.split()[-1]) for question in question_texts(tmp_path / "b")} == {n for n in numbers if n % 4}
    with pytest.raises(
        InputError,
        match=r"stories\.json, held-out articles \(a tenth, chosen by title\): no answer sentence has 9 questions: ask for \d at",
    ):
        evaluate_reqa(file, tmp_path / "n", held_out=True, min_questions=9, **common)


def test_beir(tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "b"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "1", "text": "Bees hum."}\n{"_id": "2", "text": "Owls hoot."}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "owls hoot"}\n')
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq\t2\t1\n")
    summary = evaluate_beir(folder, tmp_path / "f", split="dev", mode="sparse", model=tiny)
    common = ("--data", folder, "--split", "dev", "--mode", "sparse", "--model", tiny)
    same_run(summary, tmp_path / "f", run("eval", "beir", *common, "--out", tmp_path / "c"), tmp_path / "c")


def test_generator(squad_file: Path, tiny_generator: Path, tmp_path: Path) -> None:
    pytest.importorskip("rouge_score")
    summary = evaluate_generator(squad_file, tmp_path / "f", generator=tiny_generator, style="search", draw=6)
    report = (tmp_path / "f" / "report.html").read_text()
    assert report.count("<mark>") == 6
    assert "generator greedy: 6 questions" in report
    assert "rank of gold" not in report
    assert summary["questions"] == 6
    assert summary["questions_per_second"] > 0
    common = ("--data", squad_file, "--generator", tiny_generator, "--style", "search", "--draw", 6)
    command = run("eval", "generator", *common, "--out", tmp_path / "c")
    speed = {"questions_per_second": 0.0}
    for folder, metrics in ((tmp_path / "f", summary), (tmp_path / "c", command)):
        (folder / "metrics.json").write_text(json.dumps(metrics | speed))
    same_run(summary | speed, tmp_path / "f", command | speed, tmp_path / "c")
    with pytest.raises(InputError, match="there is no style 'poem': choose textbook, search"):
        evaluate_generator(squad_file, tmp_path / "n", generator=tiny_generator, style="poem")


@pytest.mark.slow
def test_openqa_and_answers(squad_file: Path, tiny: Path, tiny_reader: Path, tiny_reranker: Path, tmp_path: Path) -> None:
    summary = evaluate_openqa(
        squad_file, str(tmp_path / "f"), model=str(tiny), reader=tiny_reader, span_reranker=tiny_reranker,
        combine={"reranking": 0.25}, passages=3,
    )  # fmt: skip
    common = ("--data", squad_file, "--model", tiny, "--reader", tiny_reader, "--reranker", tiny_reranker)
    command = run("eval", "openqa", *common, "--combine", "reranking=0.25", "--passages", 3, "--out", tmp_path / "c")
    same_run(summary, tmp_path / "f", command, tmp_path / "c")
    assert set(summary["settings"]["precision"]) == {"encoder", "reader", "reranker"}
    predictions = tmp_path / "f" / "predictions.json"
    assert predictions.read_bytes() == (tmp_path / "c" / "predictions.json").read_bytes()
    answers = evaluate_answers(predictions, squad_file)
    assert answers == run("eval", "answers", "--predictions", predictions, "--gold", squad_file)
    assert answers["em"] == pytest.approx(summary["em"], abs=0.01)


@pytest.mark.slow
def test_negatives_and_the_classifier(squad_file: Path, tiny: Path, tiny_classifier: Path, tmp_path: Path) -> None:
    pairs, same = tmp_path / "f.jsonl", tmp_path / "c.jsonl"
    mined = mine_negatives(squad_file, pairs, draw=12, model=tiny, seed=4)
    with pytest.raises(InputError, match="it exists already; name another file, or delete this one to draw anew"):
        mine_negatives(squad_file, pairs, model=tiny)
    counts = run("mine", "negatives", "--data", squad_file, "--draw", 12, "--model", tiny, "--seed", 4, "--out", same)
    assert (counts["pairs"], counts["negatives"]) == (len(mined), sum(len(pair.negatives) for pair in mined))
    assert pairs.read_bytes() == same.read_bytes()
    summary = evaluate_classifier(pairs, tmp_path / "f", classifier=tiny_classifier, model=tiny)
    common = ("--data", pairs, "--classifier", tiny_classifier, "--model", tiny)
    same_run(summary, tmp_path / "f", run("eval", "classifier", *common, "--out", tmp_path / "c"), tmp_path / "c")


def test_wrong_numbers_and_modes_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    nowhere: Any = tmp_path / "nowhere"
    for evaluate, arguments, message in (
        (evaluate_reqa, {"rerank_hits": -1}, "rerank_hits is -1; it must be a whole number from 0"),
        (evaluate_reqa, {"draw": 0}, "^draw is 0; it must be a whole number from 1"),
        (evaluate_reqa, {"min_questions": 0}, "min_questions is 0; it must be a whole number from 1"),
        (evaluate_reqa, {"mode": "fuzzy"}, "no mode 'fuzzy': choose hybrid, dense, sparse"),
        (evaluate_beir, {"rerank_hits": 1.5}, "rerank_hits is 1.5; it must be a whole number from 0"),
        (evaluate_beir, {"mode": "fuzzy"}, "no mode 'fuzzy': choose hybrid, dense, sparse"),
        (evaluate_openqa, {"rerank_hits": -1}, "rerank_hits is -1; it must be a whole number from 0"),
        (evaluate_openqa, {"passages": 0}, "passages is 0; it must be a whole number from 1"),
        (evaluate_openqa, {"draw": 0}, "draw is 0; it must be a whole number from 1"),
        (evaluate_openqa, {"null": "a", "gold_passages": True}, "null is 'a'; write a number"),
        (evaluate_openqa, {"combine": ["reranking"]}, "combine is a mapping of weights to numbers, .*, not a list"),
        (evaluate_openqa, {"combine": {"speed": 1}}, "the weights are selection, retrieval"),
        (evaluate_openqa, {"combine": {"reranking": "a"}}, "reranking is 'a'; write a number"),
        (evaluate_openqa, {"combine": {"rerank_spans": -3}}, "rerank_spans is -3; it must be a whole number from 1"),
        (evaluate_openqa, {"combine": {"rerank_spans": 5.7}}, "rerank_spans is 5.7; it must be a whole number from 1"),
        (evaluate_openqa, {"combine": {"aggregate": 0.5}}, "aggregate is 0.5; it is on or off"),
    ):
        with pytest.raises(InputError, match=message):
            evaluate(nowhere, tmp_path / "o", **arguments)
    numbers = {"reranking": np.float32(0.5), "rerank_spans": 5.0, "alone": 1, "aggregate": False}
    with pytest.raises(InputError, match="give a SQuAD file"):
        evaluate_openqa(nowhere, tmp_path / "o", passages=np.int64(3), combine=numbers)


def test_arguments_that_would_be_ignored_are_refused(
    squad_file: Path, library: Path, tiny: Path, tiny_reader: Path, tiny_classifier: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="would re-rank no hits"):
        evaluate_reqa(squad_file, tmp_path / "o", model=tiny, hit_reranker=tiny_classifier, rerank_hits=0)
    arguments: dict[str, Any] = {"reader": tiny_reader, "span_reranker": None}
    for more, message in (
        ({"index": tmp_path / "kb"}, "leave index, mode and rerank_hits out"),
        ({"rerank_hits": 5}, "leave index, mode and rerank_hits out"),
        ({"passages": 7}, "leave passages and model out"),
        ({"model": "all-minilm-l6-v2x"}, "leave passages and model out"),
        ({"combine": {"retrieval": 0.5}}, "combine: retrieval would be ignored: gold passages are one a question"),
    ):
        with pytest.raises(InputError, match=message):
            evaluate_openqa(squad_file, tmp_path / "o", gold_passages=True, **arguments, **more)
    with pytest.raises(InputError, match="combine: reranking, alone would be ignored: there is no span re-ranker"):
        evaluate_openqa(squad_file, tmp_path / "o", model=tiny, combine={"alone": 1, "reranking": 0.5}, **arguments)
    index_files(tmp_path / "kb", [library], Settings(str(tiny)))
    (tmp_path / "q.jsonl").write_text('{"question": "a", "answers": ["b"]}\n')
    with pytest.raises(InputError, match="leave model out"):
        evaluate_openqa(tmp_path / "q.jsonl", tmp_path / "o", index=tmp_path / "kb", model="minilm-reader", **arguments)
    refusal = (
        f"kb: it is an index of documents, .* leave index out, or give a list .* oreqa generate --index {tmp_path / 'kb'}"
    )
    with pytest.raises(InputError, match=refusal):
        evaluate_openqa(squad_file, tmp_path / "o", index=tmp_path / "kb", model=tiny, **arguments)
    assert not (tmp_path / "o").exists()
