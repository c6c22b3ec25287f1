"""What a benchmark keeps in its work folder between runs."""

from __future__ import annotations

import hashlib
from pathlib import Path

from oreqa.models.folders import find_model, fingerprint


def kept_folder(work: Path, *models: str | Path) -> Path:
    """The part of ``work`` that belongs to these models as they are now: what others have read is not taken for theirs."""
    stamps = "-".join(fingerprint(find_model(model)) for model in models)
    folder = work / hashlib.sha256(stamps.encode()).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    return folder
