"""The indexes that a server answers from, by name, with the models that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from oreqa.answer import Answer
from oreqa.answering.answerer import Answerer
from oreqa.answering.choices import checked_threshold, chosen_reader
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
    """An index under its name. ``threshold`` is the lowest confidence of answers, None the calibrated one; it comes from
    the ``promise``, if one was made."""

    name: str
    answerer: Answerer
    threshold: float | None = None
    promise: Guarantee | None = None

    @property
    def index(self) -> Index:
        """The opened index."""
        return self.answerer.index

    def ask(self, questions: Sequence[str], k: int, where: Conditions, threshold: float | None) -> list[Reply]:
        """Replies of one state of the index; only answers that the promise covers, if there is one."""
        lowest = self.threshold if threshold is None else threshold
        replies = self.answerer.reply(questions, k, where=where, threshold=lowest)
        if self.promise is None:
            return replies
        return [replace(reply, answers=tuple(filter(self.promise.covers, reply.answers))) for reply in replies]

    def search(
        self, questions: Sequence[str], k: int, where: Conditions, mode: Mode, unit: Unit
    ) -> list[tuple[int, list[Hit]]]:
        """The hits of each question, with the number of the index's state that they are of."""
        snapshot = self.index.snapshot()
        rankings = self.index.search(questions, k, mode=mode, unit=unit, where=where, snapshot=snapshot)
        return [(generation_number(snapshot.generation), hits) for hits in rankings]

    def check(self, k: int, threshold: float | None) -> None:
        """Raises InputError for a number of answers, or a threshold, that this collection cannot give."""
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
    """Open every index. A model that several use, as those of one quality do, is loaded once.

    Raises IndexStateError and ModelError as ``Answerer.load`` does, InputError for a share that cannot be promised and a
    threshold without a calibration.
    """
    if at_least is not None and threshold is not None:
        raise InputError("--at-least finds the threshold: leave --threshold out")
    collections: dict[str, ServedCollection] = {}
    first: Answerer | None = None
    readers: dict[str | Path | None, Reader | None] = {}

    def reader_of(index: Index) -> str | Path | None:
        return chosen_reader(reader, quality, index.snapshot().settings.quality)

    try:
        for name, folder in folders.items():
            if first is None:
                answerer = first = Answerer.load(folder, device, quality=quality, reader=reader, span_reranker=span_reranker)
                readers[reader_of(first.index)] = first.reader
            else:
                index = Index(folder, device, like=first.index)
                if (used := reader_of(index)) not in readers:
                    readers[used] = Reader(str(used), device=device)
                answerer = Answerer(index, readers[used], first.span_reranker, marks=True)
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
    """The collection of a name, or all of them. Raises RefusedError, a 404, for a name that there is not."""
    if name is None:
        return list(collections.values())
    if name not in collections:
        raise RefusedError(404, f"there is no such collection; there are: {', '.join(collections)}")
    return [collections[name]]


@dataclass(frozen=True, slots=True)
class Merged:
    """Answers and nearest passages of several collections, each with its collection's name and the number of the state of
    the index it is of. ``guess`` is the best of the answers that are too unlikely, if there is no other; ``note`` adds to
    why there is no answer."""

    answers: list[tuple[Answer, str, int]]
    nearest: list[tuple[Hit, str, int]]
    guess: tuple[Answer, str, int] | None
    replies: Mapping[str, Reply]
    note: str = ""


def merged(replies: Mapping[str, Reply], k: int) -> Merged:
    """The replies of collections to one question as one: the ``k`` answers of the highest confidence, those that people set
    and that were computed first, and where there are none the nearest passages by their scores."""
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
    """What people set, then a computed answer, then by confidence; one without a calibration last."""
    if answer.set_by_you:
        return 3.0
    return 2.0 if answer.computation else -1.0 if answer.confidence is None else answer.confidence
