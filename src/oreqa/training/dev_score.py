"""Dev-set MRR, for early stopping."""

from __future__ import annotations

import numpy as np
import torch

from oreqa.core import Unit
from oreqa.datasets.reqa import ReqaTask
from oreqa.index.encodings import encoder_input
from oreqa.models.encoder.folder import EncoderFolder
from oreqa.models.encoder.module import DualEncoder
from oreqa.training.encoding import current_encoder


def dev_mrr(
    task: ReqaTask, folder: EncoderFolder, model: DualEncoder, bf16: bool, *, unit: Unit, passage_weight: float
) -> float:
    """MRR, in percent, of the task's questions over all its sentences, or passages; ``passage_weight`` as in
    RetrieverRecipe. The layers compute in bfloat16 if the training does."""
    encoder = current_encoder(folder, model)
    passages = [encoder_input(passage) for passage in task.passages]
    with torch.autocast(next(model.parameters()).device.type, torch.bfloat16, enabled=bf16):
        encodings, questions = encoder.encode_passages(passages), encoder.encode(task.questions)
    if unit == "passage":
        vectors = np.stack([rows[0] for rows in encodings])
        owners = np.repeat(np.arange(len(passages)), [len(sentences) for _, _, sentences in passages])
        gold = [list({int(owners[sentence]) for sentence in sentences}) for sentences in task.gold]
    else:
        vectors = np.concatenate([rows[1:] + passage_weight * rows[:1] for rows in encodings])
        gold = [list(sentences) for sentences in task.gold]
    scores = questions @ vectors.T
    best = np.array([row[right].max() for row, right in zip(scores, gold, strict=True)])
    # Ties share their mean rank: vectors that have all become one gain nothing.
    ranks = (scores > best[:, None]).sum(1) + ((scores == best[:, None]).sum(1) + 1) / 2
    return round(100 * float(np.mean(1 / ranks)), 2)
