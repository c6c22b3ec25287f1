"""Generates questions from answers marked in their contexts, in batches of similar length."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from oreqa.arguments import choice, count, is_list, kind_of
from oreqa.defaults import DEFAULT_GENERATOR
from oreqa.errors import InputError
from oreqa.models.generator.decoding import (
    BeamSearch,
    Decoder,
    Decoding,
    Greedy,
    Nucleus,
    TokenSequence,
    checked_decoding,
    decode_beams,
    decode_one_by_one,
    draw_from_nucleus,
    most_probable,
)
from oreqa.models.generator.inputs import GeneratorFolder, GeneratorInputs, MarkedAnswer, read_generator_folder
from oreqa.models.generator.seq2seq import Seq2SeqFolder, Seq2SeqInputs, read_seq2seq_folder
from oreqa.models.model import LoadedModel
from oreqa.models.names import read_config
from oreqa.models.settings import is_seq2seq
from oreqa.progress import Advance, Progress, no_progress, show

ROWS, TOKENS = 32, 4096
"""Most questions, and most prefix tokens, in a batch. A step reads all weights, which more questions share, until their keys
and values no longer fit into the caches."""


_CHUNK = 1024
"""Answers processed together: enough to sort them by length, few enough to keep their tokens."""


class Decoders(Protocol):
    """A generator on a device. ``width`` concurrent decoders keep it busy."""

    width: int

    def decoder(self) -> Decoder:
        """Return a new decoder."""
        ...


@dataclass(frozen=True, slots=True)
class GeneratedQuestion:
    """A question. ``score`` is the mean log-probability of its tokens, including its end."""

    text: str
    style: str
    score: float


class QuestionGenerator(LoadedModel[GeneratorFolder]):
    """A loaded question generator: one trained by oreqa, or a BART or T5, which runs on torch (on a CPU in f32).

    Threads may share it.

    Examples:
        >>> from oreqa import BeamSearch, MarkedAnswer, Nucleus
        >>> generator = QuestionGenerator("runs/generator")
        >>> answer = MarkedAnswer("Octopus", "An octopus has three hearts.", 15, 20)
        >>> answer.text
        'three'
        >>> (questions,) = generator.generate(answer, "textbook", Greedy())
        >>> questions[0].style
        'textbook'
        >>> (best, second) = generator.generate(answer, "search", BeamSearch(beams=4), k=2)[0]
        >>> len(generator.generate([answer, answer], ["textbook", "search"], Nucleus(top_p=0.9, seed=1)))
        2
    """

    family = "generator"

    def __init__(self, name: str | Path = DEFAULT_GENERATOR, *, device: str = "cpu", precision: str | None = None) -> None:
        """Load a generator, like ``LoadedModel``; by default the one that comes with oreqa."""
        super().__init__(name, device=device, precision=precision)

    @staticmethod
    def _read_folder(path: Path) -> GeneratorFolder:
        config = read_config(path)
        return read_seq2seq_folder(path, config) if is_seq2seq(config) else read_generator_folder(path)

    def _begin(self, folder: GeneratorFolder, session: Decoders, fingerprint: str) -> None:
        super()._begin(folder, session, fingerprint)
        self._idle: deque[Decoder] = deque()  # they keep their memory, which is slow to allocate
        self.inputs: GeneratorInputs | Seq2SeqInputs
        if isinstance(folder, Seq2SeqFolder):
            self.inputs = Seq2SeqInputs(folder)
        else:
            lengths = folder.max_tokens, folder.question_tokens
            self.inputs = GeneratorInputs(folder.tokenizer, *lengths, folder.styles, folder.untitled)
        self._ending = self.inputs.ending(folder.path)

    def _shown(self) -> dict[str, Any]:
        return {"styles": self.folder.styles}

    @property
    def styles(self) -> tuple[str, ...]:
        """The kinds of questions that the model learned."""
        return self.folder.styles

    @property
    def reads_passages(self) -> bool:
        """Whether the model was trained on whole passages, so that an answer's context is its whole passage."""
        return self.inputs.reads_passages

    def generate(
        self,
        answers: MarkedAnswer | Iterable[MarkedAnswer],
        style: str | Sequence[str],
        decoding: Decoding = Greedy(),  # noqa: B008  # it is frozen
        *,
        k: int = 1,
        progress: Progress = no_progress,
    ) -> list[list[GeneratedQuestion]]:
        """Return up to ``k`` questions for each answer, the highest score first (or as ranked by ``BeamSearch``).

        ``style`` is one of ``styles``, or one for each answer. There are fewer than ``k`` questions if some have the
        same text, and none for an answer without a token. Greedy decoding returns one question, a beam search at most
        one per beam. ``progress`` reports how many answers are done. Raises InputError for invalid arguments.
        """
        rows = _marked_answers(answers)
        styles = [style] * len(rows) if isinstance(style, str) else _one_for_each(style, rows)
        for name in dict.fromkeys(styles):
            choice(name, self.styles, "style")
        k, decoding = count(k, "k"), checked_decoding(decoding)
        _check_number(decoding, k)
        generated: list[list[GeneratedQuestion]] = []
        with show(progress, "generating questions", len(rows)) as advance, ThreadPoolExecutor(self.session.width) as pool:
            for begin in range(0, len(rows), _CHUNK):
                chunk = slice(begin, begin + _CHUNK)
                generated += self._generate_chunk(pool, rows[chunk], styles[chunk], decoding, k, advance)
        return generated

    def _generate_chunk(
        self,
        pool: ThreadPoolExecutor,
        answers: Sequence[MarkedAnswer],
        styles: Sequence[str],
        decoding: Decoding,
        k: int,
        advance: Advance,
    ) -> list[list[GeneratedQuestion]]:
        prefixes = self.inputs.prefixes(answers, styles)
        batches = self._batches(prefixes, decoding.beams if isinstance(decoding, BeamSearch) else k)
        inputs = [[(answers[n], styles[n], prefixes[n] or []) for n in batch] for batch in batches]
        decoded = pool.map(lambda batch: self._decode(batch, decoding, k), inputs)
        generated: list[list[GeneratedQuestion]] = [[] for _ in answers]
        for numbers, sequences in zip(batches, decoded, strict=True):
            for number, answer_sequences in zip(numbers, sequences, strict=True):
                generated[number] = self._questions(answer_sequences[:k], answers[number], styles[number])
                if not isinstance(decoding, BeamSearch):
                    generated[number].sort(key=lambda question: -question.score)
            advance(len(numbers))
        advance(sum(prefix is None for prefix in prefixes))
        return generated

    def _batches(self, prefixes: Sequence[list[int] | None], rows_each: int) -> list[list[int]]:
        """Return the prefix numbers of each batch, the longest first."""
        lengths = {number: len(prefix) for number, prefix in enumerate(prefixes) if prefix is not None}
        order = sorted(lengths, key=lambda number: -lengths[number])
        share = -(-len(order) // self.session.width)
        batches = []
        begin = 0
        while begin < len(order):
            size = max(1, min(ROWS // rows_each, TOKENS // lengths[order[begin]], share))
            batches.append(order[begin : begin + size])
            begin += size
        return batches

    def _decode(
        self, batch: Sequence[tuple[MarkedAnswer, str, list[int]]], decoding: Decoding, k: int
    ) -> list[list[TokenSequence]]:
        try:
            decoder = self._idle.pop()
        except IndexError:
            decoder = self.session.decoder()
        try:
            return self._decode_on(decoder, batch, decoding, k)
        finally:
            self._idle.append(decoder)

    def _decode_on(
        self, decoder: Decoder, batch: Sequence[tuple[MarkedAnswer, str, list[int]]], decoding: Decoding, k: int
    ) -> list[list[TokenSequence]]:
        prefixes = [prefix for _, _, prefix in batch]
        match decoding:
            case Greedy():
                return decode_one_by_one(decoder, prefixes, self._ending, 1, most_probable)
            case BeamSearch(beams, length_penalty):
                return decode_beams(decoder, prefixes, self._ending, beams, length_penalty)
            case Nucleus(top_p, seed):
                chances = [_chances(seed, answer, style, k, self._ending.limit) for answer, style, _ in batch]
                choose = draw_from_nucleus(top_p, np.concatenate(chances))
                return decode_one_by_one(decoder, prefixes, self._ending, k, choose)

    def _questions(self, sequences: Sequence[TokenSequence], answer: MarkedAnswer, style: str) -> list[GeneratedQuestion]:
        """Return an answer's questions with distinct texts."""
        distinct: dict[str, GeneratedQuestion] = {}
        for sequence in sequences:
            text = self.inputs.text(sequence.ids, answer)
            score = sequence.total / len(sequence.log_probabilities)
            distinct.setdefault(text, GeneratedQuestion(text, style, score))
        return list(distinct.values())


def _chances(seed: int, answer: MarkedAnswer, style: str, questions: int, steps: int) -> NDArray[np.float64]:
    """Return uniform random numbers ``[questions, steps]`` for an answer."""
    key = repr((seed, answer.title, answer.context, answer.start, answer.end, style))
    digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "big")).random((questions, steps))


def _marked_answers(answers: object) -> list[MarkedAnswer]:
    """Return the answers as a list. Raises InputError for other types, and for an answer outside of its context."""
    rows = [answers] if isinstance(answers, MarkedAnswer) else answers
    if not is_list(rows):
        raise InputError(f"answers are a list of MarkedAnswer, not {kind_of(answers)}")
    checked = []
    for row in rows:
        if not isinstance(row, MarkedAnswer):
            raise InputError(f"an answer to ask about is a MarkedAnswer, not {kind_of(row)}")
        if not 0 <= row.start < row.end <= len(row.context):
            raise InputError(
                f"an answer lies in its context: {row.start}:{row.end} is no part of {len(row.context)} characters"
            )
        checked.append(row)
    return checked


def _one_for_each(styles: object, rows: Sequence[MarkedAnswer]) -> list[str]:
    if not is_list(styles):
        raise InputError(f"a style is a string, or a list of one for each answer, not {kind_of(styles)}")
    names = list(styles)
    if len(names) != len(rows):
        raise InputError(f"a list of styles has one for each answer: {len(names)} styles, {len(rows)} answers")
    return names


def _check_number(decoding: Decoding, k: int) -> None:
    """Raise InputError for a decoding method that returns fewer than ``k`` questions."""
    match decoding:
        case Greedy() if k > 1:
            raise InputError("greedy decoding gives one question an answer: take Nucleus or BeamSearch for more")
        case BeamSearch(beams) if beams < k:
            raise InputError(f"{beams} beams give {beams} questions an answer, not {k}: take more beams")
