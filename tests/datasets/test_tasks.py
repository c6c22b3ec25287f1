from __future__ import annotations

import random

import pytest

from oreqa.core import Passage, Sentence
from oreqa.datasets.reqa import ReqaTask
from oreqa.datasets.tasks import draw_questions, often_asked, questions_of_candidates
from oreqa.errors import InputError

TEXT = "abcdefgh"
PASSAGE = Passage("d", "", "", TEXT, 0, 8, tuple(Sentence(letter, place, place + 1) for place, letter in enumerate(TEXT)))


def task_of(*gold: tuple[int, ...]) -> ReqaTask:
    return ReqaTask((PASSAGE,), tuple(f"q{number}" for number in range(len(gold))), gold)


def slow_often_asked(task: ReqaTask, minimum: int) -> dict[str, tuple[int, ...]]:
    """Go through all sentences, count their questions, and note the questions of those that have enough."""
    kept = set()
    for candidate in range(task.candidates):
        askers = [question for question, gold in zip(task.questions, task.gold, strict=True) if candidate in gold]
        if len(askers) >= minimum:
            kept |= set(askers)
    return {question: gold for question, gold in zip(task.questions, task.gold, strict=True) if question in kept}


def test_questions_of_candidates() -> None:
    task = task_of((5,), (1, 5), (1,), (0, 1, 7))
    assert list(questions_of_candidates(task).items()) == [(0, [3]), (1, [1, 2, 3]), (5, [0, 1]), (7, [3])]


def test_often_asked_is_the_slow_version_on_random_tasks() -> None:
    generator = random.Random(1)
    emptied = 0
    for _ in range(200):
        gold = [
            tuple(sorted(generator.sample(range(8), generator.choice((1, 1, 1, 2, 3)))))
            for _ in range(generator.randint(1, 12))
        ]
        task = task_of(*gold)
        for minimum in range(1, 8):
            expected = slow_often_asked(task, minimum)
            if expected:
                kept = often_asked(task, minimum, "file")
                assert dict(zip(kept.questions, kept.gold, strict=True)) == expected
                assert list(kept.questions) == [question for question in task.questions if question in expected]
                assert kept.passages == task.passages
            else:
                emptied += 1
                largest = max(n for n in range(1, 13) if slow_often_asked(task, n))
                message = f"^file: no answer sentence has {minimum} questions: ask for {largest} at most$"
                with pytest.raises(InputError, match=message):
                    often_asked(task, minimum, "file")
    assert emptied > 100


def test_the_minimum_is_inclusive_and_answers_with_equally_many_questions_all_count() -> None:
    task = task_of((0,), (3,), (0,), (3,), (6,))
    assert often_asked(task, 2, "file").questions == ("q0", "q1", "q2", "q3")
    assert often_asked(task, 1, "file") == task
    with pytest.raises(InputError, match="ask for 2 at most"):
        often_asked(task, 3, "file")


def test_a_question_with_several_answers_needs_one_that_is_asked_often_and_keeps_all() -> None:
    task = task_of((0,), (0,), (0, 4), (4,), (2, 5))
    # Sentence 0 has three questions, sentence 4 two of which one asks about it alone.
    kept = often_asked(task, 3, "file")
    assert (kept.questions, kept.gold) == (("q0", "q1", "q2"), ((0,), (0,), (0, 4)))


def test_a_draw_keeps_the_order_and_every_question_its_gold() -> None:
    task = task_of(*((number % 8,) for number in range(30)))
    drawn = draw_questions(task, 7, seed=3)
    places = [task.questions.index(question) for question in drawn.questions]
    assert places == sorted(places)
    assert len(set(places)) == 7
    assert drawn.gold == tuple(task.gold[place] for place in places)
    assert draw_questions(task, 7, seed=3) == drawn != draw_questions(task, 7, seed=4)
    assert draw_questions(task, 30, seed=3) == draw_questions(task, None, seed=3) == task
