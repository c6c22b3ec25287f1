"""Question generators: the settings of their folders, and their inputs.

An input is ``[CLS] style title [SEP] context with the answer marked [SEP]``, then the question. The context is the answer's
sentence with one sentence on each side; the answer is enclosed in two markers. Style and markers are vocabulary entries
that BERT does not use.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from oreqa.errors import ModelError
from oreqa.models.generator.decoding import Ending
from oreqa.models.generator.surface import Writing, readable
from oreqa.models.graph.windows import TITLE_TOKENS, Tokens, WindowInputs, token_span
from oreqa.models.names import GENERATOR, ModelFolder, find_tokenizer, folder_settings, valid_settings
from oreqa.models.settings import MIN_TOKENS

NEIGHBOURS = 1
"""Sentences shown on each side of the answer's."""

ANSWER_OPENS, ANSWER_CLOSES = "[unused0]", "[unused1]"
_FIRST_STYLE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorFolder(ModelFolder):
    """The settings of a generator's folder.

    ``styles`` are the kinds of questions it learned, each from a different training set; ``untitled`` ones were learned
    without titles. ``max_tokens`` is the longest prefix (title, context and answer with special tokens), ``question_tokens``
    the longest question with [SEP].
    """

    styles: tuple[str, ...]
    question_tokens: int
    untitled: tuple[str, ...] = ()


def read_generator_folder(path: Path) -> GeneratorFolder:
    """Read the settings of a generator's folder. Raises ModelError, with the reason, if it is something else."""
    with valid_settings(path):
        settings = folder_settings(path, GENERATOR)
        styles, untitled = settings.oreqa.get("styles"), settings.oreqa.get("untitled", [])
        if not isinstance(styles, list) or not styles or not all(isinstance(style, str) for style in styles):
            raise ModelError(f"{path}: its setting styles is {styles!r}; it must be a list of names")
        if not isinstance(untitled, list) or not all(style in styles for style in untitled):
            raise ModelError(f"{path}: its setting untitled is {untitled!r}; it must be a list of its styles")
        positions = settings.positions(2 * MIN_TOKENS)
        question_tokens = min(settings.number("question_tokens", 32, 2), positions // 2)
        return GeneratorFolder(
            path=path,
            config=settings.config,
            tokenizer=find_tokenizer(path),
            max_tokens=min(settings.number("max_tokens", 128, MIN_TOKENS), positions - question_tokens),
            styles=tuple(styles),
            question_tokens=question_tokens,
            untitled=tuple(untitled),
        )


@dataclass(frozen=True, slots=True)
class MarkedAnswer:
    """An answer to ask about: ``context[start:end]``, in a few sentences under a title."""

    title: str
    context: str
    start: int
    end: int

    @property
    def text(self) -> str:
        """The answer."""
        return self.context[self.start : self.end]


def mark_answer(title: str, text: str, start: int, end: int, sentences: Sequence[tuple[int, int]]) -> MarkedAnswer:
    """Return the answer ``text[start:end]`` in its sentence, with NEIGHBOURS of the text's ``sentences`` on each side."""
    if not sentences:
        return MarkedAnswer(title, text, start, end)
    starts = [sentence[0] for sentence in sentences]
    first = max(0, bisect_right(starts, start) - 1 - NEIGHBOURS)
    last = min(len(sentences) - 1, max(0, bisect_right(starts, max(start, end - 1)) - 1) + NEIGHBOURS)
    begin, stop = min(sentences[first][0], start), max(sentences[last][1], end)
    return MarkedAnswer(title, text[begin:stop], start - begin, end - begin)


class GeneratorInputs(WindowInputs):
    """Builds the prefixes and questions of one generator.

    ``max_tokens``, ``question_tokens`` and ``untitled`` are those of ``GeneratorFolder``; style number i is the vocabulary
    entry ``[unused{i + 2}]``. Raises ModelError for a tokenizer that is damaged or not BERT's, or lacks unused entries.
    """

    reads_passages = False
    """Contexts are the answer's sentence and its neighbours."""

    def __init__(
        self, tokenizer: Path, max_tokens: int, question_tokens: int, styles: Sequence[str], untitled: Collection[str] = ()
    ) -> None:
        super().__init__(tokenizer, max_tokens, titles=True, closing=True)
        self.question_tokens, self._untitled = question_tokens, untitled
        self.opens, self.closes = self.token_id(ANSWER_OPENS), self.token_id(ANSWER_CLOSES)
        self._styles = {style: self.token_id(f"[unused{i}]") for i, style in enumerate(styles, _FIRST_STYLE)}
        if len(self._start) != 1 or len(self._tail) != 1:
            raise ModelError(f"{tokenizer}: it is not BERT's, which begins with [CLS] and ends with [SEP]")
        (self.end,) = self._tail

    def prefix(self, title: Tokens, context: Tokens, start: int, end: int, style: str) -> list[int] | None:
        """Return the ids of a prefix, of at most ``max_tokens``; None if the answer has no token.

        A context that is too long is truncated around the answer; an answer that is too long, at its end.
        """
        answer = token_span(context, start, end)
        if answer is None:
            return None
        head = [*self._start, self._styles[style], *title.ids[: min(TITLE_TOKENS, self.max_tokens // 4)], self.end]
        room = self.max_tokens - len(head) - 3
        first, last = answer[0], min(answer[1], answer[0] + room - 1)
        size = last - first + 1
        begin = max(0, min(len(context.ids) - room, first - (room - size) // 2))
        ids = context.ids[begin : begin + room]
        inside = slice(first - begin, last - begin + 1)
        return [*head, *ids[: inside.start], self.opens, *ids[inside], self.closes, *ids[inside.stop :], self.end]

    def prefixes(self, answers: Sequence[MarkedAnswer], styles: Sequence[str]) -> list[list[int] | None]:
        """Return the prefix of each answer in its style, like ``prefix``; without the title if the style is untitled."""
        titles = ["" if style in self._untitled else a.title for a, style in zip(answers, styles, strict=True)]
        tokens = self.tokenize([*titles, *(answer.context for answer in answers)])
        return [
            self.prefix(tokens[title], tokens[answer.context], answer.start, answer.end, style)
            for title, answer, style in zip(titles, answers, styles, strict=True)
        ]

    def ending(self, path: Path) -> Ending:
        """Return how questions end; they contain no special or unused token. ``path`` is the model's folder."""
        vocabulary = self.tokenizer.get_vocab()
        special = [i for token, i in vocabulary.items() if len(token) > 2 and token[0] + token[-1] in ("[]", "<>")]
        return Ending(self.end, self.question_tokens, np.array([i for i in special if i != self.end]), path)

    def text(self, ids: Sequence[int], answer: MarkedAnswer) -> str:
        """Return a question as text, with words spelled as in the answer's context and title."""
        writing = Writing()
        tokens = self.tokenize((answer.context, answer.title))
        for text in (answer.context, answer.title):
            writing.add(text, tokens[text], self._pieces(tokens[text].ids))
        return readable(self._pieces(ids), writing)

    def _pieces(self, ids: Sequence[int]) -> list[str]:
        return [str(self.tokenizer.id_to_token(number)) for number in ids]

    def questions(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each question, truncated to ``question_tokens``, followed by [SEP]."""
        tokens = self.tokenize(texts)
        return [[*tokens[text].ids[: self.question_tokens - 1], self.end] for text in texts]
