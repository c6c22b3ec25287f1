"""The reader's own predictions on training questions, from which the span re-ranker learns (RECONSIDER, section 3)."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.arguments import as_path, as_paths, choice, count
from oreqa.core import MODES, Mode, Span
from oreqa.corpus.splitter import passage_head
from oreqa.datasets.load import data_kind, load_question_file
from oreqa.datasets.paragraphs import Paragraph, readable_title
from oreqa.datasets.questions import OpenQuestion, is_exact
from oreqa.defaults import DEFAULT_READER
from oreqa.errors import InputError
from oreqa.files import append_jsonl, byte_lines, drop_torn_line, need, need_id, read_jsonl
from oreqa.index.search import Index
from oreqa.mining.negatives import bm25_passages
from oreqa.models.graph.precision import used_precision
from oreqa.models.graph.windows import Text
from oreqa.models.reader.reader import CHUNK, Reader
from oreqa.paths import default_index
from oreqa.progress import Progress, no_progress, show
from oreqa.provenance import fingerprint


@dataclass(frozen=True, slots=True)
class ReaderPredictions:
    """A question with the passages read for it, ``(title, text)``, and the reader's best spans in them.

    ``right`` says which spans are an answer after normalisation, or match the question's pattern.
    """

    id: str
    question: str
    passages: tuple[tuple[str, str], ...]
    spans: tuple[Span, ...]
    right: tuple[bool, ...]


def mine_predictions(
    data: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    reader: str | Path | Reader = DEFAULT_READER,
    index: str | Path | Index | None = None,
    passages: int = 5,
    mode: Mode = "hybrid",
    k: int = 100,
    draw: int | None = None,
    seed: int = 0,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> int:
    """Read the best ``passages`` for the training questions of each file, and keep the ``k`` best spans of each question.

    A file is either SQuAD or MRQA, whose held-out articles are skipped and whose paragraphs are searched by BM25, or a
    question list with answers or patterns, for which ``index`` is searched by ``mode``; the default index is
    $OREQA_INDEX or .oreqa. The paper uses the 100 best of a dense search. Nested spans are kept, as a re-ranker also
    sees neighbours of the best answer. ``draw`` questions are drawn from each file by ``seed``, by default all. The
    reader and the index may be loaded ones.

    Rows are appended to ``out`` as they come, so that an interrupted run resumes. Returns the number of its rows. Raises
    InputError for invalid numbers, for data that cannot be read, and if the rows of ``out`` were mined from other data, by
    another reader or with other settings.
    """
    choice(mode, MODES, "mode")
    files, out = as_paths(data), as_path(out, "out")
    passages, k, seed = count(passages, "passages"), count(k, "k"), count(seed, "seed", 0)
    draw = None if draw is None else count(draw, "draw")
    lists = [file for file in files if data_kind(file) in ("questions", "pairs")]
    named = default_index() if lists and index is None else index
    opened = named if isinstance(named, Index) or named is None else Index.open(named, device)
    loaded = reader if isinstance(reader, Reader) else Reader(reader, device=device)
    if opened is not None and not lists:
        raise InputError(f"{files[0]}: it has paragraphs of its own, which are searched; leave index out")
    if mode != "hybrid" and len(lists) < len(files):
        paragraph_file = next(file for file in files if file not in lists)
        raise InputError(f"{paragraph_file}: BM25 searches its paragraphs; mode = {mode} is for lists of questions")
    if opened is None and lists:
        raise InputError(f"{lists[0]}: its questions have no paragraphs; name the index to search")
    fingerprints = [
        _fingerprint(file, loaded, opened if file in lists else None, passages, mode, k, device) for file in files
    ]
    done = _rows_done(out, fingerprints)
    with show(progress, "reading questions") as advance:
        for file, file_fingerprint in zip(files, fingerprints, strict=True):
            drawn, paragraphs = _training_questions(file, file in lists)
            random.Random(seed).shuffle(drawn)
            ids = {question_id for row_fingerprint, question_id in done if row_fingerprint == file_fingerprint}
            waiting = [question for question in drawn[:draw] if question.id not in ids]
            texts = _retrieved(waiting, paragraphs, opened, passages, mode)
            for begin in range(0, len(waiting), CHUNK):
                chunk = waiting[begin : begin + CHUNK]
                rows = _read(chunk, [next(texts) for _ in chunk], loaded, k, file_fingerprint)
                append_jsonl(out, rows)
                done += [(file_fingerprint, row["id"]) for row in rows]
                advance(len(rows))
    return len(done)


def _fingerprint(file: Path, reader: Reader, index: Index | None, passages: int, mode: Mode, k: int, device: str) -> str:
    """Return a hash of everything that determines the rows of a file's questions; ids are unique only within a file."""
    digest = hashlib.sha256()
    for line in byte_lines(file):
        digest.update(line)
    decisive: list[Any] = [digest.hexdigest(), reader.fingerprint, used_precision(device, "reader"), passages, k]
    if index is not None:
        decisive += [
            index.fingerprint,
            index.content_fingerprint,
            dict(index.weights("passage", mode)),
            used_precision(device, "encoder"),
        ]
    return fingerprint(decisive)


