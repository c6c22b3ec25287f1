"""Run compiled graphs on the CPU, several batches at a time, so that all cores are busy."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from oreqa.models.graph.quiet_openvino import ov
from oreqa.models.graph.session import Batch, Outputs


class OpenVinoSession:
    """Runs a compiled model whose inputs are a batch's arrays, in their order.

    It waits for the requests in order instead of using OpenVINO's AsyncInferQueue: that calls back from its own threads,
    and a callback that is waiting for Python's GIL while the model is freed hangs forever.
    """

    def __init__(self, model: ov.CompiledModel) -> None:
        self._model = model
        # Twice as many requests as can run at once, so that no core waits for Python.
        self._width = 2 * int(model.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS"))

    def run(self, batches: Iterator[Batch]) -> Outputs:
        """As ``Session.run``."""
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
