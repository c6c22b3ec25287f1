from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from oreqa.core import Document
from oreqa.corpus.splitter import paragraph_passage
from oreqa.datasets.load import data_kind, load_training_pairs
from oreqa.datasets.mark_examples import marked_pair, need_marked_file, place_marks, write_marked
from oreqa.datasets.marks import MARKS_FILE, Mark, question_id, set_mark
from oreqa.datasets.paragraphs import load_squad
from oreqa.datasets.questions import load_question_list
from oreqa.errors import InputError

TEXT = "A hive hums. The queen lays eggs. Eggs hatch."
PASSAGE = replace(paragraph_passage(Document("bees.md", "Bees", TEXT)), heading="The hive")
QUESTION = "What does the queen lay?"
MARK = Mark(question_id(QUESTION), QUESTION, ("eggs",), "right", "2026-01-02T03:04:05+00:00", "bees.md",
            "The queen lays eggs.", TEXT, "Bees", TEXT.index("eggs"))  # fmt: skip
NONE = Mark(question_id("Who pays?"), "Who pays?", (), "none", "2026-01-02T03:04:06+00:00")


def test_a_mark_is_placed_while_its_passage_stands() -> None:
    assert place_marks([NONE, MARK], [PASSAGE, PASSAGE]) == [(MARK, PASSAGE)]
    assert place_marks([MARK], [replace(PASSAGE, text=TEXT + " More.")]) == []
    assert place_marks([MARK], [replace(PASSAGE, document_key="wasps.md")]) == []
    assert place_marks([replace(MARK, start=0)], [PASSAGE]) == []


def test_each_kind_is_read_by_what_it_is_for(tmp_path: Path) -> None:
    unplaced = replace(MARK, id=question_id("Who hums?"), question="Who hums?", document="wasps.md")
    marks, placed = [NONE, unplaced, MARK], [(MARK, PASSAGE)]
    assert write_marked(tmp_path / "q.jsonl", "questions", marks, placed) == 2
    questions = load_question_list(tmp_path / "q.jsonl")
    assert [(q.text, q.answers, q.document) for q in questions] == [
        ("Who pays?", (), None),
        (QUESTION, ("eggs",), "bees.md"),
    ]
    assert write_marked(tmp_path / "p.jsonl", "pairs", marks, placed) == 1
    (pair,) = load_training_pairs(tmp_path / "p.jsonl")
    assert pair == marked_pair(MARK, PASSAGE)
    assert (pair.positive.answer, pair.positive.start, pair.positive.head) == ("The queen lays eggs.", 13, "Bees: The hive")
    assert write_marked(tmp_path / "s.json", "squad", marks, placed) == 1
    (paragraph,) = load_squad(tmp_path / "s.json")
    (question,) = paragraph.questions
    assert (paragraph.title, paragraph.text, question.text, question.answers[0].start) == (
        "Bees",
        TEXT,
        QUESTION,
        MARK.start,
    )


def test_the_file_is_named_as_it_is_read() -> None:
    need_marked_file(Path("a.json.gz"), "squad")
    with pytest.raises(InputError, match=r"pairs are read from a file that ends in \.jsonl"):
        need_marked_file(Path("a.json"), "pairs")
    with pytest.raises(InputError, match=r"ends in \.json; name it so"):
        need_marked_file(Path("a.jsonl"), "squad")


def test_the_file_of_marks_is_a_list_of_questions(tmp_path: Path) -> None:
    set_mark(tmp_path, MARK)
    assert data_kind(tmp_path / MARKS_FILE) == "questions"
