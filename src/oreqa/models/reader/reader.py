"""Reads passages for a question in batches of similar length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np

from oreqa.arguments import count, title_and_text
from oreqa.arrays import Rows
from oreqa.core import Range, Span
from oreqa.defaults import DEFAULT_READER
from oreqa.models.graph.session import Session
from oreqa.models.graph.windows import Text, Tokens, Window
from oreqa.models.model import LoadedModel, questions_with_lists
from oreqa.models.reader.blocks import Reading, TokenOdds, mean_log_odds
from oreqa.models.reader.inputs import ReaderFolder, ReaderInputs, read_reader_folder
from oreqa.models.reader.spans import Logits, TokenSpan, WindowLogits, answer_log_odds, best_spans
from oreqa.text.lines import field_ends, unit_ends
from oreqa.text.sentences import split_sentences
from oreqa.text.whole_words import long_words, whole_words

NO_ANSWER = -1e4
"""The logit of a token excluded from answers."""

CHUNK = 64
"""Questions read together: enough to sort passages by length, few enough to keep the logits small."""


class Reader(LoadedModel[ReaderFolder]):
    """A loaded reader, which finds the spans of passages that answer a question. Threads may share it.

    Examples:
        >>> reader = Reader()  # or another by its name, as Reader("deepset/tinyroberta-squad2")
        >>> spans = reader.read("How many hearts does an octopus have?", ["An octopus has three hearts.", "Bees dance."])
        >>> spans[0].text, spans[0].passage_number
        ('three', 0)
    """

    family = "reader"
    _read_folder = staticmethod(read_reader_folder)

    def __init__(self, name: str | Path = DEFAULT_READER, *, device: str = "cpu", precision: str | None = None) -> None:
        """Load a reader, like ``LoadedModel``; by default the one that comes with oreqa."""
        super().__init__(name, device=device, precision=precision)

    def _begin(self, folder: ReaderFolder, session: Session, fingerprint: str) -> None:
        super()._begin(folder, session, fingerprint)
        self.inputs = ReaderInputs(
            folder.tokenizer, folder.max_tokens, folder.overlap, folder.titles, folder.closing, folder.separators
        )

    def _shown(self) -> dict[str, Any]:
        return {"max_tokens": self.folder.max_tokens}

    @overload
    def read(  # type: ignore[overload-overlap]  # a string is an iterable of strings, too
        self, questions: str, passages: Iterable[str | Text], *, k: int = 5
    ) -> list[Span]: ...

    @overload
    def read(
        self, questions: Iterable[str], passages: Iterable[Iterable[str | Text]], *, k: int = 5
    ) -> list[list[Span]]: ...

    def read(
        self, questions: str | Iterable[str], passages: Iterable[str | Text] | Iterable[Iterable[str | Text]], *, k: int = 5
    ) -> list[Span] | list[list[Span]]:
        """Return the ``k`` best spans of each passage, all spans of a question best first.

        One question takes a list of passages, a list of questions a list of lists. A passage is its text, or its
        ``(title, text)``. A span's ``score`` is the log-probability of its ends; ``scores`` has it as ``span``, and as
        ``passage_logit`` the log-odds that its passage answers (``answer_log_odds`` for third-party readers). Offsets
        are characters of the passage's text. Spans are whole words, including identifiers and paths (``whole_words``),
        within one sentence, paragraph, list item, row (``unit_ends``) or field (``field_ends``); several may become the
        same. Raises InputError for anything else.
        """
        kinds = "texts or of (title, text)"
        texts, groups = questions_with_lists(questions, passages, "passages", kinds, title_and_text)
        spans = [reading.spans for reading in self.readings(texts, groups, k)]
        return spans[0] if isinstance(questions, str) else spans

    def readings(
        self,
        questions: Sequence[str],
        passages: Sequence[Sequence[Text]],
        k: int = 5,
        *,
        excluded: Sequence[Sequence[Sequence[Range]]] = (),
    ) -> list[Reading]:
        """Return the spans of ``read`` and the tokens that belong to answers, from one pass of the model.

        Passages are ``(title, text)``. Spans avoid the ``excluded`` ranges of each passage's text, and probabilities are
        normalised without them. Raises InputError for a ``k`` below 1.
        """
        k = count(k, "the number of spans")
        readings: list[Reading] = []
        for begin in range(0, len(questions), CHUNK):
            chunk = slice(begin, begin + CHUNK)
            readings += self._read_chunk(questions[chunk], passages[chunk], k, excluded[chunk])
        return readings

    def _read_chunk(
        self,
        questions: Sequence[str],
        passages: Sequence[Sequence[Text]],
        k: int,
        excluded: Sequence[Sequence[Sequence[Range]]],
    ) -> list[Reading]:
        texts = {text for group in passages for passage in group for text in passage}
        tokens = self.inputs.tokenize(sorted({*questions, *texts}))
        units = {text: _units(text, tokens[text]) for text in {text for group in passages for _, text in group}}
        owners: list[tuple[int, int]] = []
        windows: list[Window] = []
        for number, (question, group) in enumerate(zip(questions, passages, strict=True)):
            for place, (title, text) in enumerate(group):
                passage_windows = self.inputs.windows(tokens[question], tokens[title], tokens[text])
                windows += passage_windows
                owners += [(number, place)] * len(passage_windows)
        logits: list[list[WindowLogits]] = [[] for _ in questions]
        for window_number, (start, end, *heads) in self._run(windows):
            window, (number, place) = windows[window_number], owners[window_number]
            inside = slice(window.first, window.last)
            logit = float(heads[0]) if heads else answer_log_odds(start, end, inside)
            text, until = passages[number][place][1], window.begin + window.last - window.first
            edges = tokens[text].edges(window.begin, until)
            ends = start[inside].copy(), end[inside].copy()
            for stretch in excluded[number][place] if excluded else ():
                outside = tokens[text].begin_in(stretch, window.begin, until)
                edges[0][outside] = False
                ends[0][outside] = ends[1][outside] = NO_ANSWER
            blocks = heads[1][inside].copy() if len(heads) > 1 else None
            in_units = units[text][window.begin : until]
            logits[number].append(WindowLogits(place, window.begin, *ends, logit, *edges, in_units, blocks))
        readings = []
        for group, question_logits in zip(passages, logits, strict=True):
            question_logits.sort(key=lambda window: (window.passage_number, window.begin))
            best = best_spans(question_logits, k, self.folder.shared, self.folder.answer_tokens)
            texts_read = [text for _, text in group]
            odds = _token_odds(question_logits, [tokens[text] for text in texts_read])
            readings.append(Reading(_in_characters(best, texts_read, tokens), odds))
        return readings


def _token_odds(windows: Sequence[WindowLogits], passages: Sequence[Tokens]) -> tuple[TokenOdds, ...]:
    """Return the log-odds of the tokens of each passage; empty if the windows have none."""
    by_passage: list[list[tuple[int, Logits]]] = [[] for _ in passages]
    for window in windows:
        if window.blocks is None:
            return ()
        by_passage[window.passage_number].append((window.begin, window.blocks))
    return tuple(
        TokenOdds(tokens.offsets, mean_log_odds(logits, len(tokens.ids)))
        for tokens, logits in zip(passages, by_passage, strict=True)
    )


def _units(text: str, tokens: Tokens) -> Rows:
    """Return the number of the sentence, paragraph, list item, row or field of each token of a text."""
    ends = [end for _, end in split_sentences(text)]
    return np.searchsorted(sorted(unit_ends(text) + field_ends(text) + ends), tokens.offsets[:, 0], side="right")


def _in_characters(spans: Sequence[TokenSpan], passages: Sequence[str], tokens: Mapping[str, Tokens]) -> list[Span]:
    """Convert spans to characters of their passages, extended to whole words.

    Spans that become equal stay separate: their probabilities add up, like those of equal answers.
    """
    read = {number: passages[number] for number in {span.passage_number for span in spans}}
    words = {number: long_words(text, field_ends(text)) for number, text in read.items()}
    in_characters = []
    for span in spans:
        text = passages[span.passage_number]
        offsets = tokens[text].offsets
        ends = int(offsets[span.first, 0]), int(offsets[span.last, 1])
        start, end = whole_words(text, *ends, words[span.passage_number])
        scores = {"span": span.span, "passage_logit": span.selection}
        in_characters.append(Span(text[start:end], start, end, span.passage_number, span.span, scores))
    return in_characters
