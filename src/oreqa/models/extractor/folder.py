"""Read the settings of an extractor's folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oreqa.models.folders import EXTRACTOR, MIN_TOKENS, check_kind, read_config, sound_settings, whole_number
from oreqa.models.graph.weights import find_tokenizer

MAX_ANSWER_TOKENS = 16
"""Default length of the longest span."""


@dataclass(frozen=True, slots=True)
class ExtractorFolder:
    """The settings of an extractor's folder; the weights are not loaded.

    ``max_tokens`` and ``overlap`` are those of ``ExtractorInputs``; ``answer_tokens`` is the length of the longest span.
    """

    path: Path
    config: dict[str, Any]
    tokenizer: Path
    max_tokens: int
    overlap: int
    answer_tokens: int


def read_extractor_folder(path: Path) -> ExtractorFolder:
    """Read the settings of an extractor's folder. Raises ModelError, with the reason, if it is something else."""
    with sound_settings(path):
        config = read_config(path)
        check_kind(path, config, EXTRACTOR)
        settings = config.get("oreqa") or {}
        positions = whole_number(config, "max_position_embeddings", path, 512, MIN_TOKENS)
        return ExtractorFolder(
            path=path,
            config=config,
            tokenizer=find_tokenizer(path),
            max_tokens=min(whole_number(settings, "max_tokens", path, 256, MIN_TOKENS), positions),
            overlap=whole_number(settings, "overlap", path, 64),
            answer_tokens=whole_number(settings, "answer_tokens", path, MAX_ANSWER_TOKENS, 1),
        )
