from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from oreqa.answering import Answerer
from oreqa.answering.answerer import Reply
from oreqa.cli import app
from oreqa.core import Answer, Hit, Passage, Sentence
from oreqa.datasets.questions import OpenQuestion, load_question_list
from oreqa.errors import InputError
from oreqa.evaluation import evaluate_openqa
from oreqa.evaluation.open_scores import (
    Prediction,
    check_documents,
    expect_refusals,
    grouped_metrics,
    is_document,
    is_right,
    passage_rank,
    refusal_metrics,
    score_replies,
)
from oreqa.evaluation.report import write_report
from oreqa.index.ingest import index_files
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.reader.reader import Reader

HEARTS = OpenQuestion("1", "How many hearts?", ("three", "3 hearts"), document="octopus.md", collection="sea", kind="fact")
NOTHING = OpenQuestion("2", "How many ears?", (), collection="sea", kind="unanswerable")
YEAR = OpenQuestion("3", "When?", (), r"19\d\d", collection="war", kind="fact")


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("Three", True),
        ("the three.", True),
        ("has three hearts", True),  # as long as may be: three words
        ("it has three hearts", False),
        ("threefold", False),
        ("all of its 3 hearts or", True),  # six words after normalisation, the answer has two
        ("two", False),
        ("", False),
    ],
)
def test_an_answer_is_right_if_it_says_little_else(answer: str, right: bool) -> None:
    assert is_right(answer, HEARTS) is right


def test_patterns_and_answers_of_no_words() -> None:
    assert is_right("1912", YEAR)
    assert not is_right("in 1912", YEAR)
    assert not is_right("anything", OpenQuestion("", "", ("the",)))
    assert not is_right("three", NOTHING)


def test_answers_of_punctuation_are_right_as_they_are_and_refusals_are_not() -> None:
    mark = OpenQuestion("4", "How is a transaction marked as pending?", ("!",))
    assert is_right(" !", mark)
    assert not is_right("?", mark)
    (row,) = score_replies([mark], [Prediction([], "", [])])
    assert row.metrics == {"em": 0, "f1": 0, "right": 0, "refused": 1}


def obviously_right(answer: str, accepted: Sequence[str]) -> bool:
    words = [word for word in answer.lower().replace(".", "").split() if word not in ("a", "an", "the")]
    for text in accepted:
        if answer.strip() == text.strip() != "":
            return True
        own = [word for word in text.lower().replace(".", "").split() if word not in ("a", "an", "the")]
        for start in range(len(words)):
            if own and words[start : start + len(own)] == own and len(words) <= 3 * len(own):
                return True
    return False


def test_right_answers_are_those_of_an_obvious_version() -> None:
    draw = random.Random(0)
    for _ in range(2000):
        answer, *accepted = (" ".join(draw.choices(("a", "the", "b", "c.", "D"), k=draw.randint(0, 6))) for _ in range(3))
        assert is_right(answer, OpenQuestion("", "", tuple(accepted))) == obviously_right(answer, accepted)


@pytest.mark.parametrize(
    ("name", "document", "own"),
    [
        ("/home/me/sea/octopus.md", "octopus.md", True),
        ("/home/me/sea/octopus.md", "sea/octopus.md", True),
        ("/home/me/sea/octopus.md", "/home/me/sea/octopus.md", True),
        ("octopus.md", "octopus.md", True),
        ("/home/me/sea/an-octopus.md", "octopus.md", False),
        ("/home/me/sea/octopus.md", "*/oct*", True),
        ("/home/me/sea/octopus.md", "oct*", False),
        ("/home/me/rows.csv#12", "rows.csv", True),
        ("/home/me/c#/rows.csv", "rows.csv", True),
        ("/home/me/rows.csv", "", False),
        ("docs/[draft] notes.md", "[draft] notes.md", True),
        ("docs/why?.md", "why?.md", True),
        ("docs/whys.md", "why?.md", False),
        ("docs/a#b.md", "a", False),
        ("docs/a#b.md", "a#b.md", True),
    ],
)
def test_documents_are_known_by_the_end_of_their_path(name: str, document: str, own: bool) -> None:
    assert is_document(name, document) is own


