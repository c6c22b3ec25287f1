"""``oreqa search``: ranks sentences or passages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from oreqa.cli.application import Command, Panel, app
from oreqa.cli.hits import need_match, print_question, render_hit
from oreqa.cli.options import Option
from oreqa.cli.output import parse_conditions, print_json, questions_of, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oreqa.core import Hit, Unit


@app.command(cls=Command, rich_help_panel=Panel.ASK, context_settings={"allow_extra_args": True})
def search(
    context: typer.Context,
    index: Option.index,
    question: Option.question = None,
    questions: Option.questions = None,
    k: Option.k = 10,
    mode: Option.mode = "hybrid",
    unit: Option.unit = "sentence",
    where: Option.where = None,
    rerank_hits: Option.rerank_hits = None,
    hit_reranker: Option.hit_reranker = None,
    device: Option.device = "cpu",
    precision: Option.precision = None,
    as_json: Option.as_json = False,
) -> None:
    """List the sentences or passages of an index that match best, with their scores.

    [bold]oreqa search "height of the tower" --index kb --unit passage[/bold]

    [bold]oreqa search --questions questions.txt --index kb --json[/bold]
    """
    from oreqa.answering.choices import chosen_reranking
    from oreqa.answering.replies import ranking_json
    from oreqa.answering.reranking import load_hit_reranker, reranked_hits
    from oreqa.index.search import Index

    texts = questions_of(question, questions, context.args)
    are_many = questions is not None or len(texts) > 1
    conditions = parse_conditions(where or ())
    classifier, depth = chosen_reranking(hit_reranker, rerank_hits)
    opened = Index.open(index, device)
    rankings = opened.search(texts, max(k, depth), mode=mode, unit=unit, where=conditions)
    if (scorer := load_hit_reranker(classifier, device)) is not None:
        rankings = reranked_hits(scorer, texts, rankings, depth)
    rankings = [hits[:k] for hits in rankings]
    if not any(rankings):
        need_match(where or (), opened)
    if as_json:
        rows = [ranking_json(text, hits, mode, unit) for text, hits in zip(texts, rankings, strict=True)]
        print_json(rows if are_many else rows[0])
        return
    for text, hits in zip(texts, rankings, strict=True):
        if are_many:
            print_question(text)
        _print_ranking(hits, unit)
        if are_many:
            say("")


def _print_ranking(hits: Sequence[Hit], unit: Unit) -> None:
    from oreqa.cli.console import Console

    if not hits:
        say("nothing found")
    console = Console()
    for rank, hit in enumerate(hits, 1):
        body = hit.passage.text if unit == "passage" else hit.sentence.text
        console.print(render_hit(rank, hit, body), crop=False)
