"""Read the settings of a reader's folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oreqa.models.fitted import Fitted, read_fitted
from oreqa.models.folders import MIN_TOKENS, READER, check_kind, read_config, sound_settings, whole_number
from oreqa.models.graph.weights import find_tokenizer

MAX_ANSWER_TOKENS = 16
"""Default length of the longest answer. DPR's reader uses 10, but in FairytaleQA and QED answers can be clauses."""


@dataclass(frozen=True, slots=True)
class ReaderFolder:
    """The settings of a reader's folder; the weights are not loaded.

    ``max_tokens``, ``overlap``, ``titles`` and ``closing`` are those of ``ReaderInputs``. ``shared`` says whether spans
    were normalised over all passages of a question in training, ``answer_tokens`` is the length of the longest answer,
    and ``fitted`` has the weights and calibration of the answers.
    """

    path: Path
    config: dict[str, Any]
    tokenizer: Path
    max_tokens: int
    overlap: int
    titles: bool
    closing: bool
    shared: bool
    answer_tokens: int
    fitted: Fitted = field(default_factory=Fitted)


def read_reader_folder(path: Path) -> ReaderFolder:
    """Read the settings of a reader's folder. Raises ModelError, with the reason, if it is something else."""
    with sound_settings(path):
        config = read_config(path)
        check_kind(path, config, READER)
        settings = config.get("oreqa") or {}
        dpr = "DPRReader" in (config.get("architectures") or ())
        positions = whole_number(config, "max_position_embeddings", path, 512, MIN_TOKENS)
        return ReaderFolder(
            path=path,
            config=config,
            tokenizer=find_tokenizer(path),
            max_tokens=min(whole_number(settings, "max_tokens", path, 350 if dpr else 384, MIN_TOKENS), positions),
            overlap=whole_number(settings, "overlap", path, 128),
            titles=bool(settings.get("titles", dpr)),
            closing=bool(settings.get("closing", not dpr)),
            shared=bool(settings.get("shared", False)),
            answer_tokens=whole_number(settings, "answer_tokens", path, MAX_ANSWER_TOKENS, 1),
            fitted=read_fitted(path),
        )
