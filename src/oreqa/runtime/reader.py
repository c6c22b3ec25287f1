"""The reader and the span re-ranker at inference: batches over passages and questions, sorted by length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from oreqa.core import Span
from oreqa.errors import InputError
from oreqa.models.folders import find_model
from oreqa.models.heads import READER, RERANKER, HeadFolder, read_head_folder
from oreqa.models.inputs import InputMaker, Tokens, Window
from oreqa.runtime.batches import by_length, check_finite
from oreqa.runtime.spans import Logit, TokenSpan, best_spans
from oreqa.runtime.whole_words import long_words, whole_words

CHUNK = 64
"""Questions read together: enough to sort passages by length, and few enough to keep the logits small."""

Text = tuple[str, str]


@dataclass(frozen=True, slots=True)
class HeadBatch:
    """Padded inputs ``[batch, tokens]`` int64 and the items' numbers."""

    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    types: NDArray[np.int64]
    items: NDArray[np.intp]


class HeadSession(Protocol):
    """Compiled heads on one backbone. Outputs come with their batches, in order."""

    def read(self, batches: Iterator[HeadBatch]) -> Iterator[tuple[HeadBatch, list[NDArray[Any]]]]:
        """Start and end ``[batch, tokens]`` and selection ``[batch]``."""
        ...

    def rerank(self, batches: Iterator[HeadBatch]) -> Iterator[tuple[HeadBatch, list[NDArray[Any]]]]:
        """Scores ``[batch]``."""
        ...


