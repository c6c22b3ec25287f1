"""Fits for an index with tiny models: what is written, for whom it counts, and what an interruption leaves."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from parameters import first_and_system
from tiny_models import make_head, make_model

import oreqa.fitting.reading
from oreqa import Answerer, Document, Index, Reader, Settings, index_documents
from oreqa.errors import InputError, ModelError
from oreqa.evaluation.metrics import Difference
from oreqa.fitting import FitReport, fit_index
from oreqa.fitting.calibrating import JudgedAnswers
from oreqa.fitting.reading import SENTENCE_FEATURES, FittingQuestion, Pipeline
from oreqa.fitting.rows import reading_rows
from oreqa.index.change_encoder import publish_fitted
from oreqa.index.fitted import IndexFitted, read_index_fitted
from oreqa.index.generations import require_generation
from oreqa.models.fitted import Calibration, Fitted
from oreqa.models.names import FITTED

ANIMALS = ("fox", "dog", "cow", "hen", "pig")
FOOD = ("bone", "corn", "hay", "milk")


def document(number: int) -> Document:
    text = f"{ANIMALS[number % 5]} {number} eats {FOOD[number % 4]}. it lives in house {number}."
    return Document(f"d{number}", f"story {number}", text)


def questions_about(number: int) -> list[dict[str, Any]]:
    """Three questions, the first of which the tiny models often answer right: its answer is a quarter of its passage."""
    name, food = f"{ANIMALS[number % 5]} {number}", FOOD[number % 4]
    rows = (
        (f"who eats {food} in story {number}", name),
        (f"what is {number} in", f"house {number}"),
        (f"{name} eats", food),
    )
    return [
        {"id": f"{number}-{n}", "question": q, "answers": [a], "document": f"d{number}"} for n, (q, a) in enumerate(rows)
    ]


def write_list(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Path:
    """An index of forty documents by an encoder that nothing was fitted for."""
    folder = tmp_path_factory.mktemp("fit") / "kb"
    index_documents(folder, [document(number) for number in range(40)], Settings(str(tiny)))
    return folder


@pytest.fixture
def kb(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "kb"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "questions.jsonl"
    return write_list(path, [row for number in range(40) for row in questions_about(number)])


@pytest.fixture(scope="module")
def fitted(made: Path, data: Path, tiny_reader: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, FitReport]:
    folder = Path(shutil.copytree(made, tmp_path_factory.mktemp("fitted") / "kb"))
    return folder, fit_index(folder, data=data, reader=tiny_reader)


@pytest.fixture
def fitted_kb(fitted: tuple[Path, FitReport], tmp_path: Path) -> Path:
    """The index with what was fitted for the tiny reader."""
    return Path(shutil.copytree(fitted[0], tmp_path / "kb"))


def content(kb: Path) -> dict[str, Any]:
    return read_index_fitted(require_generation(kb) / FITTED).row()


def test_answers_get_probabilities_with_exactly_the_models_that_were_fitted(
    fitted: tuple[Path, FitReport], tiny_reader: Path, tmp_path: Path
) -> None:
    kb, report = fitted
    assert report.fitted[-1] == "calibration"
    assert (report.questions, report.unanswerable, report.missing, report.left_out) == (120, 0, 0, True)
    assert report.fit_on + report.measured_on == 240
    assert report.measured_on >= 80
    assert report.before.brier is None
    assert report.after.brier is not None
    assert sum(row.share for row in report.after.bins) == pytest.approx(1)
    other = make_head(tmp_path / "other", "reader", seed=8)
    with Index.open(kb) as index:
        answerer = Answerer(index, Reader(tiny_reader))
        (answer, *_) = answerer.ask("who eats bone in story 4", threshold=0)
        assert answer.confidence is not None
        assert asdict(answerer.calibration) == content(kb)["pipelines"][0]["calibration"]  # type: ignore[call-overload]
        assert Answerer(index, Reader(other)).calibration is None
        assert Answerer(index).calibration is None
        assert ("search" in report.fitted) == bool(index.fitted.fusion)
    assert not (kb / "fitting").exists()


@pytest.mark.slow
def test_answers_to_peoples_questions_are_kept_and_those_to_generated_ones_are_not(
    fitted: tuple[Path, FitReport],
    fitted_kb: Path,
    data: Path,
    tiny_reader: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kb, report, generation = fitted_kb, fitted[1], require_generation(fitted_kb)
    (pipeline,) = content(kb)["pipelines"]
    held_out = pipeline["calibration"]["held_out"]
    assert report.kept_answers == len(held_out) == report.measured_on
    errors = [(p - right) ** 2 for p, right in held_out]
    assert report.after.brier == pytest.approx(100 * sum(errors) / len(errors), abs=0.01)
    again = fit_index(kb, data=data, reader=tiny_reader)  # no better than before
    assert (again.fitted, again.kept_answers) == ((), report.measured_on)
    assert again.before.brier is not None
    assert (require_generation(kb), content(kb)["pipelines"]) == (generation, [pipeline])
    monkeypatch.setattr(oreqa.fitting.fit, "_generated", lambda *_: data)
    monkeypatch.setattr(oreqa.fitting.fit, "_need_passages", lambda _: None)
    other = make_head(tmp_path / "other", "reader", seed=8)
    generated = fit_index(kb, reader=other)
    assert generated.kept_answers == 0
    assert content(kb)["pipelines"][0] == pipeline


@pytest.mark.slow
@pytest.mark.parametrize("with_reader", [True, False])
def test_the_probabilities_that_are_fitted_are_those_that_answers_have(
    kb: Path, tmp_path: Path, tiny_reader: Path, with_reader: bool
) -> None:
    """The features of a fit are read from rows; an answerer computes them anew."""
    naming = [
        {"id": f"{n}-name", "question": f"who lives in house_{n}", "answers": [f"{ANIMALS[n % 5]} {n}"], "document": f"d{n}"}
        for n in range(40)
    ]
    data = write_list(tmp_path / "questions.jsonl", [*naming, *(row for n in range(40) for row in questions_about(n))])
    seen: dict[str, Any] = {}  # as they were read last, by the weights that are kept
    read_rows = oreqa.fitting.reading.Pipeline.rows

    def watched(pipeline: Pipeline, index: Index, posed: Sequence[FittingQuestion], *others: Any) -> list[Any]:
        rows = read_rows(pipeline, index, posed, *others)
        seen.update({a.question.text: row for a, row in zip(posed, rows, strict=True) if not a.without_answers})
        return rows

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pipeline, "rows", watched)
        assert fit_index(kb, data=data, reader=tiny_reader if with_reader else None).fitted
    with Index.open(kb) as index:
        answerer = Answerer(index, Reader(tiny_reader) if with_reader else None)
        pipeline = Pipeline(answerer.reader, None, "cpu")
        compared = [*(row["question"] for row in naming[:5]), *(row["question"] for row in questions_about(7))]
        for question in compared:
            (first,) = pipeline.first_answers([seen[question]], answerer.combination)
            (answer, *_) = answerer.ask(question, threshold=0)
            assert answerer.calibration
            assert first.probability(answerer.calibration) == pytest.approx(answer.confidence, abs=1e-4)


@pytest.mark.system
def test_equal_seeds_give_equal_fits(kb: Path, data: Path, tiny_reader: Path, tmp_path: Path) -> None:
    again = Path(shutil.copytree(kb, tmp_path / "again"))
    first, second = (fit_index(folder, data=data, reader=tiny_reader, questions=90) for folder in (kb, again))
    assert first == second
    assert content(kb) == content(again)
    third = fit_index(Path(shutil.copytree(kb, tmp_path / "third")), data=data, reader=tiny_reader, questions=90, seed=1)
    assert third.after != first.after


class StoppedError(Exception):
    """Stands for a kill."""


def test_what_was_read_before_a_kill_is_not_read_again(
    kb: Path, data: Path, tiny_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Path(shutil.copytree(kb, tmp_path / "whole"))
    calls: list[int] = []

    def counting(stop_after: int) -> Callable[..., Any]:
        def read(*arguments: Any) -> Any:
            if len(calls) == stop_after:
                raise StoppedError
            calls.append(len(arguments[2]))
            return reading_rows(*arguments)

        return read

    monkeypatch.setattr(oreqa.fitting.reading, "reading_rows", counting(999))
    expected = fit_index(whole, data=data, reader=tiny_reader)
    total = sum(calls)
    calls.clear()
    monkeypatch.setattr(oreqa.fitting.reading, "reading_rows", counting(5))
    with pytest.raises(StoppedError):
        fit_index(kb, data=data, reader=tiny_reader)
    assert not (require_generation(kb) / FITTED).exists()
    (tmp_path / "few.jsonl").write_text('{"question": "Who?", "answers": ["x"]}\n')
    with pytest.raises(InputError):
        fit_index(kb, data=tmp_path / "few.jsonl", reader=tiny_reader)
    calls, before = [], sum(calls)
    monkeypatch.setattr(oreqa.fitting.reading, "reading_rows", counting(999))
    assert fit_index(kb, data=data, reader=tiny_reader) == expected
    assert sum(calls) == total - before
    assert content(kb) == content(whole)


def test_sentences_are_fitted_without_a_reader(kb: Path, data: Path) -> None:
    report = fit_index(kb, data=data, reader=None)
    assert "combination" not in report.fitted
    assert report.after.right > 50
    with Index.open(kb) as index:
        (answer, *_) = Answerer(index).ask("who eats bone in story 4", threshold=0)
        assert answer.confidence is not None
        assert Answerer(index).ask("who eats bone in story 4")[0].text.startswith("pig 4")


@pytest.mark.slow
def test_two_readers_have_their_own_values(fitted_kb: Path, data: Path, tmp_path: Path) -> None:
    other = make_head(tmp_path / "other", "reader", seed=8)
    report = fit_index(fitted_kb, data=data, reader=other)
    kept = content(fitted_kb)["pipelines"]
    assert len(kept) == (1 if "search" in report.fitted else 2)
    assert kept[-1]["reader"] == Reader(other).fingerprint


@pytest.mark.slow
@pytest.mark.parametrize("name", first_and_system(["tiny_reranker", "tiny_classifier"]))
def test_a_re_ranker_has_values_beside_those_of_its_reader(
    request: pytest.FixtureRequest, fitted_kb: Path, data: Path, tiny_reader: Path, name: str
) -> None:
    model = request.getfixturevalue(name)
    report = fit_index(fitted_kb, data=data, reader=tiny_reader, span_reranker=model)
    assert report.reranker == str(model)
    assert report.fitted
    feature = "reranking" if name == "tiny_reranker" else "reranking_logit"
    assert feature in content(fitted_kb)["pipelines"][-1]["calibration"]["weights"]
    with pytest.raises(InputError, match="a re-ranker needs a reader"):
        fit_index(fitted_kb, data=data, reader=None, span_reranker=model)


def squad(path: Path, unanswerable: bool) -> Path:
    articles = []
    for number in range(40):
        text = document(number).text
        rows: list[dict[str, Any]] = [
            {**row, "answers": [{"text": row["answers"][0], "answer_start": text.index(row["answers"][0])}]}
            for row in questions_about(number)
        ]
        if unanswerable:
            rows.append({"id": f"{number}-u", "question": f"when was {number} born", "answers": [], "is_impossible": True})
        articles.append({"title": f"story_{number}", "paragraphs": [{"context": text, "qas": rows}]})
    path.write_text(json.dumps({"version": "2.0", "data": articles}))
    return path


def pairs(path: Path) -> Path:
    """Half of the pairs have spans, as generated ones do, the other half whole sentences."""
    rows = []
    for number in range(40):
        text = document(number).text
        for row in questions_about(number):
            sentence = next(part for part in text.split(". ") if row["answers"][0] in part)
            span = {"span": row["answers"][0]} if number % 2 else {}
            rows.append({"question": row["question"], "answer": sentence.rstrip("."), "context": text, **span})
    return write_list(path, rows)


def of(report: FitReport) -> tuple[int, int, bool]:
    return report.questions, report.unanswerable, report.left_out


def test_every_form_of_data(kb: Path, tmp_path: Path) -> None:
    assert of(fit_index(kb, data=squad(tmp_path / "a.json", False), reader=None)) == (120, 0, True)
    assert of(fit_index(kb, data=squad(tmp_path / "b.json", True), reader=None)) == (120, 40, False)
    assert of(fit_index(kb, data=pairs(tmp_path / "c.jsonl"), reader=None)) == (120, 0, True)
    rows = [row for number in range(40) for row in questions_about(number)]
    anywhere = [{"question": row["question"], "answers": row["answers"]} for row in rows]
    assert of(fit_index(kb, data=write_list(tmp_path / "d.jsonl", anywhere), reader=None)) == (120, 0, True)
    with pytest.raises(InputError, match=r"give questions with answers: a SQuAD file"):
        fit_index(kb, data=tmp_path, reader=None)
    with pytest.raises(InputError, match=r"questions\.txt: there is no such file"):
        fit_index(kb, data=tmp_path / "questions.txt", reader=None)


def test_generated_questions_are_kept_and_used_again(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, Any]] = []

    def generate(out: Path, **options: Any) -> None:
        calls.append(options)
        pairs(out)

    monkeypatch.setattr("oreqa.fitting.fit.generate_questions", generate)
    monkeypatch.setattr("oreqa.fitting.fit.GENERATED_ANSWERS", 3)  # of 40 passages
    report = fit_index(kb, reader=None, questions=100)
    assert (report.data, report.questions, report.left_out) == ("generated questions", 100, True)
    assert len(list((kb / "fitting").glob("questions-*.jsonl"))) == 1
    fit_index(kb, reader=None, questions=100)
    assert [call["draw"] for call in calls] == [100]
    assert calls[0]["round_trip"] == 0  # what a reader answers again says nothing about where it fails
    fit_index(kb, reader=None, questions=100, seed=1)
    assert len(calls) == 2
    monkeypatch.setattr("oreqa.fitting.fit.generate_questions", lambda out, **_: None)
    with pytest.raises(InputError, match="no question about its passages could be generated"):
        fit_index(kb, reader=None, questions=99)


def test_questions_of_other_documents_are_not_used(kb: Path, tmp_path: Path) -> None:
    rows = [row for number in range(40) for row in questions_about(number)]
    more = [{"question": f"who is {n}", "answers": ["nobody at all"], "id": f"x{n}"} for n in range(7)]
    report = fit_index(kb, data=write_list(tmp_path / "d.jsonl", [*rows, *more]), reader=None)
    assert (report.questions, report.missing) == (120, 7)


def test_too_few_questions_are_refused_in_one_line(kb: Path, data: Path, tmp_path: Path) -> None:
    few = write_list(tmp_path / "few.jsonl", [row for number in range(10) for row in questions_about(number)])
    with pytest.raises(
        InputError,
        match=r"few\.jsonl: too few questions have an answer in the index \(30\); at least 90 are needed: write more about",
    ):
        fit_index(kb, data=few, reader="there is none")
    with few.open("a") as stream:
        stream.writelines(json.dumps({"question": f"{n}", "answers": []}) + "\n" for n in range(90))
    with pytest.raises(InputError, match=r"needed: set questions \(--questions\) higher"):
        fit_index(kb, data=few, reader="there is none", questions=100)
    same = [{"question": "eats", "answers": ["eats"], "id": str(n), "document": f"d{n % 40}"} for n in range(120)]
    with pytest.raises(
        InputError, match=r"of \d+ answers to fit on \d+ are right; at least 10 right and 10 wrong ones are needed"
    ):
        fit_index(
            kb, data=write_list(tmp_path / "wrong.jsonl", [{**row, "answers": ["house"]} for row in same]), reader=None
        )
    assert not (kb / "fitting").exists()
    assert content(kb)["pipelines"] == []


def test_a_wrong_model_is_refused_before_any_work(kb: Path, data: Path, tiny: Path) -> None:
    with pytest.raises(ModelError, match="not a reader"):
        fit_index(kb, data=data, reader=tiny)
    assert not (kb / "fitting").exists()
    with pytest.raises(InputError, match="questions is 0"):
        fit_index(kb, data=data, questions=0)


def test_nothing_is_generated_for_a_fit_that_cannot_be(kb: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oreqa.fitting.fit.generate_questions", lambda *_, **__: pytest.fail("generated"))
    with pytest.raises(InputError, match=r"kb: at most 80 questions can be generated from its passages, and 90 are needed"):
        fit_index(kb, reader=None)
    monkeypatch.setattr("oreqa.fitting.fit.GENERATED_ANSWERS", 3)
    with pytest.raises(InputError, match="questions is 89; at least 90 are needed"):
        fit_index(kb, questions=89)
    with pytest.raises(ModelError, match="not a reader"):
        fit_index(kb, reader=tiny, questions=100)


@pytest.mark.parametrize(("right", "is_taken"), [(3.0, True), (2.0, False)])
def test_search_weights_with_fewer_right_answers_are_not_taken(
    kb: Path, data: Path, right: float, is_taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums = iter([[3.0], [right]])
    monkeypatch.setattr("oreqa.fitting.search.is_better", lambda *_: True)
    monkeypatch.setattr("oreqa.fitting.fit.Pipeline.right_answers", lambda *_: next(sums))
    assert ("search" in fit_index(kb, data=data, reader=None).fitted) is is_taken
    with Index.open(kb) as index:
        assert bool(index.fitted.fusion) is is_taken


@pytest.mark.parametrize("aside", [-0.001, 0.001])
def test_a_calibration_that_is_no_better_than_a_constant_is_not_stored(
    kb: Path, data: Path, tmp_path: Path, aside: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A constant near the share that is right in the fit, on whose one side the share of the held-out answers is."""
    some_wrong = Path(shutil.copy(data, tmp_path / "some-wrong.jsonl"))
    with some_wrong.open("a") as stream:
        stream.writelines(json.dumps(questions_about(n)[1] | {"question": "it", "id": str(n)}) + "\n" for n in range(15))

    def constant(names: Sequence[str], sets: Sequence[JudgedAnswers]) -> Calibration:
        share = float(sets[0].right.mean()) + aside
        return Calibration(dict.fromkeys(names, 0.0), math.log(share / (1 - share)), 0.1)

    monkeypatch.setattr("oreqa.fitting.fit.fit_calibration", constant)
    report = fit_index(kb, data=some_wrong, reader=None)
    assert report.after.brier is not None
    assert report.after.brier >= report.after.constant_brier
    assert "calibration" not in report.fitted
    with Index.open(kb) as index:
        assert Answerer(index).calibration is None


