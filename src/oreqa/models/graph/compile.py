"""Graph to compiled model: the graph is built once and kept in the cache, from which it is mapped into memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from oreqa.errors import ModelError
from oreqa.models.graph.cache import cache_folder, is_intact, save_entry
from oreqa.models.graph.quiet_openvino import ov

GRAPH_VERSION = "3"
"""Part of the cache's key: to be raised when the graphs that are built from the same folder change."""


def compile_cached(key: str, build: Callable[[], ov.Model], precision: str) -> ov.CompiledModel:
    """Compile the graph that ``build`` returns, or its copy in the cache under ``key``.

    With bf16 arithmetic the copy's weights are kept in half precision, which is finer than what is computed with, and
    needs half the memory. A damaged copy is replaced; a cache that cannot be read or written is done without.
    Raises ModelError if OpenVINO cannot compile the graph.
    """
    core = ov.Core()
    folder = cache_folder() / f"{key}-{precision}-{GRAPH_VERSION}-{ov.__version__.split('-')[0]}"
    try:
        model = _read(core, folder)
        if model is None:
            model = build()
            if save_entry(folder, lambda draft: _save(model, draft, precision)):
                model = _read(core, folder) or model
        return core.compile_model(model, "CPU", _options(precision))
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise ModelError(f"OpenVINO cannot compile {key} in {precision} on this processor ({reason})") from error


def _read(core: ov.Core, folder: Path) -> ov.Model | None:
    if not is_intact(folder):
        return None
    try:
        return core.read_model(folder / "graph.xml")
    except RuntimeError:  # removed since, by another process
        return None


def _save(model: ov.Model, draft: Path, precision: str) -> None:
    ov.save_model(model, draft / "graph.xml", compress_to_fp16=precision == "bf16")


def _options(precision: str) -> dict[str, str]:
    return {
        "INFERENCE_PRECISION_HINT": "f32" if precision == "i8" else precision,
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": "64" if precision == "i8" else "0",
        "PERFORMANCE_HINT": "THROUGHPUT",
        # Kernels are kept for each shape of input, of which long runs see thousands, and the default keeps 5,000.
        # (0 is not an option: OpenVINO 2026.4 then computes wrong results.)
        "CPU_RUNTIME_CACHE_CAPACITY": "20",
    }
