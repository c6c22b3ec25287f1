"""Groups to train readers on: questions, each with windows of passages and labels, stored as tokens in one file.

manual_groups.py writes the file, manual_readers.py reads it. The windows contain token numbers of minilm-reader's
vocabulary, which must be below 65,536.
"""

from __future__ import annotations

import io
import random
import zipfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from oreqa.core import Range
from oreqa.errors import InputError
from oreqa.files import write_bytes
from oreqa.models.graph.windows import Text, Tokens, Window, token_span
from oreqa.models.reader.inputs import ReaderInputs
from oreqa.training.loop import TensorBatch
from oreqa.training.reader.examples import Group, collate_groups

NEIGHBOURHOOD = 4000
"""Groups that are sorted by length together."""

ANSWER_TOKENS = 30
"""Tokens of the longest answer that is a label."""

_TYPES = {
    "ids": "H", "segments": "H", "firsts": "H", "holds": "b", "spans": "H", "blocks": "H",
    "windows_of_group": "q", "tokens_of_window": "q", "spans_of_window": "q", "blocks_of_window": "q",
}  # fmt: skip
"""The file's arrays. Counts are per group or window; a span is two numbers, its first and last token."""


@dataclass(frozen=True, slots=True)
class LabelledGroup(Group):
    """A group with more labels per window: the tokens of everything that answers, and whether the passage answers."""

    blocks: list[list[Range]]
    """First and last tokens of each part."""
    holds: list[bool]


@dataclass(frozen=True, slots=True)
class Shown:
    """A passage shown with a question."""

    text: Text
    spans: Sequence[Range] = ()
    blocks: Sequence[Range] = ()
    holds: bool = False


Example = tuple[str, list[Shown]]
"""A question and its passages."""


def label(example: Example, inputs: ReaderInputs, tokens: dict[str, Tokens]) -> LabelledGroup:
    """Return the windows of a question, one per passage, with their labels."""
    question, shown = example
    group = LabelledGroup([], [], [], [])
    for row in shown:
        passage = tokens[row.text[1]]
        spans = [span for place in row.spans if (span := token_span(passage, *place))]
        blocks = [span for place in row.blocks if (span := token_span(passage, *place))]
        windows = inputs.windows(tokens[question], tokens[row.text[0]], passage)
        window = _choose(windows, spans[0] if spans else (blocks[0][0], blocks[0][0]) if blocks else (0, 0))
        shift, last = window.first - window.begin, window.last - 1
        inside = [(a + shift, b + shift) for a, b in spans if a >= window.begin and b + shift <= last]
        parts = [(max(window.first, a + shift), min(last, b + shift)) for a, b in blocks]
        group.windows.append(window)
        group.spans.append([(a, b) for a, b in inside if b - a < ANSWER_TOKENS])
        group.blocks.append([(a, b) for a, b in parts if a <= b])
        group.holds.append(row.holds)
    return group


def _choose(windows: Sequence[Window], span: Range) -> Window:
    """Return the first window that contains a span of the passage's tokens, else the first window."""
    for window in windows:
        if window.begin <= span[0] and span[1] + window.first - window.begin < window.last:
            return window
    return windows[0]


def label_all(examples: Sequence[Example], inputs: ReaderInputs) -> Iterator[LabelledGroup]:
    """Yield the groups of all questions; a text that several questions share is tokenised once."""
    texts = {text for question, shown in examples for text in (question, *(part for row in shown for part in row.text))}
    ordered, tokens = sorted(texts), dict[str, Tokens]()
    for begin in range(0, len(ordered), 2000):
        tokens |= inputs.tokenize(ordered[begin : begin + 2000])
    return (label(example, inputs, tokens) for example in examples)


def save_groups(file: Path, groups: Iterable[LabelledGroup]) -> int:
    """Write groups to ``file`` (.npz) and return how many there are."""
    columns = {name: array(kind) for name, kind in _TYPES.items()}
    for group in groups:
        columns["windows_of_group"].append(len(group.windows))
        for window, spans, blocks, holds in zip(group.windows, group.spans, group.blocks, group.holds, strict=True):
            columns["ids"].extend(window.ids)
            columns["segments"].append(window.segment)
            columns["firsts"].append(window.first)
            columns["holds"].append(holds)
            columns["tokens_of_window"].append(len(window.ids))
            for name, ranges in (("spans", spans), ("blocks", blocks)):
                columns[f"{name}_of_window"].append(len(ranges))
                columns[name].extend(number for span in ranges for number in span)
    content = io.BytesIO()
    arrays: dict[str, Any] = {name: np.array(values) for name, values in columns.items()}
    np.savez_compressed(content, **arrays)
    write_bytes(file, content.getvalue())
    return len(columns["windows_of_group"])


