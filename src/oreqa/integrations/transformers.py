"""A replacement for ``pipeline("question-answering")``, which transformers dropped in version 5.

Arguments and result keys are the same; transformers itself is not needed.

>>> from oreqa.integrations.transformers import pipeline
>>> qa = pipeline("question-answering")
>>> answer = qa(question="How many hearts does an octopus have?", context="An octopus has three hearts.")
>>> answer["answer"], answer["start"], answer["end"]
('three', 15, 20)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from pathlib import Path
from typing import Any

from oreqa.arguments import count, is_list, kind_of, question_list
from oreqa.core import Span
from oreqa.defaults import DEFAULT_READER
from oreqa.errors import InputError
from oreqa.integrations.reading import answered_probability
from oreqa.models.reader.reader import Reader

QARow = dict[str, Any]
"""``score``, ``start``, ``end`` and ``answer``, the text ``context[start:end]``."""


def pipeline(
    task: str = "question-answering", model: str | Path | None = None, *, device: int | str | None = None, **settings: Any
) -> QuestionAnsweringPipeline:
    """Return a pipeline for the only supported ``task``, with a reader's name or folder.

    ``device`` is None, -1 or "cpu", or 0 or "cuda". ``settings`` are defaults for those of calls. Raises InputError for
    other tasks and invalid values, ModelError for a model that cannot be loaded.
    """
    if task != "question-answering":
        raise InputError(f"there is no pipeline {task!r} here: the task is question-answering")
    name = {"None": "cpu", "-1": "cpu", "0": "cuda", "cuda:0": "cuda"}.get(str(device), device)
    _settings({}, settings)
    return QuestionAnsweringPipeline(Reader(DEFAULT_READER if model is None else model, device=str(name)), settings)


class QuestionAnsweringPipeline:
    """Called with one question or several, it answers each from its context."""

    def __init__(self, reader: Reader, settings: Mapping[str, Any]) -> None:
        self.reader, self._defaults = reader, dict(settings)

    def __call__(
        self,
        *examples: Any,
        question: str | Sequence[str] | None = None,
        context: str | Sequence[str] | None = None,
        **settings: Any,
    ) -> QARow | list[Any]:
        """Return the best answer to each ``question`` in its ``context``, or the ``top_k`` best, like transformers.

        Questions may be a list, contexts one text or a list of equal length; or ``examples`` are mappings of
        ``question`` and ``context``, or a list of them. One example returns one result, several a list. A result is a
        single row or a list of rows, best first. A row may mean no answer, an empty text from 0 to 0: with
        ``handle_impossible_answer``, or if a context has no word.

        ``top_k`` defaults to 1, ``max_question_len`` to 64 tokens; ``max_answer_len``, ``max_seq_len`` and
        ``doc_stride``, also in tokens, to the reader's. ``score`` is the probability of the text if the context has an
        answer, and with ``handle_impossible_answer`` the probability of both. Raises InputError for invalid values.
        """
        chosen = _settings(self._defaults, settings)
        pairs = _pairs(examples, question, context)
        reader = _limited(self.reader, chosen)
        questions = [_cut(reader, text, chosen.max_question_len) for text, _ in pairs]
        readings = reader.readings(questions, [[("", text)] for _, text in pairs], 2 * chosen.top_k + _SPARE)
        results = [_rows(reading.spans, chosen) for reading in readings]
        return results[0] if len(results) == 1 else results


_SPARE = 10
"""Spans beyond twice ``top_k``, as some become equal words."""


@dataclass(frozen=True, slots=True)
class _Settings:
    top_k: int = 1
    doc_stride: int | None = None
    max_answer_len: int | None = None
    max_seq_len: int | None = None
    max_question_len: int = 64
    handle_impossible_answer: bool = False
    align_to_words: bool = True


def _settings(defaults: Mapping[str, Any], changes: Mapping[str, Any]) -> _Settings:
    values = {name: value for name, value in {**defaults, **changes}.items() if value is not None}
    for name, value in values.items():
        if name not in _Settings.__slots__:
            raise InputError(f"there is no setting {name}: choose {', '.join(_Settings.__slots__)}")
        if name in ("handle_impossible_answer", "align_to_words"):
            if not isinstance(value, bool):
                raise InputError(f"{name} is {value!r}; it must be True or False")
        else:
            values[name] = count(value, name, 0 if name == "doc_stride" else 1)
    if not values.get("align_to_words", True):
        raise InputError("align_to_words=False would be ignored: answers are whole words here; leave it out")
    return _Settings(**values)


def _pairs(examples: Sequence[Any], question: object, context: object) -> list[tuple[str, str]]:
    """Return the questions with their contexts. Raises InputError for anything else, and for empty ones."""
    if examples and (question is not None or context is not None):
        raise InputError("give examples, or question and context, not both")
    if len(examples) == 2 and all(isinstance(example, str) for example in examples):
        question, context, examples = *examples, ()
    if examples:
        rows = [row for example in examples for row in (example if is_list(example) else [example])]
        for number, row in enumerate(rows, 1):
            if not isinstance(row, Mapping) or not {"question", "context"} <= row.keys():
                raise InputError(f"example {number} is {kind_of(row)}, not a mapping of question and context")
        question, context = [row["question"] for row in rows], [row["context"] for row in rows]
    if question is None or context is None:
        raise InputError("give question and context")
    questions = question_list(question)  # type: ignore[arg-type]
    contexts = [context] * len(questions) if isinstance(context, str) else context
    if not is_list(contexts) or len(contexts := list(contexts)) != len(questions):
        raise InputError("context is a text, or a list with one for each question")
    if isinstance(question, str) and not isinstance(context, str):
        raise InputError("context is a list, question one text; write a list of questions, too")
    for number, text in enumerate(contexts, 1):
        if not isinstance(text, str) or not text:
            raise InputError(f"context {number} is {'empty' if text == '' else kind_of(text)}; it must be a text")
    if not questions:
        raise InputError("there is no question: the list is empty")
    return list(zip(questions, contexts, strict=True))


def _limited(reader: Reader, chosen: _Settings) -> Reader:
    """Return the reader with other lengths, sharing its session."""
    folder = reader.folder
    longest = folder.max_tokens if chosen.max_seq_len is None else chosen.max_seq_len
    if longest > folder.max_tokens:
        raise InputError(f"max_seq_len is {longest}, more than the {folder.max_tokens} tokens that {reader} reads")
    overlap = min(folder.overlap, longest // 2) if chosen.doc_stride is None else chosen.doc_stride
    if overlap > longest // 2:
        raise InputError(f"doc_stride is {overlap}, more than half of max_seq_len, {longest}: windows have to move on")
    tokens = folder.answer_tokens if chosen.max_answer_len is None else chosen.max_answer_len
    limited = replace(folder, max_tokens=longest, overlap=overlap, answer_tokens=tokens)
    return reader if limited == folder else Reader.of(limited, reader.session)


def _cut(reader: Reader, question: str, tokens: int) -> str:
    """Return a question truncated to ``tokens`` tokens."""
    offsets = reader.inputs.tokenize([question])[question].offsets
    return question if len(offsets) <= tokens else question[: int(offsets[tokens - 1, 1])]


def _rows(spans: Sequence[Span], chosen: _Settings) -> QARow | list[QARow]:
    answered = answered_probability(spans) if chosen.handle_impossible_answer else 1.0
    by_text: dict[str, QARow] = {}
    for span in spans:
        row = {"score": 0.0, "start": span.start, "end": span.end, "answer": span.text}
        by_text.setdefault(span.text.casefold(), row)["score"] += exp(span.score) * answered
    rows = list(by_text.values())
    if chosen.handle_impossible_answer or not rows:
        rows.append({"score": 1 - answered, "start": 0, "end": 0, "answer": ""})
    rows = sorted(rows, key=lambda row: -row["score"])[: chosen.top_k]
    return rows[0] if len(rows) == 1 else rows
