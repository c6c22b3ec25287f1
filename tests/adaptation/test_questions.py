from __future__ import annotations

from dataclasses import replace

from oreqa.adaptation.questions import (
    HELD_OUT_DOCUMENTS,
    MARKED_DOCUMENTS,
    build_tasks,
    heading_pairs,
    keyword_pairs,
    one_task,
    split_marks,
)
from oreqa.core import Passage, Sentence
from oreqa.datasets.marks import Mark
from oreqa.datasets.pairs import Pair, passage_candidates
from oreqa.datasets.paragraphs import is_held_out_name


def passage(key: str, text: str, title: str = "Octopus", heading: str = "") -> Passage:
    first = text.index(".") + 1
    sentences = (Sentence(text[:first], 0, first), Sentence(text[first + 1 :], first + 1, len(text)))
    return Passage(key, title, heading, text, 0, len(text), sentences)


BODY = passage("a", "An octopus has three hearts. Its blood is blue.", heading="Body")


def test_headings_ask_for_the_first_sentence_below_them() -> None:
    rows = list(heading_pairs([BODY, replace(BODY, text=BODY.text), passage("b", "It hunts. It eats.", "Food")]))
    assert [(row.question, row.positive.answer) for row in rows] == [("Octopus Body", "An octopus has three hearts.")]
    assert rows[0].positive.head == "Octopus: Body"


def test_keywords_are_the_rarest_words_in_their_order() -> None:
    others = [passage(str(number), "The octopus has arms. The sea is deep.") for number in range(3)]
    pairs = [Pair("how many hearts", passage_candidates(BODY)[0])]
    (row,) = keyword_pairs(pairs, [BODY, *others], "en")
    assert row.question.split()[-2:] == ["three", "hearts"]
    assert row.positive == pairs[0].positive
    assert list(keyword_pairs([], [], "en")) == []


def test_documents_are_held_out_whole() -> None:
    passages = [passage(f"d{number}", f"Text {number}. More of {number}.") for number in range(60)]
    passages += [passage(f"d{number}", f"Other text {number}. Still more of {number}.") for number in range(60)]
    pairs = [Pair(f"question {number}", passage_candidates(row)[number % 2]) for number, row in enumerate(passages)]
    removed = Pair("gone", passage_candidates(passage("x", "It was removed. It is gone."))[0])
    train, held_out = build_tasks(passages, [*pairs, removed])
    assert len(train.questions) + len(held_out.questions) == 120
    assert train.passages == held_out.passages == tuple(passages)
    candidates = [(row, sentence) for row in passages for sentence in row.sentences]
    for task, is_held in ((train, False), (held_out, True)):
        assert task.questions
        for question, golds in zip(task.questions, task.gold, strict=True):
            (gold,) = golds
            row, sentence = candidates[gold]
            number = int(question.split()[1])
            assert (row, sentence) == (passages[number], passages[number].sentences[number % 2])
            assert is_held_out_name(row.document_key, HELD_OUT_DOCUMENTS) == is_held


def test_passages_are_held_out_where_documents_are_few() -> None:
    passages = [passage("one", f"Text {number}. More of {number}.") for number in range(60)]
    pairs = [Pair(f"question {number}", passage_candidates(row)[0]) for number, row in enumerate(passages)]
    train, held_out = build_tasks(passages, pairs)
    assert not set(train.questions) & set(held_out.questions)
    assert len(train.questions) + len(held_out.questions) == 60
    assert 60 / HELD_OUT_DOCUMENTS / 2 < len(held_out.questions) < 60 / HELD_OUT_DOCUMENTS * 2


def test_half_of_the_marked_documents_are_learned_from() -> None:
    passages = [passage(f"d{number}", f"Text {number}. More of {number}.") for number in range(60)]
    placed = [(mark_of(row, number), row) for number, row in enumerate(passages)]
    learned, measured = split_marks(placed)
    assert len(learned) + len(measured) == 60
    assert 20 < len(learned) < 40
    for half, measures in ((learned, False), (measured, True)):
        assert {is_held_out_name(f"d{pair.question.split()[1]}", MARKED_DOCUMENTS) for pair in half} == {measures}
    generated = [Pair(f"about {number}", passage_candidates(row)[0]) for number, row in enumerate(passages)]
    train, held_out = build_tasks(passages, generated, learned)
    assert {pair.question for pair in learned} <= set(train.questions)  # none of their documents is held out
    assert not {pair.question for pair in learned} & set(held_out.questions)
    assert not {pair.question for pair in measured} & {*train.questions, *held_out.questions}
    copy = replace(passages[0], document_key="copy")
    task = one_task([*passages, copy], [Pair("mark 0", passage_candidates(passages[0])[0])])
    assert (task.questions, task.gold) == (("mark 0",), ((0, 120),))


def test_marks_of_few_documents_are_halved_by_passage() -> None:
    passages = [passage("one", f"Text {number}. More of {number}.") for number in range(60)]
    learned, measured = split_marks([(mark_of(row, number), row) for number, row in enumerate(passages)])
    assert 20 < len(learned) < 40
    assert len(learned) + len(measured) == 60


def mark_of(row: Passage, number: int) -> Mark:
    return Mark(str(number), f"mark {number}", (f"Text {number}",), "right", "", row.document_key, context=row.text)


def test_each_copy_of_a_passage_answers_what_is_held_out() -> None:
    texts = [f"Text {number}. More of {number}." for number in range(60)]
    passages = [passage(f"d{number}", texts[number % 60]) for number in range(120)]
    pairs = [Pair(f"question {number}", passage_candidates(passages[number])[1]) for number in range(60)]
    train, held_out = build_tasks(passages, pairs)
    assert {len(golds) for golds in train.gold} == {1}
    assert {(second - first) for first, second in held_out.gold} == {120}  # sixty passages of two sentences further on
