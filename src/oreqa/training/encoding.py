"""Vectors of a dual encoder in the middle of its training."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from oreqa.models.encoder.encoder import Encoder
from oreqa.models.encoder.folder import EncoderFolder
from oreqa.models.encoder.module import DualEncoder
from oreqa.models.graph.torch import TorchSession
from oreqa.text.sentences import split_sentences
from oreqa.training.retriever_examples import Source


def current_encoder(folder: EncoderFolder, model: DualEncoder) -> Encoder:
    """The model as it is, as an encoder with the settings of ``folder``; the model is put into its mode for evaluation."""
    device = str(next(model.parameters()).device)
    passages, questions = (TorchSession(partial(model.eval(), questions=mode), device) for mode in (False, True))
    return Encoder(folder, passages, "", model.width, questions)


def passage_vectors(
    folder: EncoderFolder, model: DualEncoder, bf16: bool, passages: Sequence[Source]
) -> NDArray[np.float32]:
    """The vectors of passages, ``[passages, D]``, as the model is; it is left in its mode for training."""
    apart = folder.context == "cross_segment"  # a passage's vector then is the mean of its sentences'
    texts = [(title, text, split_sentences(text) if apart else []) for text, title in passages]
    with torch.autocast(next(model.parameters()).device.type, torch.bfloat16, enabled=bf16):
        rows = current_encoder(folder, model).encode_passages(texts)
    model.train()
    return np.stack([row[0] for row in rows])
