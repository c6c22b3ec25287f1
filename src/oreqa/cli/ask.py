"""``oreqa ask``: answers with their evidence."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from oreqa.cli.application import INTERRUPTED, Command, Panel, app
from oreqa.cli.hits import need_match
from oreqa.cli.options import Option, number_option
from oreqa.cli.output import counted, model_or_none, parse_conditions, questions_of, say
from oreqa.cli.progress import progress_bar
from oreqa.cli.replies import ReplyPrinter
from oreqa.defaults import DEFAULT_READER, ENGLISH, LARGE_ENCODER
from oreqa.errors import InputError
from oreqa.paths import index_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oreqa.answering.guarantee import Guarantee

BATCH_QUESTIONS = 8
"""Questions answered together: their answers are printed when all are there."""


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

    [bold]oreqa ask "How tall is the tower?" --where path=docs/towers[/bold]

    [bold]oreqa ask --questions questions.txt --index kb --json[/bold]

    [bold]oreqa ask --questions questions.txt --index kb --at-least 0.9[/bold]
    """
    from oreqa.answering import Answerer

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
    promise = None
    if at_least is not None:
        if threshold is not None or k is not None:
            raise InputError("--at-least finds the threshold, and is about the first answers: leave --threshold and -k out")
        promise = answerer.guarantee(at_least)
        k, threshold = 1, promise.threshold
        say(promise_text(promise), err=True)
    printer = ReplyPrinter(index, answerer.index, are_many, as_json)
    try:
        with printer, progress_bar("answering questions", len(texts)) as bar:
            for batch in _batches(texts):
                replies = answerer.reply(batch, 3 if k is None else k, where=conditions, threshold=threshold)
                if promise is not None:
                    replies = [replace(reply, answers=tuple(filter(promise.covers, reply.answers))) for reply in replies]
                if not printer.printed and not any(reply.hits for reply in replies):
                    need_match(where or (), answerer.index)
                    if not where:
                        add = f"oreqa index PATH{index_option(index)}"
                        say(f"{index} holds no documents; add some with: {add}", err=True)
                bar.hide()
                printer.show(batch, replies)
                bar(len(batch))
    except KeyboardInterrupt:
        if not printer.printed or not are_many:
            raise
        say(f"interrupted; {printer.printed:,} of {counted(len(texts), 'question')} answered", err=True, colour="red")
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        return
    used = answerer.reader_name
    if used in ENGLISH and printer.refused:
        _mention_language(printer.refused, used)
    if reader == "auto" and used == DEFAULT_READER and quality is None and printer.refused:
        _mention_best()
    if printer.has_uncalibrated:
        options = (("--reader", used or "none"), ("--reranker", span_reranker))
        models = "".join(f" {option} {name}" for option, name in options if name is not None)
        say(f"these models give no probability here; fit one on questions: oreqa fit{index_option(index)}{models}", err=True)


def promise_text(promise: Guarantee) -> str:
    """Return the guaranteed share, and the questions it was computed on."""
    return (
        f"answers from {100 * promise.threshold:.1f}%: at least {100 * promise.share:g}% of them are right, with 95% "
        f"certainty (of {promise.questions} held-out questions {promise.answered} are answered, {promise.right} right)"
    )


def _batches(questions: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the questions to answer together; the first alone, so that something is soon seen."""
    yield questions[:1]
    for begin in range(1, len(questions), BATCH_QUESTIONS):
        yield questions[begin : begin + BATCH_QUESTIONS]


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
