"""The retrieval task on which a training is watched: it stops when that no longer gains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from oreqa.datasets.reqa import ReqaTask
from oreqa.models.folders import EncoderFolder
from oreqa.runtime.encoder import Batch, Encoder, Vectors


class ModelSession:
    """Runs a dual encoder as it is being trained (an encoder's session)."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def run(self, batches: Iterator[Batch], done: Callable[[Batch, Vectors], None]) -> None:
        """Run every batch in turn; ``done`` is called once for each."""
        self._model.eval()
        device = next(self._model.parameters()).device
        with torch.inference_mode():
            for batch in batches:
                given = (batch.ids, batch.mask, batch.types, batch.pool)
                done(batch, self._model(*(torch.from_numpy(x).to(device) for x in given)).float().cpu().numpy())


def dev_mrr(task: ReqaTask, folder: EncoderFolder, model: Any, dim: int, passage_weight: float) -> float:
    """MRR, in percent, of the task's questions over all its sentences; ``passage_weight`` as in RetrieverRecipe."""
    encoder = Encoder(folder, ModelSession(model), "", dim)
    passages = [(p.title, p.text, [(s.start - p.start, s.end - p.start) for s in p.sentences]) for p in task.passages]
    found = encoder.encode_passages(passages)
    vectors = np.concatenate([rows[1:] + passage_weight * rows[:1] for rows in found])
    scores = encoder.encode(task.questions) @ vectors.T
    best = np.array([own[list(gold)].max() for own, gold in zip(scores, task.gold, strict=True)])
    # Ties share their mean rank: vectors that have all become one gain nothing.
    ranks = (scores > best[:, None]).sum(1) + ((scores == best[:, None]).sum(1) + 1) / 2
    return round(100 * float(np.mean(1 / ranks)), 2)
