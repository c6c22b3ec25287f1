"""Training examples of the answer extractor: windows of passages with all spans that were asked about."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import Paragraph, held_out_paragraphs, placed_answers, readable_title, split_articles
from oreqa.models.extractor.inputs import ExtractorInputs
from oreqa.models.graph.windows import Tokens, Window, padded_windows, token_span
from oreqa.progress import Advance, ignore
from oreqa.training.batches import TOKENISED_TOGETHER, in_a_row, similar_length_batches
from oreqa.training.extractor.recipe import ExtractorData
from oreqa.training.loop import TensorBatch


@dataclass(frozen=True, slots=True)
class ExtractorExample:
    """A window, and for each of its tokens whether a span may begin (``opens``) or end (``closes``) there.

    ``spans`` are the first and last tokens of the spans that were asked about.
    """

    window: Window
    opens: list[bool]
    closes: list[bool]
    spans: list[tuple[int, int]]


@dataclass(slots=True)
class AskedPassage:
    """A passage with the character ranges of all spans asked about in any file."""

    title: str
    text: str
    part: ExtractorData
    answers: set[tuple[int, int]] = field(default_factory=set)


def extractor_examples(
    parts: Sequence[ExtractorData],
    inputs: ExtractorInputs,
    *,
    answer_tokens: int,
    batch: int,
    seed: int,
    advance: Advance = ignore,
) -> list[ExtractorExample]:
    """Return all examples of a run in training order, in batches of similar length.

    Each epoch has one window of each passage, drawn from those that contain a span of at most ``answer_tokens``.
    """
    passages = load_asked_passages(parts)
    windows: dict[int, list[list[ExtractorExample]]] = {id(part): [] for part in parts}
    for passage, passage_examples in zip(passages, passage_windows(passages, inputs, answer_tokens, advance), strict=True):
        if passage_examples:
            windows[id(passage.part)].append(passage_examples)
    epochs = []
    for epoch in range(max(part.epochs for part in parts)):
        rng = random.Random(f"{seed} {epoch}")
        drawn: list[ExtractorExample] = []
        for part in parts:
            part_examples = windows[id(part)] if epoch < part.epochs else []
            sampled = rng.sample(part_examples, min(part.passages or len(part_examples), len(part_examples)))
            drawn += [rng.choice(passage_examples) for passage_examples in sampled]
        rng.shuffle(drawn)
        epochs.append(similar_length_batches(drawn, lambda example: len(example.window.ids), batch, rng))
    return in_a_row(epochs, batch)


def load_asked_passages(parts: Iterable[ExtractorData]) -> list[AskedPassage]:
    """Return the distinct passages of all files, without those held out in any of them."""
    held_out_texts: set[str] = set()
    passages: dict[str, AskedPassage] = {}
    for part in parts:
        train, held_out = split_articles(load_paragraphs(part.file))
        held_out_texts.update(paragraph.text for paragraph in held_out)
        for paragraph in train:
            title = readable_title(paragraph.title) if part.titles else ""
            passage = passages.setdefault(paragraph.text, AskedPassage(title, paragraph.text, part))
            passage.answers |= _answers(paragraph)
    return [passage for text, passage in passages.items() if passage.answers and text not in held_out_texts]


def dev_windows(file: Path, inputs: ExtractorInputs, answer_tokens: int) -> list[ExtractorExample]:
    """Return all windows of a file's held-out articles that contain a span that was asked about."""
    part = ExtractorData(file=file)
    passages = [
        AskedPassage(readable_title(paragraph.title), paragraph.text, part, _answers(paragraph))
        for paragraph in held_out_paragraphs(load_paragraphs(file), file)
    ]
    return [example for passage_examples in passage_windows(passages, inputs, answer_tokens) for example in passage_examples]


def passage_windows(
    passages: Sequence[AskedPassage], inputs: ExtractorInputs, answer_tokens: int, advance: Advance = ignore
) -> Iterator[list[ExtractorExample]]:
    """Yield the ``example_windows`` of each passage, tokenised in groups."""
    for begin in range(0, len(passages), TOKENISED_TOGETHER):
        block = passages[begin : begin + TOKENISED_TOGETHER]
        tokens = inputs.tokenize(text for passage in block for text in (passage.title, passage.text))
        for passage in block:
            title, text = tokens[passage.title], tokens[passage.text]
            yield example_windows(inputs, title, text, passage.answers, answer_tokens)
        advance(len(block))


def _answers(paragraph: Paragraph) -> set[tuple[int, int]]:
    return {place for question in paragraph.questions for place in placed_answers(paragraph.text, question)}


def example_windows(
    inputs: ExtractorInputs, title: Tokens, passage: Tokens, answers: set[tuple[int, int]], longest: int
) -> list[ExtractorExample]:
    """Return the windows of a passage that contain a span.

    Spans that cut a word or exceed ``longest`` tokens are dropped.
    """
    opens, closes = passage.edges(0, len(passage.ids))
    spans = {span for start, end in answers if (span := token_span(passage, start, end))}
    fitting = [(a, b) for a, b in sorted(spans) if opens[a] and closes[b] and b - a < longest]
    examples = []
    for window in inputs.windows(title, passage):
        size = window.last - window.first
        shift = window.first - window.begin
        inside = [(a + shift, b + shift) for a, b in fitting if a >= window.begin and b + shift < window.last]
        if inside:
            front, back = [False] * window.first, [False] * (len(window.ids) - window.last)
            may_open, may_close = (mask[window.begin : window.begin + size].tolist() for mask in (opens, closes))
            examples.append(ExtractorExample(window, [*front, *may_open, *back], [*front, *may_close, *back], inside))
    return examples


def collate_windows(examples: Sequence[ExtractorExample], answer_tokens: int) -> TensorBatch:
    """Return a batch's padded tensors: inputs ``[N, T]``, and ``allowed`` and ``gold`` ``[N, T, W]`` for the losses."""
    ids, mask, types = map(torch.from_numpy, padded_windows([example.window for example in examples]))
    length = ids.shape[1]
    opens, closes = (torch.zeros((len(examples), length), dtype=torch.bool) for _ in range(2))
    gold = torch.zeros((len(examples), length, answer_tokens), dtype=torch.bool)
    for number, example in enumerate(examples):
        opens[number, : len(example.opens)] = torch.tensor(example.opens)
        closes[number, : len(example.closes)] = torch.tensor(example.closes)
        for first, last in example.spans:
            gold[number, first, last - first] = True
    padded = torch.nn.functional.pad(closes, (0, answer_tokens - 1))
    allowed = opens[:, :, None] & padded.unfold(1, answer_tokens, 1)
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types, "allowed": allowed, "gold": gold}
