from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_models import add_block_head

from oreqa import Answerer
from oreqa.answer import Answer, AnswerBlock
from oreqa.answering.blocks import (
    MAX_ITEMS,
    MAX_SENTENCES,
    SectionLines,
    find_block,
    section_lines,
)
from oreqa.core import Passage, Sentence
from oreqa.index.in_memory import index_documents
from oreqa.index.store import Settings
from oreqa.models.reader.blocks import TokenOdds
from oreqa.text.sentences import split_sentences


def cut(text: str, *begins: int) -> list[Passage]:
    """The passages of a document that begin at these characters, without the blanks between them."""
    passages = []
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        body = text[begin:end].rstrip()
        sentences = tuple(Sentence(body[a:b], begin + a, begin + b) for a, b in split_sentences(body))
        passages.append(Passage("d", "", "", body, begin, begin + len(body), sentences))
    return passages


def likely(passage: Passage, *texts: str) -> TokenOdds:
    """Odds by which these texts of a passage are likely, and the others are not; a token is a character."""
    offsets = np.stack([np.arange(len(passage.text)), np.arange(1, len(passage.text) + 1)], axis=1).astype(np.int32)
    log_odds = np.full(len(passage.text), -4, np.float32)
    for text in texts:
        log_odds[passage.text.index(text) :][: len(text)] = 2
    return TokenOdds(offsets, log_odds)


def block_of(text: str, *texts: str) -> AnswerBlock:
    """The block of a document of one passage in which these texts are likely; the answer is in the first of them."""
    (passage,) = cut(text, 0)
    return find_block(section_lines([passage], {0: likely(passage, *texts)}), place_of(passage, texts[0]))


def place_of(passage: Passage, text: str) -> int:
    return next(place for place, sentence in enumerate(passage.sentences) if text in sentence.text)


STEPS = "It is small.\n\nTo install it, do this:\n1. Unpack it.\n2. Start it.\n3. Wait.\n\nIt is free."
REASONS = "It is small.\n\nThere are reasons:\n- It is old.\n- It is slow.\n- It is loud.\n\nIt is free."


def test_sentences() -> None:
    block = block_of("Bees dance. They sting. They fly. They sleep.", "They sting.")
    assert (block.text, block.kind) == ("They sting.", "text")
    assert block.probability == pytest.approx(1 / (1 + np.exp(-2)))
    assert block_of("Bees dance. They sting. They fly. They sleep.", "They sting.", "They sleep.").text == (
        "They sting. They fly. They sleep."
    )
    block = block_of("They sting. They fly. They buzz. They sleep.", "They sting.", "They sleep.")
    assert [(piece.text, piece.start, piece.cut) for piece in block.pieces] == [
        ("They sting.", 0, False),
        ("They sleep.", 33, True),
    ]
    assert block.text == "They sting.\n[...]\nThey sleep."
    many = [f"Bee {number} dances." for number in range(9)]
    assert len(block_of(" ".join(many), *many).text.split(".")) == MAX_SENTENCES + 1


@pytest.mark.parametrize("step", ["1. Unpack it.", "2. Start it.", "To install it, do this:"])
def test_steps_are_never_cut(step: str) -> None:
    block = block_of(STEPS, step)
    assert (block.text, block.kind) == ("To install it, do this:\n1. Unpack it.\n2. Start it.\n3. Wait.", "list")


def test_an_item_of_a_long_list_comes_with_its_lead_in() -> None:
    assert block_of(REASONS, "- It is slow.").text == "There are reasons:\n- It is old.\n- It is slow.\n- It is loud."
    items = "".join(f"\n- It is number {number}." for number in range(MAX_ITEMS))
    text = f"There are reasons:{items}\n\nIt is free."
    assert block_of(text, "- It is number 4.").text == "There are reasons:\n[...]\n- It is number 4."
    assert block_of(text, "- It is number 4.", "- It is number 7.").text == text.partition("\n\n")[0]


def test_code_with_what_introduces_it_and_lines_without_words() -> None:
    text = "It is small.\n\nTo stop it, write a loop:\nfor x in y { kill x; }\nfor z in y { wait z;\n}\n\nIt is free."
    assert block_of(text, "for x in y { kill x; }").text == text.split("\n\n")[1]
    assert block_of(text, "To stop it").text == text.split("\n\n")[1]


def test_rows_with_their_header() -> None:
    text = "It is small.\n\nname | age\nAnn | 3\nBob | 4\n\nIt is free."
    block = block_of(text, "Bob | 4")
    assert (block.text, block.kind) == ("name | age\n[...]\nBob | 4", "table")


def test_a_list_goes_on_in_the_next_passage() -> None:
    text = f"{STEPS[:-13]}\n4. Clean up.\n5. Go home.\n\nIt is free."
    first, second = cut(text, 0, text.index("3."))
    section = section_lines([first, second], {0: likely(first, "2. Start it.")})
    block = find_block(section, place_of(first, "2. Start it."))
    assert [piece.text for piece in block.pieces] == [
        "To install it, do this:\n1. Unpack it.\n2. Start it.",
        "3. Wait.\n4. Clean up.\n5. Go home.",
    ]
    assert not any(piece.cut for piece in block.pieces)
    assert all(text[piece.start : piece.end] == piece.text for piece in block.pieces)
    assert block.probability == pytest.approx(float(np.nanmean(section.probabilities[1:4])))


def test_it_holds_the_sentence_of_the_answer_and_the_likeliest_one() -> None:
    (passage,) = cut("Bees dance. They sting. They fly.", 0)
    section: SectionLines = section_lines([passage], {0: likely(passage, "They fly.")})
    assert find_block(section, 0).text == "Bees dance.\n[...]\nThey fly."


def test_answers_have_blocks_if_the_reader_knows_them(fitted: Path, tiny_reader: Path, tmp_path: Path) -> None:
    reader = add_block_head(tiny_reader, tmp_path / "reader")
    index_documents(tmp_path / "kb", [STEPS, "An octopus has three hearts."], Settings(str(fitted)))
    with Answerer.load(tmp_path / "kb", reader=reader) as answerer:
        answers: list[Answer] = answerer.ask("how do I install it", k=3)
        (listed,) = answerer.ask(["how do I install it"], k=3)
        facts = answerer.ask("who has hearts", k=3) + answerer.ask("Will Smith starred in which film?", k=3)
        whether: list[Answer] = answerer.ask("Will it depend on which film?", k=3)
    assert {(answer.form, answer.text == answer.sentence.text) for answer in whether} == {("block", True)}
    assert len({answer.text for answer in whether}) == len(whether) > 1
    assert answers == listed
    assert {answer.form for answer in answers} == {"block"}
    assert {answer.form for answer in facts} == {"text"}
    assert len({answer.passage.document_key for answer in answers}) == 2
    for answer in answers + facts:
        assert answer.block is not None
        assert any(piece.start <= answer.sentence.start < piece.end for piece in answer.block.pieces)
        assert all(piece.text in answer.passage.text for piece in answer.block.pieces)
    assert str(answers[0]).startswith(answers[0].block.text if answers[0].block else "no block")
    with Answerer.load(tmp_path / "kb", reader=tiny_reader) as answerer:
        others = answerer.ask("how do I install it")
    assert {(answer.block, answer.form) for answer in others} == {(None, "text")}
