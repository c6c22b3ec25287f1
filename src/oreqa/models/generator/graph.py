"""Runs the question generator on the CPU with OpenVINO: the prefix once, then one token per step.

The graph keeps the layers' keys and values, so that a step computes one token for each question. Prefix tokens see the
whole prefix and question tokens see everything before them, so the mask only hides padding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from oreqa.arrays import Floats
from oreqa.models.generator.inputs import GeneratorFolder
from oreqa.models.graph.architectures import build_graph
from oreqa.models.graph.layers import activate, dense, layer_norm, product
from oreqa.models.graph.openvino import compile_cached
from oreqa.models.graph.precision import heads_precision
from oreqa.models.graph.quiet_openvino import op, ov
from oreqa.models.weights import language_head, load_weights
from oreqa.processes import OfOneProcess


class OpenVinoDecoder(OfOneProcess):
    """A batch of prefixes; see ``Decoder``."""

    def __init__(self, request: ov.InferRequest) -> None:
        self._request = request
        self._mask = self._positions = np.zeros((0, 0), np.int64)

    def start(self, prefixes: Sequence[Sequence[int]]) -> Floats:
        """Implement ``Decoder.start``."""
        self.check_process()
        self._request.reset_state()
        lengths = np.array([len(prefix) for prefix in prefixes])
        places = np.arange(lengths.max())
        ids = np.zeros((len(prefixes), len(places)), np.int64)
        for row, prefix in zip(ids, prefixes, strict=True):
            row[: len(prefix)] = prefix
        self._mask = (places < lengths[:, None]).astype(np.int64)
        self._positions = lengths[:, None]
        return self._run(ids, np.zeros_like(ids), np.tile(places, (len(ids), 1)), np.arange(len(ids)), lengths - 1)

    def step(self, rows: Sequence[int], tokens: Sequence[int]) -> Floats:
        """Implement ``Decoder.step``."""
        ids = np.array(tokens, np.int64)[:, None]
        chosen, positions = np.array(rows), self._positions[rows]
        self._mask = np.concatenate([self._mask[chosen], np.ones_like(ids)], axis=1)
        self._positions = positions + 1
        return self._run(ids, np.ones_like(ids), positions, chosen, np.zeros(len(ids), np.int64))

    def _run(
        self,
        ids: NDArray[np.int64],
        types: NDArray[np.int64],
        positions: NDArray[np.int64],
        rows: NDArray[np.intp],
        last: NDArray[np.int64],
    ) -> Floats:
        self._request.infer([ids, self._mask, types, positions, rows.astype(np.int32), last])
        logits: Floats = self._request.output_tensors[0].data
        return logits


class OpenVinoDecoders(OfOneProcess):
    """A compiled generator. Each of its decoders has its own keys and values; ``width`` of them keep all cores busy."""

    def __init__(self, model: ov.CompiledModel) -> None:
        self._model = model
        self.width = int(model.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS"))

    def decoder(self) -> OpenVinoDecoder:
        """Return a new decoder."""
        self.check_process()
        return OpenVinoDecoder(self._model.create_infer_request())


def open_session(folder: GeneratorFolder, key: str, precision: str | None) -> OpenVinoDecoders:
    """Return the compiled generator."""
    precision = heads_precision(precision)
    return OpenVinoDecoders(compile_cached(key, lambda: _graph(folder, precision == "i8"), precision))


def _graph(folder: GeneratorFolder, eight_bits: bool) -> ov.Model:
    """Build the graph: BERT with its cache, and the language model head for one token of each row."""
    weights = load_weights(folder.path)
    inner, norm, output_bias = language_head(weights, folder.path, folder.config)
    graph = build_graph(folder.path, weights, folder.config, eight_bits=eight_bits, cached=True)
    last = op.parameter([-1], np.int64, "last")
    hidden = op.gather(graph.hidden, last, op.constant(np.array(1, np.int64)), 1)
    x = activate(dense(hidden, *inner), folder.config)
    x = layer_norm(x, op.constant(norm[0]), op.constant(norm[1]), folder.config.get("layer_norm_eps", 1e-12))
    logits = op.add(product(x, graph.words, eight_bits), op.constant(output_bias))
    return graph.model({"logits": logits}, {"last": last})
