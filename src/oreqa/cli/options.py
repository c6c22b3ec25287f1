"""The options that several commands share: each is typed and explained here, and has its default in the commands."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from oreqa.core import Mode, Unit
from oreqa.defaults import DEFAULT_ENCODER


def _choose_precision(precision: str | None) -> str | None:
    """Set the precision of the whole process. Raises InputError for an unknown one, in $OREQA_PRECISION too."""
    from oreqa.models.graph.precision import VARIABLE, chosen_precision

    name = chosen_precision(precision)
    if precision is not None:
        os.environ[VARIABLE] = name
    return precision


# Every command
JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document, for programs.")]
DeviceOption = Annotated[str, typer.Option(help="Where models run: cpu (OpenVINO) or cuda (torch).")]
PrecisionOption = Annotated[
    str | None,
    typer.Option(
        callback=_choose_precision,
        metavar="[auto|f32|bf16|i8]",
        help="Number format that models compute in; default: $OREQA_PRECISION, else the processor's best.",
    ),
]

# Models
ModelOption = Annotated[str, typer.Option(help="Encoder: a name or a folder.")]
NewModelOption = Annotated[str | None, typer.Option(help="Encoder: a name or a folder.", show_default=DEFAULT_ENCODER)]
ReaderOption = Annotated[str, typer.Option(help="Reader: a name (`oreqa models` lists them) or a folder.")]
SpanRerankerOption = Annotated[
    str | None,
    typer.Option(
        "--reranker", help="Classifier or span re-ranker of the best spans: a name or a folder.", show_default="none"
    ),
]
DecodingOption = Annotated[
    Literal["greedy", "beam", "nucleus"],
    typer.Option(help="How questions are written: the likeliest token, a beam search, or draws from the likeliest tokens."),
]
GeneratorOption = Annotated[str, typer.Option(help="Question generator: a name or a folder.")]
ClassifierOption = Annotated[str, typer.Option(help="Classifier: a name or a folder.")]
HitRerankerOption = Annotated[str, typer.Option("--classifier", help="Classifier: a name or a folder.")]
RerankHitsOption = Annotated[
    int, typer.Option("--rerank", min=0, max=1000, help="How many of the best hits the classifier re-ranks; 0 for none.")
]

# Questions to an index
IndexOption = Annotated[Path, typer.Option("--index", help="The index's folder.")]
QuestionArgument = Annotated[str | None, typer.Argument(help="The question.", show_default=False)]
QuestionsOption = Annotated[
    Path | None,
    typer.Option("--questions", help="File with one question per line; - is standard input.", show_default=False),
]
WhereOption = Annotated[list[str] | None, typer.Option(help="Only documents with field=value.")]
ModeOption = Annotated[Mode, typer.Option(help="Search by BM25 (sparse), by vectors (dense), or by both (hybrid).")]
UnitOption = Annotated[Unit, typer.Option(help="Rank sentences or passages.")]

# Evaluation and mining
OutOption = Annotated[Path, typer.Option("--out", help="Folder for metrics.json, report.html and the other files.")]
OutFileOption = Annotated[Path, typer.Option("--out", dir_okay=False, help="File to write (.jsonl).")]
TaskIndexOption = Annotated[
    Path | None, typer.Option("--index", help="Folder of the task's index, kept for the next run.", show_default="OUT/index")
]
WorkOption = Annotated[
    Path | None, typer.Option("--work", help="Folder of the data's index, kept for the next run.", show_default="OUT.index")
]
TaskOption = Annotated[Path, typer.Option("--data", help="SQuAD or MRQA file, or BEIR folder.")]
SplitOption = Annotated[str, typer.Option(help="Name of the judged questions of a BEIR folder.")]
HeldOutFlag = Annotated[bool, typer.Option("--held-out", help="Only the tenth of the articles that training holds out.")]
DrawOption = Annotated[int | None, typer.Option("--draw", min=1, help="How many questions to draw.", show_default="all")]
CountOption = Annotated[
    int | None, typer.Option("--questions", min=1, help="How many questions to draw.", show_default="all")
]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of the random draw.")]
