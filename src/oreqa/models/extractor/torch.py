"""Run the extractor on a GPU with torch."""

from __future__ import annotations

from oreqa.models.extractor.folder import ExtractorFolder
from oreqa.models.graph.torch import TorchSession, load_module, usable_device
from oreqa.models.graph.weights import load_weights


def open_session(folder: ExtractorFolder, precision: str | None, device: str = "cuda") -> TorchSession:
    """Return a session with the same output as OpenVINO's, on ``device`` (always in f32 if that is the CPU)."""
    usable_device(device)
    from oreqa.models.extractor.module import BertExtractor

    return TorchSession(load_module(BertExtractor, folder, load_weights(folder.path), device, precision), device)
