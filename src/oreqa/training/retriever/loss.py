"""The dual encoder's loss of a batch: encoding, optionally in chunks, then the recipe's loss of the vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from sentence_transformers.base.losses.gradcache import RandContext
from torch import Tensor

from oreqa.losses.alignment import AlignmentWeights, Kernel, PairVectors, RoleKernels, alignment_loss
from oreqa.losses.retrieval import RetrieverVectors, weighted_softmax
from oreqa.losses.variational import variational_loss
from oreqa.training.distributed import gather_padded
from oreqa.training.loop import TensorBatch
from oreqa.training.retriever.collator import INPUTS
from oreqa.training.retriever.model import RetrieverModel
from oreqa.training.retriever.recipe import Alignment, OfRoles, Variational

PASSAGE_WEIGHT = 0.37
"""Weight of a passage's own vector in those of its sentences (late chunking)."""

SIMILAR, FEWEST = 0.6, 16
"""Passages are encoded together if the shortest has at least this share of the longest's length, or if there are so few."""


class RetrievalLoss:
    """The recipe's loss of a batch (``RetrieverCollator``), over the candidates of all processes.

    ``loss`` is a loss of ``RetrieverVectors``. With ``late``, candidates are sentences read inside their passage.
    ``alignment`` and ``variational`` are the recipe's tables, ``scale`` is that of the softmax.

    A batch of more than ``chunk`` questions or passages is encoded in chunks and twice: first without gradients, for the
    loss and its gradients at the vectors, then with them (gradient caching, Gao et al. 2021), so that memory is that of
    one chunk.

    It calls the model as wrapped in several processes; ``model`` is the model itself, and ``epoch_batches`` the batches per
    epoch in each process, by which the weights of a companion's losses rise.
    """

    def __init__(
        self,
        model: RetrieverModel,
        loss: Callable[[RetrieverVectors], Tensor],
        *,
        late: bool,
        scale: float,
        epoch_batches: float,
        chunk: int | None = None,
        alignment: Alignment | None = None,
        variational: Variational | None = None,
    ) -> None:
        self._model, self._loss, self._late, self._scale = model, loss, late, scale
        self._epoch_batches, self._chunk, self._alignment, self._variational = epoch_batches, chunk, alignment, variational

    def __call__(self, model: Any, batch: TensorBatch) -> Tensor:
        size = self._chunk
        sides = [_side(batch, "question"), _side(batch, "passage")]
        if size is None or max(len(inputs["input_ids"]) for inputs in sides) <= size or not model.training:
            calls = self.calls(batch)
            vectors = {side: torch.cat([model(**inputs) for inputs in calls[side]]) for side in calls}
            loss = self.from_vectors(vectors, batch)
        else:
            loss = self._cached(model, batch, self.calls(batch, size))
        if model.training:
            self._model.batches += 1
        return loss

    def calls(self, batch: TensorBatch, size: int | None = None) -> dict[str, list[dict[str, Any]]]:
        """Return the arguments of the model's calls that encode questions, passages and, for a cross-encoder, pairs.

        Each call encodes ``size`` at a time.
        """
        questions, passages = _side(batch, "question"), _side(batch, "passage")
        parts = _similar_length_batches(passages) if size is None else _chunks(passages, size)
        calls = {
            "questions": [{**part, "questions": True} for part in _chunks(questions, size or len(questions["input_ids"]))],
            "passages": list(parts),
        }
        if self._model.cross is not None:
            count = len(batch["positives"])
            calls["pairs"] = [
                pair_inputs(batch, slice(begin, begin + (size or count))) for begin in range(0, count, size or count)
            ]
        return calls

    def _cached(self, model: Any, batch: TensorBatch, calls: dict[str, list[dict[str, Any]]]) -> Tensor:
        """Return the loss of a batch encoded in chunks, with its gradients already computed."""
        replays, vectors = [], {}
        with torch.no_grad():
            for side, inputs in calls.items():
                rows = []
                for chunk in inputs:
                    replays.append(RandContext(*_tensors(chunk)))
                    rows.append(model(**chunk))
                vectors[side] = torch.cat(rows).requires_grad_()
        with torch.enable_grad():
            loss = self.from_vectors(vectors, batch)
        gradients = torch.autograd.grad(loss, list(vectors.values()))
        again, last = [], []
        for inputs, side_gradient in zip(calls.values(), gradients, strict=True):
            ends = np.cumsum([_outputs(chunk) for chunk in inputs])[:-1].tolist()
            chunks = list(zip(inputs, side_gradient.tensor_split(ends), strict=True))
            again += chunks
            last.append(len(again) - 1)
        # Processes exchange gradients in one backward pass, which must reach every weight: that of the last chunk of each
        # side.
        with nullcontext() if not hasattr(model, "no_sync") else model.no_sync():
            for number, (chunk, gradient) in enumerate(again):
                if number not in last:
                    _replayed(model, chunk, replays[number]).backward(gradient)
        outputs = [_replayed(model, again[number][0], replays[number]) for number in last]
        torch.autograd.backward(outputs, [again[number][1] for number in last])
        return loss.detach().requires_grad_()

    def from_vectors(self, vectors: Mapping[str, Tensor], batch: TensorBatch) -> Tensor:
        """Return the loss from the vectors of a batch.

        They are those of ``questions`` ``[Q, 1, D]``, of ``passages`` and their sentences ``[N, outputs, D]``, and, from a
        cross-encoder, of ``pairs`` ``[Q, 2, D]``.
        """
        passages = vectors["passages"]
        candidates = passages[batch["rows"], batch["outputs"]]
        if self._late:
            candidates = candidates + PASSAGE_WEIGHT * passages[batch["rows"], 0]
        positives = candidates[batch["positives"]]
        candidates, texts, shift = gather_padded(candidates, batch["candidate_texts"])
        dual = RetrieverVectors(
            questions=vectors["questions"][:, 0],
            candidates=candidates,
            positives=batch["positives"] + shift,
            weights=batch["weights"],
            answering=_answering(texts, batch),
            scored=torch.where(batch["scored"] >= 0, batch["scored"] + shift, -1),
            teacher=batch["teacher"],
        )
        loss = self._loss(dual)
        if self._alignment is not None:
            joined = torch.cat([dual.questions, positives, vectors["pairs"].flatten(1)], 1)
            return self._aligned(self._alignment, loss, joined, batch)
        return loss if self._variational is None else loss + self._generated(self._variational, vectors, batch)

    def _aligned(self, alignment: Alignment, dual: Tensor, joined: Tensor, batch: TensorBatch) -> Tensor:
        """Eq. 13 of Wang et al. (2021): the loss of the ``dual`` encoder, the cross-encoder's (Eq. 5) and the alignment.

        ``joined`` ``[Q, 4 D]`` are the vectors of questions and answers by the dual encoder, and by the cross-encoder.
        """
        joined, texts, shift = gather_padded(joined, batch["candidate_texts"][batch["positives"]])
        parts = joined.unflatten(1, (4, -1)).unbind(1)
        dual_pairs, cross_pairs = PairVectors(parts[0], parts[1]), PairVectors(parts[2], parts[3])
        anchors = torch.arange(len(batch["positives"]), device=joined.device) + shift
        weights, answering = batch["weights"], _answering(texts, batch)
        cross_questions = cross_pairs.questions[anchors]
        cross = weighted_softmax(cross_questions, cross_pairs.answers, anchors, weights, answering, self._scale)
        terms = AlignmentWeights(
            alignment.answer_question, alignment.question_answer, alignment.question_question, alignment.answer_answer
        )
        geometry = alignment_loss(
            dual_pairs,
            cross_pairs.detached() if alignment.detach else cross_pairs,
            terms.times(self._ramp(alignment.ramp_epochs)),
            *_kernels(alignment, self._scale),
            anchors=anchors,
            anchor_weights=weights,
            blank=texts < 0,
        )
        return alignment.dual_share * dual + alignment.cross_share * cross + alignment.share * geometry

    def _generated(self, variational: Variational, vectors: Mapping[str, Tensor], batch: TensorBatch) -> Tensor:
        """Return the loss of generating the pairs' texts from their vectors."""
        assert self._model.decoders is not None
        rows, outputs = (batch[name][batch["positives"]] for name in ("rows", "outputs"))
        texts = []
        for side, places, output_numbers in (
            ("question", torch.arange(len(rows), device=rows.device), torch.zeros_like(rows)),
            ("passage", rows, outputs),
        ):
            ids, pool = batch[f"{side}_input_ids"][places], batch[f"{side}_pool"][places, output_numbers]
            texts += [ids[:, 1:], pool[:, 1:] > 0]  # [CLS] is certain
        words = self._model.encoder.passages.backbone.get_input_embeddings().weight
        answers = vectors["passages"][rows, outputs]
        terms = self._model.decoders(vectors["questions"][:, 0], answers, *texts, words)
        kl_weight = variational.kl_weight * self._ramp(variational.ramp_epochs)
        return variational_loss(
            terms.reconstruction, terms.kl, batch["weights"], variational.reconstruction_weight, kl_weight
        )

    def _ramp(self, epochs: float) -> float:
        """Return the current share of a weight that rises linearly over ``epochs`` epochs."""
        return min(1.0, float(self._model.batches) / (self._epoch_batches * epochs)) if epochs else 1.0