class PassageReader:
    """A loaded reader, and a span re-ranker if one is named."""

    def __init__(self, session: HeadSession, reader: HeadFolder, reranker: HeadFolder | None) -> None:
        self.folder, self.reranker = reader, reranker
        self._session = session
        self._inputs = InputMaker(reader.tokenizer, reader.max_tokens, reader.overlap, reader.titles, reader.closing)
        self._marked = None if reranker is None else InputMaker(
            reranker.tokenizer, reranker.max_tokens, 0, reranker.titles, reranker.closing
        )  # fmt: skip

    @classmethod
    def load(
        cls,
        reader: str | Path,
        reranker: str | Path | None = None,
        device: str = "cpu",
        precision: str | None = None,
    ) -> PassageReader:
        """Load models by name or folder.

        ``precision`` is one of f32, bf16, i8 and auto (the first offered of bf16, i8 and f32); left out, it is
        $OREQA_PRECISION, else auto. Raises ModelError for a folder that is missing, damaged or of another kind, InputError
        for a precision that the processor does not offer.
        """
        folder = read_head_folder(find_model(reader), READER)
        second = None if reranker is None else read_head_folder(find_model(reranker), RERANKER)
        if device == "cpu":
            from oreqa.runtime.openvino_heads import OpenVinoHeads

            session: HeadSession = OpenVinoHeads(folder, second, precision)
        elif device == "cuda":
            from oreqa.runtime.torch_heads import TorchHeads

            session = TorchHeads(folder, second, device, precision)
        else:
            raise InputError(f"there is no device {device!r}: choose cpu or cuda")
        return cls(session, folder, second)

    @property
    def stamp(self) -> str:
        """A hash of the models' files: readers with the same stamp, in the same precision, give the same output."""
        from oreqa.runtime.cache import model_stamp

        return " ".join(model_stamp(folder.path) for folder in (self.folder, self.reranker) if folder)

    def read(
        self,
        questions: Sequence[str],
        passages: Sequence[Sequence[Text]],
        top: int = 5,
    ) -> list[list[Span]]:
        """The ``top`` best spans of every passage ``(title, text)`` of every question, all of a question best first.

        A span's ``score`` is the log-probability of its ends; ``parts`` has it as ``span``, and the passage's logit as
        ``selection``. Offsets are characters of the passage's text. Spans hold whole words, identifiers and paths among
        them (``whole_words``); several may become the same.
        """
        if isinstance(questions, str) or len(questions) != len(passages):
            raise InputError("read takes a list of questions, and for each a list of passages")
        out: list[list[Span]] = []
        for begin in range(0, len(questions), CHUNK):
            chunk = passages[begin : begin + CHUNK]
            out += self._read_chunk(questions[begin : begin + CHUNK], chunk, top)
        return out

    def _read_chunk(self, questions: Sequence[str], passages: Sequence[Sequence[Text]], top: int) -> list[list[Span]]:
        texts = self._tokens({text for group in passages for pair in group for text in pair})
        asked = self._inputs.tokenize(questions)
        owners: list[tuple[int, int]] = []
        windows: list[Window] = []
        for number, (question, group) in enumerate(zip(asked, passages, strict=True)):
            for place, (title, text) in enumerate(group):
                cut = self._inputs.windows(question, texts[title], texts[text])
                windows += cut
                owners += [(number, place)] * len(cut)
        logits: list[list[Logit]] = [[] for _ in questions]
        for batch, (start, end, selection) in self._session.read(window_batches(windows)):
            for output in (start, end, selection):
                check_finite(output, self.folder.path)
            for row, item in enumerate(batch.items):
                window, (number, place) = windows[item], owners[item]
                part = slice(window.first, window.last)
                edges = texts[passages[number][place][1]].edges(window.begin, window.begin + window.last - window.first)
                ends = start[row, part].copy(), end[row, part].copy()
                logits[number].append(Logit(place, window.begin, *ends, float(selection[row]), *edges))
        found = []
        for group, own in zip(passages, logits, strict=True):
            own.sort(key=lambda logit: (logit.passage, logit.begin))
            spans = best_spans(own, top, self.folder.shared, self.folder.answer_tokens)
            found.append(_in_characters(spans, [text for _, text in group], texts))
        return found

    def rerank(
        self,
        questions: Sequence[str],
        passages: Sequence[Sequence[Text]],
        spans: Sequence[Sequence[Span]],
    ) -> list[NDArray[np.float32]]:
        """RECONSIDER's score of each span, marked in its passage (Iyer et al. 2021, Eq. 1): ``[spans]`` a question."""
        if self.reranker is None or self._marked is None:
            raise InputError("no re-ranker is loaded: name one")
        out = [np.zeros(len(own), np.float32) for own in spans]
        for begin in range(0, len(questions), CHUNK):
            part = range(begin, min(begin + CHUNK, len(questions)))
            texts = self._tokens({t for q in part for s in spans[q] for t in passages[q][s.passage]})
            windows, owners = [], []
            for q, question in zip(part, self._marked.tokenize([questions[q] for q in part]), strict=True):
                for place, span in enumerate(spans[q]):
                    title, text = passages[q][span.passage]
                    windows.append(self._marked.marked(question, texts[title], texts[text], span, self.reranker.marking))
                    owners.append((q, place))
            for batch, (scores,) in self._session.rerank(window_batches(windows)):
                check_finite(scores, self.reranker.path)
                for row, item in enumerate(batch.items):
                    q, place = owners[item]
                    out[q][place] = scores[row]
        return out

    def _tokens(self, texts: Iterable[str]) -> dict[str, Tokens]:
        known = sorted(texts)
        return dict(zip(known, self._inputs.tokenize(known), strict=True))


def _in_characters(spans: Sequence[TokenSpan], passages: Sequence[str], tokens: Mapping[str, Tokens]) -> list[Span]:
    """Spans in characters of their passages, in whole words.

    Those that become the same stay apart: their probabilities add up, as those of equal answers do.
    """
    words = {number: long_words(passages[number]) for number in {span.passage for span in spans}}
    found = []
    for span in spans:
        text = passages[span.passage]
        offsets = tokens[text].offsets
        ends = int(offsets[span.first, 0]), int(offsets[span.last, 1])
        start, end = whole_words(text, *ends, words[span.passage])
        parts = {"span": span.span, "selection": span.selection}
        found.append(Span(text[start:end], start, end, span.passage, span.span, parts))
    return found


def window_batches(windows: Sequence[Window]) -> Iterator[HeadBatch]:
    """Windows in batches of like length."""
    for chosen in by_length([len(window.ids) for window in windows]):
        tokens = len(windows[chosen[0]].ids)
        ids, mask, types = (np.zeros((len(chosen), tokens), np.int64) for _ in range(3))
        for row, i in enumerate(chosen):
            window = windows[i]
            ids[row, : len(window.ids)] = window.ids
            mask[row, : len(window.ids)] = 1
            types[row, window.segment : len(window.ids)] = 1
        yield HeadBatch(ids, mask, types, chosen)
