"""Run the reader on a GPU with torch."""

from __future__ import annotations

from oreqa.models.graph.torch import TorchSession, load_module, usable_device
from oreqa.models.graph.weights import load_weights
from oreqa.models.reader.folder import ReaderFolder


def open_session(folder: ReaderFolder, precision: str | None, device: str = "cuda") -> TorchSession:
    """Return a session with the same outputs as OpenVINO's, on ``device`` (always in f32 if that is the CPU)."""
    usable_device(device)
    from oreqa.models.reader.module import BertReader

    weights = load_weights(folder.path)
    module = load_module(BertReader, folder, weights, device, precision)
    if "qa_classifier.weight" not in weights:
        for parameter in module.qa_classifier.parameters():
            parameter.requires_grad_(False).zero_()
    return TorchSession(module, device)