def _kernels(alignment: Alignment, scale: float) -> tuple[RoleKernels, RoleKernels]:
    """Return the kernels of the dual encoder and of the cross-encoder; ``scale`` is the recipe's."""
    dual_scale = scale if alignment.scale is None else alignment.scale
    cross_scale = dual_scale if alignment.cross_scale is None else alignment.cross_scale
    cross_width = alignment.width if alignment.cross_width is None else alignment.cross_width
    both = (alignment.width, dual_scale), (cross_width, cross_scale)
    dual, cross = (
        RoleKernels(*(Kernel(alignment.kernel, *values) for values in zip(_widths(width), _role_values(scale), strict=True)))
        for width, scale in both
    )
    return dual, cross


def _widths(width: OfRoles | Literal["median"]) -> tuple[float | None, ...]:
    return (None,) * 4 if width == "median" else _role_values(width)


def _role_values(value: OfRoles) -> tuple[float, ...]:
    """Return a value for each pair of roles."""
    return value if isinstance(value, tuple) else (value,) * 4


def _answering(texts: Tensor, batch: TensorBatch) -> Tensor:
    """Return which candidates, by the numbers of their ``texts`` (``[C]``), answer each question or are padding:

    ``[Q, C]``.
    """
    return (texts[None, :, None] == batch["answer_texts"][:, None, :]).any(-1) | (texts < 0)


