"""What takes the place of transformers' pipeline: the shapes of its results are those of transformers 4.57."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oreqa.errors import InputError, OreqaError
from oreqa.integrations.transformers import QuestionAnsweringPipeline, pipeline

QUESTION, CONTEXT = "How many hearts does an octopus have?", "An octopus has three hearts. Its blood is blue."


@pytest.fixture(scope="module")
def qa(tiny_reader: Path) -> QuestionAnsweringPipeline:
    return pipeline("question-answering", model=tiny_reader, device=-1)


def test_one_example_gives_one_result_however_it_is_written(qa: QuestionAnsweringPipeline) -> None:
    row: Any = qa(question=QUESTION, context=CONTEXT)
    assert list(row) == ["score", "start", "end", "answer"]
    assert row["answer"] == CONTEXT[row["start"] : row["end"]]
    assert 0 < row["score"] <= 1
    example = {"question": QUESTION, "context": CONTEXT}
    assert row == qa(example) == qa([example]) == qa(QUESTION, CONTEXT) == qa(question=[QUESTION], context=[CONTEXT])
    several: Any = qa([example] * 2)
    assert [each["answer"] for each in several] == [row["answer"]] * 2
    assert several == qa(example, example) == qa(question=[QUESTION] * 2, context=CONTEXT)


def test_the_best_answers_have_probabilities(qa: QuestionAnsweringPipeline, tiny_reader: Path) -> None:
    rows: Any = qa(question=QUESTION, context=CONTEXT, top_k=3)
    assert len(rows) == len({row["answer"].casefold() for row in rows}) == 3
    assert rows[0] == qa(question=QUESTION, context=CONTEXT)
    everything: Any = qa(question=QUESTION, context="Bees dance.", top_k=99)
    assert sum(row["score"] for row in everything) <= 1 + 1e-6
    with_none: Any = qa(question=QUESTION, context="Bees dance.", top_k=99, handle_impossible_answer=True)
    none = next(row for row in with_none if not row["answer"])
    assert (none["start"], none["end"]) == (0, 0)
    expected = sorted([*(row["score"] * (1 - none["score"]) for row in everything), none["score"]], reverse=True)
    assert [row["score"] for row in with_none] == pytest.approx(expected)
    chosen = pipeline(model=str(tiny_reader), top_k=99, handle_impossible_answer=True)
    assert chosen(question=QUESTION, context="Bees dance.") == with_none


def test_a_context_without_words_has_no_answer(qa: QuestionAnsweringPipeline) -> None:
    assert qa(question=QUESTION, context=" ") == {"score": 0.0, "start": 0, "end": 0, "answer": ""}


def test_lengths_are_limited_in_tokens(qa: QuestionAnsweringPipeline) -> None:
    long: Any = qa(question=QUESTION, context=CONTEXT)
    short: Any = qa(question=QUESTION, context=CONTEXT, max_answer_len=1)
    assert len(short["answer"].split()) == 1 < len(long["answer"].split())
    tokens = len(qa.reader.inputs.tokenize(["blood"])["blood"].offsets)
    inputs: Any = {"question": "blood of bees", "context": "Bees dance."}
    assert qa(**inputs) != qa(question="blood", context="Bees dance.") == qa(**inputs, max_question_len=tokens)
    row: Any = qa(question="blood", context=CONTEXT * 5, max_seq_len=20, doc_stride=4)
    assert row["answer"] == (CONTEXT * 5)[row["start"] : row["end"]]
    assert row != qa(question="blood", context=CONTEXT * 5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"question": ""}, "the question is empty"),
        ({"context": ""}, "context 1 is empty"),
        ({"context": None}, "give question and context"),
        ({"context": ["a", "b"]}, "context is a text, or a list with one for each question"),
        ({"top_k": 0}, "top_k is 0; it must be a whole number from 1"),
        ({"topk": 2}, "there is no setting topk: choose top_k, doc_stride"),
        ({"align_to_words": False}, "align_to_words=False would be ignored"),
        ({"handle_impossible_answer": 1}, "handle_impossible_answer is 1; it must be True or False"),
        ({"max_seq_len": 10_000}, "max_seq_len is 10000, more than the"),
        ({"max_seq_len": 40, "doc_stride": 30}, "doc_stride is 30, more than half of max_seq_len"),
    ],
)
def test_what_would_be_ignored_or_wrong_is_refused(
    qa: QuestionAnsweringPipeline, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        qa(**{"question": QUESTION, "context": CONTEXT, **settings})


def test_other_tasks_and_examples_are_refused(qa: QuestionAnsweringPipeline, tiny_reader: Path) -> None:
    with pytest.raises(InputError, match="there is no pipeline 'summarization' here"):
        pipeline("summarization")
    with pytest.raises(InputError, match="there is no setting tokenizer"):
        pipeline(model=tiny_reader, tokenizer="x")
    with pytest.raises(InputError, match="example 1 is a dict, not a mapping of question and context"):
        qa({"question": QUESTION})


@pytest.mark.parametrize("device", [[1], "tpu", 7])
def test_a_device_that_is_none_is_refused(tiny_reader: Path, device: Any) -> None:
    with pytest.raises(OreqaError, match="device"):
        pipeline(model=tiny_reader, device=device)
