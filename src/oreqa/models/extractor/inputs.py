"""Build an extractor's inputs: ``[CLS] title [SEP] passage [SEP]``, with a sliding window over long passages."""

from __future__ import annotations

from pathlib import Path

from oreqa.models.graph.windows import Tokens, Window, WindowInputs


class ExtractorInputs(WindowInputs):
    """Builds the windows of one extractor; consecutive windows of a passage share up to ``overlap`` tokens.

    The title stands where a reader's question stands, so that a reader's weights are a good beginning.
    """

    def __init__(self, tokenizer: Path, max_tokens: int, overlap: int) -> None:
        super().__init__(tokenizer, max_tokens, titles=False, closing=True)
        self.overlap = overlap

    def windows(self, title: Tokens, passage: Tokens) -> list[Window]:
        """Return the windows of a passage; an empty passage gives one empty window."""
        front, segment = self._front(title, None, len(passage.ids))
        return self._slide(front, segment, passage, self.overlap)
