"""The reader's own predictions on training questions, from which the span re-ranker learns (RECONSIDER, section 3)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oreqa.core import Span
from oreqa.datasets.answers import normalize_answer
from oreqa.datasets.files import append_jsonl, drop_torn_line, need, read_jsonl
from oreqa.datasets.reqa import load_paragraphs
from oreqa.datasets.splits import split_articles
from oreqa.datasets.squad import readable_title
from oreqa.errors import InputError
from oreqa.mining.passages import bm25_passages
from oreqa.runtime.reader import CHUNK, PassageReader


@dataclass(frozen=True, slots=True)
class Predicted:
    """A question with the passages that were read for it, ``(title, text)``, and the reader's best spans in them.

    ``right`` says which spans are an answer after normalisation.
    """

    id: str
    question: str
    passages: tuple[tuple[str, str], ...]
    spans: tuple[Span, ...]
    right: tuple[bool, ...]


def mine_predictions(
    files: Sequence[Path],
    reader: PassageReader,
    out: Path,
    passages: int,
    top: int,
    questions: int | None = None,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Read the ``passages`` best of BM25 for the training questions of each file, and keep the ``top`` spans of each.

    Spans that lie inside one another are kept: the best answer's neighbours are what a re-ranker meets, too.
    ``questions`` are drawn of each file, all if left out; held-out articles are passed over. Rows are appended to ``out``
    as they are made: what it holds already is kept, so that an interrupted run goes on. Returns the number of its rows.
    Raises InputError if they were made by another reader or with another ``passages`` or ``top``.
    """
    made = f"{reader.stamp} passages={passages} top={top}"
    drop_torn_line(out)
    done = set()
    for number, row in read_jsonl(out) if out.is_file() else ():
        if row.get("made") != made:
            raise InputError(f"{out}, line {number}: made by another reader or with other settings; choose another file")
        done.add(row["id"])
    count = len(done)
    for file in files:
        paragraphs, _ = split_articles(load_paragraphs(file))
        asked = [question for paragraph in paragraphs for question in paragraph.questions if question.answers]
        random.Random(seed).shuffle(asked)
        wanted = [question for question in asked[:questions] if question.id not in done]
        lists = bm25_passages([question.text for question in wanted], [p.text for p in paragraphs], passages)
        for begin in range(0, len(wanted), CHUNK):
            chunk = wanted[begin : begin + CHUNK]
            texts = [[(readable_title(paragraphs[p].title), paragraphs[p].text) for p in next(lists)] for _ in chunk]
            found = reader.read([question.text for question in chunk], texts, -(-top // max(passages, 1)))
            rows = []
            for question, read, spans in zip(chunk, texts, found, strict=True):
                golds = {normalize_answer(gold.text) for gold in question.answers}
                best = spans[:top]
                rows.append({
                    "id": question.id, "question": question.text, "passages": read, "made": made,
                    "spans": [[s.passage, s.start, s.end, round(s.score, 4)] for s in best],
                    "right": [normalize_answer(s.text) in golds for s in best],
                })  # fmt: skip
            append_jsonl(out, rows)
            count += len(rows)
            if progress:
                progress(len(rows))
    return count


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
