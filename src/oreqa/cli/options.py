"""The options of commands: each means the same everywhere, and is documented here.

Defaults are in the function that has the argument; ``show_default`` says what None means there.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from oreqa.cli.misplaced import index_here
from oreqa.cli.output import file_questions, model_or_none, say
from oreqa.core import Mode, Unit
from oreqa.defaults import DEFAULT_CLASSIFIER, DEFAULT_ENCODER, DEFAULT_READER, LARGE_ENCODER, RERANKED_HITS, Quality
from oreqa.errors import InputError
from oreqa.paths import INDEX_HERE, default_index, need_index, new_index


def _choose_precision(precision: str | None) -> str | None:
    """Set the precision of the whole process. Raises InputError for an unknown one, including in $OREQA_PRECISION.

    Every command that loads models has this option; it also reports if compiled models cannot be cached.
    """
    from oreqa.models.graph.precision import VARIABLE, chosen_precision
    from oreqa.paths import has_cache

    if not has_cache():
        say("there is no home folder, so compiled models are not kept; set OREQA_CACHE to a folder for them", err=True)
    name = chosen_precision(precision)
    if precision is not None:
        os.environ[VARIABLE] = name
    return precision


def _read_questions(file: Path | None) -> list[str] | None:
    return None if file is None else file_questions(file)


def _nothing() -> None:
    """Return None, the default of an optional value that a callback finds: completion asks for defaults."""


def _needed_index(context: typer.Context, index: Path | None) -> Path | None:
    return index_here(context) if index is None and not context.resilient_parsing else index


def _named_index(context: typer.Context, index: Path | None) -> Path | None:
    return new_index() if index is None and not context.resilient_parsing else index


def _needed_collections(context: typer.Context, indexes: list[str] | None) -> list[str]:
    return indexes or ([] if context.resilient_parsing else [str(need_index())])


def _index_without_data(context: typer.Context, index: Path | None) -> Path | None:
    """Return the default index if neither an index nor data is named; omitted options are processed last."""
    return default_index() if index is None and context.params.get("data") is None else index


def _parse_weight(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise InputError(f"--combine {text!r}: write a number, as in {name}=0.5") from None


def model_here(name: str | None) -> str | None:
    """Download a Hub model that is not present, with progress; the name is unchanged."""
    if name is not None and ("/" in name or name == LARGE_ENCODER) and not Path(name).is_dir():
        from oreqa.cli.progress import progress_bar
        from oreqa.models.stored import find_by_name

        find_by_name(name, progress_bar)
    return name


def model_here_or_none(name: str | None) -> str | None:
    return model_here(model_or_none(name))


# Kinds of options
data_option = partial(typer.Option, rich_help_panel="Data")
models_option = partial(typer.Option, rich_help_panel="Models")
model_option = partial(models_option, metavar="NAME", callback=model_here)
_questions_option = partial(
    data_option,
    metavar="FILE",
    help="Questions: a text file with one per line, CSV, TSV, .xlsx, JSON lines or SQuAD; - is standard input.",
)
_index_option = partial(data_option, "--index", show_default=f"$OREQA_INDEX, else {INDEX_HERE}")
_made_index_option = partial(
    data_option,
    "--index",
    metavar="DIR",
    callback=_index_without_data,
    help="Folder of the index to search; with --data it is made there, and kept.",
)
number_option = partial(typer.Option, metavar="N", min=1)
share_option = partial(typer.Option, metavar="SHARE", min=0, max=1)


class Option:
    """The options of all commands, each named like the argument that it fills."""

    # Every command
    as_json = Annotated[bool, typer.Option("--json", help="Print one JSON document, for programs.")]

    # Questions to an index
    index = Annotated[
        Path, _index_option(metavar="DIR", default_factory=_nothing, callback=_needed_index, help="The index's folder.")
    ]
    engine = Annotated[
        str | None,
        data_option(metavar="milvus:URI", help="Server that holds its vectors and words.", show_default="its folder"),
    ]
    new_index = Annotated[
        Path,
        _index_option(
            metavar="DIR",
            default_factory=_nothing,
            callback=_named_index,
            help="The index's folder; created if it does not exist.",
        ),
    ]
    question = Annotated[
        str | None,
        typer.Argument(
            metavar="QUESTION",
            help="The question; left out, questions are read from standard input, one per line.",
            show_default=False,
        ),
    ]
    questions = Annotated[Path | None, _questions_option()]
    read_questions = Annotated[
        Path | None,
        _questions_option("--questions", callback=_read_questions),
    ]
    where = Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=VALUE",
            help="Only documents with this value: path=FOLDER or path=FILE, title=TITLE, or a field of theirs, such as a "
            "table's COLUMN=VALUE. If repeated, all must hold.",
        ),
    ]
    k = Annotated[int, number_option("-k", max=1000, help="How many results at most.")]
    mode = Annotated[
        Mode, typer.Option(metavar="MODE", help="Search by BM25 (sparse), by vectors (dense), or by both (hybrid).")
    ]
    unit = Annotated[Unit, typer.Option(metavar="UNIT", help="What is ranked: sentence or passage.")]
    passages = Annotated[int, number_option(max=100, help="Passages read for each question.")]

    # Serving
    collections = Annotated[
        list[str],
        _index_option(
            metavar="[NAME=]DIR",
            default_factory=_nothing,
            callback=_needed_collections,
            help="An index's folder; several are collections, each with its name.",
        ),
    ]
    lowest_confidence = Annotated[
        float | None,
        share_option("--threshold", help="The lowest confidence of an answer that is shown.", show_default="calibrated"),
    ]
    promised_share = Annotated[
        float | None,
        share_option(
            "--at-least", help="Answer only where this share of answers is right, by the questions that oreqa fit held out."
        ),
    ]
    links = Annotated[
        list[str] | None,
        data_option("--link", metavar="FOLDER=URL", help="The site where a folder of documents is published."),
    ]

    # Models
    model = Annotated[
        str | None,
        model_option(help="Encoder: a name, also of the Hugging Face Hub, or a folder.", show_default=DEFAULT_ENCODER),
    ]
    quality = Annotated[
        Quality | None,
        models_option(
            metavar="QUALITY",
            help="fast, or best: several times slower, more answers right. It needs all-mpnet-base-v2 (`oreqa models get`).",
            show_default="$OREQA_QUALITY, else the index's, else fast",
        ),
    ]
    reader = Annotated[
        str, model_option(help="Reader: a name (`oreqa models` lists them) or a folder.", show_default=DEFAULT_READER)
    ]
    answering_reader = Annotated[
        str,
        model_option(
            "--reader", help="Reader: a name, a folder, none to answer with sentences, or auto for that of --quality."
        ),
    ]
    span_reranker = Annotated[
        str | None,
        model_option(
            "--reranker",
            callback=model_here_or_none,
            help="Classifier or span re-ranker of the best spans: a name or a folder.",
            show_default="none",
        ),
    ]
    rerank_hits = Annotated[
        int | None,
        models_option(
            "--rerank",
            metavar="N",
            min=0,
            max=1000,
            help="How many of the best hits the classifier re-ranks.",
            show_default=f"{RERANKED_HITS} with --classifier, else none",
        ),
    ]
    hit_reranker = Annotated[
        str | None,
        model_option(
            "--classifier",
            help="Classifier that re-ranks the best hits: a name or a folder.",
            show_default=f"{DEFAULT_CLASSIFIER} with --rerank, else none",
        ),
    ]
    classifier = Annotated[str, model_option(help="Classifier: a name or a folder.", show_default=DEFAULT_CLASSIFIER)]
    generator = Annotated[str, model_option(help="Question generator: a name or a folder.")]
    extractor = Annotated[str | None, model_option(help="Answer extractor: a name or a folder.", show_default="rules alone")]
    style = Annotated[
        str | None, models_option(metavar="STYLE", help="Kind of questions.", show_default="the generator's first")
    ]
    decoding = Annotated[
        Literal["greedy", "beam", "nucleus"],
        models_option(
            metavar="HOW",
            help="How questions are written: greedy (the likeliest token), beam (a search), or nucleus (draws).",
        ),
    ]
    device = Annotated[str, models_option(metavar="DEVICE", help="Where models run: cpu (OpenVINO) or cuda (torch).")]
    precision = Annotated[
        str | None,
        models_option(
            callback=_choose_precision,
            metavar="FORMAT",
            help="Number format that models compute in: auto, f32, bf16 or i8.",
            show_default="$OREQA_PRECISION, else the processor's best",
        ),
    ]

    # Evaluation, mining and generation
    data = Annotated[
        Path, data_option(metavar="PATH", help="SQuAD (.json) or MRQA (.jsonl) file; .gz, too; or BEIR folder.")
    ]
    squad = Annotated[Path, data_option("--data", metavar="FILE", help="SQuAD (.json) or MRQA (.jsonl) file; .gz, too.")]
    split = Annotated[str, data_option(metavar="NAME", help="Name of the judged questions of a BEIR folder.")]
    held_out = Annotated[bool, data_option("--held-out", help="Only the tenth of the articles that training holds out.")]
    draw = Annotated[int | None, data_option(metavar="N", min=1, help="How many questions to draw.", show_default="all")]
    part = Annotated[
        str | None, data_option(metavar="I/N", help="Make one of N parts; a run without it gathers all.", show_default="all")
    ]
    seed = Annotated[int, data_option(metavar="N", min=0, help="Seed of the random draw.")]
    optional_index = Annotated[
        Path | None, _index_option(metavar="DIR", callback=_index_without_data, help="The index's folder.")
    ]
    data_index = Annotated[
        Path | None, _made_index_option(show_default=f"OUT.index with --data, else $OREQA_INDEX or {INDEX_HERE}")
    ]
    run_index = Annotated[Path | None, _made_index_option(show_default="OUT/index")]
    out = Annotated[Path, data_option(metavar="FILE", dir_okay=False, help="File to write (.jsonl).")]
    run = Annotated[Path, data_option("--out", metavar="DIR", help="Folder for metrics.json, report.html and other files.")]
    question_file = Annotated[
        Path, data_option("--out", metavar="FILE", dir_okay=False, help="File to write: pairs (.jsonl) or SQuAD (.json).")
    ]
    gold_passages = Annotated[
        bool, data_option("--gold-passages", help="Read each question's own paragraph instead of retrieving.")
    ]
    null = Annotated[
        float | None,
        typer.Option(metavar="X", help="SQuAD 2.0: no answer where the passage's log-odds of holding one are lower."),
    ]
    combine = Annotated[
        list[str] | None,
        typer.Option(parser=_parse_weight, metavar="NAME=X", help="Change a weight of the score, e.g. alone=1."),
    ]
    answers = Annotated[int, number_option(help="Answers to ask for in each passage.")]
    round_trip = Annotated[float, share_option(help="Lowest F1 of the reader's answer to the question; 0 reads nothing.")]
    min_probability = Annotated[float, share_option(help="Lowest probability of the classifier; 0 keeps all.")]
    settings = Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Change the recipe, as in optimiser.batch=16 or epochs=2; KEY= leaves it out."
        ),
    ]
