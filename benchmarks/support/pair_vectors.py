"""The vectors of answers and of their questions, by an encoder and by the cross-encoder that taught it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from transformers import AutoConfig

from oreqa.core import Passage
from oreqa.datasets.pairs import Candidate, Pair
from oreqa.index.encodings import encoder_input
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.encoder.folder import EncoderFolder
from oreqa.models.names import CROSS
from oreqa.training.retriever.collator import RetrieverCollator
from oreqa.training.retriever.examples import RetrieverExample
from oreqa.training.retriever.loss import pair_inputs
from oreqa.training.retriever.model import CrossSide


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer sentence: its passage, and its number in it."""

    passage: Passage
    number: int

    @property
    def text(self) -> str:
        """The sentence."""
        return self.passage.sentences[self.number].text


Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[Sequence[str]], Sequence[Answer]], tuple[Vectors, Vectors]]
"""Turns the questions about each answer, and the answers, into the questions' vectors [questions, dim] and the answers'
[answers, dim]; a model may look at both."""


def encoder_vectors(
    encoder: Encoder, questions: Sequence[Sequence[str]], answers: Sequence[Answer]
) -> tuple[Vectors, Vectors]:
    """Return the vectors that a search compares: questions alone, answers inside their passages."""
    passages = encoder.encode_passages([encoder_input(answer.passage) for answer in answers])
    answer_vectors = [vectors[1 + answer.number] for vectors, answer in zip(passages, answers, strict=True)]
    return encoder.encode([question for group in questions for question in group]), np.stack(answer_vectors)


def load_cross(model: Path) -> CrossSide:
    """Load the cross-encoder that was saved with a model, in evaluation mode."""
    config = AutoConfig.from_pretrained(model / CROSS)
    cross = CrossSide(config, config.oreqa.get("similarity") != "dot")
    cross.load_state_dict(load_file(model / CROSS / "model.safetensors"))
    cross.eval()
    return cross


def cross_vectors(
    folder: EncoderFolder, cross: CrossSide, questions: Sequence[Sequence[str]], answers: Sequence[Answer]
) -> tuple[Vectors, Vectors]:
    """Return the vectors of the cross-encoder that taught a model: a question's beside its answer; for an answer, the
    mean of those beside each of its questions."""
    question_vectors, answer_vectors = [], []
    for texts, answer in zip(questions, answers, strict=True):
        title, context, spans = encoder_input(answer.passage)
        start, end = spans[answer.number]
        sentence = Candidate(context[start:end], context, title, start)
        pairs = [Pair(text, sentence) for text in texts]
        collate = RetrieverCollator(folder, pairs, {text: {sentence.answer} for text in texts})
        batch = collate([RetrieverExample(pair.question, sentence, 1.0, (), ()) for pair in pairs])
        with torch.inference_mode():
            vectors = cross(**pair_inputs(batch, slice(None))).numpy()
        question_vectors.append(vectors[:, 0])
        answer_vectors.append(vectors[:, 1].mean(0))
    return np.concatenate(question_vectors), np.stack(answer_vectors)


def named_model(text: str) -> tuple[str, str]:
    """Split NAME=DIR into its two parts."""
    name, _, folder = text.partition("=")
    if not name or not folder:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=DIR")
    return name, folder
