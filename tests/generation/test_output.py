from __future__ import annotations

import json
from pathlib import Path

import pytest

from oreqa.core import Document, Passage
from oreqa.corpus.splitter import paragraph_passage
from oreqa.datasets.pairs import SILVER, load_pairs
from oreqa.datasets.paragraphs import load_squad
from oreqa.errors import InputError
from oreqa.generation.drafts import Draft
from oreqa.generation.output import answer_sentence, check_out, write_questions

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
