"""Training examples of the reader: questions, each with windows of passages and the answer's tokens in them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import Question, readable_title, split_articles
from oreqa.mining.negatives import bm25_passages
from oreqa.models.graph.windows import Tokens, Window, token_span
from oreqa.models.reader.inputs import ReaderInputs
from oreqa.progress import Advance
from oreqa.text.answers import normalize_answer, occurrences
from oreqa.training.loop import TensorBatch
from oreqa.training.reader.recipe import DataPart

AnswerSpans = tuple[int, list[tuple[int, int]]]
"""A passage's number, and the character ranges of the answers in it."""
WindowSpans = tuple[Window, list[tuple[int, int]]]
"""A window, and the tokens of the answers in it."""


@dataclass(frozen=True, slots=True)
class Group:
    """A question's windows; for each, the spans of its answers, in tokens of the window."""

    windows: list[Window]
    spans: list[list[tuple[int, int]]]

    @classmethod
    def of(cls, rows: Sequence[WindowSpans]) -> Group:
        return cls([window for window, _ in rows], [spans for _, spans in rows])

    @property
    def size(self) -> tuple[int, int]:
        """The tokens of the longest window, and the number of windows."""
        return max(len(window.ids) for window in self.windows), len(self.windows)

    def windowed(self) -> Group:
        """Return itself: it already has windows."""
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Which passages a question is asked of; the keys of ``ReaderRecipe``."""

    negatives: float
    unanswerable: float
    distant: bool
    """Whether ``supervision`` is ``distant``."""
    depth: int


class DataFile:
    """A prepared data file: its paragraphs and questions as tokens, and the passages retrieved for each question."""

    def __init__(self, part: DataPart, inputs: ReaderInputs, drawing: Drawing) -> None:
        self._inputs, self._drawing = inputs, drawing
        self._paragraphs, _ = split_articles(load_paragraphs(part.file))
        self._normalized: dict[int, str] = {}
        self._texts = tokens_of(inputs, [paragraph.text for paragraph in self._paragraphs])
        titles = tokens_of(inputs, [readable_title(paragraph.title) for paragraph in self._paragraphs])
        self._titles: Sequence[Tokens | None] = titles if part.titles else [None] * len(titles)
        placed = [
            (place, question)
            for place, paragraph in enumerate(self._paragraphs)
            for question in paragraph.questions
            if part.asked == "all" or bool(question.answers) == (part.asked == "answerable")
        ]
        tokens = tokens_of(inputs, [question.text for _, question in placed])
        self._questions = [(place, question, t) for (place, question), t in zip(placed, tokens, strict=True)]

    def draw(self, questions: int | None, rng: random.Random, advance: Advance) -> list[Group]:
        """Return one epoch: a group for every question, or for the requested number, and the unanswerable ones."""
        count = min(questions or len(self._questions), len(self._questions))
        drawn = rng.sample(self._questions, count)
        drawing, negatives = self._drawing, self._drawing.negatives
        as_unanswerable = [rng.random() < drawing.unanswerable for _ in drawn]
        negative_counts = [
            int(negatives) + (rng.random() < negatives % 1) for _ in drawn
        ]  # wrong passages besides the right one
        searched = [i for i in range(count) if as_unanswerable[i] or negative_counts[i] or drawing.distant]
        texts = [paragraph.text for paragraph in self._paragraphs]
        lists = bm25_passages([drawn[i][1].text for i in searched], texts, drawing.depth) if searched else []
        retrieved = {i: list(map(int, best)) for i, best in zip(searched, lists, strict=True)}
        groups = []
        for i, (place, question, tokens) in enumerate(drawn):
            positives, others = self._sort_out(place, question, retrieved.get(i, []))
            right = [(w, s) for p, spans in positives for w, s in self._windows(tokens, p, spans) if s]
            negative_passages = rng.sample(others, min(len(others), negative_counts[i] + as_unanswerable[i]))
            wrong = [rng.choice(self._windows(tokens, p, [])) for p in negative_passages]
            if not question.answers:
                groups.append(Group.of([rng.choice(self._windows(tokens, place, []))]))
            elif right:
                groups.append(Group.of([rng.choice(right), *wrong[: negative_counts[i]]]))
            if as_unanswerable[i] and len(wrong) > negative_counts[i]:
                groups.append(Group.of(wrong[negative_counts[i] :]))
            advance(1)
        return groups

    def _sort_out(self, place: int, question: Question, retrieved: list[int]) -> tuple[list[AnswerSpans], list[int]]:
        """Return the passages that contain an answer, with its characters; and retrieved ones that do not."""
        others = [p for p in retrieved if p != place and not self._mentions(p, question)]
        if not self._drawing.distant:
            return [(place, [(gold.start, gold.start + len(gold.text)) for gold in question.answers])], others
        positives = []
        for p in dict.fromkeys([place, *retrieved]):
            spans = [span for gold in question.answers for span in occurrences(self._paragraphs[p].text, gold.text)]
            if spans:
                positives.append((p, sorted(set(spans))))
        return positives, others

    def _mentions(self, place: int, question: Question) -> bool:
        if place not in self._normalized:
            self._normalized[place] = f" {normalize_answer(self._paragraphs[place].text)} "
        return any(f" {normalize_answer(gold.text)} " in self._normalized[place] for gold in question.answers)

    def _windows(self, question: Tokens, place: int, spans: list[tuple[int, int]]) -> list[WindowSpans]:
        return windows_with_answers(self._inputs, question, self._titles[place], self._texts[place], spans)


def windows_with_answers(
    inputs: ReaderInputs, question: Tokens, title: Tokens | None, passage: Tokens, spans: Sequence[tuple[int, int]]
) -> list[WindowSpans]:
    """Return the windows of a passage; ``spans`` are the character ranges of the answers in it."""
    tokens = [span for start, end in spans if (span := token_span(passage, start, end))]
    rows = []
    for window in inputs.windows(question, title, passage):
        shift = window.first - window.begin
        inside = [(a + shift, b + shift) for a, b in tokens if a >= window.begin and b + shift < window.last]
        rows.append((window, inside))
    return rows


def tokens_of(inputs: ReaderInputs, texts: Sequence[str]) -> list[Tokens]:
    """Return the tokens of each text."""
    tokens = inputs.tokenize(texts)
    return [tokens[text] for text in texts]


def collate_groups(groups: Sequence[Group]) -> TensorBatch:
    """Return the padded tensors ``[G, P, T]`` of a batch for ``losses.reading``."""
    passages = max(len(group.windows) for group in groups)
    length = max(len(window.ids) for group in groups for window in group.windows)
    answers = max(max(len(spans) for spans in group.spans) for group in groups)
    shape = (len(groups), passages, length)
    ids, mask, types = (torch.zeros(shape, dtype=torch.long) for _ in range(3))
    tokens = torch.zeros(shape, dtype=torch.bool)
    spans = torch.full((len(groups), passages, max(answers, 1), 2), -1)
    for g, group in enumerate(groups):
        for p, (window, answer_spans) in enumerate(zip(group.windows, group.spans, strict=True)):
            size = len(window.ids)
            ids[g, p, :size] = torch.tensor(window.ids)
            mask[g, p, :size] = 1
            types[g, p, window.segment : size] = 1
            tokens[g, p, window.first : window.last] = True
            if answer_spans:
                spans[g, p, : len(answer_spans)] = torch.tensor(answer_spans)
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types, "tokens": tokens, "spans": spans}
