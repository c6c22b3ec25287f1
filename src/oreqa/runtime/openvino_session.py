"""The encoder's graph on OpenVINO: all cores busy, batches in flight while others are prepared."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from oreqa.models.folders import EncoderFolder, load_dense, load_tensors
from oreqa.runtime import bert
from oreqa.runtime.compiled import compile_cached
from oreqa.runtime.encoder import Batch, Vectors
from oreqa.runtime.precision import encoder_precision
from oreqa.runtime.quiet_openvino import op, ov

T = TypeVar("T")


class OpenVinoSession:
    """A compiled encoder on the CPU; ``precision`` as in ``Encoder.load``."""

    def __init__(self, folder: EncoderFolder, fingerprint: str, precision: str | None = None) -> None:
        self._model = compile_cached(f"encoder-{fingerprint[:32]}", lambda: _graph(folder), encoder_precision(precision))

    def run(self, batches: Iterator[Batch], done: Callable[[Batch, Vectors], None]) -> None:
        """Run every batch; ``done`` is called once for each, in order, in the caller's thread."""
        inputs = ((batch, (batch.ids, batch.mask, batch.types, batch.pool)) for batch in batches)
        for batch, (vectors,) in run_inputs(self._model, inputs):
            done(batch, vectors)


def run_inputs(
    model: ov.CompiledModel, inputs: Iterable[tuple[T, Sequence[NDArray[Any]]]]
) -> Iterator[tuple[T, list[NDArray[Any]]]]:
    """Run each input, given with a label; labels and outputs come back in order.

    Inputs are drawn as they can be started. Outputs are views that hold until the next ones are asked for. Requests are
    waited for in turn: OpenVINO's own queue calls back from its threads, and one that still waits for the interpreter's
    lock while the model is freed never ends.
    """
    # One request computes on each core while as many wait, so that no core waits for Python.
    width = 2 * int(model.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS"))
    free: deque[ov.InferRequest] = deque()
    running: deque[tuple[ov.InferRequest, T]] = deque()
    for label, arrays in inputs:
        request = free.popleft() if free else model.create_infer_request()
        request.start_async(list(arrays))
        running.append((request, label))
        if len(running) == width:
            yield _wait(*running[0])
            free.append(running.popleft()[0])
    while running:
        yield _wait(*running.popleft())


def _wait(request: ov.InferRequest, label: T) -> tuple[T, list[NDArray[Any]]]:
    request.wait()
    return label, [tensor.data for tensor in request.output_tensors]


def _graph(folder: EncoderFolder) -> ov.Model:
    graph = bert.bert_graph(folder.path, load_tensors(folder.weights), folder.config)
    pool = op.parameter([-1, -1, -1], np.float32, "pool")
    x = bert.pooled(graph, pool)
    for layer in folder.dense:
        weight, bias = load_dense(layer)
        x = bert.dense(x, weight, bias, layer.activation)
    if folder.normalise:
        x = bert.normalise(x)
    return bert.as_model(graph, {"pool": pool}, {"vectors": x})
