from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from oreqa.core import Passage, Sentence
from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import Gold, Paragraph, Question
from oreqa.datasets.reqa import ReqaTask, build_reqa, draw_questions, load_boundaries, often_asked, questions_of_candidates
from oreqa.errors import InputError

TEXT = "One is here. Two is there. Three is gone."
LETTERS = "abcdefgh"
PASSAGE = Passage("d", "", "", LETTERS, 0, 8, tuple(Sentence(letter, i, i + 1) for i, letter in enumerate(LETTERS)))


def paragraph(title: str, *questions: tuple[str, list[int]]) -> Paragraph:
    task_questions = tuple(
        Question(str(i), text, tuple(Gold("x", s) for s in starts)) for i, (text, starts) in enumerate(questions)
    )
    return Paragraph(title, TEXT, task_questions)


def test_candidates_gold_and_merged_questions() -> None:
    task = build_reqa([paragraph("A", ("q", [0]), ("r", [14, 20, 28])), paragraph("B_b", ("q", [27]), ("none", []))])
    assert task.candidates == 6
    assert dict(zip(task.questions, task.gold, strict=True)) == {"q": (0, 5), "r": (1, 2)}
    assert [p.title for p in task.passages] == ["A", "B b"]
    assert len({p.document_key for p in task.passages}) == 2


def test_boundaries_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    rows = [(0, 12), (13, 41)]
    file.write_text("".join(f'{{"title": "A", "paragraph": 0, "sentence": 0, "start": {a}, "end": {b}}}\n' for a, b in rows))
    task = build_reqa([paragraph("A", ("q", [12]), ("r", [40]))], load_boundaries(file))
    # Offset 12 lies between the two sentences: it counts for the first.
    assert task.gold == ((0,), (1,))
    with pytest.raises(InputError, match="lack paragraph 0 of 'B'"):
        build_reqa([paragraph("B")], load_boundaries(file))
    with pytest.raises(InputError, match="is outside paragraph 0 of 'A'"):
        build_reqa([Paragraph("A", "short", ())], load_boundaries(file))


MULTIREQA = ("SearchQA", "TriviaQA", "HotpotQA", "SQuAD", "NaturalQuestions", "BioASQ", "RelationExtraction", "TextbookQA")
QID, NEXT_QID = "0c9d3b7a2f4e45d8b6a1c2d3e4f50617", "b7f1"


@pytest.mark.parametrize("name", MULTIREQA)
def test_multireqa_bounds_sentences_by_the_ids_of_questions(tmp_path: Path, name: str) -> None:
    """Paragraphs of MRQA have no titles; a candidate names one of the questions about its paragraph."""
    mrqa, candidates = tmp_path / f"{name}.jsonl", tmp_path / "candidates.json"

    def line(text: str, qid: str, question: str, start: int, end: int) -> str:
        answer = {"text": text[start : end + 1], "char_spans": [[start, end]], "token_spans": [[0, 0]]}
        asks = {"id": "x", "qid": qid, "question": question, "answers": [answer["text"]], "detected_answers": [answer]}
        other = {"id": "y", "qid": qid + "f", "question": question + " then", "answers": [], "detected_answers": []}
        return json.dumps({"id": "", "context": text, "context_tokens": [], "qas": [other, asks]}) + "\n"

    header = json.dumps({"header": {"dataset": name, "split": "dev"}}) + "\n"
    mrqa.write_text(header + line(TEXT, QID, "who is gone", 27, 31) + line("A b. C d.", NEXT_QID, "what", 0, 0))
    rows = [(QID, "0_0", 0, 26), (QID, "0_1", 27, 41), (NEXT_QID, "0_0", 0, 4), (NEXT_QID, "0_1", 5, 9)]
    candidates.write_text(
        "".join(
            json.dumps({"candidate_id": f"{name}_{qid}/_{place}", "response_start": start, "response_end": end}) + "\n"
            for qid, place, start, end in rows
        )
    )
    task = build_reqa(load_paragraphs(mrqa), load_boundaries(candidates))
    assert task.candidates == 4
    assert dict(zip(task.questions, task.gold, strict=True)) == {"who is gone": (1,), "what": (2,)}
    candidates.write_text(json.dumps({"candidate_id": f"{name}_{QID}_0_0", "response_start": 0, "response_end": 26}) + "\n")
    with pytest.raises(InputError, match="lack paragraph 1"):
        build_reqa(load_paragraphs(mrqa), load_boundaries(candidates))


@pytest.mark.slow
@pytest.mark.shared_data
@pytest.mark.parametrize(("name", "candidates"), [("reqa", 10_250), ("multireqa", 10_642)])
def test_counts_of_the_published_tasks(data: Path, name: str, candidates: int) -> None:
    paragraphs = load_paragraphs(data / "squad" / "squad-v1.1-dev.json.gz")
    task = build_reqa(paragraphs, load_boundaries(data / "squad" / f"{name}-squad-dev-sentences.jsonl.gz"))
    assert (task.candidates, len(task.questions)) == (candidates, 10_539)
    # Our own splitter agrees with the published boundaries but for a few sentences in a hundred.
    starts = {(p.document_key, s.start) for p in task.passages for s in p.sentences}
    own = {(p.document_key, s.start) for p in build_reqa(paragraphs).passages for s in p.sentences}
    assert len(starts & own) / len(starts | own) > 0.95


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