def test_a_calibration_takes_the_place_of_another_only_by_a_certain_gain(
    kb: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the search has got better weights, which are taken."""
    with Index.open(kb) as index:
        stored, encoder = Calibration(dict.fromkeys(SENTENCE_FEATURES, 0.0), -0.2, 0.5), index.fingerprint
    publish_fitted(kb, lambda _: IndexFitted(encoder, {}, {("", ""): Fitted(calibration=stored)}))
    monkeypatch.setattr("oreqa.fitting.fit.paired_difference", lambda *_: Difference(0.1, -0.1, 0.3, 0.2))
    assert fit_index(kb, data=data, reader=None).fitted == ("search",)
    with Index.open(kb) as index:
        counts = Answerer(index).calibration
        assert counts is not None
        assert replace(counts, held_out=()) == stored
    monkeypatch.setattr("oreqa.fitting.fit.paired_difference", lambda *_: Difference(0.1, 0.05, 0.3, 0.01))
    assert fit_index(kb, data=data, reader=None).fitted == ("calibration",)
    with Index.open(kb) as index:
        assert Answerer(index).calibration != stored


def test_the_report_says_what_was_held_out(kb: Path, tmp_path: Path) -> None:
    rows = [row for number in range(40) for row in questions_about(number)]
    assert fit_index(kb, data=write_list(tmp_path / "a.jsonl", rows), reader=None).held_out == "documents"
    rows = [{"question": row["question"], "answers": row["answers"]} for row in rows]
    assert fit_index(kb, data=write_list(tmp_path / "b.jsonl", rows), reader=None).held_out == "passages"


@pytest.mark.slow
def test_inner_products_of_another_scale_are_fitted_as_cosines_are(tmp_path: Path, data: Path) -> None:
    """An encoder that does not normalise: plain weights divide by the norms, and the fit is on the scale of the others."""
    model = make_model(tmp_path / "long", normalise=False, seed=2)
    folder = tmp_path / "kb"
    index_documents(folder, [document(number) for number in range(40)], Settings(str(model)))
    with Index.open(folder) as index:
        norms = index.snapshot().square_norms
        assert norms["passage"] > 2
        assert index.weights()["passage_cosine"] == pytest.approx(1 / norms["passage"])
        assert index.weights()["passage_bm25"] == 0.03
        totals = [hit.score for hit in index.search("fox 5 eats", k=5)]
        assert max(totals) < 10
    report = fit_index(folder, data=data, reader=None)
    assert report.after.mrr >= report.before.mrr
