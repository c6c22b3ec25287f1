"""Runs graphs on the CPU with OpenVINO: compiled once, then memory-mapped from the cache; several batches run at a time."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from weakref import WeakValueDictionary

from oreqa.errors import ModelError
from oreqa.models.graph.cache import is_intact, save_entry
from oreqa.models.graph.quiet_openvino import compress, ov
from oreqa.models.graph.session import Batch, Outputs
from oreqa.paths import cache_folder
from oreqa.processes import OfOneProcess, never_freed_after_fork

GRAPH_VERSION = "5"
"""Part of the cache key. Increase it when a code change builds another graph from the same folder."""

in_use: WeakValueDictionary[tuple[int, Path], ov.CompiledModel] = WeakValueDictionary()
"""This process's compiled graphs, by process id and cache folder: models of one folder share a graph."""


def compile_cached(key: str, build: Callable[[], ov.Model], precision: str) -> ov.CompiledModel:
    """Compile the graph that ``build`` returns, reusing a graph in use or the copy in the cache under ``key``.

    For bf16 the weights are float16, which is more precise than the arithmetic and halves the memory. A damaged copy is
    replaced; if the cache cannot be read or written, the graph is compiled without it and gives the same numbers.

    Raises ModelError if OpenVINO cannot compile the graph.
    """
    folder = cache_folder() / f"{key}-{precision}-{GRAPH_VERSION}-{ov.__version__.split('-')[0]}"
    if compiled := in_use.get((os.getpid(), folder)):
        return compiled
    core = ov.Core()
    try:
        model = _read(core, folder)
        if model is None:
            model = build()
            if precision == "bf16":
                compress(model)
            if save_entry(folder, lambda draft: ov.save_model(model, draft / "graph.xml", compress_to_fp16=False)):
                model = _read(core, folder) or model
        compiled = never_freed_after_fork(core.compile_model(model, "CPU", _options(precision)))
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise ModelError(f"OpenVINO cannot compile {key} in {precision} on this processor ({reason})") from error
    in_use[os.getpid(), folder] = compiled
    return compiled


def _read(core: ov.Core, folder: Path) -> ov.Model | None:
    if not is_intact(folder):
        return None
    try:
        return core.read_model(folder / "graph.xml")
    except RuntimeError:  # another process has removed it
        return None


def _options(precision: str) -> dict[str, str]:
    return {
        "INFERENCE_PRECISION_HINT": "f32" if precision == "i8" else precision,
        "KV_CACHE_PRECISION": "f32" if precision == "i8" else precision,  # by default, keys and values take eight bits
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": "64" if precision == "i8" else "0",
        "PERFORMANCE_HINT": "THROUGHPUT",
        # OpenVINO caches a kernel per input shape, 5,000 by default, and long runs see thousands of shapes.
        # (Not 0: OpenVINO 2026.4 then computes wrong results.)
        "CPU_RUNTIME_CACHE_CAPACITY": "20",
    }


class OpenVinoSession(OfOneProcess):
    """Runs a compiled model whose inputs are a batch's arrays, in order.

    It waits for requests in order instead of using OpenVINO's AsyncInferQueue, which calls back from its own threads: a
    callback waiting for Python's GIL while the model is freed hangs forever.
    """

    def __init__(self, model: ov.CompiledModel) -> None:
        self._model = model
        # Twice as many requests as can run at once, so that no core waits for Python.
        self._width = 2 * int(model.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS"))

    def run(self, batches: Iterator[Batch]) -> Outputs:
        """Implement ``Session.run``."""
        self.check_process()
        idle: deque[ov.InferRequest] = deque()
        running: deque[tuple[Batch, ov.InferRequest]] = deque()
        for batch in batches:
            request = idle.popleft() if idle else self._model.create_infer_request()
            request.start_async(list(batch.arrays))
            running.append((batch, request))
            if len(running) == self._width:
                yield _wait(*running[0])
                idle.append(running.popleft()[1])
        while running:
            yield _wait(*running.popleft())


def _wait(batch: Batch, request: ov.InferRequest) -> tuple[Batch, list]:  # type: ignore[type-arg]
    request.wait()
    return batch, [tensor.data for tensor in request.output_tensors]
