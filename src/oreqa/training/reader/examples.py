"""Training examples of the reader: questions, each with windows of passages and the answer's tokens in them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import Question, readable_title, split_articles
from oreqa.mining.passages import bm25_passages
from oreqa.models.graph.windows import Tokens, Window, token_span
from oreqa.models.reader.inputs import ReaderInputs
from oreqa.progress import Advance, ignore
from oreqa.text.answers import normalize_answer, occurrences
from oreqa.training.batches import in_a_row, similar_length_batches
from oreqa.training.reader.recipe import DataPart, ReaderRecipe

AnswerSpans = tuple[int, list[tuple[int, int]]]
"""A passage's number, and the characters of the answers in it."""


@dataclass(frozen=True, slots=True)
class Group:
    """A question's windows; for each the spans of its answers, in tokens of the window."""

    windows: list[Window]
    spans: list[list[tuple[int, int]]]

    @property
    def tokens(self) -> int:
        return max(len(window.ids) for window in self.windows)


def reader_groups(recipe: ReaderRecipe, inputs: ReaderInputs, advance: Advance = ignore) -> list[Group]:
    """All groups of a run in the order in which they are seen: those of one epoch after those of another."""
    files = [DataFile(part, recipe, inputs) for part in recipe.data]
    epochs = range(max(part.epochs for part in recipe.data))
    return in_a_row((epoch_groups(recipe, files, epoch, advance) for epoch in epochs), recipe.optimiser.batch)


def epoch_groups(
    recipe: ReaderRecipe, files: Sequence[DataFile], epoch: int, advance: Advance = ignore
) -> list[list[Group]]:
    """The groups of one epoch, drawn by the recipe's seed and the epoch's number alone, in batches of similar length, which
    are in random order."""
    rng = random.Random(f"{recipe.seed} {epoch}")
    drawn = [group for file in files if epoch < file.data.epochs for group in file.draw(rng, advance)]
    rng.shuffle(drawn)
    return similar_length_batches(drawn, lambda group: (group.tokens, len(group.windows)), recipe.optimiser.batch, rng)


class DataFile:
    """A data file made ready: its paragraphs and questions as tokens, and the passages retrieved for each question."""

    def __init__(self, data: DataPart, recipe: ReaderRecipe, inputs: ReaderInputs) -> None:
        self.data, self.recipe, self.inputs = data, recipe, inputs
        self.paragraphs, _ = split_articles(load_paragraphs(Path(recipe.data_root) / data.file))
        self._normalized: dict[int, str] = {}
        self.texts = _tokens(inputs, [paragraph.text for paragraph in self.paragraphs])
        titles = _tokens(inputs, [readable_title(paragraph.title) for paragraph in self.paragraphs])
        self.titles: Sequence[Tokens | None] = titles if data.titles else [None] * len(titles)
        asked = [
            (place, question)
            for place, paragraph in enumerate(self.paragraphs)
            for question in paragraph.questions
            if data.asked == "all" or bool(question.answers) == (data.asked == "answerable")
        ]
        self.asked = [(p, q, t) for (p, q), t in zip(asked, _tokens(inputs, [q.text for _, q in asked]), strict=True)]

    def draw(self, rng: random.Random, advance: Advance) -> list[Group]:
        """One epoch: a group for every question (or for as many as the recipe says), and the unanswerable ones."""
        count = min(self.data.questions or len(self.asked), len(self.asked))
        drawn = rng.sample(self.asked, count)
        recipe = self.recipe
        negatives = recipe.negatives
        asked_alone = [rng.random() < recipe.unanswerable for _ in drawn]
        beside = [int(negatives) + (rng.random() < negatives % 1) for _ in drawn]  # wrong passages beside the right one
        searched = [i for i in range(count) if asked_alone[i] or beside[i] or recipe.supervision == "distant"]
        questions, texts = [drawn[i][1].text for i in searched], [p.text for p in self.paragraphs]
        lists = bm25_passages(questions, texts, recipe.depth) if questions else []
        retrieved = {i: list(map(int, best)) for i, best in zip(searched, lists, strict=True)}
        groups = []
        for i, (place, question, tokens) in enumerate(drawn):
            positives, others = self._sort_out(place, question, retrieved.get(i, []))
            right = [(w, s) for p, spans in positives for w, s in self._windows(tokens, p, spans) if s]
            negative_passages = rng.sample(others, min(len(others), beside[i] + asked_alone[i]))
            wrong = [rng.choice(self._windows(tokens, p, [])) for p in negative_passages]
            if not question.answers:
                groups.append(_group([rng.choice(self._windows(tokens, place, []))]))
            elif right:
                groups.append(_group([rng.choice(right), *wrong[: beside[i]]]))
            if asked_alone[i] and len(wrong) > beside[i]:
                groups.append(_group(wrong[beside[i] :]))
            advance(1)
        return groups

    def _sort_out(self, place: int, question: Question, retrieved: list[int]) -> tuple[list[AnswerSpans], list[int]]:
        """Passages that hold an answer, with its characters; and retrieved ones that do not."""
        others = [p for p in retrieved if p != place and not self._mentions(p, question)]
        if self.recipe.supervision == "given":
            return [(place, [(gold.start, gold.start + len(gold.text)) for gold in question.answers])], others
        positives = []
        for p in dict.fromkeys([place, *retrieved]):
            spans = [span for gold in question.answers for span in occurrences(self.paragraphs[p].text, gold.text)]
            if spans:
                positives.append((p, sorted(set(spans))))
        return positives, others

    def _mentions(self, place: int, question: Question) -> bool:
        if place not in self._normalized:
            self._normalized[place] = f" {normalize_answer(self.paragraphs[place].text)} "
        return any(f" {normalize_answer(gold.text)} " in self._normalized[place] for gold in question.answers)

    def _windows(
        self, question: Tokens, place: int, spans: list[tuple[int, int]]
    ) -> list[tuple[Window, list[tuple[int, int]]]]:
        passage = self.texts[place]
        tokens = [span for start, end in spans if (span := token_span(passage, start, end))]
        rows = []
        for window in self.inputs.windows(question, self.titles[place], passage):
            shift = window.first - window.begin
            inside = [(a + shift, b + shift) for a, b in tokens if a >= window.begin and b + shift < window.last]
            rows.append((window, inside))
        return rows


def _group(rows: Sequence[tuple[Window, list[tuple[int, int]]]]) -> Group:
    return Group([window for window, _ in rows], [spans for _, spans in rows])


def _tokens(inputs: ReaderInputs, texts: Sequence[str]) -> list[Tokens]:
    tokens = inputs.tokenize(texts)
    return [tokens[text] for text in texts]
