"""Batches of the dual encoder: questions, the passages of their answers encoded once each, and who answers what."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import torch
from torch import Tensor

from oreqa.core import Unit
from oreqa.datasets.pairs import Candidate, Pair
from oreqa.models.encoder.folder import EncoderFolder
from oreqa.models.encoder.inputs import EncoderInput, EncoderInputs, PassageInput, input_arrays
from oreqa.text.sentences import split_sentences
from oreqa.training.loop import TensorBatch
from oreqa.training.retriever.examples import PassageKey, RetrieverExample

MARGIN = 1e-4
"""Probabilities are clipped to this distance from 0 and 1 before they become logits."""


class RetrieverCollator:
    """Converts examples into batches for one encoder.

    ``pairs`` contain every possible candidate of an example; ``answers`` the texts that answer each question. Candidates are
    sentences or other spans, or whole passages with the ``unit`` passage: then all of the pairs' passages are.
    """

    def __init__(
        self,
        folder: EncoderFolder,
        pairs: Sequence[Pair],
        answers: Mapping[str, Collection[str]],
        unit: Unit = "sentence",
    ) -> None:
        self._inputs, self._late = EncoderInputs(folder), folder.context == "late_chunking"
        self._question_inputs = EncoderInputs(folder.questions) if folder.questions else self._inputs
        self._answers = {question: sorted(map(text_number, texts)) for question, texts in answers.items()}
        self._whole = unit == "passage"
        self._spans: dict[PassageKey, list[tuple[int, int]]] = {}
        for source, candidates in _by_passage(pairs).items():
            spans = dict.fromkeys(map(_span, candidates))
            if self._whole:  # its vector is the input's only output
                self._spans[source] = []
            elif self._late:  # all its sentences are candidates, in text order, as a long passage is read in runs
                sentences = [] if (0, len(source[0])) in spans else split_sentences(source[0])
                self._spans[source] = sorted({*sentences, *spans}, key=lambda span: (span[0], -span[1]))
            else:
                self._spans[source] = list(spans)
        self._passages: dict[PassageKey, list[PassageInput]] = {}

    def __call__(self, examples: Sequence[RetrieverExample]) -> TensorBatch:
        """Return a batch's tensors: the inputs of questions and of passages, and which of their vectors are candidates.

        ``rows`` and ``outputs`` (``[C]``) locate a candidate's vector, ``candidate_texts`` (``[C]``) number its text;
        ``positives``, ``weights`` (``[Q]``) and ``answer_texts`` (``[Q, K]``, padded with -1) belong to the questions;
        ``scored`` and ``teacher`` (``[Q, L]``) are the candidates scored by a classifier, and its logits.
        """
        needed: dict[PassageKey, set[tuple[int, int]]] = defaultdict(set)
        for example in examples:
            for candidate in (example.positive, *example.others):
                needed[candidate.context, candidate.head].add(_span(candidate))
        inputs: list[EncoderInput] = []
        rows: list[int] = []
        outputs: list[int] = []
        texts: list[int] = []
        numbers: dict[tuple[PassageKey, tuple[int, int]], int] = {}
        for source, candidate_spans in needed.items():
            spans = self._spans[source]
            if self._whole:
                numbers[source, (0, len(source[0]))] = len(rows)
                rows.append(len(inputs))
                outputs.append(0)
                texts.append(text_number(source[0]))
                inputs += [part.tokens for part in self._passage(source)]
                continue
            for part in self._passage(source):
                sentences = range(part.first, part.first + len(part.tokens.ranges) - 1)
                if not self._late and not any(spans[k] in candidate_spans for k in sentences):
                    continue
                for output, k in enumerate(sentences, 1):
                    numbers[source, spans[k]] = len(rows)
                    rows.append(len(inputs))
                    outputs.append(output)
                    texts.append(text_number(source[0][slice(*spans[k])]))
                inputs.append(part.tokens)

        # Sorted by length: inputs encoded together need little padding.
        order = sorted(range(len(inputs)), key=lambda row: len(inputs[row].ids))
        places = {row: place for place, row in enumerate(order)}

        def number(candidate: Candidate) -> int:
            return numbers[(candidate.context, candidate.head), _span(candidate)]

        scored = [[number(c) for c in (e.positive, *e.others)] if e.scores else [] for e in examples]
        teacher = [[_logit(score) for score in example.scores] for example in examples]
        questions = self._question_inputs.questions([example.question for example in examples])
        return {
            **{f"question_{name}": value for name, value in _input_tensors(questions).items()},
            **{f"passage_{name}": value for name, value in _input_tensors([inputs[row] for row in order]).items()},
            "rows": torch.tensor([places[row] for row in rows]),
            "outputs": torch.tensor(outputs),
            "candidate_texts": torch.tensor(texts),
            "positives": torch.tensor([number(example.positive) for example in examples]),
            "weights": torch.tensor([example.weight for example in examples]),
            "answer_texts": _padded([self._answers[example.question] for example in examples], -1),
            "scored": _padded(scored, -1),
            "teacher": _padded(teacher, 0.0),
        }

    def _passage(self, source: PassageKey) -> list[PassageInput]:
        if source not in self._passages:
            context, title = source
            self._passages[source] = self._inputs.passages([(title, context, self._spans[source])])
        return self._passages[source]


INPUTS = ("input_ids", "attention_mask", "token_type_ids", "pool")
"""Arguments of the dual encoder; a batch has them twice, with the prefixes ``question_`` and ``passage_``."""


def _input_tensors(inputs: Sequence[EncoderInput]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(array) for name, array in zip(INPUTS, input_arrays(inputs), strict=True)}


def _by_passage(pairs: Sequence[Pair]) -> dict[PassageKey, list[Candidate]]:
    candidates: dict[PassageKey, list[Candidate]] = defaultdict(list)
    for pair in pairs:
        for candidate in (pair.positive, *pair.negatives):
            candidates[candidate.context, candidate.head].append(candidate)
    return candidates


def _span(candidate: Candidate) -> tuple[int, int]:
    return candidate.start, candidate.end


def text_number(text: str) -> int:
    """Return a number that identifies a text, the same in every process."""
    return int.from_bytes(hashlib.sha1(text.encode()).digest()[:7])


def _logit(probability: float) -> float:
    clipped = min(max(probability, MARGIN), 1 - MARGIN)
    return math.log(clipped / (1 - clipped))


def _padded(rows: Sequence[Sequence[float]], blank: float) -> Tensor:
    width = max((len(row) for row in rows), default=0)
    return torch.tensor([[*row, *[blank] * (width - len(row))] for row in rows])