def test_documents_of_the_questions_must_be_indexed() -> None:
    check_documents([HEARTS, NOTHING, YEAR], ["sea/octopus.md", "war.md"], Path("q.jsonl"))
    check_documents([], [], Path("q.jsonl"))
    with pytest.raises(InputError, match=r"q\.jsonl: question 1 names the document octopus\.md, which is not indexed"):
        check_documents([HEARTS, NOTHING, YEAR], ["war.md"], Path("q.jsonl"))


def test_the_passage_must_stand_in_the_right_document() -> None:
    passages = [("bees.txt", "three bees", 3.0), ("octopus.md", "two arms", 2.0), ("octopus.md", "three hearts", 1.0)]
    assert passage_rank(HEARTS, Prediction([], "", passages)) == 3
    assert passage_rank(YEAR, Prediction([], "", passages)) == math.inf
    assert passage_rank(NOTHING, Prediction([], "", passages)) == math.inf


def test_refusals_are_right_where_nothing_answers() -> None:
    answered, refused = Prediction([("three", 1.0)], "", []), Prediction([], "", [])
    rows = score_replies([HEARTS, HEARTS, NOTHING, NOTHING], [answered, refused, answered, refused])
    assert [(row.metrics["right"], row.metrics["refused"]) for row in rows] == [(1, 0), (0, 1), (0, 0), (1, 1)]
    assert [row.metrics["em"] for row in rows] == [1, 0, 0, 1]
    assert rows[1].metrics["f1"] == 0


def test_metrics_are_those_of_an_obvious_version() -> None:
    draw = random.Random(1)
    questions = [draw.choice((HEARTS, NOTHING, YEAR)) for _ in range(200)]
    texts = [draw.choice(("three", "1914", "has three hearts", "no", None)) for _ in questions]
    passages = [[("octopus.md", draw.choice(("three", "in 1914", "no")), 1.0) for _ in range(7)] for _ in questions]
    given = [Prediction([] if text is None else [(text, 1.0)], "", own) for text, own in zip(texts, passages, strict=True)]
    metrics = refusal_metrics(questions, score_replies(questions, given))
    rows = [(q, t, [text for _, text, _ in own]) for q, t, own in zip(questions, texts, passages, strict=True)]
    can = [row for row in rows if row[0] is not NOTHING]
    cannot = [row for row in rows if row[0] is NOTHING]
    right = {HEARTS.id: ("three", "has three hearts"), YEAR.id: ("1914",), NOTHING.id: ()}
    exact = {HEARTS.id: "three", YEAR.id: "1914"}

    def percent(part: int, whole: Sequence[object]) -> float:
        return round(100 * part / len(whole), 2)

    assert metrics == {
        "answerable": len(can),
        "unanswerable": len(cannot),
        "answerable_em": percent(sum(t == exact[q.id] for q, t, _ in can), can),
        "answerable_f1": metrics["answerable_f1"],
        "answerable_right": percent(sum(t in right[q.id] for q, t, _ in can), can),
        "acc@5": percent(sum(any(exact[q.id] in text for text in own[:5]) for q, _, own in can), can),
        "refused_unanswerable": percent(sum(t is None for _, t, _ in cannot), cannot),
        "refused_answerable": percent(sum(t is None for _, t, _ in can), can),
        "precision": percent(sum(t in right[q.id] for q, t, _ in rows), [t for t in texts if t is not None]),
    }
    assert metrics["answerable_em"] <= metrics["answerable_f1"] <= metrics["answerable_right"]


def test_groups_have_their_own_metrics_and_none_of_no_question() -> None:
    questions = [HEARTS, NOTHING, YEAR, OpenQuestion("4", "?", ("x",))]
    results = score_replies(questions, [Prediction([("three", 1.0)], "", []), *[Prediction([], "", [])] * 3])
    groups = grouped_metrics(questions, results)
    assert list(groups) == ["collection", "kind"]
    assert groups["collection"]["sea"] == refusal_metrics(questions[:2], results[:2])
    assert groups["kind"]["unanswerable"] == {"answerable": 0, "unanswerable": 1, "refused_unanswerable": 100.0}
    assert grouped_metrics(questions[3:], results[3:]) == {}


