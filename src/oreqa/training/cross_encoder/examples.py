"""Training examples of cross-encoders: a question's candidates, its positive first, from pairs or a reader's predictions."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from oreqa.core import Document
from oreqa.corpus.splitter import paragraph_passage, sentence_at
from oreqa.datasets.pairs import Candidate, Pair, passage_candidates
from oreqa.datasets.paragraphs import Paragraph, readable_title
from oreqa.mining.predictions import ReaderPredictions
from oreqa.models.cross_encoder.inputs import CrossEncoderInputs
from oreqa.models.graph.windows import Window, padded_windows
from oreqa.progress import Advance, ignore
from oreqa.training.batches import TOKENISED_TOGETHER
from oreqa.training.loop import TensorBatch


@dataclass(frozen=True, slots=True)
class LabelledWindow:
    """An input, its label (1 for a positive, 0 for a negative), and its weight."""

    window: Window
    label: float
    weight: float


CandidateList = Sequence[LabelledWindow]
"""A question's candidates to compare: the positive, then negatives."""


def pair_lists(pairs: Sequence[Pair], inputs: CrossEncoderInputs, advance: Advance = ignore) -> list[CandidateList]:
    """Return the positive of every pair (label 1, the pair's weight) with its negatives (label 0, weight 1)."""
    lists: list[CandidateList] = []
    for begin in range(0, len(pairs), TOKENISED_TOGETHER):
        block = pairs[begin : begin + TOKENISED_TOGETHER]
        windows = iter(
            inputs.windows([(pair.question, candidate) for pair in block for candidate in (pair.positive, *pair.negatives)])
        )
        for pair in block:
            positive = LabelledWindow(next(windows), 1.0, pair.weight)
            lists.append([positive, *(LabelledWindow(next(windows), 0.0, 1.0) for _ in pair.negatives)])
        advance(len(block))
    return lists


def plausible_candidates(paragraphs: Sequence[Paragraph]) -> list[tuple[str, Candidate]]:
    """Return questions that their paragraph does not answer, with the sentences that seem to.

    These are the sentences in which their plausible answers begin.
    """
    pairs = []
    for number, paragraph in enumerate(paragraphs):
        plausible = [question for question in paragraph.questions if question.plausible]
        if not plausible:
            continue
        document = Document(str(number), readable_title(paragraph.title), paragraph.text)
        passage = paragraph_passage(document)
        candidates = passage_candidates(passage)
        for question in plausible:
            places = sorted({sentence_at(passage, gold.start) for gold in question.plausible})
            pairs += [(question.text, candidates[place]) for place in places if candidates]
    return pairs


def negative_lists(
    pairs: Sequence[tuple[str, Candidate]], inputs: CrossEncoderInputs, advance: Advance = ignore
) -> list[CandidateList]:
    """Return each question with its candidate, which does not answer it (label 0, weight 1), as a separate list."""
    windows = inputs.windows(pairs)
    advance(len(pairs))
    return [[LabelledWindow(window, 0.0, 1.0)] for window in windows]


@dataclass(frozen=True, slots=True)
class DrawnPredictions:
    """Predictions of a question to compare, by their places among its spans: a right one, then wrong ones.

    They become inputs batch by batch: the inputs of all epochs would not fit into memory.
    """

    row: ReaderPredictions = field(repr=False)
    places: tuple[int, ...]

    @property
    def length(self) -> int:
        """The characters of the longest input, before it is cut."""
        texts = (self.row.passages[self.row.spans[place].passage_number] for place in self.places)
        return len(self.row.question) + max(len(title) + len(text) for title, text in texts)

    def one_by_one(self) -> list[DrawnPredictions]:
        """Return each prediction separately."""
        return [DrawnPredictions(self.row, (place,)) for place in self.places]


def windowed(drawn: Sequence[DrawnPredictions], inputs: CrossEncoderInputs) -> list[CandidateList]:
    """Return the inputs of each question's predictions, with label 1 for right spans."""
    windows = iter(inputs.windows([_shown(each.row, place) for each in drawn for place in each.places]))
    return [[LabelledWindow(next(windows), float(each.row.right[place]), 1.0) for place in each.places] for each in drawn]


def draw_predictions(
    rows: Sequence[ReaderPredictions], candidates: int, pool: int, rng: random.Random
) -> Iterator[DrawnPredictions]:
    """Yield, for each question, one right span and up to ``candidates`` - 1 wrong ones.

    These are drawn from the reader's best ``pool`` wrong spans. Questions are in random order.
    """
    for row in rng.sample(rows, len(rows)):
        right = [place for place, is_right in enumerate(row.right) if is_right]
        wrong = [place for place, is_right in enumerate(row.right) if not is_right][:pool]
        wrong = rng.sample(wrong, min(candidates - 1, len(wrong)))
        yield DrawnPredictions(row, (rng.choice(right), *wrong))


def first_predictions(row: ReaderPredictions, inputs: CrossEncoderInputs, count: int) -> CandidateList:
    """Return the reader's ``count`` best spans for a question, with label 1 for right ones."""
    (first,) = windowed([DrawnPredictions(row, tuple(range(min(count, len(row.spans)))))], inputs)
    return first


def _shown(row: ReaderPredictions, place: int) -> tuple[str, Candidate]:
    span = row.spans[place]
    head, text = row.passages[span.passage_number]
    return row.question, Candidate(text[span.start : span.end], text, head, span.start)


def collate_candidates(lists: Sequence[CandidateList]) -> TensorBatch:
    """Return padded inputs ``[N, T]`` of all candidates, and their ``present`` (``[G, M]``), ``labels`` and ``weights``."""
    longest = max(len(candidates) for candidates in lists)
    windows = [candidate.window for candidates in lists for candidate in candidates]
    blanks = [[0.0] * (longest - len(candidates)) for candidates in lists]
    return {
        **window_tensors(windows),
        "present": torch.tensor([[place < len(candidates) for place in range(longest)] for candidates in lists]),
        "labels": torch.tensor([[c.label for c in row] + blank for row, blank in zip(lists, blanks, strict=True)]),
        "weights": torch.tensor([[c.weight for c in row] + blank for row, blank in zip(lists, blanks, strict=True)]),
    }


def collate_predictions(inputs: CrossEncoderInputs, drawn: Sequence[DrawnPredictions]) -> TensorBatch:
    """Make the inputs of drawn predictions, and return their ``collate_candidates``."""
    return collate_candidates(windowed(drawn, inputs))


def window_tensors(windows: Sequence[Window]) -> dict[str, Tensor]:
    """Return the windows as BERT's inputs, padded, ``[N, T]``."""
    names = ("input_ids", "attention_mask", "token_type_ids")
    return {name: torch.from_numpy(array) for name, array in zip(names, padded_windows(windows), strict=True)}
