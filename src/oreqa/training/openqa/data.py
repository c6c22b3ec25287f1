"""What fine-tuning on retrieved passages needs before it begins: the passages, and which of them answer each question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.core import Passage
from oreqa.corpus.splitter import passage_head
from oreqa.datasets.load import answered_questions, load_passages
from oreqa.datasets.questions import OpenQuestion, answer_ranges
from oreqa.errors import InputError
from oreqa.files import resume_rows
from oreqa.index.passages import index_passages
from oreqa.index.scoring import best_sentences
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.encoder.folder import EncoderFolder
from oreqa.models.graph.cache import cached_fingerprint
from oreqa.models.reader.reader import Text
from oreqa.progress import Advance, Progress
from oreqa.provenance import fingerprint
from oreqa.training.openqa.recipe import OpenQARecipe

TOGETHER = 64
"""Questions whose matches are looked for, and stored, together."""

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Collection:
    """The passages that are searched: titles and texts, and vectors ``[passages, D]``, which stay as they are."""

    texts: Sequence[Text]
    vectors: Vectors
    fingerprint: str
    """A hash of the passages and of the encoder that made the vectors."""


@dataclass(frozen=True, slots=True)
class MatchedQuestion:
    """A question, and the numbers of the passages that hold an answer among those that the untuned retriever finds."""

    question: OpenQuestion
    matches: NDArray[np.int64] = field(repr=False)


def open_collection(recipe: OpenQARecipe, folder: EncoderFolder, work: Path, device: str, progress: Progress) -> Collection:
    """The recipe's passages: of its index, or of its corpus, which is indexed in the folder ``work``.

    Raises InputError for an index that another encoder made, or that holds fewer passages than are read.
    """
    if recipe.corpus is not None:
        passages = load_passages(recipe.data_root / recipe.corpus)
        index = index_passages(work / "index", passages, Settings(model=str(folder.path)), device, progress)
    else:
        assert recipe.index is not None
        index = Index.open(recipe.index, device)
    with index:
        if index.fingerprint != cached_fingerprint(folder.path):
            raise InputError(
                f"{index.folder}: its vectors are of another encoder; index the passages with --model {folder.path}"
            )
        texts = [_text(passage) for passage in index.passages()]
        if len(texts) < recipe.passages:
            raise InputError(f"{index.folder}: it holds {len(texts)} passages, and passages = {recipe.passages} are read")
        return Collection(texts, np.array(index.passage_vectors()), f"{index.fingerprint} {index.content_stamp}")


def _text(passage: Passage) -> Text:
    return passage_head(passage.title, passage.heading), passage.text


def match_questions(
    recipe: OpenQARecipe,
    collection: Collection,
    vectors: Vectors,
    questions: Sequence[OpenQuestion],
    file: Path,
    advance: Advance,
) -> list[MatchedQuestion]:
    """The questions, each with the passages that hold an answer among the ``match_depth`` nearest to its vector.

    ``vectors`` (``[questions, D]``) are those of the untuned retriever. Rows are kept in ``file``: an interrupted run
    resumes, and runs with the same questions, passages and retriever share them.
    """
    lowered = [text.casefold() for _, text in collection.texts]

    def make(begin: int, end: int) -> list[dict[str, Any]]:
        rows = []
        for number, scores in enumerate(vectors[begin:end] @ collection.vectors.T, begin):
            nearest = np.sort(best_sentences(scores, recipe.match_depth)).tolist()
            holds = [place for place in nearest if _holds(questions[number], collection.texts[place][1], lowered[place])]
            rows.append({"matches": holds})
        return rows

    decisive = [collection.fingerprint, recipe.match_depth, [[q.text, q.answers, q.pattern] for q in questions]]
    rows = resume_rows(file, fingerprint(decisive), len(questions), TOGETHER, make, advance)
    return [
        MatchedQuestion(question, np.array(row["matches"], np.int64)) for question, row in zip(questions, rows, strict=True)
    ]


def load_questions(recipe: OpenQARecipe) -> list[OpenQuestion]:
    """The questions to learn from. Raises InputError for a file that holds none with an answer."""
    questions: list[OpenQuestion] = []
    for part in recipe.data:
        of_file = answered_questions(recipe.data_root / part)
        if not of_file:
            raise InputError(f"{recipe.data_root / part}: it holds no question with an answer")
        questions += of_file
    return questions


def _holds(question: OpenQuestion, text: str, lowered: str) -> bool:
    """Whether a passage holds an answer. Most do not hold its first word: looking for that is a hundred times as fast."""
    if question.pattern is None:
        firsts = [answer.split()[0].casefold() for answer in question.answers if answer.split()]
        if not any(first in lowered for first in firsts):
            return False
    return bool(answer_ranges(text, question))