class GroupFile(torch.utils.data.Dataset[LabelledGroup]):  # type: ignore[misc]
    """The groups of a file by number. Raises InputError if the file cannot be read."""

    def __init__(self, file: Path) -> None:
        try:
            with np.load(file) as content:
                arrays = {name: content[name] for name in _TYPES}
        except FileNotFoundError:
            raise InputError(f"{file}: there is no such file; manual_groups.py writes it") from None
        except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise InputError(f"{file}: it holds no groups ({error}); write it again by manual_groups.py") from error
        self._arrays = arrays
        self._starts = {name: np.concatenate([[0], arrays[name].cumsum()]) for name in arrays if "_of_" in name}
        if not len(self):
            raise InputError(f"{file}: it holds no group; write it again by manual_groups.py")

    def __len__(self) -> int:
        return len(self._arrays["windows_of_group"])

    def __getitem__(self, number: int) -> LabelledGroup:
        begin, end = self._starts["windows_of_group"][number : number + 2]
        places = range(begin, end)
        return LabelledGroup(
            [self._window(place) for place in places],
            [self._ranges("spans", place) for place in places],
            [self._ranges("blocks", place) for place in places],
            [bool(held) for held in self._arrays["holds"][begin:end]],
        )

    def sizes(self) -> tuple[list[int], list[int]]:
        """Return, for each group, the tokens of its longest window and the number of its windows."""
        longest = np.maximum.reduceat(self._arrays["tokens_of_window"], self._starts["windows_of_group"][:-1])
        return longest.tolist(), self._arrays["windows_of_group"].tolist()

    def _window(self, place: int) -> Window:
        begin, end = self._starts["tokens_of_window"][place : place + 2]
        ids = self._arrays["ids"][begin:end].tolist()
        first, segment = int(self._arrays["firsts"][place]), int(self._arrays["segments"][place])
        return Window(ids, segment, first, len(ids) - 1, 0)

    def _ranges(self, name: str, place: int) -> list[Range]:
        begin, end = self._starts[f"{name}_of_window"][place : place + 2]
        return [(first, last) for first, last in self._arrays[name][2 * begin : 2 * end].reshape(-1, 2).tolist()]


def token_batches(longest: Sequence[int], windows: Sequence[int], tokens: int, rng: random.Random) -> list[list[int]]:
    """Return random batches of groups of similar length, with every group once.

    ``longest`` gives the tokens of each group's longest window, ``windows`` the number of its windows. A batch has at most
    ``tokens``, including padding; a group with more is a batch by itself.
    """
    order = list(range(len(longest)))
    rng.shuffle(order)
    batches: list[list[int]] = []
    for begin in range(0, len(order), NEIGHBOURHOOD):
        batch: list[int] = []
        for group in sorted(order[begin : begin + NEIGHBOURHOOD], key=longest.__getitem__):
            if batch and (sum(windows[other] for other in batch) + windows[group]) * longest[group] > tokens:
                batches.append(batch)
                batch = []
            batch.append(group)
        batches.append(batch)
    rng.shuffle(batches)
    return batches


def collate_labelled(groups: Sequence[LabelledGroup]) -> TensorBatch:
    """Return what ``collate_groups`` returns, with ``block`` (float, ``[G, P, T]``), 1 for the tokens of what answers, and
    ``holds`` (bool, ``[G, P]``)."""
    batch = collate_groups(groups)
    batch["block"] = torch.zeros(batch["tokens"].shape)
    batch["holds"] = torch.zeros(batch["tokens"].shape[:2], dtype=torch.bool)
    for g, group in enumerate(groups):
        batch["holds"][g, : len(group.holds)] = torch.tensor(group.holds)
        for p, ranges in enumerate(group.blocks):
            for first, last in ranges:
                batch["block"][g, p, first : last + 1] = 1
    return batch
