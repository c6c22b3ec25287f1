"""Filters of generated questions: wording (ProQA), round trip, and the classifier's probability."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from oreqa.answering.reading import read_answers
from oreqa.answering.reranking import probability
from oreqa.core import Passage
from oreqa.generation.drafts import Draft, answer_sentence
from oreqa.index.search import Index
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.reader.reader import Reader
from oreqa.text.answers import f1_score, normalize_answer
from oreqa.text.stop_words import STOP_WORDS

MIN_QUESTION_WORDS = 3
"""Shorter questions, in words, ask for nothing in particular."""

_EMPTY_WORDS = STOP_WORDS | {
    "example",
    "kind",
    "long",
    "meaning",
    "name",
    "number",
    "one",
    "purpose",
    "sort",
    "thing",
    "type",
}
"""Words that cannot form a question by themselves, as in "What is the name of it?"."""

ROUND_TRIP_PASSAGES = 5
"""Passages retrieved and read for a question."""

REASONS: Mapping[str, str] = {
    "vague": "the question asks for nothing in particular",
    "answer_inside": "the question contains its answer",
    "repeated": "another answer of the documents has the same question",
    "round_trip": "the reader finds another answer among the passages retrieved for the question",
    "improbable": "the classifier doubts that the sentence answers the question",
}
"""Why questions are dropped."""


def text_reason(question: str, answer: str) -> str | None:
    """Return why a question is dropped for its wording alone; None if it is kept."""
    words = normalize_answer(question)
    if len(words.split()) < MIN_QUESTION_WORDS or _EMPTY_WORDS.issuperset(words.split()):
        return "vague"
    # Whole words: "an" is not in "Japan". An answer that normalisation empties ("the") is in every question.
    return "answer_inside" if f" {normalize_answer(answer)} " in f" {words} " else None


def round_trip_f1(index: Index, reader: Reader, questions: Sequence[str], answers: Sequence[str]) -> list[float]:
    """Return F1 of the reader's best answer to each question against the original answer (Alberti et al. 2019).

    The reader reads the ROUND_TRIP_PASSAGES best passages that the index retrieves for the question, so that a question that
    does not lead back to its passage fails, too.
    """
    if not questions:
        return []
    hits = index.search(list(questions), ROUND_TRIP_PASSAGES, mode="hybrid", unit="passage")
    passages = [[hit.passage for hit in ranking] for ranking in hits]
    retrieval = [[hit.score for hit in ranking] for ranking in hits]
    spans = read_answers(reader, None, questions, passages, retrieval)
    return [f1_score(ranked[0].span.text, gold) if ranked else 0.0 for ranked, gold in zip(spans, answers, strict=True)]


class Filters:
    """All filters of individual questions; those without a model are skipped, and without a reader, so is the index.

    A question is kept if the ``reader`` finds its answer with an F1 of at least ``min_f1`` (``round_trip_f1``), and the
    ``classifier`` gives the answer's sentence at least ``min_probability``. ``fingerprint`` identifies the models and
    limits.
    """

    def __init__(
        self,
        index: Index | None,
        reader: Reader | None,
        min_f1: float,
        classifier: CrossEncoder | None,
        min_probability: float,
    ) -> None:
        self._index = index
        self._reader, self._min_f1 = reader, min_f1
        self._classifier, self._min_probability = classifier, min_probability
        judges = (reader, min_f1), (classifier, min_probability)
        self.fingerprint = json.dumps([model and [model.fingerprint, limit] for model, limit in judges])

    def __call__(self, drafts: Sequence[Draft], passages: Sequence[Passage]) -> list[Draft]:
        """Return the drafts in order, each with the first reason to drop it, or none."""
        checked = [replace(draft, dropped=text_reason(draft.question, draft.answer)) for draft in drafts]
        if self._reader is not None:
            assert self._index is not None
            kept = [i for i, draft in enumerate(checked) if draft.dropped is None]
            scores = round_trip_f1(
                self._index, self._reader, [checked[i].question for i in kept], [checked[i].answer for i in kept]
            )
            for i, f1 in zip(kept, scores, strict=True):
                if f1 < self._min_f1:
                    checked[i] = replace(checked[i], dropped="round_trip")
        if self._classifier is not None:
            kept = [i for i, draft in enumerate(checked) if draft.dropped is None]
            sentences = [[answer_sentence(passages[checked[i].passage], checked[i])] for i in kept]
            logits = self._classifier.score([checked[i].question for i in kept], sentences)
            for i, logit in zip(kept, logits, strict=True):
                p = round(float(probability(logit)[0]), 4)
                checked[i] = replace(checked[i], probability=p, dropped=None if p >= self._min_probability else "improbable")
        return checked