def _rows_done(out: Path, fingerprints: Collection[str]) -> list[tuple[str, str]]:
    """Return fingerprint and id of each row in the file. Raises InputError for a row with none of the ``fingerprints``."""
    drop_torn_line(out)
    done = []
    for number, row in read_jsonl(out) if out.is_file() else ():
        where = f"{out}, line {number}"
        if row.get("fingerprint") not in fingerprints:
            raise InputError(f"{where}: made from other data, by another reader or with other settings; choose another file")
        done.append((row["fingerprint"], need_id(row, "id", where)))
    return done


def _read(
    questions: Sequence[OpenQuestion], texts: Sequence[list[Text]], reader: Reader, k: int, file_fingerprint: str
) -> list[dict[str, Any]]:
    """Return the rows of questions, with the ``k`` best spans of their passages."""
    rows = []
    spans_by_question = reader.read([question.text for question in questions], texts, k=k)
    for question, passages, spans in zip(questions, texts, spans_by_question, strict=True):
        best = (spans if reader.folder.shared else by_selection(spans))[:k]
        rows.append(
            {
                "id": question.id,
                "question": question.text,
                "passages": passages,
                "fingerprint": file_fingerprint,
                "spans": [[span.passage_number, span.start, span.end, round(span.score, 4)] for span in best],
                "right": [is_exact(span.text, question) for span in best],
            }
        )
    return rows


def _training_questions(file: Path, is_list: bool) -> tuple[list[OpenQuestion], list[Paragraph]]:
    """Return questions with an answer, and the paragraphs they are asked of; a question list has none."""
    read = load_question_file(file, held_out=False)
    questions = [question for question in read.questions if question.is_answerable]
    if is_list:
        questions = [replace(question, id=f"{file.name}#{question.id}") for question in questions]
    return questions, read.paragraphs


def _retrieved(
    questions: Sequence[OpenQuestion], paragraphs: Sequence[Paragraph], index: Index | None, depth: int, mode: Mode
) -> Iterator[list[Text]]:
    """Yield the passages read for each question, ``(title, text)``."""
    texts = [question.text for question in questions]
    if paragraphs:
        for best in bm25_passages(texts, [p.text for p in paragraphs], depth):
            yield [(readable_title(paragraphs[p].title), paragraphs[p].text) for p in best]
    elif index is not None:
        yield from search_texts(index, texts, depth, mode)


def search_texts(index: Index, questions: Sequence[str], depth: int, mode: Mode) -> Iterator[list[Text]]:
    """Yield the ``depth`` best passages of an index for each question, in the form that a reader takes."""
    for begin in range(0, len(questions), CHUNK):
        for hits in index.search(questions[begin : begin + CHUNK], depth, mode=mode, unit="passage"):
            yield [(passage_head(hit.passage.title, hit.passage.heading), hit.passage.text) for hit in hits]


def by_selection(spans: Sequence[Span]) -> list[Span]:
    """Return spans normalised inside their passage, best first with the log-probability of the passage added."""
    logits: dict[int, float] = {}
    for span in spans:  # a passage read in several windows has the logit of the one that selects it most
        logits[span.passage_number] = max(span.scores["passage_logit"], logits.get(span.passage_number, -math.inf))
    total = float(np.logaddexp.reduce(list(logits.values()))) if logits else 0.0
    scored = [replace(span, score=span.score + logits[span.passage_number] - total) for span in spans]
    return sorted(scored, key=lambda span: -span.score)


def load_predictions(path: Path) -> Iterator[ReaderPredictions]:
    """Read a file of mine_predictions. Raises InputError naming the line of a mistake."""
    for number, row in read_jsonl(path):
        where = f"{path}, line {number}"
        try:
            passages = tuple((str(title), str(text)) for title, text in need(row, "passages", list, where))
            spans = tuple(_span(passages, entry) for entry in need(row, "spans", list, where))
        except (TypeError, ValueError, IndexError):
            raise InputError(f"{where}: a passage is not [title, text] or a span not [passage, start, end, score]") from None
        right = tuple(bool(value) for value in need(row, "right", list, where))
        yield ReaderPredictions(need(row, "id", str, where), need(row, "question", str, where), passages, spans, right)


def _span(passages: Sequence[tuple[str, str]], entry: Sequence[Any]) -> Span:
    place, start, end, score = entry
    return Span(passages[place][1][start:end], start, end, place, float(score), {"span": float(score)})
