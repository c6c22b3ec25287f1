"""What a benchmark keeps in its work folder between runs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from oreqa.models.names import find_model, model_fingerprint


def kept_folder(work: Path, *models: str | Path, settings: Sequence[object] = ()) -> Path:
    """The part of ``work`` that belongs to these models as they are now, and to these settings: what others have read is not
    taken for theirs."""
    fingerprints = "-".join([*(model_fingerprint(find_model(model)) for model in models), *map(str, settings)])
    folder = work / hashlib.sha256(fingerprints.encode()).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    return folder
