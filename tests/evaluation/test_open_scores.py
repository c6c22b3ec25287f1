from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from oreqa.datasets.questions import OpenQuestion, load_question_list
from oreqa.errors import InputError
from oreqa.evaluation.open_scores import (
    Prediction,
    check_documents,
    expect_refusals,
    grouped_metrics,
    has_answer,
    is_document,
    is_right,
    passage_rank,
    refusal_metrics,
    reranking_analysis,
    retrieval_accuracy,
    score_open,
    score_predictions,
    score_replies,
)

QUESTION = OpenQuestion("1", "who", ("The Fox", "dog"))
PATTERN = OpenQuestion("2", "when", (), r"19\d\d")
HEARTS = OpenQuestion("1", "How many hearts?", ("three", "3 hearts"), document="octopus.md", collection="sea", kind="fact")
NOTHING = OpenQuestion("2", "How many ears?", (), collection="sea", kind="unanswerable")
YEAR = OpenQuestion("3", "When?", (), r"19\d\d", collection="war", kind="fact")


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


def test_the_right_answer_may_stand_as_far_down_as_a_re_ranker_looks() -> None:
    """Iyer et al. (2021, Table 1) count the first 1, 5, 10 and 25."""
    question = OpenQuestion("1", "who", ("Ada",))
    for place, expected in ((1, [1, 1, 1, 1]), (10, [0, 0, 1, 1]), (25, [0, 0, 0, 1]), (26, [0, 0, 0, 0])):
        answers = [("Ada" if number == place else f"no {number}", -float(number)) for number in range(1, 31)]
        (result,) = score_predictions([question], [Prediction(answers, "", [])])
        assert [result.metrics[f"em@{k}"] for k in (1, 5, 10, 25)] == expected


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


def test_lists_say_what_is_to_be_refused(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(
        '{"id": "1", "question": "a", "answers": ["b"], "document": "c.txt", "collection": "d", "kind": "e"}\n'
        '{"id": "2", "question": "f", "answers": []}\n{"id": "3", "question": "g", "answers": ["h"]}\n'
    )
    with_answer, refused, plain = load_question_list(path)
    assert with_answer == OpenQuestion("1", "a", ("b",), None, "c.txt", "d", "e")
    assert refused == OpenQuestion("2", "f", ())
    assert [expect_refusals([question]) for question in (with_answer, refused, plain)] == [True, True, False]
    path.write_text('{"question": "a", "answers": [], "document": 3}\n')
    with pytest.raises(InputError, match="line 1"):
        load_question_list(path)
