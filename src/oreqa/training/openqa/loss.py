"""Fine-tuning on retrieved passages, step by step: retrieve with the current question encoder, read, compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from oreqa.datasets.questions import answer_ranges
from oreqa.losses.open_retrieval import OpenQAScores
from oreqa.models.encoder.folder import EncoderFolder
from oreqa.models.encoder.inputs import EncoderInputs, input_arrays
from oreqa.models.encoder.module import DualEncoder
from oreqa.models.graph.windows import Window, token_span
from oreqa.models.reader.inputs import ReaderInputs
from oreqa.models.reader.module import ReaderModel, read_groups
from oreqa.training.distributed import summed
from oreqa.training.loop import TensorBatch
from oreqa.training.openqa.data import Collection, MatchedQuestion
from oreqa.training.reader.examples import Group, collate_groups
from oreqa.training.retriever.collator import INPUTS


class OpenQAModel(nn.Module):  # type: ignore[misc]
    """The question encoder and the reader.

    ``skipped`` counts questions in steps for which no passage read contained an answer, and those for which none retrieved
    did; it is saved with every checkpoint.
    """

    def __init__(self, encoder: DualEncoder, reader: ReaderModel) -> None:
        super().__init__()
        self.encoder, self.reader = encoder, reader
        self.skipped: Tensor
        self.register_buffer("skipped", torch.zeros(2, dtype=torch.long))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, pool: Tensor | None = None) -> Any:
        """Return the vectors of questions (``DualEncoder``) with a ``pool``, else the windows' logits (``ReaderModel``)."""
        if pool is None:
            return self.reader(input_ids, attention_mask, token_type_ids)
        return self.encoder(input_ids, attention_mask, token_type_ids, pool, questions=True)


class QuestionCollator:
    """Converts question numbers into the question encoder's inputs, keeping them as ``numbers``."""

    def __init__(self, folder: EncoderFolder, questions: Sequence[MatchedQuestion]) -> None:
        self._inputs = EncoderInputs(folder.questions or folder).questions([row.question.text for row in questions])

    def __call__(self, numbers: Sequence[int]) -> TensorBatch:
        arrays = input_arrays([self._inputs[number] for number in numbers])
        tensors = (torch.from_numpy(array) for array in arrays)
        return {**dict(zip(INPUTS, tensors, strict=True)), "numbers": torch.tensor(numbers)}


@dataclass
class OpenQALossOfBatch:
    """The ``loss`` of a batch of questions, with the passages that they currently retrieve.

    ``early_depth`` retrieved passages are compared, by inner products times ``scale``; windows of the first ``passages`` are
    read.
    """

    model: OpenQAModel
    loss: Callable[[OpenQAScores], Tensor]
    collection: Collection
    questions: Sequence[MatchedQuestion]
    inputs: ReaderInputs
    early_depth: int
    passages: int
    scale: float
    _vectors: Tensor | None = None

    def __call__(self, model: Any, batch: TensorBatch) -> Tensor:
        """Return the loss; ``model`` is ours, or its wrapper in several processes."""
        vectors = model(**{name: batch[name] for name in INPUTS})[:, 0]
        if self._vectors is None or self._vectors.device != vectors.device:
            self._vectors = torch.from_numpy(self.collection.vectors).to(vectors.device)
        with torch.autocast(vectors.device.type, enabled=False):
            scores = vectors.float() @ self._vectors.T
        retrieval, places = scores.topk(min(self.early_depth, scores.shape[1]), dim=-1)
        rows = [self.questions[number] for number in batch["numbers"].tolist()]
        matches = [torch.from_numpy(row.matches).to(places.device) for row in rows]
        has_answer = torch.stack([torch.isin(row_places, match) for row_places, match in zip(places, matches, strict=True)])
        groups, ranks = self._groups(rows, places[:, : self.passages].tolist())
        reading = {name: value.to(vectors.device) for name, value in collate_groups(groups).items()}
        start, end, selection = read_groups(model, reading)
        unread = ~(reading["spans"][..., 0] >= 0).any(-1).any(-1)
        if self.model.training:
            self.model.skipped += summed(torch.stack([unread.sum(), (~has_answer.any(-1)).sum()]))
        width = start.shape[1]
        window_ranks = torch.tensor([row + [0] * (width - len(row)) for row in ranks], device=vectors.device)
        scored = OpenQAScores(
            retrieval=self.scale * retrieval,
            has_answer=has_answer,
            start=start,
            end=end,
            selection=selection,
            tokens=reading["tokens"],
            spans=reading["spans"],
            present=reading["attention_mask"].any(-1),
            ranks=window_ranks,
        )
        return self.loss(scored)

    def _groups(
        self, rows: Sequence[MatchedQuestion], places: Sequence[Sequence[int]]
    ) -> tuple[list[Group], list[list[int]]]:
        """Return the windows of the passages read for each question, with the answers' tokens, and their passages' ranks."""
        texts = self.collection.texts
        read = {text for row_places in places for place in row_places for text in texts[place]}
        tokens = self.inputs.tokenize(sorted({*read, *(row.question.text for row in rows)}))
        groups, ranks = [], []
        for row, row_places in zip(rows, places, strict=True):
            windows: list[Window] = []
            spans: list[list[tuple[int, int]]] = []
            window_ranks: list[int] = []
            for rank, place in enumerate(row_places):
                title, text = texts[place]
                passage = tokens[text]
                answers = [token_span(passage, first, last) for first, last in answer_ranges(text, row.question)]
                for window in self.inputs.windows(tokens[row.question.text], tokens[title], passage):
                    shift = window.first - window.begin
                    inside = [span for span in answers if span and span[0] >= window.begin and span[1] + shift < window.last]
                    windows.append(window)
                    spans.append(sorted({(first + shift, last + shift) for first, last in inside}))
                    window_ranks.append(rank)
            groups.append(Group(windows, spans))
            ranks.append(window_ranks)
        return groups, ranks
