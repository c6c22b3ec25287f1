"""The one place that imports OpenVINO: without its telemetry.

On import OpenVINO reports to its makers' analytics, and writes an identifier into the user's home, if the package
openvino_telemetry is installed, which it depends on. Without that package it takes an empty stand-in that it ships; so
the package is hidden while OpenVINO is imported. A program that has imported OpenVINO before has decided for itself.
"""

from __future__ import annotations

import sys
from typing import Any

_modules: dict[str, Any] = sys.modules
_hidden = {name: _modules.pop(name) for name in list(_modules) if name.partition(".")[0] == "openvino_telemetry"}
_modules["openvino_telemetry"] = None  # which makes its import an ImportError
try:
    import openvino as ov
    from openvino import opset13 as op
finally:
    del _modules["openvino_telemetry"]
    _modules.update(_hidden)

__all__ = ["op", "ov"]
