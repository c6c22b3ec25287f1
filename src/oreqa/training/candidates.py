"""Training examples of cross-encoders: labelled candidates for the classifier, lists of spans for the re-ranker."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from oreqa.datasets.pairs import Candidate, Pair
from oreqa.mining.predictions import Predicted
from oreqa.models.cross_encoder.inputs import CrossEncoderInputs
from oreqa.models.graph.windows import Window, padded_windows
from oreqa.training.batches import batches_by_length

Labelled = tuple[Window, float, float]
"""An input, its label, and how much it counts."""

BLOCK = 1024
"""Pairs that are tokenised together."""


def labelled_windows(
    pairs: Sequence[Pair],
    inputs: CrossEncoderInputs,
    epochs: int,
    batch: int,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> list[Labelled]:
    """The positives of every pair and epoch (label 1, the pair's weight) and its negatives (label 0, weight 1).

    In the order in which they are seen: at random, those of a batch of like length.
    """
    rng = random.Random(seed)
    ordered: list[Labelled] = []
    for _ in range(epochs):
        labelled: list[Labelled] = []
        for begin in range(0, len(pairs), BLOCK):
            block = pairs[begin : begin + BLOCK]
            rows: list[tuple[str, Candidate, float, float]] = []
            for pair in block:
                rows.append((pair.question, pair.positive, 1.0, pair.weight))
                rows += [(pair.question, negative, 0.0, 1.0) for negative in pair.negatives]
            windows = inputs.windows([(question, candidate) for question, candidate, _, _ in rows])
            labelled += [(window, label, weight) for window, (_, _, label, weight) in zip(windows, rows, strict=True)]
            if progress:
                progress(len(block))
        rng.shuffle(labelled)
        for examples in batches_by_length(labelled, lambda example: len(example[0].ids), batch, rng):
            ordered += examples
    return ordered


def candidate_lists(
    rows: Sequence[Predicted],
    inputs: CrossEncoderInputs,
    epochs: int,
    candidates: int,
    pool: int,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> list[list[Window]]:
    """For each question and epoch one right span, first, and up to ``candidates`` - 1 wrong ones, drawn anew from the
    reader's best ``pool`` wrong ones."""
    rng = random.Random(seed)
    lists = []
    for _ in range(epochs):
        for row in rng.sample(rows, len(rows)):
            right = [place for place, is_right in enumerate(row.right) if is_right]
            wrong = [place for place, is_right in enumerate(row.right) if not is_right][:pool]
            wrong = rng.sample(wrong, min(candidates - 1, len(wrong)))
            spans = [row.spans[place] for place in (rng.choice(right), *wrong)]
            shown = []
            for span in spans:
                title, text = row.passages[span.passage_number]
                shown.append((row.question, Candidate(text[span.start : span.end], text, title, span.start)))
            lists.append(inputs.windows(shown))
            if progress:
                progress(1)
    return lists


def collate_labelled(examples: Sequence[Labelled]) -> dict[str, Tensor]:
    """Padded inputs ``[N, T]``, their ``labels`` and ``weights`` (``[N]``)."""
    windows, labels, weights = zip(*examples, strict=True)
    return {**window_tensors(windows), "labels": torch.tensor(labels), "weights": torch.tensor(weights)}


def collate_lists(lists: Sequence[Sequence[Window]]) -> dict[str, Tensor]:
    """Padded inputs ``[N, T]`` of all candidates of a batch, and ``present`` (``[G, M]``), which says whose they are."""
    longest = max(len(windows) for windows in lists)
    present = torch.tensor([[place < len(windows) for place in range(longest)] for windows in lists])
    return {**window_tensors([window for windows in lists for window in windows]), "present": present}


def window_tensors(windows: Sequence[Window]) -> dict[str, Tensor]:
    """The windows as BERT's inputs, padded, ``[N, T]``."""
    names = ("input_ids", "attention_mask", "token_type_ids")
    return {name: torch.from_numpy(array) for name, array in zip(names, padded_windows(windows), strict=True)}
