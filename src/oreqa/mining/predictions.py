"""The reader's own predictions on training questions, from which the span re-ranker learns (RECONSIDER, section 3)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.core import Span
from oreqa.corpus.splitter import passage_head
from oreqa.datasets.answers import match_pattern, normalize_answer
from oreqa.datasets.questions import OpenQuestion, is_question_list, load_question_list
from oreqa.datasets.reqa import load_paragraphs
from oreqa.datasets.splits import split_articles
from oreqa.datasets.squad import Paragraph, readable_title
from oreqa.errors import InputError
from oreqa.files import append_jsonl, drop_torn_line, need, read_jsonl
from oreqa.index.search import Index
from oreqa.mining.passages import bm25_passages
from oreqa.models.reader.reader import CHUNK, Reader, Text


@dataclass(frozen=True, slots=True)
class Predicted:
    """A question with the passages that were read for it, ``(title, text)``, and the reader's best spans in them.

    ``right`` says which spans are an answer after normalisation, or match the question's pattern.
    """

    id: str
    question: str
    passages: tuple[tuple[str, str], ...]
    spans: tuple[Span, ...]
    right: tuple[bool, ...]


def mine_predictions(
    files: Sequence[Path],
    reader: Reader,
    out: Path,
    passages: int,
    top: int,
    questions: int | None = None,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
    index: Index | None = None,
) -> int:
    """Read the ``passages`` best of BM25 for the training questions of each file, and keep the ``top`` spans of each.

    A file is one of SQuAD or MRQA, whose held-out articles are passed over, or a list of questions with answers or patterns,
    for which ``index`` is searched. Spans that lie inside one another are kept: the best answer's neighbours are what a
    re-ranker meets, too. ``questions`` are drawn of each file, all if left out. Rows are appended to ``out`` as they are
    made: what it holds already is kept, so that an interrupted run goes on. Returns the number of its rows. Raises
    InputError if they were made by another reader or with another ``passages`` or ``top``.
    """
    if index is not None and not any(is_question_list(file) for file in files):
        raise InputError(f"{files[0]}: it has paragraphs of its own, which are searched; leave --index out")
    made = f"{reader.stamp} passages={passages} top={top} of all"
    drop_torn_line(out)
    done = set()
    for number, row in read_jsonl(out) if out.is_file() else ():
        if row.get("made") != made:
            raise InputError(f"{out}, line {number}: made by another reader or with other settings; choose another file")
        done.add(row["id"])
    count = len(done)
    for file in files:
        asked, paragraphs = _training_questions(file, index)
        random.Random(seed).shuffle(asked)
        wanted = [question for question in asked[:questions] if question.id not in done]
        lists = _retrieved(wanted, paragraphs, index, passages)
        for begin in range(0, len(wanted), CHUNK):
            chunk = wanted[begin : begin + CHUNK]
            texts = [next(lists) for _ in chunk]
            rows = []
            for question, read, spans in zip(
                chunk, texts, reader.read([question.text for question in chunk], texts, top), strict=True
            ):
                best = (spans if reader.folder.shared else _by_selection(spans))[:top]
                rows.append({
                    "id": question.id, "question": question.text, "passages": read, "made": made,
                    "spans": [[s.passage_number, s.start, s.end, round(s.score, 4)] for s in best],
                    "right": _right(question, best),
                })  # fmt: skip
            append_jsonl(out, rows)
            count += len(rows)
            if progress:
                progress(len(rows))
    return count


def _training_questions(file: Path, index: Index | None) -> tuple[list[OpenQuestion], list[Paragraph]]:
    """Questions with an answer, and the paragraphs that they are asked of; a list of questions has none."""
    if is_question_list(file):
        if index is None:
            raise InputError(f"{file}: its questions have no paragraphs; name the index to search with --index")
        listed = [question for question in load_question_list(file) if question.answers or question.pattern is not None]
        return [replace(question, id=f"{file.name}#{question.id}") for question in listed], []
    paragraphs, _ = split_articles(load_paragraphs(file))
    asked = [question for paragraph in paragraphs for question in paragraph.questions if question.answers]
    return [OpenQuestion(q.id, q.text, tuple(gold.text for gold in q.answers)) for q in asked], paragraphs


def _retrieved(
    asked: Sequence[OpenQuestion], paragraphs: Sequence[Paragraph], index: Index | None, depth: int
) -> Iterator[list[Text]]:
    """The passages that are read for each question, ``(title, text)``."""
    texts = [question.text for question in asked]
    if paragraphs:
        for best in bm25_passages(texts, [p.text for p in paragraphs], depth):
            yield [(readable_title(paragraphs[p].title), paragraphs[p].text) for p in best]
    elif index is not None:
        for begin in range(0, len(texts), CHUNK):
            for hits in index.search(texts[begin : begin + CHUNK], depth, "hybrid", "passage"):
                yield [(passage_head(hit.passage.title, hit.passage.heading), hit.passage.text) for hit in hits]


def _by_selection(spans: Sequence[Span]) -> list[Span]:
    """Spans that were normalised inside their passage, scored with the log-probability of the passage, too, best first."""
    logits = {span.passage_number: span.parts["selection"] for span in spans}
    total = float(np.logaddexp.reduce(list(logits.values()))) if logits else 0.0
    scored = [replace(span, score=span.score + logits[span.passage_number] - total) for span in spans]
    return sorted(scored, key=lambda span: -span.score)


def _right(question: OpenQuestion, spans: Sequence[Span]) -> list[bool]:
    """Which spans are an answer after normalisation, or match the pattern from their beginning."""
    if question.pattern is not None:
        return [match_pattern(span.text, question.pattern) for span in spans]
    golds = {normalize_answer(answer) for answer in question.answers}
    return [normalize_answer(span.text) in golds for span in spans]


def load_predictions(path: Path) -> Iterator[Predicted]:
    """Read what was mined. Raises InputError that names the line of a mistake."""
    for number, row in read_jsonl(path):
        where = f"{path}, line {number}"
        try:
            passages = tuple((str(title), str(text)) for title, text in need(row, "passages", list, where))
            spans = tuple(_span(passages, entry) for entry in need(row, "spans", list, where))
        except (TypeError, ValueError, IndexError):
            raise InputError(f"{where}: a passage is not [title, text] or a span not [passage, start, end, score]") from None
        right = tuple(bool(value) for value in need(row, "right", list, where))
        yield Predicted(need(row, "id", str, where), need(row, "question", str, where), passages, spans, right)


def _span(passages: Sequence[tuple[str, str]], entry: Sequence[Any]) -> Span:
    place, start, end, score = entry
    return Span(passages[place][1][start:end], start, end, place, float(score), {"span": float(score)})
