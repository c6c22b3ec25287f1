"""Asks an index the questions to fit on, and saves what was read, so that an interrupted fit continues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from oreqa.answering.answerer import PASSAGES_TOP_K, SENTENCES_TOP_K
from oreqa.answering.combining import Combination, sentence_features, span_features
from oreqa.answering.reading import fitted_pipeline
from oreqa.answering.reading_list import hits_to_read, searched_hits
from oreqa.core import UNITS, Hit, Unit
from oreqa.datasets.questions import OpenQuestion
from oreqa.evaluation.open_scores import has_answer
from oreqa.files import resume_rows
from oreqa.fitting.examples import PlacedExample, questions_without_answers
from oreqa.fitting.measuring import FirstAnswer
from oreqa.fitting.rows import FEATURES, RERANKER_FEATURES, Row, first_score, ranked_answers, reading_rows
from oreqa.index.search import Index
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.fitted import Calibration
from oreqa.models.graph.precision import used_precision
from oreqa.models.reader.reader import Reader
from oreqa.progress import Progress, show
from oreqa.provenance import fingerprint

RIGHT = 0.5
"""The F1 from which an answer is right: at most its ends differ from an accepted one."""

SENTENCE_FEATURES = ("sentence_cosine", "passage_cosine", "sentence_coverage", "passage_coverage", "margin")

READ_TOGETHER = 16
"""Questions read and saved together: a few seconds' work."""

SEARCHED_APART = 40
"""Hits from which those that would answer a question are removed."""


@dataclass(frozen=True, slots=True)
class FittingQuestion:
    """A question to ask: of the whole index, or, ``without_answers``, of all but what answers the example."""

    question: OpenQuestion
    example: PlacedExample
    without_answers: bool = False


def fitting_questions(examples: Sequence[PlacedExample], without_answers: bool) -> list[FittingQuestion]:
    """Return each example, and, if questions ``without_answers`` are needed, each answerable one without its answers."""
    posed = [FittingQuestion(example.question, example) for example in examples]
    if without_answers:
        answerable = [example for example in examples if example.golds]
        posed += [
            FittingQuestion(q, e, True) for q, e in zip(questions_without_answers(answerable), answerable, strict=True)
        ]
    return posed


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The models that answer: a reader, or None to answer with sentences, and re-rankers of its spans and its passages."""

    reader: Reader | None
    reranker: CrossEncoder | None
    device: str
    passage_reranker: Reader | None = None

    @property
    def fingerprints(self) -> tuple[str, str]:
        """The fingerprints of reader and re-ranker, "" for none."""
        return (self.reader.fingerprint if self.reader else ""), (self.reranker.fingerprint if self.reranker else "")

    @property
    def unit(self) -> Unit:
        """The unit that is searched."""
        return "passage" if self.reader else "sentence"

    @property
    def features(self) -> tuple[str, ...]:
        """The features of its confidence."""
        if self.reader is None:
            return SENTENCE_FEATURES
        return FEATURES + RERANKER_FEATURES[self.reranker.folder.kind if self.reranker else None]

    def fitted(self, index: Index) -> tuple[Combination, Calibration | None]:
        """Return what an answerer with these models uses on the index."""
        return fitted_pipeline(*index.fitted_of(index.snapshot()), index.fingerprint, self.reader, self.reranker)

    def rows(
        self,
        index: Index,
        posed: Sequence[FittingQuestion],
        whole_documents: bool,
        file: Path,
        name: str,
        progress: Progress,
    ) -> list[Row]:
        """Return what was read for each question, resumed from ``file`` for the same index and search weights."""
        also = self.fitted(index)[0]

        def read(begin: int, end: int) -> list[Row]:
            part = posed[begin:end]
            depth = PASSAGES_TOP_K if self.reader else SENTENCES_TOP_K
            questions = [a.question for a in part]
            texts = [question.text for question in questions]
            searched = searched_hits(texts, depth, self.passage_reranker is not None)
            fetched = max(searched, SEARCHED_APART) if any(a.without_answers for a in part) else searched
            rankings = index.search(texts, fetched, mode="hybrid", unit=self.unit)
            others = [
                [hit for hit in ranking if not (a.without_answers and a.example.leaves_out(hit, whole_documents))][:searched]
                for a, ranking in zip(part, rankings, strict=True)
            ]
            hits = hits_to_read(texts, others, depth, self.passage_reranker)
            if self.reader is None:
                return [_sentence_row(a.question, question_hits) for a, question_hits in zip(part, hits, strict=True)]
            return reading_rows(self.reader, self.reranker, questions, hits, also)

        decisive: list[Any] = [
            [[asdict(a.question), sorted(a.example.passages), a.without_answers] for a in posed],
            whole_documents,
            index.content_fingerprint,
            index.fingerprint,
            {unit: dict(index.weights(unit)) for unit in UNITS},
            self.fingerprints,
            self.passage_reranker.fingerprint if self.passage_reranker else "",
            asdict(also),
            used_precision(self.device, "encoder", "reader", "reranker"),
        ]
        with show(progress, name, len(posed)) as advance:
            return resume_rows(file, fingerprint(decisive), len(posed), READ_TOGETHER, read, advance)

    def first_answers(self, rows: Sequence[Row], weights: Combination) -> list[FirstAnswer]:
        """Return the first answer to each question under these weights, judged, with the features of its confidence."""
        if self.reader is None:
            return [FirstAnswer(row["answerable"], row["right"], row["features"]) for row in rows]
        answers = []
        for row in rows:
            ranked = ranked_answers(row, weights, self.reranker is not None)
            hits = [Hit(score, None, None, 0, 0, parts) for score, parts in row["hits"]]  # type: ignore[arg-type]
            features = span_features(ranked[0], hits) if ranked else None
            answers.append(FirstAnswer(row["answerable"], first_score(row, ranked, "f1") >= RIGHT, features))
        return answers

    def right_answers(self, rows: Sequence[Row], weights: Combination) -> list[float]:
        """Return whether the first answer to each answerable question is right under these weights, as 0 or 1."""
        return [float(answer.right) for answer in self.first_answers(rows, weights) if answer.answerable]


def _sentence_row(question: OpenQuestion, hits: Sequence[Hit]) -> Row:
    if not hits:
        return {"answerable": question.is_answerable, "right": False, "features": None}
    rival = hits[1 if len(hits) > 1 else 0].score
    right = question.is_answerable and has_answer(hits[0].sentence.text, question)
    return {"answerable": question.is_answerable, "right": right, "features": sentence_features(hits[0], rival)}
