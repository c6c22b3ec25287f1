"""A reader of Haystack's Documents, replacing its ExtractiveReader."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any

from oreqa.arguments import count, question_list, share
from oreqa.defaults import DEFAULT_READER
from oreqa.integrations.reading import answered_probability
from oreqa.integrations.shared import missing_extra
from oreqa.models.reader.reader import Reader

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.dataclasses import ExtractedAnswer
except ModuleNotFoundError as error:
    raise missing_extra(error, "haystack", "haystack-ai", "haystack") from None


@component
class OreqaReader:
    """Returns the ``top_k`` best answers from documents, by a reader's name or folder.

    With ``no_answer``, one of the answers has no text (``data`` is None): its score is the probability that no document
    answers. Answers with a probability below ``score_threshold`` are dropped. Raises InputError for invalid values,
    ModelError from ``warm_up`` or ``run`` for a model that cannot be loaded.
    """

    def __init__(
        self, model: str = DEFAULT_READER, top_k: int = 20, score_threshold: float | None = None, no_answer: bool = True
    ) -> None:
        count(top_k, "top_k")
        self.model, self.top_k, self.no_answer = str(Path(model)), top_k, no_answer
        self.score_threshold = None if score_threshold is None else share(score_threshold, "score_threshold")
        self._reader: Reader | None = None
        self._lock = threading.Lock()

    def to_dict(self) -> dict[str, Any]:
        settings = {"top_k": self.top_k, "score_threshold": self.score_threshold, "no_answer": self.no_answer}
        return dict(default_to_dict(self, model=self.model, **settings))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> OreqaReader:
        return default_from_dict(cls, data)  # type: ignore[no-any-return]  # checked without Haystack

    def warm_up(self) -> None:
        """Load the model."""
        with self._lock:
            self._reader = self._reader or Reader(self.model)

    @component.output_types(answers=list[ExtractedAnswer])  # type: ignore[untyped-decorator]
    def run(
        self,
        query: str,
        documents: list[Document],
        top_k: int | None = None,
        score_threshold: float | None = None,
        no_answer: bool | None = None,
    ) -> dict[str, list[ExtractedAnswer]]:
        """Return the best answers to a ``query`` in ``documents``, best first; documents without text are skipped."""
        k = count(self.top_k if top_k is None else top_k, "top_k")
        (text,) = question_list(query)
        self.warm_up()
        assert self._reader is not None
        with_text = [document for document in documents if document.content]
        passages = [[("", str(document.content))] for document in with_text]
        answers, unanswered = [], []
        for document, reading in zip(with_text, self._reader.readings([text] * len(passages), passages, k), strict=True):
            answered = answered_probability(reading.spans)
            unanswered.append(1 - answered)
            answers += _answers(text, document, reading.spans, answered)
        if self.no_answer if no_answer is None else no_answer:
            answers.append(ExtractedAnswer(query=text, score=math.prod(unanswered)))
        lowest = self.score_threshold if score_threshold is None else share(score_threshold, "score_threshold")
        kept = [answer for answer in answers if lowest is None or answer.score >= lowest]
        return {"answers": sorted(kept, key=lambda answer: -answer.score)[:k]}


def _answers(question: str, document: Document, spans: Any, answered: float) -> list[ExtractedAnswer]:
    """Return the answers from a document, without those that overlap a better one."""
    kept: list[Any] = []
    for span in spans:
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
    return [
        ExtractedAnswer(
            query=question,
            score=math.exp(span.score) * answered,
            data=span.text,
            document=document,
            document_offset=ExtractedAnswer.Span(span.start, span.end),
        )
        for span in kept
    ]
