"""Questions asked of an index: a reader learns from the passages that are retrieved for them (Karpukhin et al. 2020).

Passages are tokenised once, and the windows drawn for an epoch are made batch by batch: the passages of all epochs would
not fit into memory.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from oreqa.core import Mode
from oreqa.datasets.load import answered_questions
from oreqa.datasets.questions import OpenQuestion, answer_ranges
from oreqa.errors import InputError
from oreqa.index.search import Index
from oreqa.mining.predictions import search_texts
from oreqa.models.graph.windows import Text, Tokens
from oreqa.models.reader.inputs import ReaderInputs
from oreqa.progress import Advance
from oreqa.training.reader.examples import AnswerSpans, Drawing, Group, WindowSpans, tokens_of, windows_with_answers
from oreqa.training.reader.recipe import DataPart

_SPECIAL_TOKENS = 6
"""The most special tokens between the texts of a window."""


@dataclass(frozen=True, slots=True)
class _RetrievedQuestion:
    """A question: its tokens, the passages with an answer, with its characters, and those without."""

    tokens: Tokens
    positives: list[AnswerSpans]
    others: list[int]


@dataclass(frozen=True, slots=True)
class RetrievedGroup:
    """The passages drawn for a question in an epoch; for a ``positive`` one, the window is drawn by ``seed``."""

    part: RetrievedPart = field(repr=False)
    number: int
    positive: AnswerSpans | None
    negatives: tuple[int, ...]
    seed: float

    @property
    def size(self) -> tuple[int, int]:
        """The tokens of the longest window, and the number of windows."""
        places = [*self.negatives, *([self.positive[0]] if self.positive else [])]
        return max(self.part.length(self.number, place) for place in places), len(places)

    def windowed(self) -> Group:
        """Return the windows with the tokens of the answers."""
        return self.part.group(self)


def retrieve(index: Index, questions: Sequence[OpenQuestion], depth: int, mode: Mode, advance: Advance) -> list[list[Text]]:
    """Return the ``depth`` best passages for each question."""
    retrieved = []
    for texts in search_texts(index, [question.text for question in questions], depth, mode):
        retrieved.append(texts)
        advance(1)
    return retrieved


class RetrievedPart:
    """A file's prepared questions: as tokens, with the ``depth`` passages that the index returns for each.

    Answers are looked for in all of them (distant supervision). ``unanswered`` counts the questions whose passages contain
    none. Raises InputError for a file without an answered question.
    """

    def __init__(
        self, part: DataPart, index: Index, mode: Mode, inputs: ReaderInputs, drawing: Drawing, advance: Advance
    ) -> None:
        self._inputs, self._drawing = inputs, drawing
        questions = answerable_of(part.file)
        retrieved = retrieve(index, questions, drawing.depth, mode, advance)
        numbers = {text: number for number, text in enumerate(dict.fromkeys(t for texts in retrieved for t in texts))}
        self._texts = tokens_of(inputs, [text for _, text in numbers])
        titles = tokens_of(inputs, [title for title, _ in numbers])
        self._titles: Sequence[Tokens | None] = titles if part.titles else [None] * len(titles)
        self._questions = []
        tokens = tokens_of(inputs, [question.text for question in questions])
        for question, question_tokens, texts in zip(questions, tokens, retrieved, strict=True):
            ranges = {numbers[text]: answer_ranges(text[1], question) for text in texts}
            positives = [(place, spans) for place, spans in ranges.items() if spans]
            negatives = [place for place, spans in ranges.items() if not spans]
            self._questions.append(_RetrievedQuestion(question_tokens, positives, negatives))
        self.unanswered = sum(not row.positives for row in self._questions)

    def draw(self, questions: int | None, rng: random.Random, advance: Advance) -> list[RetrievedGroup]:
        """Return one epoch: for every question, or the requested number, one passage with an answer and others without.

        A share of ``unanswerable`` questions is also asked of the others only.
        """
        drawing, groups = self._drawing, []
        for number in rng.sample(range(len(self._questions)), min(questions or len(self._questions), len(self._questions))):
            row = self._questions[number]
            as_unanswerable = rng.random() < drawing.unanswerable
            negative_count = int(drawing.negatives) + (rng.random() < drawing.negatives % 1)
            wrong = rng.sample(row.others, min(len(row.others), negative_count + as_unanswerable))
            positive = next(filter(lambda p: self._right(number, p), rng.sample(row.positives, len(row.positives))), None)
            if positive is not None:
                groups.append(RetrievedGroup(self, number, positive, tuple(wrong[:negative_count]), rng.random()))
            if as_unanswerable and len(wrong) > negative_count:
                groups.append(RetrievedGroup(self, number, None, tuple(wrong[negative_count:]), rng.random()))
            advance(1)
        return groups

    def length(self, number: int, place: int) -> int:
        """Return the tokens of a question with a passage, at most those of a window."""
        title = self._titles[place]
        texts = (self._questions[number].tokens, self._texts[place], *([title] if title else []))
        return min(self._inputs.max_tokens, sum(len(tokens.ids) for tokens in texts) + _SPECIAL_TOKENS)

    def group(self, drawn: RetrievedGroup) -> Group:
        """Return a window of each passage, the first with an answer if there is a positive one."""
        rng = random.Random(drawn.seed)
        rows = [rng.choice(self._right(drawn.number, drawn.positive))] if drawn.positive else []
        rows += [rng.choice(self._windows(drawn.number, (place, []))) for place in drawn.negatives]
        return Group.of(rows)

    def _right(self, number: int, positive: AnswerSpans) -> list[WindowSpans]:
        """Return the windows with an answer, some of whose tokens may be cut off."""
        return [(window, spans) for window, spans in self._windows(number, positive) if spans]

    def _windows(self, number: int, answer_spans: AnswerSpans) -> list[WindowSpans]:
        place, spans = answer_spans
        tokens = self._questions[number].tokens
        return windows_with_answers(self._inputs, tokens, self._titles[place], self._texts[place], spans)


def answerable_of(file: Path, held_out: bool = False) -> list[OpenQuestion]:
    """Return a file's questions with an answer. Raises InputError if there are none."""
    questions = answered_questions(file, held_out)
    if not questions:
        raise InputError(f"{file}: it holds no question with an answer")
    return questions
