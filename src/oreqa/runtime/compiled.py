"""Model folder to compiled model: the graph is built once and kept in a cache, from which it is mapped into memory."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import openvino as ov

from oreqa.datasets.files import write_text
from oreqa.errors import InputError
from oreqa.models.folders import find_model, fingerprint, read_json_file

GRAPH_VERSION = "2"
"""Part of the cache's key: to be raised when the graphs that are built from the same folder change."""


def cache_folder() -> Path:
    """Where graphs are kept: ``$OREQA_CACHE``, else ``oreqa`` in the user's cache folder."""
    if named := os.environ.get("OREQA_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "oreqa"


def cpu_precision() -> str:
    """``bf16`` where the processor multiplies it in hardware, else ``f32``."""
    return "bf16" if "BF16" in ov.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES") else "f32"


def heads_precision() -> str:
    """How readers and classifiers are computed: ``bf16``, else ``i8`` where the processor multiplies it, else ``f32``.

    In ``i8`` matrices are rounded to 255 steps a row, and what they are multiplied with as it comes, 64 numbers at a time.
    Encoders are not: their vectors are kept, and compared with those of other machines.
    """
    known = ov.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return next((name for name, capability in (("bf16", "BF16"), ("i8", "INT8")) if capability in known), "f32")


def known_fingerprint(folder: Path) -> str:
    """The folder's fingerprint, remembered by sizes and times so that 90 MB are not hashed at every start."""
    files = sorted(f for f in folder.rglob("*") if f.suffix in (".safetensors", ".json") and f.is_file())
    stamp = [str(folder), *([f.name, f.stat().st_size, f.stat().st_mtime_ns] for f in files)]
    note = cache_folder() / "fingerprints.json"
    try:
        notes = json.loads(note.read_text())
    except (OSError, ValueError):
        notes = {}
    known = notes.get(str(folder))
    if known and known[0] == stamp:
        return str(known[1])
    value = fingerprint(folder)
    notes[str(folder)] = [stamp, value]
    with suppress(InputError):  # without it the next start hashes again
        write_text(note, json.dumps(notes))
    return value


def model_stamp(folder: Path) -> str:
    """The folder's fingerprint and, of one kept as a difference, those of the models below it."""
    own = known_fingerprint(folder)[:16]
    base = (read_json_file(folder / "config.json").get("oreqa") or {}).get("difference_from")
    return f"{own}-{model_stamp(find_model(base))}" if base else own


def compile_cached(key: str, build: Callable[[], ov.Model], precision: str) -> ov.CompiledModel:
    """Compile the graph that ``build`` returns, or its copy in the cache under ``key``.

    With bf16 arithmetic the copy's weights are kept in half precision, which is finer than what is computed with, and
    needs half the memory. A cache that cannot be written is done without.
    """
    core = ov.Core()
    folder = cache_folder() / f"{key}-{precision}-{GRAPH_VERSION}-{ov.__version__.split('-')[0]}"
    if not (folder / "graph.xml").is_file():
        model = build()
        if not _save(model, folder, precision):
            return core.compile_model(model, "CPU", _options(precision))
    return core.compile_model(core.read_model(folder / "graph.xml"), "CPU", _options(precision))


def _options(precision: str) -> dict[str, str]:
    return {
        "INFERENCE_PRECISION_HINT": "f32" if precision == "i8" else precision,
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": "64" if precision == "i8" else "0",
        "PERFORMANCE_HINT": "THROUGHPUT",
        # Kernels are kept for each shape of input, of which long runs see thousands, and the default keeps 5,000.
        # (0 is not an option: OpenVINO 2026.4 then computes wrong results.)
        "CPU_RUNTIME_CACHE_CAPACITY": "20",
    }


def _save(model: ov.Model, folder: Path, precision: str) -> bool:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".draft-"))
        ov.save_model(model, draft / "graph.xml", compress_to_fp16=precision == "bf16")
        try:
            draft.rename(folder)
        except OSError:  # another process was first
            shutil.rmtree(draft, ignore_errors=True)
    except OSError:
        return False
    return (folder / "graph.xml").is_file()
