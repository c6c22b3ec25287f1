"""Readers: the settings of their folders, and their inputs.

An input is ``[CLS] question [SEP] title [SEP] passage [SEP]``, or the tokenizer's equivalent; a window slides over a long
passage. Third-party readers see no title.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from oreqa.models.fitted import Fitted, read_fitted
from oreqa.models.graph.windows import Tokens, Window, WindowInputs
from oreqa.models.names import READER, ModelFolder, folder_settings, valid_settings

MAX_ANSWER_TOKENS = 16
"""The default for the longest answer. DPR's reader uses 10, but in FairytaleQA and QED answers can be clauses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderFolder(ModelFolder):
    """The settings of a reader's folder.

    ``max_tokens``, ``overlap``, ``titles``, ``closing`` and ``separators`` are those of ``ReaderInputs``. ``shared`` says
    whether training normalised spans over all passages of a question, ``answer_tokens`` is the length of the longest answer,
    and ``fitted`` has the weights and calibration of the answers.
    """

    overlap: int
    titles: bool
    closing: bool
    separators: int | None
    shared: bool
    answer_tokens: int
    fitted: Fitted = field(default_factory=Fitted)


def read_reader_folder(path: Path) -> ReaderFolder:
    """Read the settings of a reader's folder. Raises ModelError, with the reason, if it is something else."""
    with valid_settings(path):
        settings = folder_settings(path, READER)
        dpr = "DPRReader" in (settings.config.get("architectures") or ())
        return ReaderFolder(
            **settings.folder(350 if dpr else 384),
            overlap=settings.number("overlap", 128),
            titles=bool(settings.oreqa.get("titles", dpr)),
            closing=bool(settings.oreqa.get("closing", not dpr)),
            separators=settings.number("separators", 1) if "separators" in settings.oreqa else None,
            shared=bool(settings.oreqa.get("shared", False)),
            answer_tokens=settings.number("answer_tokens", MAX_ANSWER_TOKENS, 1),
            fitted=read_fitted(path),
        )


class ReaderInputs(WindowInputs):
    """Builds the windows of one reader; consecutive windows of a passage share up to ``overlap`` tokens."""

    def __init__(
        self,
        tokenizer: Path,
        max_tokens: int,
        overlap: int = 64,
        titles: bool = True,
        closing: bool = True,
        separators: int | None = None,
    ) -> None:
        super().__init__(tokenizer, max_tokens, titles, closing, separators)
        self.overlap = overlap

    def windows(self, question: Tokens, title: Tokens | None, passage: Tokens) -> list[Window]:
        """Return the windows of a passage for one question; an empty passage gives one empty window."""
        front, segment = self._front(question, title, len(passage.ids))
        return self._slide(front, segment, passage, self.overlap)
