"""Compile graphs. A graph is built once, saved in the cache, and memory-mapped from there afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from oreqa.errors import ModelError
from oreqa.models.graph.cache import cache_folder, is_intact, save_entry
from oreqa.models.graph.quiet_openvino import ov

GRAPH_VERSION = "3"
"""Part of the cache key. Increase it when a change of the code builds another graph from the same folder."""


def compile_cached(key: str, build: Callable[[], ov.Model], precision: str) -> ov.CompiledModel:
    """Compile the graph that ``build`` returns, or its copy in the cache under ``key``.

    For bf16 the cached weights are float16, which is more precise than the arithmetic and halves the memory. A damaged
    copy is replaced; if the cache cannot be read or written, the graph is used without it.

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
    except RuntimeError:  # another process has removed it
        return None


def _save(model: ov.Model, draft: Path, precision: str) -> None:
    ov.save_model(model, draft / "graph.xml", compress_to_fp16=precision == "bf16")


def _options(precision: str) -> dict[str, str]:
    return {
        "INFERENCE_PRECISION_HINT": "f32" if precision == "i8" else precision,
        "KV_CACHE_PRECISION": "f32" if precision == "i8" else precision,  # by default keys and values are kept in eight bits
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": "64" if precision == "i8" else "0",
        "PERFORMANCE_HINT": "THROUGHPUT",
        # OpenVINO caches a kernel per input shape, 5,000 by default, and long runs see thousands of shapes.
        # (Not 0: OpenVINO 2026.4 then computes wrong results.)
        "CPU_RUNTIME_CACHE_CAPACITY": "20",
    }
