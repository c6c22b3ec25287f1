"""Run the reader on a GPU with torch."""

from __future__ import annotations

import numpy as np

from oreqa.models.graph.torch import TorchSession, load_module, usable_device
from oreqa.models.graph.weights import load_weights
from oreqa.models.reader.folder import ReaderFolder


def open_session(folder: ReaderFolder, precision: str | None, device: str = "cuda") -> TorchSession:
    """Return a session with the same outputs as OpenVINO's, on ``device`` (always in f32 if that is the CPU)."""
    usable_device(device)
    from oreqa.models.reader.module import BertReader

    weights = load_weights(folder.path)
    if "qa_classifier.weight" not in weights:  # a reader of single passages, none of which it selects
        width = folder.config["hidden_size"]
        weights |= {
            "qa_classifier.weight": np.zeros((1, width), np.float32),
            "qa_classifier.bias": np.zeros(1, np.float32),
        }
    return TorchSession(load_module(BertReader, folder, weights, device, precision), device)
