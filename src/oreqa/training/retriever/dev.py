"""A dual encoder in training: its current vectors, and its MRR on a dev set."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from oreqa.core import Unit
from oreqa.datasets.reqa import ReqaTask
from oreqa.index.encodings import encoder_input
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.encoder.folder import EncoderFolder
from oreqa.models.encoder.module import DualEncoder
from oreqa.models.graph.torch import TorchSession
from oreqa.text.sentences import split_sentences
from oreqa.training.retriever.examples import PassageKey


def current_encoder(folder: EncoderFolder, model: DualEncoder) -> Encoder:
    """Return the current model as an encoder with the settings of ``folder``, and put it into evaluation mode."""
    device = str(next(model.parameters()).device)
    passages, questions = (TorchSession(partial(model.eval(), questions=mode), device) for mode in (False, True))
    return Encoder.of(folder, passages, questions, model.width)


def passage_vectors(
    folder: EncoderFolder, model: DualEncoder, bf16: bool, passages: Sequence[PassageKey]
) -> NDArray[np.float32]:
    """Return the current vectors of passages, ``[passages, D]``; the model is left in training mode."""
    by_sentence = folder.context == "cross_segment"  # a passage's vector is then the mean of its sentences'
    texts = [(title, text, split_sentences(text) if by_sentence else []) for text, title in passages]
    with torch.autocast(next(model.parameters()).device.type, torch.bfloat16, enabled=bf16):
        rows = current_encoder(folder, model).encode_passages(texts)
    model.train()
    return np.stack([row[0] for row in rows])


def dev_score(
    task: ReqaTask, folder: EncoderFolder, model: DualEncoder, bf16: bool, *, metric: str, unit: Unit, passage_weight: float
) -> float:
    """Return MRR (``mrr``) or R@1 (``r@1``), in percent, of the task's questions over all its sentences, or passages.

    Sentence vectors include the passage's with ``passage_weight``. The layers compute in bfloat16 if the training does.
    """
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
    # Ties share their mean rank, so that collapsed vectors gain nothing.
    ranks = (scores > best[:, None]).sum(1) + ((scores == best[:, None]).sum(1) + 1) / 2
    if metric == "r@1":  # of a question's answers, as in Wang et al. (2021, Eq. 15)
        return round(100 * float(np.mean([(rank == 1) / len(right) for rank, right in zip(ranks, gold, strict=True)])), 2)
    return round(100 * float(np.mean(1 / ranks)), 2)
