"""Runs the models in one thread that batches waiting questions: without timers, and without delaying any."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from oreqa.server.problems import LeftError, busy

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")
BatchWork = Callable[[Sequence[str]], Sequence[Result]]
"""Answers a batch of questions, in order."""

MOST_WAITING, MOST_TOGETHER, MOST_SECONDS = 64, 16, 30.0
"""The most questions that may wait, the most per batch, and the seconds after which waiting ends."""


@dataclass(slots=True, eq=False)
class _Job:
    """A waiting question; ``key`` says which others it can be batched with, ``left`` that its client has left.

    The jobs of one question, one for each collection, share their ``question_key``.
    """

    question_key: object
    key: Hashable
    work: BatchWork[Any]
    question: str
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    left: bool = False


class ModelThread:
    """The thread that runs the models. Call ``start``, and ``stop`` at the end: waiting questions are still answered then.

    ``on_batch`` is called in that thread with the number of questions of each batch and the seconds that it took.
    """

    def __init__(self, on_batch: Callable[[int, float], None] = lambda _, __: None) -> None:
        self._jobs: list[_Job] = []
        self._changed = threading.Condition()
        self._stopping, self._on_batch = False, on_batch
        self._thread = threading.Thread(target=self._run, name="models", daemon=True)

    def start(self) -> None:
        """Start answering."""
        self._thread.start()

    def stop(self, seconds: float = MOST_SECONDS) -> None:
        """Answer what is waiting, then end; wait for that at most ``seconds``."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(seconds)

    @property
    def is_alive(self) -> bool:
        """Return whether the thread answers."""
        return self._thread.is_alive() and not self._stopping

    @property
    def waiting(self) -> int:
        """Return the number of waiting questions, each counted once even if several collections answer it."""
        return len({job.question_key for job in self._jobs})

    async def ask(
        self,
        key: Key,
        work: BatchWork[Result],
        questions: Sequence[str],
        left: Callable[[], asyncio.Future[None]] | None = None,
    ) -> list[Result]:
        """Return the results of questions by one kind of ``work``, like ``ask_all``."""
        return (await self.ask_all({key: work}, questions, left))[key]

    async def ask_all(
        self,
        works: Mapping[Key, BatchWork[Result]],
        questions: Sequence[str],
        left: Callable[[], asyncio.Future[None]] | None = None,
    ) -> dict[Key, list[Result]]:
        """Return the results of each work on the questions, batched with waiting ones of the same key.

        ``left`` returns a future that is done when the client has left: its questions are then dropped and LeftError is
        raised. Raises RefusedError, a 503, if too many questions wait or these waited too long, and whatever a work
        raises for a single question; the rest are then dropped.
        """
        loop = asyncio.get_running_loop()
        keyed_questions = [(object(), question) for question in questions]
        jobs = [
            _Job(question_key, key, work, question, loop, loop.create_future())
            for key, work in works.items()
            for question_key, question in keyed_questions
        ]
        self._add(jobs, len(questions))
        client_left = left() if left else loop.create_future()
        together = asyncio.gather(*(job.future for job in jobs))
        try:
            await asyncio.wait({together, client_left}, timeout=MOST_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if together.done():
                results = iter(together.result())
                return {key: [next(results) for _ in questions] for key in works}
            if client_left.done():
                raise LeftError
            raise busy(f"the question waited {MOST_SECONDS:g} s for its turn; ask again later")
        finally:
            client_left.cancel()
            together.cancel()
            for job in jobs:
                job.left = True

    def _add(self, jobs: Sequence[_Job], questions: int) -> None:
        with self._changed:
            self._jobs = [job for job in self._jobs if not job.left]
            if self._stopping:
                raise busy("the server is being stopped")
            if (waiting := self.waiting) + questions > MOST_WAITING:
                raise busy(f"{waiting} questions wait already; ask again later")
            self._jobs += jobs
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._jobs and not self._stopping:
                    self._changed.wait()
                if not self._jobs:
                    return
                batch = self._take()
            if batch:
                started = time.monotonic()
                _answer(batch)
                self._on_batch(len(batch), time.monotonic() - started)

    def _take(self) -> list[_Job]:
        """Return the question that has waited longest and those that can be batched with it."""
        jobs = [job for job in self._jobs if not job.left]
        batch = [job for job in jobs if job.key == jobs[0].key][:MOST_TOGETHER]
        taken = set(map(id, batch))
        self._jobs = [job for job in jobs if id(job) not in taken]
        return batch


def _answer(batch: Sequence[_Job]) -> None:
    """Answer questions as a batch, or one by one if that fails, so that one question does not fail the others."""
    try:
        results = batch[0].work([job.question for job in batch])
    except Exception as error:
        if len(batch) == 1:
            _deliver(batch[0], error=error)
            return
        for job in batch:
            _answer([job])
        return
    for job, result in zip(batch, results, strict=True):
        _deliver(job, result)


def _deliver(job: _Job, result: object = None, error: Exception | None = None) -> None:
    def settle() -> None:
        if not job.future.done():
            job.future.set_result(result) if error is None else job.future.set_exception(error)

    with suppress(RuntimeError):  # the loop is closed: nobody waits
        job.loop.call_soon_threadsafe(settle)
