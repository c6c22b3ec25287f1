"""Build a reader's inputs: ``[CLS] question [SEP] title [SEP] passage [SEP]``, with a sliding window over long passages."""

from __future__ import annotations

from pathlib import Path

from oreqa.models.graph.windows import Tokens, Window, WindowInputs


class ReaderInputs(WindowInputs):
    """Builds the windows of one reader; consecutive windows of a passage share up to ``overlap`` tokens."""

    def __init__(
        self, tokenizer: Path, max_tokens: int, overlap: int = 64, titles: bool = True, closing: bool = True
    ) -> None:
        super().__init__(tokenizer, max_tokens, titles, closing)
        self.overlap = overlap

    def windows(self, question: Tokens, title: Tokens | None, passage: Tokens) -> list[Window]:
        """Return the windows of a passage for one question; an empty passage gives one empty window."""
        front, segment = self._front(question, title, len(passage.ids))
        return self._slide(front, segment, passage, self.overlap)
