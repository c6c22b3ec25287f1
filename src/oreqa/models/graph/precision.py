"""The numeric precision of inference: an argument or $OREQA_PRECISION, checked against the processor's capabilities."""

from __future__ import annotations

import os
from functools import cache

from oreqa.errors import InputError

VARIABLE = "OREQA_PRECISION"
PRECISIONS = ("auto", "f32", "bf16", "i8")

_CAPABILITIES = {"f32": "FP32", "bf16": "BF16", "i8": "INT8"}
"""OpenVINO's names. It would emulate a precision that the processor lacks, or silently use f32."""


def chosen_precision(precision: str | None = None) -> str:
    """Return ``precision``, else $OREQA_PRECISION, else ``auto``. Raises InputError for an unknown one."""
    source = "" if precision is not None else f"{VARIABLE}: "
    name = precision if precision is not None else os.environ.get(VARIABLE) or "auto"
    if name not in PRECISIONS:
        raise InputError(f"{source}there is no precision {name!r}: choose {', '.join(PRECISIONS[:-1])} or {PRECISIONS[-1]}")
    return name


@cache
def offered_precisions() -> tuple[str, ...]:
    """Return those of f32, bf16 and i8 that this processor computes natively."""
    from oreqa.models.graph.quiet_openvino import ov

    offered = ov.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return tuple(name for name, capability in _CAPABILITIES.items() if capability in offered)


def encoder_precision(precision: str | None = None) -> str:
    """Return the precision for encoders on the CPU: ``auto`` means bf16 if the processor has it, else f32.

    ``i8`` means f32, because an encoder's vectors are stored and compared with those of other machines.
    Raises InputError for a precision that the processor does not support.
    """
    name = _offered(chosen_precision(precision))
    if name == "auto":
        return "bf16" if "bf16" in offered_precisions() else "f32"
    return "f32" if name == "i8" else name


def heads_precision(precision: str | None = None) -> str:
    """Return the precision for readers and cross-encoders on the CPU: ``auto`` is the first available of bf16, i8, f32.

    ``i8`` quantises weights per row ahead of time, and activations dynamically in groups of 64.
    Raises InputError for a precision that the processor does not support.
    """
    name = _offered(chosen_precision(precision))
    return next(n for n in ("bf16", "i8", "f32") if n in offered_precisions()) if name == "auto" else name


def gpu_precision(precision: str | None = None) -> str:
    """Return the precision for any model on a GPU: ``auto`` means bf16. Raises InputError for ``i8``."""
    name = chosen_precision(precision)
    if name == "i8":
        raise InputError("i8 runs only on the CPU: choose the precision f32, bf16 or auto, or the device cpu")
    return "bf16" if name == "auto" else name


def used_precision(device: str, *families: str) -> dict[str, str]:
    """Return the precision in which models of these families compute, by family; all but the ``encoder`` are heads."""
    if device != "cpu":
        return dict.fromkeys(families, gpu_precision())
    return {family: encoder_precision() if family == "encoder" else heads_precision() for family in families}


def _offered(name: str) -> str:
    if name != "auto" and name not in offered_precisions():
        raise InputError(f"this processor does not compute in {name}: choose one of auto, {', '.join(offered_precisions())}")
    return name
