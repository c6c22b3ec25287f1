"""The encoder's graph on OpenVINO: both cores busy, batches in flight while others are prepared."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np
import openvino as ov
from openvino import opset13 as op
from safetensors.numpy import load_file

from oreqa.models.folders import EncoderFolder
from oreqa.runtime import bert
from oreqa.runtime.compiled import compile_cached, cpu_precision
from oreqa.runtime.encoder import Batch, Vectors


class OpenVinoSession:
    """A compiled encoder on the CPU. ``precision`` is ``bf16`` or ``f32``; None takes what the processor does best."""

    def __init__(self, folder: EncoderFolder, fingerprint: str, precision: str | None = None) -> None:
        self._model = compile_cached(f"encoder-{fingerprint[:32]}", lambda: _graph(folder), precision or cpu_precision())
        # One request computes on each core while as many wait, so that no core waits for Python.
        self._width = 2 * int(self._model.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS"))

    def run(self, batches: Iterator[Batch], done: Callable[[Batch, Vectors], None]) -> None:
        """Run every batch; ``done`` is called once for each, in order, in the caller's thread.

        Requests are waited for in turn. OpenVINO's own queue calls back from its threads, and one that still waits for
        the interpreter's lock while the model is freed never ends.
        """
        free: deque[ov.InferRequest] = deque()
        running: deque[tuple[ov.InferRequest, Batch]] = deque()
        for batch in batches:
            if len(running) == self._width:
                free.append(_finish(*running.popleft(), done))
            request = free.popleft() if free else self._model.create_infer_request()
            request.start_async([batch.ids, batch.mask, np.zeros_like(batch.ids), batch.pool])
            running.append((request, batch))
        while running:
            _finish(*running.popleft(), done)


def _finish(request: ov.InferRequest, batch: Batch, done: Callable[[Batch, Vectors], None]) -> ov.InferRequest:
    request.wait()
    done(batch, request.get_output_tensor(0).data)
    return request


def _graph(folder: EncoderFolder) -> ov.Model:
    graph = bert.bert_graph(load_file(folder.weights), folder.config)
    pool = op.parameter([-1, -1, -1], np.float32, "pool")
    x = bert.pooled(graph, pool)
    for layer in folder.dense:
        tensors = load_file(layer.folder / "model.safetensors")
        x = bert.dense(x, tensors["linear.weight"], tensors.get("linear.bias"), layer.activation)
    if folder.normalise:
        x = bert.normalise(x)
    return bert.as_model(graph, {"pool": pool}, x, "vectors")
