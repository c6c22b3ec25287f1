"""``oreqa search``: ranked sentences or passages."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oreqa.cli.application import app
from oreqa.cli.hits import hit_json, print_question, render_hit
from oreqa.cli.output import (
    ClassifierOption,
    DeviceOption,
    JsonFlag,
    PrecisionOption,
    QuestionArgument,
    QuestionsOption,
    RerankOption,
    parse_conditions,
    print_json,
    questions_of,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oreqa.core import Hit


class ModeName(StrEnum):
    """Names of oreqa.index.fusion.MODES."""

    hybrid = "hybrid"
    dense = "dense"
    sparse = "sparse"


class UnitName(StrEnum):
    """Names of oreqa.index.fusion.UNITS."""

    sentence = "sentence"
    passage = "passage"


@app.command()
def search(
    index: Annotated[Path, typer.Option("--index", help="The index's folder.")],
    question: QuestionArgument = None,
    questions: QuestionsOption = None,
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="How many.")] = 10,
    mode: Annotated[ModeName, typer.Option(help="BM25, vectors, or both.")] = ModeName.hybrid,
    unit: Annotated[UnitName, typer.Option(help="What is ranked.")] = UnitName.sentence,
    where: Annotated[list[str] | None, typer.Option(help="Only documents with field=value.")] = None,
    rerank: RerankOption = 0,
    classifier: ClassifierOption = "minilm-classifier",
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """List the sentences or passages of an index that match best, with their scores.

    [bold]oreqa search "height of the tower" --index kb --unit passage[/bold]

    [bold]oreqa search --questions questions.txt --index kb --json[/bold]
    """
    from oreqa.index.search import Index

    asked = questions_of(question, questions)
    conditions = parse_conditions(where or ())
    rankings = Index.open(index, device).search(asked, max(k, rerank), mode.value, unit.value, conditions)
    if rerank:
        from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
        from oreqa.models.cross_encoder.reranking import rerank_hits
        from oreqa.models.folders import CLASSIFIER

        rankings = rerank_hits(CrossEncoder.load(classifier, device, kind=CLASSIFIER), asked, rankings, rerank)
    rankings = [hits[:k] for hits in rankings]
    if where and not any(rankings):
        say(f"no document matches --where {' --where '.join(where)}", err=True)
    if as_json:
        rows = [_ranking_json(text, hits, mode, unit) for text, hits in zip(asked, rankings, strict=True)]
        print_json(rows[0] if questions is None else rows)
        return
    for text, hits in zip(asked, rankings, strict=True):
        if questions is not None:
            print_question(text)
        _print_ranking(hits, unit)
        if questions is not None:
            say("")


def _ranking_json(question: str, hits: Sequence[Hit], mode: ModeName, unit: UnitName) -> dict[str, object]:
    rows = [hit_json(rank, hit) for rank, hit in enumerate(hits, 1)]
    return {"question": question, "mode": mode.value, "unit": unit.value, "hits": rows}


def _print_ranking(hits: Sequence[Hit], unit: UnitName) -> None:
    from oreqa.cli.console import Console

    if not hits:
        say("nothing found")
    console = Console()
    for rank, hit in enumerate(hits, 1):
        body = hit.passage.text if unit is UnitName.passage else hit.sentence.text
        console.print(render_hit(rank, hit, body), crop=False)
