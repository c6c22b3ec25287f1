"""The indexes that a server answers from, by name, with shared models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from oreqa.answer import Answer
from oreqa.answering.answerer import Answerer
from oreqa.answering.choices import checked_threshold, chosen_reader, passage_reranker_of
from oreqa.answering.guarantee import Guarantee
from oreqa.answering.reply import Reply
from oreqa.arguments import Conditions
from oreqa.core import Hit, Mode, Unit
from oreqa.defaults import Quality
from oreqa.errors import InputError
from oreqa.index.generations import generation_number
from oreqa.index.search import Index
from oreqa.models.reader.reader import Reader
from oreqa.server.problems import RefusedError


@dataclass(frozen=True, slots=True)
class ServedCollection:
    """A named index. ``threshold`` is the lowest confidence of answers, None for the calibrated one.

    With a ``promise`` (a guaranteed share of right answers), it is the guarantee's threshold.
    """

    name: str
    answerer: Answerer
    threshold: float | None = None
    promise: Guarantee | None = None

    @property
    def index(self) -> Index:
        """The opened index."""
        return self.answerer.index

    def ask(self, questions: Sequence[str], k: int, where: Conditions, threshold: float | None) -> list[Reply]:
        """Return replies of one state of the index; with a promise, only answers that it covers."""
        lowest = self.threshold if threshold is None else threshold
        replies = self.answerer.reply(questions, k, where=where, threshold=lowest)
        if self.promise is None:
            return replies
        return [replace(reply, answers=tuple(filter(self.promise.covers, reply.answers))) for reply in replies]

    def search(
        self, questions: Sequence[str], k: int, where: Conditions, mode: Mode, unit: Unit
    ) -> list[tuple[int, list[Hit]]]:
        """Return the hits of each question, with the number of the index state they come from."""
        snapshot = self.index.snapshot()
        rankings = self.index.search(questions, k, mode=mode, unit=unit, where=where, snapshot=snapshot)
        return [(generation_number(snapshot.generation), hits) for hits in rankings]

    def check(self, k: int, threshold: float | None) -> None:
        """Raise InputError for a number of answers, or a threshold, that this collection does not support."""
        if self.promise is not None and (k > 1 or threshold is not None):
            raise InputError("this server promises a share of right first answers: leave threshold out, and ask with k = 1")
        if threshold is not None:
            checked_threshold(threshold, self.answerer.calibration)


def open_collections(
    folders: Mapping[str, Path],
    device: str = "cpu",
    *,
    quality: Quality | None = None,
    reader: str | Path | None = "auto",
    span_reranker: str | Path | None = None,
    threshold: float | None = None,
    at_least: float | None = None,
) -> dict[str, ServedCollection]:
    """Open every index. A model that several indexes use is loaded once.

    Raises IndexStateError and ModelError like ``Answerer.load``, InputError for a share that cannot be guaranteed and for a
    threshold without a calibration.
    """
    if at_least is not None and threshold is not None:
        raise InputError("--at-least finds the threshold: leave --threshold out")
    collections: dict[str, ServedCollection] = {}
    first: Answerer | None = None
    readers: dict[str | Path | None, Reader | None] = {None: None}

    def loaded(name: str | Path | None) -> Reader | None:
        if name not in readers:
            readers[name] = Reader(str(name), device=device)
        return readers[name]

    def reader_of(index: Index) -> str | Path | None:
        return chosen_reader(reader, quality, index.snapshot().settings.quality)

    try:
        for name, folder in folders.items():
            if first is None:
                answerer = first = Answerer.load(folder, device, quality=quality, reader=reader, span_reranker=span_reranker)
                used = reader_of(first.index)
                readers |= {used: first.reader, passage_reranker_of(used): first.passage_reranker}
            else:
                index = Index(folder, device, like=first.index)
                used, small = reader_of(index), passage_reranker_of(reader_of(index))
                models = loaded(used), first.span_reranker
                answerer = Answerer(index, *models, passage_reranker=loaded(small), marks=True)
                _ = index.encoder
            promise = None if at_least is None else answerer.guarantee(at_least)
            lowest = threshold if promise is None else promise.threshold
            collections[name] = ServedCollection(name, answerer, lowest, promise)
            collections[name].check(1, None if promise else threshold)
    except BaseException:
        close_collections(collections)
        raise
    return collections


def close_collections(collections: Mapping[str, ServedCollection]) -> None:
    """Close the indexes."""
    for collection in collections.values():
        collection.index.close()


def chosen(collections: Mapping[str, ServedCollection], name: str | None) -> list[ServedCollection]:
    """Return the collection with a name, or all of them. Raises RefusedError, a 404, for an unknown name."""
    if name is None:
        return list(collections.values())
    if name not in collections:
        raise RefusedError(404, f"there is no such collection; there are: {', '.join(collections)}")
    return [collections[name]]


@dataclass(frozen=True, slots=True)
class Merged:
    """Answers and nearest passages of several collections, each with its collection's name and index state number.

    ``guess`` is the best refused answer if there is no other; ``note`` adds to the reason why there is no answer.
    """

    answers: list[tuple[Answer, str, int]]
    nearest: list[tuple[Hit, str, int]]
    guess: tuple[Answer, str, int] | None
    replies: Mapping[str, Reply]
    note: str = ""


def merged(replies: Mapping[str, Reply], k: int) -> Merged:
    """Merge the replies of collections to one question.

    It has the ``k`` answers of the highest confidence, after those set by people and computed ones; without any, the nearest
    passages by score.
    """
    answers = [(answer, name, reply.generation) for name, reply in replies.items() for answer in reply.answers]
    nearest = [(hit, name, reply.generation) for name, reply in replies.items() for hit in reply.nearest]
    guesses = [(reply.guess, name, reply.generation) for name, reply in replies.items() if reply.guess is not None]
    if len(replies) > 1:
        answers.sort(key=lambda row: -_rank(row[0]))
        nearest.sort(key=lambda row: -row[0].score)
        guesses.sort(key=lambda row: -_rank(row[0]))
    most = max((len(reply.nearest) for reply in replies.values()), default=0)
    guess = guesses[0] if guesses and not answers else None
    return Merged(answers[:k], [] if answers else nearest[:most], guess, replies)


def _rank(answer: Answer) -> float:
    """Rank answers set by people first, then computed ones, then by confidence; those without a calibration last."""
    if answer.set_by_you:
        return 3.0
    return 2.0 if answer.computation else -1.0 if answer.confidence is None else answer.confidence
