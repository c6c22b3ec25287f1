"""BART and T5 as question generators, as in ProQA (Xiong et al. 2021, section 2.2): answer and passage to question.

The encoder reads the answer, a separator and the passage, ``[<s>] answer </s> passage </s>``; the decoder writes the
question.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from oreqa.errors import ModelError
from oreqa.models.generator.decoding import Ending
from oreqa.models.generator.inputs import GeneratorFolder, MarkedAnswer
from oreqa.models.names import GENERATOR, FolderSettings, valid_settings
from oreqa.models.settings import MIN_TOKENS, whole_number

ONLY_STYLE = "question"
"""The style of a model whose folder names none."""

ANSWER_SHARE = 4
"""An answer takes at most one fourth of the input."""


class Seq2SeqFolder(GeneratorFolder):
    """The settings of a BART's or T5's folder."""

    __slots__ = ()

    @property
    def needs_torch(self) -> bool:
        """True: OpenVINO has no graph for it."""
        return True


def read_seq2seq_folder(path: Path, config: dict[str, Any]) -> Seq2SeqFolder:
    """Read the settings of a BART's or T5's folder. Raises ModelError, with the reason, for damaged ones."""
    with valid_settings(path):
        settings = FolderSettings(path, GENERATOR, config, config.get("oreqa") or {})
        styles = settings.oreqa.get("styles", [ONLY_STYLE])
        if not isinstance(styles, list) or len(styles) != 1 or not isinstance(styles[0], str):
            raise ModelError(f"{path}: its setting styles is {styles!r}; it must be a list of one name")
        return Seq2SeqFolder(
            **settings.folder(512),
            styles=tuple(styles),
            question_tokens=min(settings.number("question_tokens", 64, 2), settings.positions(2 * MIN_TOKENS)),
        )


class Seq2SeqInputs:
    """Builds the inputs of a BART or T5, and converts its output to text.

    Raises ModelError for a tokenizer that is damaged, or that has no end token.
    """

    reads_passages = True
    """Contexts are whole passages."""

    def __init__(self, folder: GeneratorFolder) -> None:
        try:
            self.tokenizer = Tokenizer.from_file(str(folder.tokenizer))
        except Exception as error:  # tokenizers raises plain Exception
            raise ModelError(
                f"{folder.tokenizer}: it is not a valid tokenizer ({error}); copy or download it again"
            ) from error
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.max_tokens, self.question_tokens = folder.max_tokens, folder.question_tokens
        self._begin = (
            [] if folder.config.get("model_type") == "t5" else [whole_number(folder.config, "bos_token_id", folder.path)]
        )
        self._end = whole_number(folder.config, "eos_token_id", folder.path)
        self._vocabulary = whole_number(folder.config, "vocab_size", folder.path)

    def ending(self, path: Path) -> Ending:
        """Return how questions end; they contain no special token and none that the tokenizer lacks.

        ``path`` is the folder.
        """
        forbidden = {number for number, token in self.tokenizer.get_added_tokens_decoder().items() if token.special}
        forbidden |= set(range(self.tokenizer.get_vocab_size(), self._vocabulary))
        return Ending(self._end, self.question_tokens, np.array(sorted(forbidden - {self._end}), np.intp), path)

    def prefixes(self, answers: Sequence[MarkedAnswer], styles: Sequence[str]) -> list[list[int] | None]:
        """Return the encoder's input for each answer; None for an answer without a token.

        A passage that is too long is truncated at its end, and so is an answer.
        """
        inputs: list[list[int] | None] = []
        for answer, passage in zip(self._ids(a.text for a in answers), self._ids(a.context for a in answers), strict=True):
            front = [*self._begin, *answer[: self.max_tokens // ANSWER_SHARE], self._end]
            inputs.append([*front, *passage[: self.max_tokens - len(front) - 1], self._end] if answer else None)
        return inputs

    def _ids(self, texts: Any) -> list[list[int]]:
        return [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def questions(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each question, truncated to ``question_tokens``, followed by the end token."""
        return [[*ids[: self.question_tokens - 1], self._end] for ids in self._ids(texts)]

    def text(self, ids: Sequence[int], answer: MarkedAnswer) -> str:
        """Return a question as text."""
        return str(self.tokenizer.decode(list(ids))).strip()
