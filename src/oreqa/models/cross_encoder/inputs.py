"""Cross-encoders: the settings of their folders, and their inputs.

An input is a question and a candidate answer, alone or in its passage. sentence-transformers' folders are read like it
reads them, except for the score's activation: ours is the logit, the log-odds that the candidate is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from oreqa.datasets.pairs import Candidate
from oreqa.errors import ModelError
from oreqa.models.fitted import Fitted, read_fitted
from oreqa.models.graph.windows import QUESTION_TOKENS, Tokens, Window, WindowInputs, token_span
from oreqa.models.names import (
    CLASSIFIER,
    RERANKER,
    ModelFolder,
    folder_settings,
    read_json_file,
    tokenizer_limit,
    valid_settings,
)

Marking = Literal["alone", "marked", "appended", "unmarked"]
"""How a candidate is presented. ``alone``: without its passage. ``marked``: in its passage, between two unused vocabulary
entries. ``appended``: before its passage, in the second segment. ``unmarked``: in its passage, without its position."""

MARKINGS: tuple[Marking, ...] = get_args(Marking)

MARKS = (("[unused0]", "[unused1]"), ("madeupword0000", "madeupword0001"), ("<mask>", "<mask>"))
"""The vocabulary entries around a marked candidate: BERT's, RoBERTa's, and those of XLM-R, which has no unused ones."""

_YES = ("yes", "true", "relevant", "entailment")
"""Names of the positive class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossEncoderFolder(ModelFolder):
    """The settings of a cross-encoder's folder, documented in ``CrossEncoderInputs``."""

    kind: str
    marking: Marking
    titles: bool
    closing: bool
    prompt: str
    fitted: Fitted = field(default_factory=Fitted)

    @property
    def yes(self) -> int:
        """The positive one of two classes: the second, unless their names say otherwise."""
        return 0 if str((self.config.get("id2label") or {}).get("0")).lower() in _YES else 1

    def check_classes(self, classes: int) -> None:
        """Raise ModelError unless the weights have one output or two."""
        if classes not in (1, 2):
            raise ModelError(
                f"{self.path}: the {self.kind} has {classes} classes; it must have one output, or two (no and yes)"
            )


def read_cross_encoder_folder(path: Path, kind: str | None = None) -> CrossEncoderFolder:
    """Read the settings of a cross-encoder's folder. Raises ModelError if it is something else, or not of ``kind``."""
    with valid_settings(path):
        settings = folder_settings(path, *([kind] if kind else (CLASSIFIER, RERANKER)))
        marking = settings.oreqa.get("marking", "alone" if settings.kind == CLASSIFIER else "marked")
        if marking not in MARKINGS:
            raise ModelError(f"{path}: its setting marking is {marking!r}; it must be one of {', '.join(MARKINGS)}")
        return CrossEncoderFolder(
            **settings.folder(tokenizer_limit(path, settings.positions())),
            kind=settings.kind,
            marking=marking,
            titles=bool(settings.oreqa.get("titles", False)),
            closing=bool(settings.oreqa.get("closing", True)),
            prompt=_prompt(path),
            fitted=read_fitted(path),
        )


def _prompt(path: Path) -> str:
    """Return sentence-transformers' question prompt. Raises ModelError for modules that it would run and we do not."""
    file = path / "config_sentence_transformers.json"
    settings = read_json_file(file) if file.is_file() else {}
    if settings.get("model_type") != "CrossEncoder":
        return ""
    kinds = [module["type"].rpartition(".")[2] for module in read_json_file(path / "modules.json")]
    if others := ", ".join(kind for kind in kinds if kind != "Transformer"):
        raise ModelError(f"{path}: its modules {others} are not supported; use a cross-encoder that has its own head")
    return str((settings.get("prompts") or {}).get(settings.get("default_prompt_name")) or "")


class CrossEncoderInputs(WindowInputs):
    """Builds the windows of one cross-encoder, one per candidate, presented according to ``marking``.

    ``prompt`` precedes every question.
    """

    def __init__(
        self,
        tokenizer: Path,
        max_tokens: int,
        marking: Marking,
        titles: bool = True,
        closing: bool = True,
        prompt: str = "",
    ) -> None:
        super().__init__(tokenizer, max_tokens, titles and marking != "alone", closing)
        self.marking, self._prompt = marking, prompt
        self._marks = self._known_marks(tokenizer) if marking == "marked" else []

    def windows(self, pairs: Sequence[tuple[str, Candidate]]) -> list[Window]:
        """Return one window per question and candidate, in order. Each distinct text is tokenised once."""
        pairs = [(self._prompt + question, candidate) for question, candidate in pairs]
        if self.marking == "alone":
            pairs = [(question, Candidate(candidate.answer, candidate.answer)) for question, candidate in pairs]
        tokens = self.tokenize(text for question, c in pairs for text in (question, c.head, c.context))
        return [self.window(tokens[question], tokens[c.head], tokens[c.context], c.start, c.end) for question, c in pairs]

    def window(self, question: Tokens, title: Tokens | None, passage: Tokens, start: int, end: int) -> Window:
        """Return the window for the characters ``start:end`` of a passage; a long passage is truncated around them."""
        first, last = token_span(passage, start, end) or (0, -1)
        answer = list(passage.ids[first : last + 1])
        appended = []
        if self.marking == "appended":
            appended = [*answer[: min(QUESTION_TOKENS, self.max_tokens // 4)], *self._between]
        front, segment = self._front(question, title, len(answer), appended, len(self._marks))
        room = self.max_tokens - len(front) - len(self._tail) - len(self._marks)
        begin = max(0, min(len(passage.ids) - room, first - max(0, room - len(answer)) // 2))
        before, after = list(passage.ids[begin:first]), list(passage.ids[last + 1 : begin + room])
        body = [*before, *self._marks[:1], *answer[:room], *self._marks[1:], *after]
        return Window(front + body + self._tail, segment, len(front), len(front) + len(body), begin)

    def _known_marks(self, tokenizer: Path) -> list[int]:
        for marks in MARKS:
            ids = [number for mark in marks if (number := self.tokenizer.token_to_id(mark)) is not None]
            if len(ids) == len(marks):
                return ids
        raise ModelError(f"{tokenizer}: its vocabulary has no {' and '.join(MARKS[0])} to mark a span with")
