"""The groups of readers' training: answers are where they stand, and look-alikes are none."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import manual_groups
from manual_groups import (
    WrittenQuestion,
    conditional_examples,
    extractive_examples,
    mentions,
    read_question,
    sentences_of,
    show,
    without,
    written_examples,
)

from oreqa.datasets.paragraphs import Gold, Paragraph, Question, is_held_out, save_squad
from oreqa.errors import InputError
from oreqa.files import write_jsonl
from oreqa.models.encoder.encoder import Encoder
from oreqa.training.reader.recipe import DataPart

pytestmark = pytest.mark.train

STILL = "Cut the power first. The still holds\n40 litres. Drain it by the valve."
PASSAGES = [
    ("Still", STILL),
    ("Still", "The other one holds 40 litres, too. It is red."),
    ("Lamp", "A lamp is bright."),
    ("Copy", STILL),
    ("Moon", "The moon is far."),
    ("Sun", "The sun is near."),
]
QUESTION = WrittenQuestion("How much does it hold?", 0, [(STILL.index("40"), STILL.index(". Drain"))], [])


def test_a_question_is_read_with_the_places_of_its_answers_and_its_block() -> None:
    row = {
        "question": "How much?",
        "passage": 3,
        "evidence": "still holds 40 litres.",
        "answers": ["40 litres", "40", "power"],
    }
    question = read_question({**row, "block": ["Cut the power first.", "Drain it"]}, STILL)
    assert [STILL[a:b] for a, b in question.spans] == ["40", "40 litres"]
    assert [STILL[a:b] for a, b in question.blocks] == ["Cut the power first.", "Drain it"]
    assert read_question({"question": "Why?", "passage": 0, "answers": [], "beside": "power"}, STILL).spans == []


def test_sentences_are_cut_out() -> None:
    sentences = sentences_of(STILL, QUESTION.spans)
    assert [STILL[a:b] for a, b in sentences] == ["The still holds\n40 litres."]
    assert without(STILL, sentences).split("  ") == ["Cut the power first.", "Drain it by the valve."]
    assert without("All of it.", [(0, 10)]) == ""


def test_a_question_is_shown_with_look_alikes_that_answer_only_if_they_name_the_answer() -> None:
    for seed in range(20):
        rows = show(QUESTION, [1, 3, 0, 2, 4, 5], PASSAGES, 4, 0.0, random.Random(seed))
        assert rows[0].text == PASSAGES[0]
        assert [STILL[a:b] for a, b in rows[0].blocks] == ["The still holds\n40 litres."]
        assert len(rows) == len({row.text for row in rows}) == 4
        assert PASSAGES[3] not in [row.text for row in rows]  # the same text
        for row in rows[1:]:
            assert row.holds == bool(row.spans) == bool(row.blocks) == ("40 litres" in row.text[1])


def test_an_answer_is_mentioned_in_its_case_and_with_any_blanks() -> None:
    assert mentions("-D -R kills, -d  -r\nleaves, x-d -r", ["-d -r", "-d"]) == [(13, 19)]


def test_of_a_question_whose_answer_is_cut_out_nothing_answers() -> None:
    rows = show(QUESTION, [1, 2, 4], PASSAGES, 4, 1.0, random.Random(0))
    assert rows[0].text[0] == "Still"
    assert {row.text[0] for row in rows[1:]} == {"Lamp", "Moon"}
    assert not any("40 litres" in row.text[1] or row.holds or row.spans or row.blocks for row in rows)
    alone = show(WrittenQuestion("Which?", 2, [(2, 6)], []), [], PASSAGES, 4, 1.0, random.Random(0))
    assert alone == []  # nothing is left of it
    absent = show(WrittenQuestion("Which?", 2, [], []), [1, 4], PASSAGES, 3, 1.0, random.Random(0))
    assert absent[0].text == PASSAGES[2]
    assert not any(row.holds for row in absent)


def test_written_questions_come_four_times(tmp_path: Path, tiny: Path) -> None:
    write_jsonl(tmp_path / "passages.jsonl", [{"title": t, "heading": "", "text": text} for t, text in PASSAGES])
    rows = [
        {"question": "How much?", "passage": 0, "kind": "fact", "evidence": "holds 40 litres", "answers": ["40 litres"]},
        {"question": "Is it blue?", "passage": 1, "kind": "absent", "answers": [], "beside": "It is red"},
        {"question": "Lost?", "passage": 1, "kind": "fact", "evidence": "not there", "answers": ["there"]},
    ]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    examples = list(written_examples(tmp_path, Encoder(tiny), random.Random(0)))
    assert [question for question, _ in examples] == ["How much?"] * 4 + ["Is it blue?"] * 4
    assert all(not any(row.holds for row in shown) for _, shown in examples[4:])


def test_extractive_questions_are_those_of_training_articles(tmp_path: Path) -> None:
    def paragraph(number: int) -> Paragraph:
        text = f"Box {number} holds a thing. Nobody knows why."
        golds = (Gold(f"Box {number}", 0),)
        questions = (Question(f"a{number}", "Which box?", golds), Question(f"b{number}", "Who knows?", ()))
        return Paragraph(f"Article {number}", text, (*questions, Question(f"c{number}", "Misplaced?", (Gold("Nobody", 1),))))

    paragraphs = [paragraph(number) for number in range(40)]
    held = {p.text for p in paragraphs if is_held_out(p)}
    save_squad(tmp_path / "data.json", paragraphs, "2.0")

    def examples(**keys: Any) -> list[Any]:
        return list(extractive_examples(DataPart(file=tmp_path / "data.json", **keys), random.Random(0)))

    everything = examples(titles=False)
    assert held
    assert len(everything) == 2 * (40 - len(held))
    assert not held & {row.text[1] for _, shown in everything for row in shown}
    assert {row.text[0] for _, shown in everything for row in shown} == {""}
    assert {question for question, _ in examples(asked="unanswerable")} == {"Who knows?"}
    assert len(examples(questions=5)) == 5


def test_a_page_of_conditional_qa_shows_its_evidence_among_other_elements(tmp_path: Path) -> None:
    elements = [f"<p>Element {number}.</p>" for number in range(14)]
    rows = [
        {"url": "https://x/some-page", "question": f"Q{n}?", "scenario": "I ask.", "evidence": elements[n : n + 2], "answerable": n < 12}
        for n in range(13)
    ]  # fmt: skip
    write_jsonl(tmp_path / "rows.jsonl", rows)
    examples = list(conditional_examples(tmp_path / "rows.jsonl", random.Random(0)))
    assert len(examples) == 12
    for number, (question, (page, *others)) in enumerate(examples):
        assert question in (f"Q{number}?", f"I ask. Q{number}?")
        assert page.text[0] == "some page"
        assert [page.text[1][a:b] for a, b in page.blocks] == [f"Element {number}.", f"Element {number + 1}."]
        assert not any(f"Element {number}." in row.text[1] for row in others)
    assert any(others for _, (_, *others) in examples)


def test_passages_that_were_not_made_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"run recipes/base/find_passages\.py --work .* first"):
        next(manual_groups.read_examples(tmp_path, tmp_path, 0))
