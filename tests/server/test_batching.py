from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the serve extra is not installed")

from oreqa.errors import InputError
from oreqa.server import batching
from oreqa.server.batching import MOST_TOGETHER, MOST_WAITING, ModelThread
from oreqa.server.problems import LeftError, RefusedError


class Model:
    """Notes its batches, and works only while its gate is open."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gate, self.started = threading.Event(), threading.Event()

    def __call__(self, questions: Sequence[str]) -> list[str]:
        self.batches.append(list(questions))
        self.started.set()
        assert self.gate.wait(30)
        if "bad" in questions:
            raise InputError("a bad question")
        return [question.upper() for question in questions]


@contextmanager
def running() -> Iterator[ModelThread]:
    thread = ModelThread()
    thread.start()
    try:
        yield thread
    finally:
        thread.stop()


def run(work: Callable[[ModelThread, Model], Coroutine[Any, Any, None]]) -> None:
    with running() as thread:
        model = Model()
        try:
            asyncio.run(asyncio.wait_for(work(thread, model), 30))
        finally:
            model.gate.set()


async def started(model: Model) -> None:
    assert await asyncio.to_thread(model.started.wait, 30)
    await asyncio.sleep(0)


def test_what_waits_is_answered_together_and_each_gets_its_answer() -> None:
    async def work(thread: ModelThread, model: Model) -> None:
        first = asyncio.create_task(thread.ask("k", model, ["first"]))
        await started(model)
        rest = [asyncio.create_task(thread.ask("k", model, [f"q{n}"])) for n in range(MOST_TOGETHER + 3)]
        await asyncio.sleep(0.05)
        assert thread.waiting == MOST_TOGETHER + 3
        model.gate.set()
        assert await first == ["FIRST"]
        assert await asyncio.gather(*rest) == [[f"Q{n}"] for n in range(MOST_TOGETHER + 3)]
        assert [len(batch) for batch in model.batches] == [1, MOST_TOGETHER, 3]

    run(work)


def test_questions_that_are_asked_otherwise_are_not_answered_together() -> None:
    async def work(thread: ModelThread, model: Model) -> None:
        first = asyncio.create_task(thread.ask("k", model, ["first"]))
        await started(model)
        rest = [asyncio.create_task(thread.ask(n % 2, model, [f"q{n}"])) for n in range(4)]
        await asyncio.sleep(0.05)
        model.gate.set()
        await asyncio.gather(first, *rest)
        assert model.batches == [["first"], ["q0", "q2"], ["q1", "q3"]]

    run(work)


def test_a_question_that_fails_does_not_spoil_the_others() -> None:
    async def work(thread: ModelThread, model: Model) -> None:
        first = asyncio.create_task(thread.ask("k", model, ["first"]))
        await started(model)
        rest = [asyncio.create_task(thread.ask("k", model, [text])) for text in ("a", "bad", "b")]
        await asyncio.sleep(0.05)
        model.gate.set()
        good, bad, other = await asyncio.gather(*rest, return_exceptions=True)
        assert (good, other) == (["A"], ["B"])
        assert isinstance(bad, InputError)
        assert await first == ["FIRST"]
        assert await thread.ask("k", model, ["still alive"]) == ["STILL ALIVE"]

    run(work)


def test_the_question_of_a_client_that_left_is_dropped() -> None:
    async def work(thread: ModelThread, model: Model) -> None:
        first = asyncio.create_task(thread.ask("k", model, ["first"]))
        await started(model)
        left: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        leaves = asyncio.create_task(thread.ask("k", model, ["gone"], lambda: left))
        stays = asyncio.create_task(thread.ask("k", model, ["stays"]))
        await asyncio.sleep(0.05)
        left.set_result(None)
        with pytest.raises(LeftError):
            await leaves
        model.gate.set()
        assert await stays == ["STAYS"]
        await first
        assert model.batches == [["first"], ["stays"]]

    run(work)


def test_a_full_queue_and_a_long_wait_are_refused_with_when_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(thread: ModelThread, model: Model) -> None:
        first = asyncio.create_task(thread.ask("k", model, ["first"]))
        await started(model)
        rest = [asyncio.create_task(thread.ask("k", model, [f"q{n}"])) for n in range(MOST_WAITING)]
        await asyncio.sleep(0.05)
        with pytest.raises(RefusedError, match="64 questions wait already") as refusal:
            await thread.ask("k", model, ["too many"])
        assert (refusal.value.status, refusal.value.headers) == (503, {"Retry-After": "5"})
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        monkeypatch.setattr(batching, "MOST_SECONDS", 0.1)
        with pytest.raises(RefusedError, match=r"waited 0\.1 s"):
            await thread.ask("k", model, ["too late"])
        model.gate.set()
        assert await first == ["FIRST"]
        assert model.batches == [["first"]]

    run(work)


def test_a_question_to_many_collections_is_one_question() -> None:
    async def work(thread: ModelThread, model: Model) -> None:
        first = asyncio.create_task(thread.ask("k", model, ["first"]))
        await started(model)
        names, questions = range(MOST_WAITING + 2), ["a", "b"]
        results = asyncio.create_task(thread.ask_all(dict.fromkeys(names, model), questions))
        await asyncio.sleep(0.05)
        assert thread.waiting == 2
        model.gate.set()
        assert await results == {name: ["A", "B"] for name in names}
        assert await first == ["FIRST"]

    run(work)


def test_a_question_that_one_collection_cannot_answer_waits_for_no_other() -> None:
    async def work(thread: ModelThread, model: Model) -> None:
        first = asyncio.create_task(thread.ask("k", model, ["first"]))
        await started(model)

        def fail(_: Sequence[str]) -> list[str]:
            model.gate.clear()
            raise InputError("a bad question")

        bad = asyncio.create_task(thread.ask_all({"bad": fail, **dict.fromkeys(range(40), model)}, ["a"]))
        await asyncio.sleep(0.05)
        model.gate.set()
        with pytest.raises(InputError):
            await bad
        model.gate.set()
        assert await first == ["FIRST"]
        assert await thread.ask("k", model, ["next"]) == ["NEXT"]
        assert len(model.batches) <= 3, "the others were answered for nobody"  # one of them had begun

    run(work)


def test_what_waits_when_the_thread_is_stopped_is_answered_and_nothing_after_it() -> None:
    thread, model = ModelThread(), Model()
    thread.start()

    async def work() -> None:
        tasks = [asyncio.create_task(thread.ask(n, model, [f"q{n}"])) for n in range(3)]
        await started(model)
        await asyncio.sleep(0.05)
        stopping = asyncio.create_task(asyncio.to_thread(thread.stop))
        while thread.is_alive:
            await asyncio.sleep(0.01)
        with pytest.raises(RefusedError, match="being stopped"):
            await thread.ask("k", model, ["late"])
        model.gate.set()
        assert await asyncio.gather(*tasks) == [["Q0"], ["Q1"], ["Q2"]]
        await stopping

    asyncio.run(asyncio.wait_for(work(), 30))
