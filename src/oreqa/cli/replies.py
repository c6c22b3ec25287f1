"""Prints replies to questions as they come: for people or as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oreqa.cli.answers import render_answer, state_note
from oreqa.cli.hits import print_question, render_near
from oreqa.cli.output import JsonList, print_json
from oreqa.cli.sources import remember_sources, source_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from oreqa.answer import Answer
    from oreqa.answering.reply import Reply
    from oreqa.cli.sources import Source
    from oreqa.index.revisions import State
    from oreqa.index.search import Index


class ReplyPrinter:
    """Prints each reply at once, so that those of finished questions stay if the command is interrupted.

    Use it in a ``with`` block, whose end completes the JSON list of ``are_many`` questions, and stores the answers' places
    for ``oreqa open``.

    Attributes:
        printed: How many replies have been printed.
        refused: The questions without an answer.
        has_uncalibrated: Whether an answer has no probability.
    """

    def __init__(self, folder: Path, index: Index, are_many: bool, as_json: bool) -> None:
        self.printed, self.refused, self.has_uncalibrated = 0, list[str](), False
        self._folder, self._index, self._are_many, self._as_json = folder, index, are_many, as_json
        self._rows = JsonList()
        self._sources: list[Source] = []

    def __enter__(self) -> ReplyPrinter:
        return self

    def __exit__(self, *error: object) -> None:
        self._rows.close()
        if self.printed and not self._as_json:
            remember_sources(self._sources)

    def show(self, questions: Sequence[str], replies: Sequence[Reply]) -> None:
        """Print the replies to some questions."""
        from oreqa.answering.replies import reply_json

        states = document_states(replies, self._index)
        for question, reply in zip(questions, replies, strict=True):
            if self._as_json:
                row = with_states(reply_json(question, reply), states)
                (self._rows.append if self._are_many else print_json)(row)
            else:
                if self._are_many:
                    print_question(question)
                print_reply(reply, {key: state_note(*state, self._folder) for key, state in states.items()})
            self.printed += 1
            self._sources += [source_at(answer.passage, answer.start) for answer in shown_answers(reply)]
            self.refused += [] if reply.answers else [question]
            self.has_uncalibrated |= bool(reply.answers) and not reply.calibrated


def document_states(replies: Sequence[Reply], index: Index) -> dict[str, tuple[str, State]]:
    """Return the file of each document that answers, by key, and whether it is unchanged since it was indexed."""
    from oreqa.index.documents import stored_state

    select = index.snapshot().select
    shown = (answer for reply in replies for answer in (*reply.answers, *filter(None, [reply.guess])))
    keys = dict.fromkeys(answer.passage.document_key for answer in shown)
    return {key: stored_state(select, key) for key in keys}


def shown_answers(reply: Reply) -> Sequence[Answer]:
    """Return the answers to show: the guess if there are no others."""
    return reply.answers or [*filter(None, [reply.guess])]


def with_states(row: dict[str, Any], states: Mapping[str, tuple[str, State]]) -> dict[str, Any]:
    """Return a reply's JSON in which each answer has the state of its document's ``file``."""
    for answer in (*row["answers"], *filter(None, [row.get("guess")])):
        answer["file"] = states[answer["document"]][1]
    return row


def print_reply(reply: Reply, notes: dict[str, str]) -> None:
    """Print a reply; the note on a document follows the first answer from it."""
    from oreqa.cli.console import Console

    console = Console()
    for word, written in reply.respelt.items():
        console.print(f"“{word}” is in no document; asked for “{written}”.", style="dim", markup=False)
    guess = reply.guess
    if guess is not None:
        console.print("The documents may not answer this. Best guess:", style="bold yellow")
        note = notes.pop(guess.passage.document_key, "")
        console.print(render_answer(guess, whole=False, note=note, styled=console.is_terminal), crop=False)
    elif not reply.answers:
        console.print("no answer found", style="bold yellow")
    nearest = [] if reply.answers else [hit for hit in reply.nearest if guess is None or hit.passage != guess.passage]
    if nearest:
        console.print("The nearest passages:", style="dim")
    for hit in nearest:
        console.print(render_near(hit), crop=False)
    for number, answer in enumerate(reply.answers):
        note = notes.pop(answer.passage.document_key, "")
        console.print(render_answer(answer, whole=number == 0, note=note, styled=console.is_terminal), crop=False)
