"""The data for fine-tuning on retrieved passages: the passages, and which of them answer each question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.arrays import Floats, Ids
from oreqa.core import Passage
from oreqa.corpus.splitter import passage_head
from oreqa.datasets.load import answered_questions, load_passages
from oreqa.datasets.questions import OpenQuestion, answer_ranges
from oreqa.errors import InputError
from oreqa.files import resume_rows
from oreqa.index.best import best_sentences
from oreqa.index.passages import index_passages
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.encoder.folder import EncoderFolder, encoder_fingerprint
from oreqa.models.graph.windows import Text
from oreqa.progress import Advance, Progress
from oreqa.provenance import fingerprint
from oreqa.visible import counted

TOGETHER = 64
"""Questions matched and stored at a time."""


@dataclass(frozen=True, slots=True)
class Collection:
    """The passages to search: titles and texts, and their fixed vectors ``[passages, D]``."""

    texts: Sequence[Text]
    vectors: Floats
    fingerprint: str
    """A hash of the passages and of the encoder that made the vectors."""


@dataclass(frozen=True, slots=True)
class MatchedQuestion:
    """A question, and the numbers of passages that contain an answer among those retrieved before fine-tuning."""

    question: OpenQuestion
    matches: Ids = field(repr=False)


def open_collection(
    index: Path | None,
    corpus: Path | None,
    folder: EncoderFolder,
    passages: int,
    work: Path,
    device: str,
    progress: Progress,
) -> Collection:
    """Return the passages of an ``index``, or of a ``corpus`` that is indexed in the folder ``work``.

    Raises InputError for an index of another encoder, or with fewer ``passages`` than are read.
    """
    if corpus is not None:
        settings = Settings(model=str(folder.path))
        opened = index_passages(work / "index", load_passages(corpus), settings, device, progress)
    else:
        assert index is not None
        opened = Index.open(index, device)
    with opened:
        if opened.fingerprint != encoder_fingerprint(folder):
            raise InputError(
                f"{opened.folder}: its vectors are of another encoder; index the passages with --model {folder.path}"
            )
        texts = [_text(passage) for passage in opened.passages()]
        if len(texts) < passages:
            raise InputError(
                f"{opened.folder}: it holds {counted(len(texts), 'passage')}, and passages = {passages} are read"
            )
        return Collection(texts, np.array(opened.passage_vectors()), f"{opened.fingerprint} {opened.content_fingerprint}")


def _text(passage: Passage) -> Text:
    return passage_head(passage.title, passage.heading), passage.text


def match_questions(
    collection: Collection,
    vectors: Floats,
    questions: Sequence[OpenQuestion],
    depth: int,
    file: Path,
    advance: Advance,
) -> list[MatchedQuestion]:
    """Return the questions, each with the passages that contain an answer among the ``depth`` nearest to its vector.

    ``vectors`` (``[questions, D]``) are those of the retriever before fine-tuning. Rows are stored in ``file``: an
    interrupted run resumes, and runs with the same questions, passages and retriever share them.
    """
    lowered = [text.casefold() for _, text in collection.texts]

    def make(begin: int, end: int) -> list[dict[str, Any]]:
        rows = []
        for number, scores in enumerate(vectors[begin:end] @ collection.vectors.T, begin):
            nearest = np.sort(best_sentences(scores, depth)).tolist()
            matching = [
                place for place in nearest if _has_answer(questions[number], collection.texts[place][1], lowered[place])
            ]
            rows.append({"matches": matching})
        return rows

    decisive = [collection.fingerprint, depth, [[q.text, q.answers, q.pattern] for q in questions]]
    rows = resume_rows(file, fingerprint(decisive), len(questions), TOGETHER, make, advance)
    return [
        MatchedQuestion(question, np.array(row["matches"], np.int64)) for question, row in zip(questions, rows, strict=True)
    ]


def load_questions(files: Iterable[Path]) -> list[OpenQuestion]:
    """Return the training questions. Raises InputError for a file without an answered question."""
    questions: list[OpenQuestion] = []
    for file in files:
        answered = answered_questions(file)
        if not answered:
            raise InputError(f"{file}: it holds no question with an answer")
        questions += answered
    return questions


def _has_answer(question: OpenQuestion, text: str, lowered: str) -> bool:
    """Return whether a passage contains an answer. Most lack its first word, and testing that is a hundred times as fast."""
    if question.pattern is None:
        firsts = [answer.split()[0].casefold() for answer in question.answers if answer.split()]
        if not any(first in lowered for first in firsts):
            return False
    return bool(answer_ranges(text, question))
