"""Encodes texts as vectors: folders of sentence-transformers and model2vec, on the CPU (OpenVINO) or a GPU (torch)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.arguments import choice, text_list
from oreqa.arrays import Floats
from oreqa.defaults import DEFAULT_ENCODER
from oreqa.models.encoder.folder import EncoderFolder, encoder_fingerprint, read_encoder_folder
from oreqa.models.encoder.inputs import EncoderInputs, PassageText, input_batches
from oreqa.models.encoder.static import StaticSession, normalised
from oreqa.models.graph.cache import cached_fingerprint
from oreqa.models.graph.session import DEVICES, Session, check_finite
from oreqa.models.model import LoadedModel, load_session
from oreqa.models.names import find_model
from oreqa.progress import Progress, no_progress, show


class Encoder(LoadedModel[EncoderFolder]):
    """A loaded encoder.

    ``dim`` is the width of its vectors, ``max_tokens`` its longest passage without special tokens and prompt. Threads
    may share it. A folder of two encoders has one for questions (``encode``) and one for passages (``encode_document``);
    ``max_tokens`` is then that of passages. ``truncate_dim`` keeps only the leading dimensions, for a model trained for
    that. ``prompts`` precede every question and every passage.

    Examples:
        >>> encoder = Encoder("all-minilm-l6-v2")
        >>> encoder.encode("How many hearts does an octopus have?").shape
        (384,)
        >>> encoder.encode(["An octopus has three hearts.", "Bees dance."]).shape
        (2, 384)
    """

    family = "encoder"
    _read_folder = staticmethod(read_encoder_folder)

    def __init__(
        self,
        name: str | Path = DEFAULT_ENCODER,
        *,
        device: str = "cpu",
        precision: str | None = None,
        truncate_dim: int | None = None,
    ) -> None:
        """Load an encoder, like ``LoadedModel``; the default is the encoder of new indexes.

        Raises InputError for a ``truncate_dim`` that exceeds the vectors.
        """
        self._load(self._read_folder(find_model(name)).cut_to(truncate_dim), device, precision)

    @classmethod
    def of(
        cls, folder: EncoderFolder, session: Session, question_session: Session | None = None, dim: int | None = None
    ) -> Encoder:
        """Return an encoder run by sessions; ``question_session`` is for questions, if separate.

        ``dim`` is the width of the vectors, if it is not the folder's.
        """
        encoder = super().of(folder, session)
        encoder.dim, encoder._question_session = dim or encoder.dim, question_session or session
        return encoder

    def _load(self, folder: EncoderFolder, device: str, precision: str | None) -> None:
        files_fingerprint = cached_fingerprint(folder.path)
        self._begin(folder, _open(folder, files_fingerprint, device, precision), encoder_fingerprint(folder))
        if folder.questions:
            self._question_session = _open(folder.questions, files_fingerprint, device, precision)

    def _begin(self, folder: EncoderFolder, session: Session, fingerprint: str) -> None:
        super()._begin(folder, session, fingerprint)
        self.dim, self._question_session = folder.dim, session
        self.inputs, self.prompts = EncoderInputs(folder), folder.prompts
        self._question_inputs = EncoderInputs(folder.questions) if folder.questions else self.inputs
        self.max_tokens = self.inputs.max_tokens

    def _shown(self) -> dict[str, Any]:
        return {"dim": self.dim, "max_tokens": self.max_tokens}

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without special ones."""
        return self.inputs.count_tokens(texts)

    def knows_word(self, word: str) -> bool:
        """Return whether its tokenizer has a single token for a word, as for common, correctly spelled words."""
        return self.inputs.tokenizer.token_to_id(word) is not None

    def encode(self, texts: str | Iterable[str], *, progress: Progress = no_progress) -> Floats:
        """Return the vector of a question (or any whole text), ``[dim]``; for a list, ``[texts, dim]``.

        Texts longer than the model's limit are truncated. ``progress`` reports how many texts are done. Raises
        InputError for anything but a string or a list of strings.
        """
        inputs = self._question_inputs.questions(text_list(texts, "texts"))
        out = np.zeros((len(inputs), self.dim), np.float32)
        with show(progress, "encoding texts", len(inputs)) as advance:
            for batch, (vectors,) in self._question_session.run(input_batches(inputs)):
                out[batch.numbers] = self._cut(vectors[:, 0])
                advance(len(batch.numbers))
        check_finite(out, self.folder.path)
        return out[0] if isinstance(texts, str) else out

    def encode_document(self, texts: str | Iterable[str], *, progress: Progress = no_progress) -> Floats:
        """Return the vector of a passage, ``[dim]``, to compare with a question's; for a list, ``[texts, dim]``.

        A text longer than the model's limit is read in parts, and its vector is their mean. Raises InputError for
        anything but a string or a list of strings.

        Examples:
            >>> encoder = Encoder("all-minilm-l6-v2")
            >>> vectors = encoder.encode_document(["An octopus has three hearts.", "Bees dance."])
            >>> int((vectors @ encoder.encode("How many hearts does an octopus have?")).argmax())
            0
        """
        rows = self.encode_passages([("", text, []) for text in text_list(texts, "texts")], progress=progress)
        vectors = np.array([row[0] for row in rows], np.float32).reshape(-1, self.dim)
        return vectors[0] if isinstance(texts, str) else vectors

    def encode_passages(
        self,
        passages: Sequence[PassageText],
        *,
        progress: Progress = no_progress,
    ) -> list[Floats]:
        """Return a passage's vector and its sentences', ``[1 + sentences, dim]`` for each; see ``EncoderInputs.passages``.

        ``progress`` reports how many passages are done.
        """
        inputs = self.inputs.passages(passages)
        out = [np.zeros((1 + len(spans), self.dim), np.float32) for _, _, spans in passages]
        waiting = np.bincount([part.passage for part in inputs], minlength=len(passages))
        with show(progress, "encoding passages", len(passages)) as advance:
            for batch, (uncut,) in self.session.run(input_batches([part.tokens for part in inputs])):
                finished, vectors = 0, self._cut(uncut)
                for row, number in enumerate(batch.numbers):
                    part = inputs[number]
                    count = len(part.tokens.ranges) - 1
                    out[part.passage][0] += part.share * vectors[row, 0]
                    out[part.passage][1 + part.first : 1 + part.first + count] = vectors[row, 1 : 1 + count]
                    waiting[part.passage] -= 1
                    finished += int(waiting[part.passage] == 0)
                if finished:
                    advance(finished)
        for rows in out:
            check_finite(rows, self.folder.path)
            if self.folder.normalise:
                rows[0] /= max(float(np.linalg.norm(rows[0])), 1e-12)
        return out

    def _cut(self, vectors: Floats) -> Floats:
        """Keep the leading dimensions, renormalised if the model normalises."""
        if vectors.shape[-1] == self.dim:
            return vectors
        return normalised(vectors[..., : self.dim]) if self.folder.normalise else vectors[..., : self.dim]


def _open(folder: EncoderFolder, fingerprint: str, device: str, precision: str | None) -> Session:
    if folder.static:
        choice(device, DEVICES, "device")
        return StaticSession(folder.transformer / "model.safetensors", folder.normalise)
    session: Session = load_session(Encoder.family, folder, fingerprint, device, precision)
    return session
