from __future__ import annotations

import json
from pathlib import Path

import pytest

from oreqa.datasets.counts import count_data
from oreqa.errors import InputError


def squad_file(path: Path) -> Path:
    text = "One is here. Two is there. Three is gone."

    def question(number: int, question_text: str, *starts: int) -> dict[str, object]:
        return {
            "id": str(number),
            "question": question_text,
            "answers": [{"text": text[s : s + 3], "answer_start": s} for s in starts],
        }

    questions = [
        question(0, "who is here", 0),
        question(1, "who is there", 13),
        question(2, "who", 0, 13, 0),
        question(3, "why"),
    ]
    content = {"data": [{"title": "A", "paragraphs": [{"context": text, "qas": questions}]}]}
    path.write_text(json.dumps(content))
    return path


def test_a_squad_file(tmp_path: Path) -> None:
    counts = count_data(squad_file(tmp_path / "a.json"))
    assert (counts.kind, counts.passages, counts.candidates) == ("squad", 1, 3)
    assert (counts.questions, counts.unanswered, counts.answers, counts.pairs) == (3, 1, 2, 4)
    assert counts.answers_a_question == pytest.approx(4 / 3)
    assert counts.questions_an_answer == 2


def test_boundaries_join_sentences(tmp_path: Path) -> None:
    boundaries = tmp_path / "s.jsonl"
    boundaries.write_text('{"title": "A", "paragraph": 0, "start": 0, "end": 41}\n')
    counts = count_data(str(squad_file(tmp_path / "a.json")), sentences=str(boundaries))
    assert (counts.candidates, counts.answers, counts.pairs) == (1, 1, 3)


def test_a_list_of_questions(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    rows = [{"question": "who", "answers": ["Ada", "A. L."]}, {"question": "when", "pattern": "18[0-9]+"}]
    rows += [{"question": "who wrote it", "answers": ["Ada"]}, {"question": "why", "answers": []}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    counts = count_data(file)
    assert (counts.kind, counts.passages, counts.candidates) == ("questions", None, None)
    assert (counts.questions, counts.unanswered, counts.answers, counts.pairs) == (3, 1, 3, 4)
    with pytest.raises(InputError, match="has no paragraphs"):
        count_data(file, sentences=file)


def test_pairs(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    rows = [("who", "It is Ada."), ("who is it", "It is Ada."), ("who", "It is Ada.")]
    file.write_text("".join(json.dumps({"question": q, "answer": a, "context": a}) + "\n" for q, a in rows))
    counts = count_data(file)
    assert (counts.kind, counts.questions, counts.answers, counts.pairs) == ("pairs", 2, 1, 2)


def test_a_beir_folder_counts_what_is_relevant(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text("".join(f'{{"_id": "{i}", "text": "t{i}"}}\n' for i in range(4)))
    (tmp_path / "queries.jsonl").write_text("".join(f'{{"_id": "q{i}", "text": "who {i}"}}\n' for i in range(3)))
    (tmp_path / "qrels").mkdir()
    judged = "q0\t0\t1\nq0\t1\t2\nq1\t1\t1\nq1\t2\t0\nq2\t3\t0\n"
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    counts = count_data(tmp_path)
    assert (counts.kind, counts.passages, counts.candidates) == ("beir", 4, 4)
    assert (counts.questions, counts.unanswered, counts.answers, counts.pairs) == (2, 1, 2, 3)


def test_nothing_to_divide_by(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text('{"question": "why", "answers": []}\n')
    counts = count_data(file)
    assert (counts.questions, counts.answers_a_question, counts.questions_an_answer) == (0, 0, 0)


@pytest.mark.shared_data
def test_the_counts_of_reqa_squad(data: Path) -> None:
    """Wang et al. (2021, Table 1): 10,539 questions, 7,087 answers, 1.08 answers a question, 1.61 questions an answer."""
    squad = data / "squad"
    counts = count_data(squad / "squad-v1.1-dev.json.gz", sentences=squad / "reqa-squad-dev-sentences.jsonl.gz")
    assert counts.questions == 10_539
    assert counts.answers == pytest.approx(7_087, abs=3)  # three sentences stand in two paragraphs each
    assert round(counts.answers_a_question, 2) == 1.08
    assert round(counts.questions_an_answer, 2) == 1.61
