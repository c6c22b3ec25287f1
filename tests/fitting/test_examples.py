from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from oreqa.core import Document, Hit, Passage
from oreqa.corpus.splitter import paragraph_passage
from oreqa.datasets.questions import OpenQuestion
from oreqa.fitting.examples import (
    FEW_DOCUMENTS_ASKED,
    Example,
    PlacedExample,
    load_examples,
    place_examples,
    questions_without_answers,
    split_examples,
)


def passages(count: int = 30) -> list[Passage]:
    texts = (f"The tower {n} was built by Ada {n}. It has {n} floors,\nand a roof." for n in range(count))
    return [paragraph_passage(Document(f"docs/{n}.txt", f"Tower {n}", text)) for n, text in enumerate(texts)]


def question(text: str, *answers: str, document: str | None = None) -> OpenQuestion:
    return OpenQuestion(text, text, answers, document=document)


def test_answers_are_found_by_the_sentence_of_the_data() -> None:
    by_sentence = Example(question("Who built tower 7?", "Ada 7"), ("The tower 7 was built by Ada 7.",))
    spaced = Example(question("How many floors has tower 3?", "3 floors"), ("It has 3 floors, and a roof.",))
    cut = Example(question("Who built 5?", "Ada 5"), ("built by Ada 5. It has 5 floors",))  # the data's sentences differ
    missing = Example(question("Who built tower 99?", "Ada 99"), ("The tower 99 was built by Ada 99.",))
    refused = Example(question("Who burnt tower 4?"), ("The tower 4 was built by Ada 4.",))
    placed = place_examples([by_sentence, spaced, cut, missing, refused], passages())
    assert [example.question.text for example in placed] == [
        "Who built tower 7?", "How many floors has tower 3?", "Who built 5?", "Who burnt tower 4?",
    ]  # fmt: skip
    assert [example.golds for example in placed] == [(14,), (7,), (10,), ()]
    assert [example.documents for example in placed] == [{f"docs/{n}.txt"} for n in (7, 3, 5, 4)]


def test_answers_of_a_list_are_found_by_their_words_in_their_document() -> None:
    named = Example(question("Who built it?", "Ada 7", document="7.txt"))
    anywhere = Example(question("Which has a roof?", "a roof"))
    pattern = Example(OpenQuestion("p", "Who?", (), pattern=r"Ada 1[23]\b"))
    part = Example(question("Who built tower 3?", "Ada 3"))  # and no Ada 13
    elsewhere = Example(question("Who built tower 8?", "Ada 8", document="7.txt"))
    unanswerable = Example(question("Who burnt it?"))
    placed = place_examples([named, anywhere, pattern, part, elsewhere, unanswerable], passages(20))
    assert [example.golds for example in placed] == [(14,), tuple(range(1, 40, 2)), (24, 26), (6,), ()]
    assert [len(example.documents) for example in placed] == [1, 0, 0, 0, 0]
    assert place_examples([], passages(2)) == place_examples([named], []) == []


def test_every_form_of_a_file(tmp_path: Path) -> None:
    listed, paired = tmp_path / "list.jsonl", tmp_path / "pairs.jsonl"
    listed.write_text('{"question": "Who?", "answers": ["Ada"]}\n{"question": "What?", "answers": []}\n')
    rows = [{"question": "Who?", "answer": "Ada built it."}, {"question": "Who?", "answer": "Ada built it.", "span": "Ada"}]
    paired.write_text("".join(json.dumps(row) + "\n" for row in rows))
    context = "Ada built it. Eve paid."
    questions = [
        {"id": "1", "question": "Who paid?", "answers": [{"text": "Eve", "answer_start": 14}]},
        {"id": "2", "question": "Who slept?", "answers": [], "is_impossible": True},
    ]
    squad = tmp_path / "squad.json"
    squad.write_text(json.dumps({"data": [{"title": "T", "paragraphs": [{"context": context, "qas": questions}]}]}))
    assert [(e.question.answers, e.sentences) for e in load_examples(listed, "en")] == [(("Ada",), ()), ((), ())]
    assert [(e.question.answers, e.sentences) for e in load_examples(paired, "en")] == [
        (("Ada built it.",), ("Ada built it.",)),
        (("Ada",), ("Ada built it.",)),
    ]
    assert [(e.question.answers, e.sentences) for e in load_examples(squad, "en")] == [
        (("Eve",), ("Eve paid.",)),
        ((), ("Ada built it.",)),
    ]


def placed(number: int, document: int, known: bool = True) -> PlacedExample:
    documents = frozenset({f"d{document}"} if known else ())
    return PlacedExample(question(f"q{number}", "a"), (number,), frozenset({(f"d{document}", number)}), documents)


def test_no_document_is_on_both_sides() -> None:
    examples = [placed(number, number % 40) for number in range(200)]
    split = split_examples(examples, 150, 0)
    assert len(split.fit) + len(split.measured) == 150
    assert 50 <= len(split.measured) <= 60
    assert split.whole_documents
    fit, measured = ({min(e.documents) for e in part} for part in (split.fit, split.measured))
    assert not fit & measured
    assert split_examples(examples, 150, 0) == split
    assert split_examples(examples, 150, 1).measured != split.measured
    assert split_examples([*examples, *examples], 999, 0).fit == split_examples(examples, 999, 0).fit  # each once


@pytest.mark.parametrize("known", [True, False])
def test_passages_are_held_out_of_few_documents(known: bool) -> None:
    examples = [
        replace(placed(number, 0, known), passages=frozenset({("d0", number // 3)})) for number in range(90)
    ]  # three questions a passage
    split = split_examples(examples, 90, 0)
    assert FEW_DOCUMENTS_ASKED > 1
    assert not split.whole_documents
    fit, measured = ({*part[0].passages.union(*(e.passages for e in part))} for part in (split.fit, split.measured))
    assert not fit & measured
    assert len(split.measured) == 30


def test_one_question() -> None:
    split = split_examples([placed(0, 0)], 5, 0)
    assert (len(split.fit), len(split.measured)) == (0, 1)
    assert split_examples([], 5, 0).fit == []


def test_what_is_omitted() -> None:
    first, second = passages(2)
    hits = [Hit(0.0, passage, passage.sentences[0], n, 0, {}) for n, passage in enumerate((first, second))]
    (example,) = place_examples(
        [Example(question("Who built tower 0?", "Ada 0"), (first.sentences[0].text,))], [first, second]
    )
    assert [example.leaves_out(hit, whole) for hit in hits for whole in (True, False)] == [True, True, False, False]
    unknown = replace(example, documents=frozenset(), passages=frozenset())
    assert [unknown.leaves_out(hit, True) for hit in hits] == [True, False]  # it holds the answer
    (unanswerable, *others) = questions_without_answers([example, PlacedExample(question("Nobody?"))])
    assert (unanswerable.text, unanswerable.is_answerable, others) == ("Who built tower 0?", False, [])
