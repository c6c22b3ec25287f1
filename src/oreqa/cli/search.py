"""``oreqa search``: ranked sentences or passages."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from oreqa.cli import app
from oreqa.cli.output import (
    ClassifierOption,
    DeviceOption,
    JsonFlag,
    PrecisionOption,
    RerankOption,
    need_text,
    one_line,
    parse_conditions,
    print_json,
    say,
    visible,
)


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
    question: Annotated[str, typer.Argument(help="What to look for.", show_default=False)],
    index: Annotated[Path, typer.Option("--index", help="The index's folder.")],
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
    """
    from oreqa.errors import InputError
    from oreqa.index.search import Index

    if not need_text(question, "the question").strip():
        raise InputError("the question is empty")
    conditions = parse_conditions(where or ())
    rankings = Index.open(index, device).search([question], max(k, rerank), mode.value, unit.value, conditions)
    if rerank:
        from oreqa.runtime.classifier import Classifier

        rankings = Classifier.load(classifier, device).rerank([question], rankings, rerank)
    hits = rankings[0][:k]
    if as_json:
        rows = [
            {
                "rank": rank,
                "score": round(hit.score, 4),
                "parts": {name: round(value, 4) for name, value in hit.parts.items()},
                "document": hit.passage.document,
                "title": hit.passage.title,
                "heading": hit.passage.heading,
                "sentence": {"text": hit.sentence.text, "start": hit.sentence.start, "end": hit.sentence.end},
                "passage": {"text": hit.passage.text, "start": hit.passage.start, "end": hit.passage.end},
                "fields": dict(hit.passage.fields),
            }
            for rank, hit in enumerate(hits, 1)
        ]
        print_json({"question": question, "mode": mode.value, "unit": unit.value, "hits": rows})
        return
    from rich.table import Table
    from rich.text import Text

    from oreqa.cli.console import Console

    if not hits:
        say("nothing found")
        return
    table = Table(box=None, pad_edge=False, expand=True)
    table.add_column("", justify="right", style="dim")
    table.add_column("score", justify="right", style="green")
    table.add_column(unit.value, ratio=3)
    table.add_column("document", ratio=1, style="cyan", overflow="fold")
    for rank, hit in enumerate(hits, 1):
        body = one_line(hit.sentence.text if unit is UnitName.sentence else hit.passage.text)
        name = " > ".join(n for n in (hit.passage.title, hit.passage.heading) if n) or hit.passage.document
        table.add_row(str(rank), f"{hit.score:.3f}", Text(body), Text(visible(name)))
    Console().print(table)