def test_an_interrupted_run_goes_on_and_refusals_are_empty(
    library: Path, tiny: Path, tiny_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def reply(self: Answerer, texts: Sequence[str]) -> list[Reply]:
        if "q16" in texts and not asked[16:]:
            asked.append("interrupted")
            raise KeyboardInterrupt
        asked.extend(texts)
        sentence = Sentence("s", 0, 1)
        hits = [Hit(1.0, _passage(text), sentence, 0, 0, {}) for text in texts]
        answers = [() if t == "q3" else (Answer(t, 0, 1, 0.5, sentence, _passage(t), 2.0, {}),) for t in texts]
        return [
            Reply(of_question, (hit,) * 9, best=next(iter(of_question), None))
            for of_question, hit in zip(answers, hits, strict=True)
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
    assert asked == [f"q{n}" for n in range(16)] + ["interrupted"] + [f"q{n}" for n in range(16, 20)]  # none twice
    assert not (out / "asking.jsonl").exists()
    assert (metrics["unanswerable"], metrics["refused_unanswerable"]) == (20, 5.0)
    assert metrics["model"] == str(tiny)  # the index's own
    predictions = json.loads((out / "predictions.json").read_text())
    assert predictions == {str(n): "" if n == 3 else f"q{n}" for n in range(20)}
    rows = [line.split() for line in (out / "run.trec").read_text().splitlines()]
    assert [row[2] for row in rows if row[0] == "7"] == ["of_q7"]  # five of its passages were read
    of_q7 = json.loads((out / "per_question.jsonl").read_text().splitlines()[7])
    assert [row["candidate"] for row in of_q7["top"]] == ["of q7"] * 3
    assert of_q7["best"] == {"text": "q7", "confidence": 0.5}


@pytest.mark.slow
@pytest.mark.parametrize(("owner", "name"), [(Index, "fingerprint"), (CrossEncoder, "fingerprint"), (Reader, "fingerprint")])
def test_questions_are_asked_anew_of_another_model(
    owner: type,
    name: str,
    library: Path,
    tiny: Path,
    tiny_reader: Path,
    tiny_classifier: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def reply(self: Answerer, texts: Sequence[str]) -> list[Reply]:
        asked.extend(texts)
        if len(asked) == 10:
            raise KeyboardInterrupt
        return [Reply((), ())] * len(texts)

    monkeypatch.setattr(Answerer, "reply", reply)
    index_files(tmp_path / "kb", [library], Settings(str(tiny)))
    data = tmp_path / "q.jsonl"
    data.write_text("".join(json.dumps({"id": str(n), "question": f"q{n}", "answers": []}) + "\n" for n in range(10)))
    arguments: dict[str, Any] = {"index": tmp_path / "kb", "reader": tiny_reader, "hit_reranker": tiny_classifier}
    with pytest.raises(KeyboardInterrupt):
        evaluate_openqa(data, tmp_path / "run", span_reranker=None, rerank_hits=2, **arguments)
    monkeypatch.setattr(owner, name, property(lambda self: "another model under the same name"))
    evaluate_openqa(data, tmp_path / "run", span_reranker=None, rerank_hits=2, **arguments)
    assert asked[10:] == [f"q{n}" for n in range(10)]


def _passage(name: str) -> Passage:
    return Passage(f"of {name}", "", "", "text", 0, 4, ())


def test_lists_say_what_is_to_be_refused(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(
        '{"id": "1", "question": "a", "answers": ["b"], "document": "c.txt", "collection": "d", "kind": "e"}\n'
        '{"id": "2", "question": "f", "answers": []}\n{"id": "3", "question": "g", "answers": ["h"]}\n'
    )
    told, refused, plain = load_question_list(path)
    assert told == OpenQuestion("1", "a", ("b",), None, "c.txt", "d", "e")
    assert refused == OpenQuestion("2", "f", ())
    assert [expect_refusals([question]) for question in (told, refused, plain)] == [True, True, False]
    path.write_text('{"question": "a", "answers": [], "document": 3}\n')
    with pytest.raises(InputError, match="line 1"):
        load_question_list(path)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_eval_openqa_answers_as_ask_does(library: Path, tiny: Path, tiny_reader: Path, tmp_path: Path) -> None:
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
    done = run(*common, "--index", tmp_path / "kb", "--out", tmp_path / "o")
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
