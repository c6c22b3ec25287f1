"""The encoder's graph on OpenVINO: both cores busy, batches in flight while others are prepared."""

from __future__ import annotations

import threading
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

    def run(self, batches: Iterator[Batch], done: Callable[[Batch, Vectors], None]) -> None:
        """Run every batch; ``done`` is called once for each, in no fixed order, by one thread at a time."""
        queue = ov.AsyncInferQueue(self._model)
        lock = threading.Lock()  # each of the requests in flight calls back from a thread of its own
        failures: list[BaseException] = []

        def finish(request: ov.InferRequest, batch: Batch) -> None:
            try:
                with lock:
                    done(batch, request.get_output_tensor(0).data)
            except BaseException as error:  # an exception inside a callback would end the process
                failures.append(error)

        queue.set_callback(finish)
        for batch in batches:
            if failures:
                break
            queue.start_async([batch.ids, batch.mask, np.zeros_like(batch.ids), batch.pool], batch)
        queue.wait_all()
        if failures:
            raise failures[0]


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
