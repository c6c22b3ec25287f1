"""Read the settings of a cross-encoder's folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oreqa.errors import ModelError
from oreqa.models.cross_encoder.inputs import MARKINGS, Marking
from oreqa.models.fitted import Fitted, read_fitted
from oreqa.models.folders import CLASSIFIER, MIN_TOKENS, RERANKER, check_kind, read_config, sound_settings, whole_number
from oreqa.models.graph.weights import find_tokenizer


@dataclass(frozen=True, slots=True)
class CrossEncoderFolder:
    """The settings of a cross-encoder's folder, explained in ``CrossEncoderInputs``; the weights are not loaded."""

    path: Path
    kind: str
    config: dict[str, Any]
    tokenizer: Path
    max_tokens: int
    marking: Marking
    titles: bool
    closing: bool
    fitted: Fitted = field(default_factory=Fitted)


def check_classes(folder: CrossEncoderFolder, classes: int) -> None:
    """Raise ModelError unless the weights have one output or two."""
    if classes not in (1, 2):
        raise ModelError(
            f"{folder.path}: the {folder.kind} has {classes} classes; it must have one output, or two (no and yes)"
        )


def read_cross_encoder_folder(path: Path, kind: str | None = None) -> CrossEncoderFolder:
    """Read the settings of a cross-encoder's folder. Raises ModelError if it is something else, or not of ``kind``."""
    with sound_settings(path):
        config = read_config(path)
        kind = check_kind(path, config, *([kind] if kind else (CLASSIFIER, RERANKER)))
        settings = config.get("oreqa") or {}
        marking = settings.get("marking", "alone" if kind == CLASSIFIER else "marked")
        if marking not in MARKINGS:
            raise ModelError(f"{path}: its setting marking is {marking!r}; it must be one of {', '.join(MARKINGS)}")
        positions = whole_number(config, "max_position_embeddings", path, 512, MIN_TOKENS)
        return CrossEncoderFolder(
            path=path,
            kind=kind,
            config=config,
            tokenizer=find_tokenizer(path),
            max_tokens=min(whole_number(settings, "max_tokens", path, 384, MIN_TOKENS), positions),
            marking=marking,
            titles=bool(settings.get("titles", False)),
            closing=bool(settings.get("closing", True)),
            fitted=read_fitted(path),
        )
