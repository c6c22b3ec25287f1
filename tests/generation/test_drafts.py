from __future__ import annotations

import json
from pathlib import Path

import pytest

from oreqa.core import Document, Passage
from oreqa.corpus.splitter import paragraph_passage
from oreqa.datasets.pairs import SILVER, load_pairs
from oreqa.datasets.paragraphs import load_squad
from oreqa.errors import InputError
from oreqa.generation.drafts import Draft, answer_sentence, check_out, drop_repeated, write_questions

BEES = "Bees dance — 𝄞 to tell others where food is. A bee has five eyes. It has four wings, five hearts and no lungs."


def passages() -> list[Passage]:
    return [
        paragraph_passage(Document("bees", "Bees", BEES)),
        paragraph_passage(Document("ants", "", "Ants have five eyes.")),
    ]


DRAFTS = [
    Draft(0, "five", BEES.index("five eyes"), "search", "how many eyes has a bee"),
    Draft(0, "five", BEES.index("five hearts"), "textbook", "How many hearts does a bee have?", 0.75),
    Draft(1, "Ants", 0, "textbook", "Who has five eyes?"),
]


def test_pairs_hold_the_sentence_in_which_the_answer_stands(tmp_path: Path) -> None:
    out = tmp_path / "pairs.jsonl"
    write_questions(out, passages(), DRAFTS)
    pairs = list(load_pairs(out))
    assert [pair.question for pair in pairs] == [draft.question for draft in DRAFTS]
    assert [pair.positive.answer for pair in pairs] == [
        "A bee has five eyes.",
        "It has four wings, five hearts and no lungs.",
        "Ants have five eyes.",
    ]
    assert [pair.weight for pair in pairs] == [1.0, 0.75, 1.0]
    assert {pair.source for pair in pairs} == {SILVER}
    assert [pair.positive.head for pair in pairs] == ["Bees", "Bees", ""]
    assert [json.loads(line)["span"] for line in out.read_text().splitlines()] == ["five", "five", "Ants"]


def test_squad_holds_the_answer_at_its_characters(tmp_path: Path) -> None:
    out = tmp_path / "questions.json"
    write_questions(out, passages(), DRAFTS)
    paragraphs = load_squad(out)
    assert [(p.title, len(p.questions)) for p in paragraphs] == [("Bees", 2), ("", 1)]
    for paragraph in paragraphs:
        for question in paragraph.questions:
            (gold,) = question.answers
            assert paragraph.text.startswith(gold.text, gold.start)
    ids = [question.id for paragraph in paragraphs for question in paragraph.questions]
    assert len(set(ids)) == 3
    write_questions(tmp_path / "again.json", passages(), DRAFTS)
    assert (tmp_path / "again.json").read_bytes() == out.read_bytes()


@pytest.mark.parametrize("name", ["none.jsonl", "none.json"])
def test_no_question_gives_a_file_that_loads(tmp_path: Path, name: str) -> None:
    write_questions(tmp_path / name, [], [])
    assert (list(load_pairs(tmp_path / name)) if name.endswith("l") else load_squad(tmp_path / name)) == []


def test_the_sentence_of_an_answer_between_sentences_is_the_one_before() -> None:
    passage = passages()[0]
    gap = BEES.index(" A bee")
    assert answer_sentence(passage, Draft(0, " A bee", gap, "s")).answer.startswith("Bees dance")
    bare = Passage("k", "", "", "No sentence", 0, 11, ())
    assert answer_sentence(bare, Draft(0, "No", 0, "s")).answer == "No sentence"


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"questions\.csv: name a file ending in \.jsonl for pairs"):
        check_out(tmp_path / "questions.csv")


def draft(question: str, dropped: str | None = None) -> Draft:
    return Draft(0, "four", 3, "search", question, dropped=dropped)


def test_a_question_asked_before_in_the_same_words_is_dropped() -> None:
    drafts = [draft("How many legs?"), draft("how many legs"), draft("How many eyes?"), draft("The how many legs")]
    assert [d.dropped for d in drop_repeated(drafts)] == [None, "repeated", None, "repeated"]


def test_what_was_dropped_before_keeps_its_reason_and_blocks_no_other() -> None:
    drafts = [draft("How many legs?", "round_trip"), draft("How many legs?"), draft("How many legs?", "vague")]
    assert [d.dropped for d in drop_repeated(drafts)] == ["round_trip", None, "vague"]
    assert drop_repeated([]) == []


def test_a_row_gives_the_draft_back() -> None:
    for row in (draft("How many legs?"), Draft(0, "a", 0, "s", "Q?", 0.25, "improbable")):
        assert Draft(0, **row.row()) == row
    assert "dropped" not in draft("Q?").row()
