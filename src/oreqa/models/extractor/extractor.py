"""Extraction: passages to the spans that people ask about, in batches over passages of similar length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from oreqa.arguments import count, passage_list
from oreqa.core import Span
from oreqa.models.extractor.folder import ExtractorFolder, read_extractor_folder
from oreqa.models.extractor.inputs import ExtractorInputs
from oreqa.models.extractor.spans import PassageSpans, WindowScores
from oreqa.models.graph.session import Session
from oreqa.models.graph.windows import Tokens, Window, token_span
from oreqa.models.model import LoadedModel
from oreqa.text.whole_words import long_words, whole_words

CHUNK = 256
"""Passages read together: enough to sort them by length, and few enough to keep the scores small."""


Text = tuple[str, str]
"""A passage's title and text."""


class Extractor(LoadedModel[ExtractorFolder]):
    """A loaded extractor finds the spans of passages that people ask about. Threads may share it.

    Examples:
        >>> extractor = Extractor("runs/extractor")
        >>> [spans] = extractor.extract(["An octopus has three hearts."], k=3)
        >>> all(span.text in "An octopus has three hearts." for span in spans)
        True
    """

    family = "extractor"
    _read_folder = staticmethod(read_extractor_folder)

    def _begin(self, folder: ExtractorFolder, session: Session, fingerprint: str) -> None:
        super()._begin(folder, session, fingerprint)
        self._inputs = ExtractorInputs(folder.tokenizer, folder.max_tokens, folder.overlap)

    def _shown(self) -> dict[str, Any]:
        return {"max_tokens": self.folder.max_tokens}

    def extract(self, passages: str | Iterable[str | Text], *, k: int = 10, overlapping: bool = False) -> list[list[Span]]:
        """Up to ``k`` spans of each passage, best first; unless ``overlapping``, none that overlaps a better one.

        A passage is its text, or its ``(title, text)``. A span's ``score`` is its log-probability among all spans of its
        passage. Offsets are characters of the passage's text; spans hold whole words. Raises InputError for anything else.
        """
        k = count(k, "the number of spans")
        texts = passage_list(passages)
        spans: list[list[Span]] = []
        for begin in range(0, len(texts), CHUNK):
            spans += self._extract_chunk(texts[begin : begin + CHUNK], begin, k, overlapping)
        return spans

    def _extract_chunk(self, passages: Sequence[Text], begin: int, k: int, overlapping: bool) -> list[list[Span]]:
        tokens = self._inputs.tokenize(sorted({text for passage in passages for text in passage}))
        owners: list[int] = []
        windows: list[Window] = []
        for number, (title, text) in enumerate(passages):
            of_passage = self._inputs.windows(tokens[title], tokens[text])
            windows += of_passage
            owners += [number] * len(of_passage)
        scores: list[list[WindowScores]] = [[] for _ in passages]
        for window_number, (output,) in self._run(windows):
            window = windows[window_number]
            inside = slice(window.first, window.last)
            scores[owners[window_number]].append(WindowScores(window.begin, output[inside, inside].copy()))
        return [
            self._best_spans(text, tokens[text], of_passage, begin + number, k, overlapping)
            for number, ((_, text), of_passage) in enumerate(zip(passages, scores, strict=True))
        ]

    def _best_spans(
        self, text: str, tokens: Tokens, windows: Sequence[WindowScores], passage_number: int, k: int, overlapping: bool
    ) -> list[Span]:
        words = long_words(text)
        candidates = PassageSpans(tokens, windows, self.folder.answer_tokens)
        spans: dict[tuple[int, int], Span] = {}
        for first, last, score in candidates.best():
            ends = int(tokens.offsets[first, 0]), int(tokens.offsets[last, 1])
            start, end = whole_words(text, *ends, words)
            # Whole words may reach into a span that was chosen before, or be one.
            if (start, end) not in spans if overlapping else all(end <= a or b <= start for a, b in spans):
                spans[start, end] = Span(text[start:end], start, end, passage_number, score, {})
                if not overlapping:
                    candidates.remove(*(token_span(tokens, start, end) or (first, last)))
            if len(spans) == k:
                break
        return list(spans.values())
