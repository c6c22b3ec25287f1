"""Run the cross-encoder on a GPU with torch."""

from __future__ import annotations

from dataclasses import replace

from oreqa.models.cross_encoder.folder import CrossEncoderFolder, check_classes
from oreqa.models.graph.torch import TorchSession, load_module, usable_device
from oreqa.models.graph.weights import load_weights


def open_session(folder: CrossEncoderFolder, precision: str | None, device: str = "cuda") -> TorchSession:
    """Return a session with the same output as OpenVINO's, on ``device`` (always in f32 if that is the CPU)."""
    usable_device(device)
    from oreqa.models.cross_encoder.module import BertCrossEncoder

    weights = load_weights(folder.path)
    classes = len(weights["classifier.weight"]) if "classifier.weight" in weights else 1
    check_classes(folder, classes)
    settings = {**(folder.config.get("oreqa") or {}), "pooler": "bert.pooler.dense.weight" in weights}
    folder = replace(folder, config={**folder.config, "oreqa": settings, "num_labels": classes})
    return TorchSession(load_module(BertCrossEncoder, folder, weights, device, precision), device)
