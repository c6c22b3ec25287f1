from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest
from typer.testing import CliRunner, Result

from oreqa import Answer, Passage, Sentence
from oreqa.answering.answerer import Answerer
from oreqa.answering.reply import Reply
from oreqa.cli import app
from oreqa.cli.chat import PROMPT, _lines
from oreqa.cli.sources import remembered_source
from oreqa.errors import InputError


class _Answering:
    """Answers every question with itself, as a loaded answerer would."""

    def __init__(self) -> None:
        self.received: list[tuple[str, Any]] = []
        self.index = self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def snapshot(self) -> Self:
        return self

    def select(self, *query: object) -> list[tuple[Any, ...]]:
        return []

    def counts(self) -> dict[str, int]:
        return {"passages": 3}

    def reply(self, question: str, k: int, *, where: Any, threshold: float | None) -> Reply:
        if "broken" in question:
            raise InputError("it cannot be asked")
        self.received.append((question, list(where)))
        if "Nothing" in question:
            return Reply((), ())
        passage = Passage("a.md", "", "", question, 0, len(question), (Sentence(question, 0, len(question)),))
        return Reply((Answer(question, 0, len(question), 0.9, passage.sentences[0], passage, 1.0, {}),), ())


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> _Answering:
    loaded = _Answering()
    monkeypatch.setattr(Answerer, "load", lambda *arguments, **settings: loaded)
    monkeypatch.setattr("oreqa.cli.chat.document_states", lambda replies, index: {"a.md": ("a.md", "none")})
    return loaded


def chat(lines: str, *arguments: object) -> Result:
    return CliRunner().invoke(app, ["chat", "--index", "kb", *map(str, arguments)], input=lines)


def test_follow_ups_are_completed_and_shown(answering: _Answering, tmp_path: Path) -> None:
    result = chat("How long is the warranty of the TX-5?\n\nAnd what does it cover?\n!What about the TX-7?\nexit\nNo?\n")
    assert result.exit_code == 0, result.stderr
    assert [question for question, _ in answering.received] == [
        "How long is the warranty of the TX-5?",
        "what does the warranty of the TX-5 cover?",
        "What about the TX-7?",
    ]
    lines = result.stdout.splitlines()
    assert lines[:2] == ["How long is the warranty of the TX-5?", "sure 90% How long is the warranty of the TX-5?"]
    assert [line for line in lines if line.startswith("asked as")] == ["asked as: what does the warranty of the TX-5 cover?"]
    assert "/help" not in result.stdout  # a pipe sees answers alone


def test_conditions_hold_until_they_are_dropped(answering: _Answering) -> None:
    lines = "One thing?\n/where a=1\nTwo things?\n/where b=2\nThree things?\n/where\nFour things?\n"
    result = chat(lines, "--where", "c=3")
    assert [conditions for _, conditions in answering.received] == [
        [("c", "3")],
        [("c", "3"), ("a", "1")],
        [("c", "3"), ("a", "1"), ("b", "2")],
        [],
    ]
    assert result.stderr.splitlines()[-1] == "all documents"
    nothing = chat("Nothing?\n/where a=1\nNothing?\n")
    assert nothing.stderr.splitlines() == ["only documents with a=1", "no document matches --where a=1"]


def test_what_cannot_be_asked_is_said_and_the_next_is_asked(answering: _Answering) -> None:
    result = chat("broken\n???\n/nope\n/where x\nHow long?\n/help\n")
    assert result.exit_code == 2
    assert [line.partition(";")[0] for line in result.stderr.splitlines()] == [
        "error: it cannot be asked",
        "error: the question is empty",
        "error: there is no command /nope",
        "error: --where 'x': write it as field=value, as in --where language=en",
    ]
    assert [question for question, _ in answering.received] == ["How long?"]
    assert "!QUESTION" in result.stdout


def test_the_source_of_an_answer_is_opened(answering: _Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("oreqa.cli.open.open_place", lambda source: opened.append(source.document))
    result = chat("/open\nHow long?\n/open\n/open 1\n/open 2\n/open x\n")
    assert (opened, result.exit_code) == (["a.md", "a.md"], 2)
    assert remembered_source(1).document == "a.md"  # for oreqa open
    assert result.stderr.splitlines() == [
        "error: /open 1: the last question has 0 answers",
        "error: /open 2: the last question has 1 answer",
        "error: /open x: the last question has 1 answer",
    ]


def test_programs_get_a_line_a_question(answering: _Answering) -> None:
    result = chat("How long is the warranty of the TX-5?\nWhat about the TX-7?\nbroken\n", "--json")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row.get("asked_as") for row in rows] == [
        "How long is the warranty of the TX-5?",
        "How long is the warranty of the TX-7?",
        None,
    ]
    assert (rows[1]["question"], rows[2]["error"]["exit_code"]) == ("What about the TX-7?", 2)
    assert [answer["file"] for answer in rows[1]["answers"]] == ["none"]


def _typed(*typed: str | type[BaseException]) -> Callable[[str], str]:
    left = list(typed)

    def type_next(prompt: str) -> str:
        assert prompt == PROMPT
        line = left.pop(0)
        if isinstance(line, str):
            return line
        raise line

    return type_next


def test_ctrl_c_drops_the_line_and_ctrl_d_ends(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("builtins.input", _typed("One? ", KeyboardInterrupt, "", "Two?", EOFError, "Three?"))
    assert list(_lines(True)) == ["One?", "Two?"]
    monkeypatch.setattr("builtins.input", _typed("One?", "Quit", "Two?"))
    assert list(_lines(True)) == ["One?"]
    monkeypatch.setattr(sys, "stdin", None)  # a program has closed it
    assert list(_lines(False)) == []


def test_ctrl_c_stops_a_question_at_the_prompt(answering: _Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    from oreqa.cli.chat import _Conversation

    def stop(*arguments: object, **settings: object) -> Reply:
        raise KeyboardInterrupt

    monkeypatch.setattr(answering, "reply", stop)
    conversation = _Conversation(answering, Path("kb"), 3, None, (), False)  # type: ignore[arg-type]
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert conversation.take("How long?")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    with pytest.raises(KeyboardInterrupt):
        conversation.take("How long?")
