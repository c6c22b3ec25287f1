"""Extractors: the settings of their folders, and their inputs.

An input is ``[CLS] title [SEP] passage [SEP]``; a window slides over a long passage.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from oreqa.models.graph.windows import Tokens, Window, WindowInputs
from oreqa.models.names import EXTRACTOR, ModelFolder, folder_settings, valid_settings

MAX_SPAN_TOKENS = 16
"""Default length of the longest span."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorFolder(ModelFolder):
    """The settings of an extractor's folder.

    ``max_tokens`` and ``overlap`` are those of ``ExtractorInputs``; ``answer_tokens`` is the length of the longest span.
    """

    overlap: int
    answer_tokens: int


def read_extractor_folder(path: Path) -> ExtractorFolder:
    """Read the settings of an extractor's folder. Raises ModelError, with the reason, if it is something else."""
    with valid_settings(path):
        settings = folder_settings(path, EXTRACTOR)
        return ExtractorFolder(
            **settings.folder(256),
            overlap=settings.number("overlap", 64),
            answer_tokens=settings.number("answer_tokens", MAX_SPAN_TOKENS, 1),
        )


class ExtractorInputs(WindowInputs):
    """Builds the windows of one extractor; consecutive windows of a passage share up to ``overlap`` tokens.

    The title takes the place of a reader's question, so that a reader's weights are a good initialisation.
    """

    def __init__(self, tokenizer: Path, max_tokens: int, overlap: int) -> None:
        super().__init__(tokenizer, max_tokens, titles=False, closing=True)
        self.overlap = overlap

    def windows(self, title: Tokens, passage: Tokens) -> list[Window]:
        """Return the windows of a passage; an empty passage gives one empty window."""
        front, segment = self._front(title, None, len(passage.ids))
        return self._slide(front, segment, passage, self.overlap)
