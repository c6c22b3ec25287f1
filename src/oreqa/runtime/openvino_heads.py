"""Reader, re-ranker and classifier on OpenVINO; layers that reader and re-ranker share are compiled, and kept, once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.errors import ModelError
from oreqa.models.heads import HeadFolder, linear_head, load_weights, log_odds_head, shares_layers
from oreqa.runtime import bert
from oreqa.runtime.cache import model_stamp
from oreqa.runtime.compiled import compile_cached
from oreqa.runtime.openvino_session import run_inputs
from oreqa.runtime.precision import heads_precision
from oreqa.runtime.quiet_openvino import op, ov
from oreqa.runtime.reader import HeadBatch

Outputs = Iterator[tuple[HeadBatch, list[NDArray[Any]]]]


class OpenVinoHeads:
    """Compiled stages: the common lower layers (or none), and on them the reader and the re-ranker."""

    def __init__(self, reader: HeadFolder, reranker: HeadFolder | None, precision: str | None = None) -> None:
        precision = heads_precision(precision)
        eight = precision == "i8"
        common = reranker.layers if reranker is not None and shares_layers(reader, reranker) else 0
        stamp = model_stamp(reader.path)
        self._lower = None
        if common:
            self._lower = compile_cached(f"lower{common}-{stamp}", lambda: _lower(reader, common, eight), precision)
        self._reader = compile_cached(f"reader{common}-{stamp}", lambda: _reader(reader, common, eight), precision)
        self._reranker = None
        if reranker is not None:
            stamp = model_stamp(reranker.path)
            self._reranker = compile_cached(f"reranker{common}-{stamp}", lambda: _scorer(reranker, common, eight), precision)

    def read(self, batches: Iterator[HeadBatch]) -> Outputs:
        """Start and end ``[batch, tokens]`` and selection ``[batch]``."""
        return self._run(self._reader, batches)

    def rerank(self, batches: Iterator[HeadBatch]) -> Outputs:
        """Scores ``[batch]``."""
        return self._run(self._reranker, batches)

    def _run(self, upper: ov.CompiledModel, batches: Iterator[HeadBatch]) -> Outputs:
        whole = ((batch, (batch.ids, batch.mask, batch.types)) for batch in batches)
        if self._lower is None:
            return run_inputs(upper, whole)
        states = run_inputs(self._lower, whole)
        return run_inputs(upper, ((batch, (hidden, batch.mask)) for batch, (hidden,) in states))


class OpenVinoClassifier:
    """A compiled classifier."""

    def __init__(self, folder: HeadFolder, precision: str | None = None) -> None:
        precision = heads_precision(precision)
        key = f"classifier-{model_stamp(folder.path)}"
        self._model = compile_cached(key, lambda: _scorer(folder, 0, precision == "i8"), precision)

    def run(self, batches: Iterator[HeadBatch]) -> Outputs:
        """Logits ``[batch]``."""
        return run_inputs(self._model, ((batch, (batch.ids, batch.mask, batch.types)) for batch in batches))


def _lower(folder: HeadFolder, common: int, eight_bits: bool) -> ov.Model:
    graph = bert.bert_graph(folder.path, load_weights(folder.path), folder.config, 0, common, eight_bits)
    return bert.as_model(graph, {}, {"states": graph.hidden})


def _reader(folder: HeadFolder, common: int, eight_bits: bool) -> ov.Model:
    weights = load_weights(folder.path)
    graph = bert.bert_graph(folder.path, weights, folder.config, common, eight_bits=eight_bits)
    weight, bias = linear_head(weights, "qa_outputs", folder)
    if len(weight) < 2:
        raise ModelError(f"{folder.path}: its qa_outputs has {len(weight)} output; a reader's has two, start and end")
    ends = bert.dense(graph.hidden, weight[:2], bias[:2], "identity")
    selects = "qa_classifier.weight" in weights
    width = folder.config["hidden_size"]
    selector = linear_head(weights, "qa_classifier", folder) if selects else (np.zeros((1, width)), np.zeros(1))
    selection = bert.dense(bert.first_token(graph.hidden), selector[0], selector[1], "identity")
    start, end = (_at(ends, place, 2) for place in (0, 1))
    return bert.as_model(graph, {}, {"start": start, "end": end, "selection": _at(selection, 0, 1)})


def _scorer(folder: HeadFolder, common: int, eight_bits: bool) -> ov.Model:
    """One number an input, from [CLS], through BERT's pooler if there is one; of two classes, the second's log-odds."""
    weights = load_weights(folder.path)
    graph = bert.bert_graph(folder.path, weights, folder.config, common, eight_bits=eight_bits, only_first=True)
    first = bert.first_token(graph.hidden)
    if "bert.pooler.dense.weight" in weights:
        first = bert.dense(first, *linear_head(weights, "bert.pooler.dense", folder), "tanh")
    weight, bias = log_odds_head(weights, folder)
    score = bert.dense(first, weight, bias, "identity")
    return bert.as_model(graph, {}, {"scores": _at(score, 0, 1)})


def _at(x: Any, place: int, axis: int) -> Any:
    return op.gather(x, op.constant(np.array(place, np.int64)), op.constant(np.array(axis, np.int64)))
