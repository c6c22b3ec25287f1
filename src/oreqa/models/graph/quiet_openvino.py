"""Imports OpenVINO without its telemetry; all other files import it from here.

OpenVINO depends on the package openvino_telemetry. If that is installed, importing OpenVINO sends usage data to its vendor
and writes an identifier to the user's home folder; if not, OpenVINO falls back on an empty stub. So the package is hidden
during the import. A program that has already imported OpenVINO keeps what it has.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

_modules: dict[str, Any] = sys.modules
_hidden = {name: _modules.pop(name) for name in list(_modules) if name.partition(".")[0] == "openvino_telemetry"}
_modules["openvino_telemetry"] = None  # importing it now raises ImportError
try:
    import openvino as ov
    from openvino import opset13 as op
    from openvino._offline_transformations import compress_model_transformation as compress
finally:
    del _modules["openvino_telemetry"]
    _modules.update(_hidden)

# The first array that OpenVINO hands to numpy makes it load numpy's C interface, holding a lock of its own while it releases
# Python's. Two threads that do this at the same time deadlock, so it is done here, once.
_ = ov.Tensor(np.zeros(1, np.float32)).data

__all__ = ["compress", "op", "ov"]
