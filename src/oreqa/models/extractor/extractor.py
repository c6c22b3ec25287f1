"""Extracts the spans of passages that people ask about, in batches of passages of similar length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.arguments import count, passage_list
from oreqa.core import Span
from oreqa.models.extractor.inputs import ExtractorFolder, ExtractorInputs, read_extractor_folder
from oreqa.models.graph.session import Session
from oreqa.models.graph.windows import Text, Tokens, Window, token_span
from oreqa.models.model import LoadedModel
from oreqa.text.whole_words import long_words, whole_words

_CHUNK = 256
"""Passages read together: enough to sort them by length, few enough to keep the scores small."""


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
        self.inputs = ExtractorInputs(folder.tokenizer, folder.max_tokens, folder.overlap)

    def _shown(self) -> dict[str, Any]:
        return {"max_tokens": self.folder.max_tokens}

    def extract(self, passages: str | Iterable[str | Text], *, k: int = 10, overlapping: bool = False) -> list[list[Span]]:
        """Return up to ``k`` spans of each passage, best first; unless ``overlapping``, none overlaps a better one.

        A passage is its text, or its ``(title, text)``. A span's ``score`` is its log-probability among all spans of its
        passage. Offsets are characters of the passage's text; spans are whole words. Raises InputError for anything else.
        """
        k = count(k, "the number of spans")
        texts = passage_list(passages)
        spans: list[list[Span]] = []
        for begin in range(0, len(texts), _CHUNK):
            spans += self._extract_chunk(texts[begin : begin + _CHUNK], begin, k, overlapping)
        return spans

    def _extract_chunk(self, passages: Sequence[Text], begin: int, k: int, overlapping: bool) -> list[list[Span]]:
        tokens = self.inputs.tokenize(sorted({text for passage in passages for text in passage}))
        owners: list[int] = []
        windows: list[Window] = []
        for number, (title, text) in enumerate(passages):
            passage_windows = self.inputs.windows(tokens[title], tokens[text])
            windows += passage_windows
            owners += [number] * len(passage_windows)
        scores: list[list[WindowScores]] = [[] for _ in passages]
        for window_number, (output,) in self._run(windows):
            window = windows[window_number]
            inside = slice(window.first, window.last)
            scores[owners[window_number]].append(WindowScores(window.begin, output[inside, inside].copy()))
        return [
            self._best_spans(text, tokens[text], window_scores, begin + number, k, overlapping)
            for number, ((_, text), window_scores) in enumerate(zip(passages, scores, strict=True))
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
            # Completing words may make a span overlap or equal one chosen before.
            if (start, end) not in spans if overlapping else all(end <= a or b <= start for a, b in spans):
                spans[start, end] = Span(text[start:end], start, end, passage_number, score, {})
                if not overlapping:
                    candidates.remove(*(token_span(tokens, start, end) or (first, last)))
            if len(spans) == k:
                break
        return list(spans.values())


@dataclass(frozen=True, slots=True)
class WindowScores:
    """The extractor's output for one window, whose passage tokens begin at token ``begin`` of the passage.

    ``scores[i, j]`` (``[tokens, tokens]``) is the score of the span from the window's i-th passage token to its j-th.
    """

    begin: int
    scores: NDArray[np.float32]


class PassageSpans:
    """The spans of one passage: whole words, of at most ``max_tokens`` tokens.

    A span in two windows has its higher score. Log-probabilities are normalised over all spans of the passage.
    """

    def __init__(self, tokens: Tokens, windows: Sequence[WindowScores], max_tokens: int) -> None:
        size = len(tokens.ids)
        width = min(max_tokens, size)
        # scores[i, d] is the score of the span from token i to token i + d.
        self._scores = np.full((size, width), -np.inf, np.float64)
        for window in windows:
            length = len(window.scores)
            for distance in range(min(width, length)):
                part = self._scores[window.begin : window.begin + length - distance, distance]
                np.maximum(part, window.scores.diagonal(distance), out=part)
        opens, closes = tokens.edges(0, size)
        ends = np.arange(size)[:, None] + np.arange(width)
        self._scores[~(opens[:, None] & closes[np.minimum(ends, size - 1)])] = -np.inf
        if np.isfinite(self._scores).any():
            self._scores -= np.logaddexp.reduce(self._scores, axis=None)

    def best(self) -> Iterator[tuple[int, int, float]]:
        """Yield first and last token and log-probability of the spans, best first.

        Spans that overlap those passed to ``remove`` in between are omitted.
        """
        scores = self._scores.reshape(-1)  # a view: it reflects removals
        for place in np.argsort(-scores, kind="stable"):
            if np.isfinite(scores[place]):
                first, distance = divmod(int(place), self._scores.shape[1])
                yield first, first + distance, float(scores[place])

    def remove(self, first: int, last: int) -> None:
        """Exclude all spans that overlap the tokens ``first`` to ``last``, inclusive."""
        width = self._scores.shape[1]
        for distance in range(width):
            self._scores[max(0, first - distance) : last + 1, distance] = -np.inf