def _side(batch: TensorBatch, side: str) -> TensorBatch:
    return {name: batch[f"{side}_{name}"] for name in INPUTS}


def pair_inputs(batch: TensorBatch, part: slice) -> dict[str, Any]:
    """Return the cross-encoder's arguments for a part of a batch's questions and their answers.

    Each passage occurs once, even if several of its sentences are answers.
    """
    rows, outputs = (batch[name][batch["positives"]][part] for name in ("rows", "outputs"))
    needed, places = rows.unique(return_inverse=True)
    return {
        "questions": _trimmed({name: value[part] for name, value in _side(batch, "question").items()}),
        "passages": _trimmed({name: value[needed] for name, value in _side(batch, "passage").items()}),
        "rows": places,
        "outputs": outputs,
    }


def _tensors(inputs: Mapping[str, Any]) -> list[Tensor]:
    """Return all tensors among a call's arguments."""
    flat = [value.values() if isinstance(value, dict) else [value] for value in inputs.values()]
    return [value for values in flat for value in values if isinstance(value, Tensor)]


def _outputs(inputs: Mapping[str, Any]) -> int:
    """Return the number of rows that the model returns for a call's arguments."""
    return len(inputs["rows"] if "rows" in inputs else inputs["input_ids"])


def _replayed(model: Any, inputs: dict[str, Any], replay: RandContext) -> Tensor:
    """Return the vectors of a chunk, restoring the random state of the first pass (on GPUs, too) for equal dropout."""
    with replay:
        vectors: Tensor = model(**inputs)
    return vectors


def _similar_length_batches(inputs: TensorBatch) -> list[TensorBatch]:
    """Split inputs sorted by length into parts, to reduce padding."""
    lengths = inputs["attention_mask"].sum(1).tolist()
    cuts = [len(lengths)]
    for row in range(len(lengths) - 1, 0, -1):
        if cuts[0] - row >= FEWEST and lengths[row - 1] < SIMILAR * lengths[cuts[0] - 1]:
            cuts.insert(0, row)
    return [_rows(inputs, begin, end) for begin, end in pairwise([0, *cuts])]


def _chunks(inputs: TensorBatch, size: int) -> Iterator[TensorBatch]:
    for begin in range(0, len(inputs["input_ids"]), size):
        yield _rows(inputs, begin, begin + size)


def _rows(inputs: TensorBatch, begin: int, end: int) -> TensorBatch:
    """Return some of the inputs."""
    return _trimmed({name: value[begin:end] for name, value in inputs.items()})


def _trimmed(inputs: TensorBatch) -> TensorBatch:
    """Return the inputs padded only to their longest."""
    longest = int(inputs["attention_mask"].sum(1).max())
    return {name: value[..., :longest] for name, value in inputs.items()}
