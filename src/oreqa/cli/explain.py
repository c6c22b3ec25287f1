"""``oreqa explain``: shows which stage decided an answer."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from oreqa.cli.application import Command, Panel, app
from oreqa.cli.hits import names_of, need_match, place_text, shown_path
from oreqa.cli.options import Option
from oreqa.cli.output import model_or_none, one_line, parse_conditions, print_json, questions_of, say, visible
from oreqa.errors import InputError
from oreqa.paths import index_option

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from rich.table import Table

    from oreqa.answering.explanation import Explanation, RankedHit

SHOWN_HITS, SHOWN_ANSWERS, SHOWN_TEXT, SHOWN_SENTENCE = 8, 5, 40, 200
"""Passages and answers shown of those compared, and characters of an answer and of a sentence."""
SHOWN_FOLDER = 12
"""A folder common to all places is named once, below the table, if it has this many characters."""
ANSWER_ROOM = 16
"""Columns that answers beside places have, beyond those of their longest word."""

_RANKS = {"cosine": ("sentence_cosine", "passage_cosine"), "BM25": ("sentence_bm25", "passage_bm25")}
_SCORES = ("span", "selection", "retrieval", "structure", "agreement", "reranking", "score")
"""Scores of answers that get a column."""


@app.command(cls=Command, rich_help_panel=Panel.ASK, context_settings={"allow_extra_args": True})
def explain(
    context: typer.Context,
    index: Option.index,
    question: Option.question = None,
    expected: Annotated[
        str | None,
        typer.Option(metavar="ANSWER", help="The right answer, as the documents write it, to find the stage that lost it."),
    ] = None,
    where: Option.where = None,
    quality: Option.quality = None,
    reader: Option.answering_reader = "auto",
    span_reranker: Option.span_reranker = None,
    device: Option.device = "cpu",
    precision: Option.precision = None,
    as_json: Option.as_json = False,
) -> None:
    """Show how the answers to a question came about, stage by stage: when one is wrong, or missing.

    [bold]oreqa explain "How tall is the tower?" --index kb[/bold]

    [bold]oreqa explain "How tall is the tower?" --index kb --expected "330 metres"[/bold]
    """
    from oreqa.answering import Answerer
    from oreqa.answering.choices import chosen_quality
    from oreqa.answering.replies import explanation_json

    text, *others = questions_of(question, None, context.args, takes_file=False)
    if others:
        raise InputError(f"standard input holds {1 + len(others)} questions: explain one; oreqa ask --questions takes many")
    answerer = Answerer.load(index, device, quality=quality, reader=model_or_none(reader), span_reranker=span_reranker)
    explanation = answerer.explain(text, expected, where=parse_conditions(where or ()))
    if not explanation.hits:
        need_match(where or (), answerer.index)
    if as_json:
        print_json(explanation_json(explanation))
    else:
        reads_best = reader == "auto" and chosen_quality(quality, answerer.index.snapshot().settings.quality) == "best"
        _print(explanation, expected, index, where or (), reads_best)


def _print(explanation: Explanation, expected: str | None, index: Path, where: Iterable[str], reads_best: bool) -> None:
    from rich.cells import cell_len
    from rich.text import Text

    from oreqa.answering.combining import SCORE_MEANINGS
    from oreqa.cli.console import Console, SourceLine

    console = Console()
    console.print(Text(one_line(explanation.reason), "bold"))
    if explanation.next_step:
        console.print(explanation.next_step)
    for word, written in explanation.respelt.items():
        console.print(f"“{word}” is in no document; asked for “{written}”.")
    absent = [word for word in explanation.absent_words if word not in explanation.respelt]
    unread = [] if explanation.stage == "answered" else explanation.unread_words  # beside an answer, other words say it
    for words, what in ((absent, "no document"), (unread, "no passage that was read")):
        if words:
            console.print(f"Of the question's words, {what} contains “{'”, “'.join(words)}”.")
    options = index_option(index) + "".join(f" --where {shlex.quote(condition)}" for condition in where)
    if expected is not None:
        for line in _expected_lines(explanation, expected, index, options):
            console.print(visible(line), markup=False)
    if explanation.stage == "reader" and not reads_best and (expected is None or explanation.expected_place):
        command = f"oreqa ask {shlex.quote(explanation.question)} --quality best{options}"
        console.print(visible(f"To read with the larger model: {command}"), markup=False)
    if explanation.hits:
        console.print("\nSearch: ranks of sentence / passage by cosine and by BM25", style="bold cyan")
        hits = _shown_hits(explanation.hits)
        folder = _folder_of(hits)
        table = _hits_table(hits, {})
        places = {hit.rank: visible(_place(hit).removeprefix(folder)) for hit in hits}
        if console.measure(table).minimum + ANSWER_ROOM + max(map(cell_len, places.values())) <= console.width:
            console.print(_hits_table(hits, places))
        else:  # the table would break the places
            console.print(table)
            for rank, place in places.items():
                console.print(SourceLine(f"{rank:3}  {place}", "", 0, style=""), crop=False)
        if folder:
            say(f"places are below {one_line(folder)}")
    if explanation.answers:
        console.print("\nAnswers, best first, and what their scores are made of", style="bold cyan")
        console.print(_answers_table(explanation))
        for name in _columns(explanation):
            if name != "score":
                console.print(f"{name} = {SCORE_MEANINGS[name]}", style="dim")
    if explanation.log_odds:
        console.print("\nProbability of the first answer, as log-odds", style="bold cyan")
        console.print(_log_odds_table(explanation))


def _expected_lines(explanation: Explanation, expected: str, index: Path, options: str) -> list[str]:
    """Return where the expected answer stands, that this may be another occurrence, and the command to go on with.

    ``options`` are those of the commands that search.
    """
    place = explanation.expected_place
    if place is None:
        read_first = sorted(explanation.hits, key=lambda hit: not hit.was_read)
        if named := next((hit for hit in read_first if hit.holds_expected), None):
            names = one_line(names_of(named.hit.passage), SHOWN_SENTENCE)
            return [
                f"“{one_line(expected, SHOWN_TEXT)}” stands in the title or heading of passage {named.rank},"
                f" {_place(named)}: “{names}”; answers are taken from the text below"
            ]
        command = f"oreqa search {shlex.quote(expected)} --mode sparse{options}"
        return [f"To see whether any passage contains it: {command}"]
    others = f"; also in passage {', '.join(map(str, place.other_ranks[:SHOWN_ANSWERS]))}" if place.other_ranks else ""
    others += ", ..." if len(place.other_ranks) > SHOWN_ANSWERS else ""
    where = f"passage {place.rank}, {place_text(place.passage, place.start)}{others}"
    document = shlex.quote(shown_path(place.passage.document_key))
    return [
        f"“{one_line(expected, SHOWN_TEXT)}” stands in {where}: “{one_line(place.sentence, SHOWN_SENTENCE)}”",
        "If that sentence does not answer the question, pass --expected more words of the one that does.",
        f"To read it there: oreqa show {document} {place.start} {place.end}{index_option(index)}",
    ]


def _shown_hits(hits: Iterable[RankedHit]) -> list[RankedHit]:
    """Return the first hits, all that were read, and the best one that contains the expected answer."""
    hits = list(hits)
    expected = next((hit for hit in hits if hit.holds_expected), None)
    return [hit for hit in hits if hit.rank <= SHOWN_HITS or hit.was_read or hit is expected]


def _hits_table(hits: list[RankedHit], places: Mapping[int, str]) -> Table:
    """Return the table of hits, with their ``places`` by rank, if there are any."""
    columns = {name: scores for name, scores in _RANKS.items() if all(score in hits[0].ranks for score in scores)}
    answered = ["best answer in it"] if any(hit.answer for hit in hits) else []
    table = _table("#", *columns, "read", *answered, *(["place"] if places else []))
    for hit in hits:
        read = "yes" if hit.was_read else "lacks the identifier" if hit.lacks_names else ""
        mark = " *" if hit.holds_expected else ""
        answer = [_short(hit.answer.text) if hit.answer else ""] if answered else []
        ranks = (" / ".join(str(hit.ranks[score]) for score in scores) for scores in columns.values())
        place = [places[hit.rank]] if places else []
        table.add_row(f"{hit.rank}{mark}", *ranks, read, *answer, *place)
    if any(hit.holds_expected for hit in hits):
        table.caption = "* holds the right answer"
    return table


def _place(hit: RankedHit) -> str:
    return place_text(hit.hit.passage, hit.hit.sentence.start)


def _folder_of(hits: list[RankedHit]) -> str:
    """Return the folder common to the places of all hits; "" if there is none or it is short."""
    with suppress(ValueError):  # some places are absolute, some are not
        folder = os.path.commonpath([os.path.dirname(_place(hit)) for hit in hits])  # noqa: PTH120
        return f"{folder}{os.sep}" if len(folder) >= SHOWN_FOLDER else ""
    return ""


def _answers_table(explanation: Explanation) -> Table:
    answers, columns = explanation.answers[:SHOWN_ANSWERS], _columns(explanation)
    table = _table("#", "answer", "sure", *columns)
    for number, answer in enumerate(answers, 1):
        scores = {**answer.scores, "score": answer.score}
        shown = (f"{scores[name]:.2f}" if name in scores and not answer.computation else "" for name in columns)
        table.add_row(str(number), _short(answer.text), answer.percent or answer.certainty, *shown)
    return table


def _columns(explanation: Explanation) -> list[str]:
    """Return the scores that an answer has."""
    shown = explanation.answers[:SHOWN_ANSWERS]
    return [name for name in _SCORES if name == "score" or any(name in answer.scores for answer in shown)]


def _log_odds_table(explanation: Explanation) -> Table:
    table = _table("feature", "adds")
    for name, value in sorted(explanation.log_odds.items(), key=lambda item: item[1]):
        table.add_row(name, f"{value:+.2f}")
    table.add_row("sum", f"{sum(explanation.log_odds.values()):+.2f}")
    return table


def _table(*columns: str) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), caption_justify="left")
    for column in columns:
        is_text = column in ("answer", "best answer in it", "place", "read", "feature")
        justify: Literal["left", "right"] = "left" if is_text else "right"
        table.add_column(column, header_style="dim", justify=justify, overflow="fold", no_wrap=column == "place")
    return table


def _short(text: str) -> str:
    return one_line(text, SHOWN_TEXT)
