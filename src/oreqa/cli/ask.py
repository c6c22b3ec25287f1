"""``oreqa ask``: answers with their evidence."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oreqa.cli.answers import render_answer, state_note
from oreqa.cli.application import Command, Panel, app
from oreqa.cli.hits import need_match, print_question, render_near
from oreqa.cli.options import Option, number_option
from oreqa.cli.output import (
    model_or_none,
    parse_conditions,
    print_json,
    questions_of,
    say,
)
from oreqa.cli.progress import progress_bar
from oreqa.cli.sources import remember_sources, source_at
from oreqa.defaults import DEFAULT_READER, ENGLISH, LARGE_ENCODER
from oreqa.errors import InputError
from oreqa.paths import index_option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oreqa.answer import Answer
    from oreqa.answering.answerer import Answerer
    from oreqa.answering.guarantee import Guarantee
    from oreqa.answering.reply import Reply
    from oreqa.index.revisions import State
    from oreqa.index.search import Index


@app.command(cls=Command, rich_help_panel=Panel.ASK, context_settings={"allow_extra_args": True})
def ask(
    context: typer.Context,
    index: Option.index,
    question: Option.question = None,
    questions: Option.questions = None,
    k: Annotated[
        int | None, number_option("-k", max=100, help="How many answers at most.", show_default="3, or 1 with --at-least")
    ] = None,
    where: Option.where = None,
    threshold: Option.lowest_confidence = None,
    at_least: Option.promised_share = None,
    quality: Option.quality = None,
    reader: Option.answering_reader = "auto",
    span_reranker: Option.span_reranker = None,
    rerank_hits: Option.rerank_hits = None,
    hit_reranker: Option.hit_reranker = None,
    device: Option.device = "cpu",
    precision: Option.precision = None,
    as_json: Option.as_json = False,
) -> None:
    """Answer a question from an index, or each line of a file, with the sentence and the passage that prove it.

    When the documents do not seem to hold an answer, it says so, and shows the best guess and the best passages.

    [bold]oreqa ask "How tall is the tower?"[/bold]

    [bold]echo "How tall is the tower?" | oreqa ask[/bold]

    [bold]oreqa ask --questions questions.txt --index kb --json[/bold]

    [bold]oreqa ask --questions questions.txt --index kb --at-least 0.9[/bold]
    """
    from oreqa.answering import Answerer
    from oreqa.answering.replies import reply_json

    texts = questions_of(question, questions, context.args)
    are_many = questions is not None or len(texts) > 1
    conditions = parse_conditions(where or ())
    answerer = Answerer.load(
        index,
        device,
        quality=quality,
        reader=model_or_none(reader),
        span_reranker=span_reranker,
        hit_reranker=hit_reranker,
        rerank_hits=rerank_hits,
    )
    if at_least is not None:
        if threshold is not None or k is not None:
            raise InputError("--at-least finds the threshold, and is about the first answers: leave --threshold and -k out")
        promise = answerer.guarantee(at_least)
        k, threshold = 1, promise.threshold
        say(promise_text(promise), err=True)
    replies = _replies(answerer, texts, 3 if k is None else k, conditions, threshold)
    if at_least is not None:
        replies = [replace(reply, answers=tuple(filter(promise.covers, reply.answers))) for reply in replies]
    if not any(reply.hits for reply in replies):
        need_match(where or (), answerer.index)
        if not where:
            say(f"{index} holds no documents; add some with: oreqa index PATH{index_option(index)}", err=True)
    states = document_states(replies, answerer.index)
    if as_json:
        rows = [with_states(reply_json(text, reply), states) for text, reply in zip(texts, replies, strict=True)]
        print_json(rows if are_many else rows[0])
        return
    remember_sources([source_at(answer.passage, answer.start) for reply in replies for answer in shown_answers(reply)])
    for text, reply in zip(texts, replies, strict=True):
        if are_many:
            print_question(text)
        print_reply(reply, {key: state_note(*state, index) for key, state in states.items()})
    used = answerer.reader_name
    if used in ENGLISH and (unanswered := [text for text, reply in zip(texts, replies, strict=True) if not reply.answers]):
        _mention_language(unanswered, used)
    if reader == "auto" and used == DEFAULT_READER and quality is None and not all(reply.answers for reply in replies):
        _mention_best()
    if any(reply.answers and not reply.calibrated for reply in replies):
        options = (("--reader", used or "none"), ("--reranker", span_reranker))
        models = "".join(f" {option} {name}" for option, name in options if name is not None)
        say(f"these models give no probability here; fit one on questions: oreqa fit{index_option(index)}{models}", err=True)


def promise_text(promise: Guarantee) -> str:
    """Return the guaranteed share, and the questions it was computed on."""
    return (
        f"answers from {100 * promise.threshold:.1f}%: at least {100 * promise.share:g}% of them are right, with 95% "
        f"certainty (of {promise.questions} held-out questions {promise.answered} are answered, {promise.right} right)"
    )


def _replies(
    answerer: Answerer, questions: Sequence[str], k: int, where: Sequence[tuple[str, str]], threshold: float | None
) -> list[Reply]:
    """Return the replies to all questions, computed batch by batch."""
    from oreqa.models.reader.reader import CHUNK

    replies: list[Reply] = []
    with progress_bar("answering questions", len(questions)) as advance:
        for begin in range(0, len(questions), CHUNK):
            batch = questions[begin : begin + CHUNK]
            replies += answerer.reply(batch, k, where=where, threshold=threshold)
            advance(len(batch))
    return replies


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


def _mention_language(questions: Sequence[str], reader: str) -> None:
    """Note once that an unanswered question is in another language than the reader's."""
    from oreqa.text.languages import LANGUAGES, foreign_language

    code = next(filter(None, map(foreign_language, questions)), None)
    if code is not None:
        them = "the question seems" if len(questions) == 1 else "questions seem"
        say(
            f"{them} to be in {LANGUAGES[code]}, and {reader} has learned English: see --reader and oreqa index --model",
            err=True,
        )


def _mention_best() -> None:
    """Tell a user on a terminal, once, that there is a better reader if the model it needs is missing."""
    from oreqa.answering.choices import best_is_here
    from oreqa.paths import cache_folder

    marker = cache_folder() / "told-of-best"
    if not sys.stderr.isatty() or marker.exists() or best_is_here():
        return
    with suppress(OSError):
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
        say(f"a larger model finds more answers: oreqa models get {LARGE_ENCODER}, then ask with --quality best", err=True)


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
