"""``oreqa chat``: a prompt that keeps models loaded, one question per line, and understands follow-up questions."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oreqa.cli.answers import state_note
from oreqa.cli.application import Command, Panel, app
from oreqa.cli.hits import no_match, print_question
from oreqa.cli.options import Option, number_option
from oreqa.cli.output import counted, model_or_none, one_line, parse_conditions, print_json, questions_of, say
from oreqa.cli.replies import document_states, print_reply, shown_answers, with_states
from oreqa.cli.sources import remember_sources, source_at
from oreqa.errors import InputError, OreqaError

if TYPE_CHECKING:
    from oreqa.answer import Answer
    from oreqa.answering.answerer import Answerer

PROMPT = "? "
MOST_OF_ANSWER = 80
"""The longest answer, in characters, that may replace "he" or "she"."""

HELP = """\
QUESTION            ask it; one that refers to the question before, as "And the price?", is completed by it
!QUESTION           ask it as it stands
/open N             open the source of answer N of the last question; /open is the first
/where FIELD=VALUE  ask only documents with field=value from now on; several add up
/where              ask all documents again
/help               show this
exit, Ctrl-D        end; Ctrl-C stops a question"""


@app.command(cls=Command, rich_help_panel=Panel.ASK)
def chat(
    index: Option.index,
    k: Annotated[int, number_option("-k", max=100, help="How many answers at most.")] = 3,
    where: Option.where = None,
    threshold: Option.lowest_confidence = None,
    quality: Option.quality = None,
    reader: Option.answering_reader = "auto",
    device: Option.device = "cpu",
    precision: Option.precision = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON for each question, for programs.")] = False,
) -> None:
    """Ask one question after another: the models stay loaded, and answers come at once.

    A follow-up question, such as "What about the TX-7?" or "And what does it cover?", is completed by the previous
    question, and "asked as" shows how. !QUESTION asks it unchanged; /help lists the other commands. Questions are not
    stored: the history of the arrow keys ends with the prompt. Questions can also be piped in, one per line.

    [bold]oreqa chat --index kb[/bold]
    """
    from oreqa.answering import Answerer

    is_person = sys.stdin is not None and sys.stdin.isatty()
    conditions = parse_conditions(where or ())
    with Answerer.load(index, device, quality=quality, reader=model_or_none(reader)) as answerer:
        if is_person and not as_json:
            passages = counted(answerer.index.counts()["passages"], "passage")
            say(f"{index}: {passages}. One question a line; /help explains, Ctrl-D ends.")
        conversation = _Conversation(answerer, index, k, threshold, conditions, as_json)
        failures = [conversation.take(line) for line in _lines(is_person)].count(False)
    if failures and not is_person:
        raise typer.Exit(2)


def _lines(is_person: bool) -> Iterator[str]:
    """Yield the lines typed or piped in, up to their end or "exit"; Ctrl-C at the prompt discards the line."""
    if is_person:
        with suppress(ImportError):  # for line editing and history, in memory only
            import readline  # noqa: F401
    while True:
        try:
            line = input(PROMPT) if is_person else sys.stdin.readline() if sys.stdin else ""
        except EOFError:
            say("")
            return
        except KeyboardInterrupt:
            if not is_person:
                raise
            say("")
            continue
        except UnicodeDecodeError:
            raise InputError("standard input: it is not UTF-8; save the questions as UTF-8") from None
        if line.strip().casefold() in ("exit", "quit", "/exit", "/quit") or (not line and not is_person):
            return
        if line.strip():
            yield line.strip()


class _Conversation:
    """What is carried from question to question: the previous one, as it was asked, and the conditions on documents."""

    def __init__(
        self,
        answerer: Answerer,
        index: Path,
        k: int,
        threshold: float | None,
        conditions: Sequence[tuple[str, str]],
        as_json: bool,
    ) -> None:
        self.answerer, self.index, self.k, self.threshold, self.as_json = answerer, index, k, threshold, as_json
        self.conditions = list(conditions)
        self.before: str | None = None
        self.answers: Sequence[Answer] = ()

    def take(self, line: str) -> bool:
        """Answer a line. Returns False, after saying so, if it cannot be answered; Ctrl-C stops it."""
        try:
            if line.startswith("/"):
                self._obey(line)
            else:
                self._ask(line)
        except OreqaError as error:
            say(f"error: {error}", err=True, colour="red")
            if self.as_json:
                print_json({"error": {"message": str(error), "exit_code": error.exit_code}}, indent=None)
            return False
        except KeyboardInterrupt:
            if not sys.stdin.isatty():
                raise
            say("stopped", err=True)
        return True

    def _obey(self, line: str) -> None:
        command, _, rest = line.partition(" ")
        if command == "/help":
            for text in HELP.splitlines():
                say(text, err=self.as_json)
        elif command == "/open":
            self._open(rest.strip() or "1")
        elif command == "/where":
            self.conditions = [*self.conditions, *parse_conditions([rest.strip()])] if rest.strip() else []
            listed = ", ".join(map("=".join, self.conditions))
            say(f"only documents with {listed}" if listed else "all documents", err=True)
        else:
            raise InputError(f"there is no command {one_line(command, 40)}; /help lists them")

    def _open(self, number: str) -> None:
        from oreqa.cli.open import open_place

        if not number.isdecimal() or not 1 <= int(number) <= len(self.answers):
            raise InputError(f"/open {one_line(number, 40)}: the last question has {counted(len(self.answers), 'answer')}")
        answer = self.answers[int(number) - 1]
        open_place(source_at(answer.passage, answer.start))

    def _ask(self, line: str) -> None:
        from oreqa.answering.follow_up import completed_question
        from oreqa.answering.replies import reply_json

        (question,) = questions_of(line.removeprefix("!").strip(), None)
        completed = None
        if self.before is not None and not line.startswith("!"):
            answer = one_line(self.answers[0].text, MOST_OF_ANSWER) if self.answers else ""
            completed = completed_question(question, self.before, answer)
        full_question = completed or question
        reply = self.answerer.reply(full_question, self.k, where=self.conditions, threshold=self.threshold)
        self.before, self.answers = full_question, shown_answers(reply)
        if self.conditions and not (reply.answers or reply.hits):
            say(no_match([*map("=".join, self.conditions)], self.answerer.index), err=True)
        states = document_states([reply], self.answerer.index)
        if self.as_json:
            print_json({**with_states(reply_json(question, reply), states), "asked_as": full_question}, indent=None)
            return
        remember_sources([source_at(answer.passage, answer.start) for answer in self.answers])
        if not sys.stdin.isatty():
            print_question(question)
        if completed is not None:
            say(f"asked as: {full_question}", colour="cyan")
        print_reply(reply, {key: state_note(*state, self.index) for key, state in states.items()})
