"""``oreqa eval``: tasks with known answers, measured."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oreqa.cli.application import app
from oreqa.cli.output import (
    ClassifierOption,
    DeviceOption,
    JsonFlag,
    PrecisionOption,
    RerankOption,
    print_json,
    read_lines,
    say,
)
from oreqa.cli.progress import progress_bar
from oreqa.cli.search import ModeName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oreqa.evaluation.runs import QuestionResult
    from oreqa.index.store import Settings
    from oreqa.models.cross_encoder.cross_encoder import CrossEncoder

evaluate = typer.Typer(no_args_is_help=True, help="Measure a task.")
app.add_typer(evaluate, name="eval")

OutOption = Annotated[Path, typer.Option("--out", help="Folder for metrics.json, report.html and the rest.")]
ModelOption = Annotated[str | None, typer.Option(help="Encoder: a folder or a name.", show_default="all-minilm-l6-v2")]
ModeOption = Annotated[ModeName, typer.Option(help="BM25, vectors, or both.")]
IndexOption = Annotated[
    Path | None, typer.Option("--index", help="Keep the task's index here, to use it again.", show_default="OUT/index")
]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of what is drawn; retrieval itself draws nothing.")]


@evaluate.command()
def reqa(
    data: Annotated[Path, typer.Option(help="SQuAD (.json) or MRQA (.jsonl) file, plain or gzipped.")],
    out: OutOption,
    sentences: Annotated[Path | None, typer.Option(help="Candidates' boundaries; without it our own splitter's.")] = None,
    mode: ModeOption = ModeName.hybrid,
    model: ModelOption = None,
    index: IndexOption = None,
    rerank: RerankOption = 0,
    classifier: ClassifierOption = "minilm-classifier",
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Only the tenth of the articles that training leaves out.")
    ] = False,
    questions: Annotated[int | None, typer.Option(min=1, help="Only so many questions, drawn by the seed.")] = None,
    seed: SeedOption = 0,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Retrieve the answer sentence among all sentences (ReQA, MultiReQA).

    [bold]oreqa eval reqa --data dev.json --mode hybrid --out runs/dev[/bold]
    """
    from oreqa.datasets.reqa import build_reqa, load_boundaries, load_paragraphs
    from oreqa.datasets.splits import split_articles
    from oreqa.datasets.tasks import draw_questions, need_questions
    from oreqa.evaluation.retrieval import evaluate_reqa
    from oreqa.index.passages import index_passages

    settings, loaded = settings_for(model), load_classifier(classifier, rerank, device)
    boundaries = load_boundaries(sentences) if sentences else None
    paragraphs, where = load_paragraphs(data), str(data)
    if held_out:
        paragraphs, where = split_articles(paragraphs)[1], f"{data}, held-out articles"
    task = draw_questions(need_questions(build_reqa(paragraphs, boundaries, settings.language), where), questions, seed)
    begun = time.monotonic()
    with progress_bar("encoding passages", len(task.passages)) as advance:
        opened = index_passages(index or out / "index", task.passages, settings, device, advance)
    with progress_bar("ranking questions", len(task.questions)) as advance:
        results = evaluate_reqa(task, opened, mode.value, advance, loaded, rerank)
    files = [data, *([sentences] if sentences else [])]
    more = {"data": data.name, "sentences": sentences.name if sentences else "own splitter", "seed": seed,
            **({"held_out": True} if held_out else {}), **reranked_settings(classifier, rerank)}  # fmt: skip
    finish(out, "reqa", mode.value, results, task.candidates, files, settings, begun, more, as_json)


@evaluate.command()
def beir(
    data: Annotated[Path, typer.Option(help="BEIR folder: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv.")],
    out: OutOption,
    split: Annotated[str, typer.Option(help="Name of the judged questions.")] = "test",
    mode: ModeOption = ModeName.hybrid,
    model: ModelOption = None,
    index: IndexOption = None,
    rerank: RerankOption = 0,
    classifier: ClassifierOption = "minilm-classifier",
    seed: SeedOption = 0,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Retrieve documents for judged questions (BEIR).

    [bold]oreqa eval beir --data selqa --split test --out runs/selqa[/bold]
    """
    from oreqa.datasets.beir import load_beir
    from oreqa.evaluation.corpora import index_beir
    from oreqa.evaluation.retrieval import evaluate_beir

    settings, loaded = settings_for(model), load_classifier(classifier, rerank, device)
    task = load_beir(data, split)
    begun = time.monotonic()
    with progress_bar("encoding passages") as advance:
        opened = index_beir(index or out / "index", task, settings, device, advance)
    with progress_bar("ranking questions", len(task.queries)) as advance:
        results = evaluate_beir(task, opened, mode.value, advance, loaded, rerank)
    more = {"data": data.name, "split": split, "seed": seed, **reranked_settings(classifier, rerank)}
    finish(out, "beir", mode.value, results, len(task.corpus), [data], settings, begun, more, as_json)


@evaluate.command("classifier")
def classifier_command(
    data: Annotated[Path, typer.Option(help="Pairs with negatives (.jsonl), from oreqa mine negatives.")],
    out: OutOption,
    classifier: ClassifierOption = "minilm-classifier",
    model: ModelOption = None,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Tell answers from other sentences: accuracy and AUC-PR, beside guessing and the dual encoder's cosine.

    [bold]oreqa eval classifier --data pairs.jsonl --classifier runs/classifier --out runs/judged[/bold]
    """
    import numpy as np

    from oreqa.datasets.pairs import load_pairs
    from oreqa.evaluation.classifier import calibration, cosines, judge, judged, question_results
    from oreqa.evaluation.report import calibration_figure
    from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
    from oreqa.models.cross_encoder.reranking import probability
    from oreqa.models.encoder.encoder import Encoder
    from oreqa.models.folders import CLASSIFIER

    settings, loaded = settings_for(model), CrossEncoder.load(classifier, device, kind=CLASSIFIER)
    rows = judged(list(load_pairs(data)))
    begun = time.monotonic()
    with progress_bar("scoring candidates", len(rows)) as advance:
        logits = loaded.score([row.question for row in rows], [row.candidates for row in rows], advance)
    results = question_results(rows, logits)
    p, labels = probability(np.concatenate(logits)), np.array([right for row in rows for right in row.right])
    figures = judge(rows, p, cosines(Encoder.load(settings.model, device), rows))
    plot = calibration_figure(calibration(p, labels))
    more = {"data": data.name, "classifier": classifier}
    finish(out, "classifier", "cross-attention", results, len(labels), [data], settings, begun, more, as_json, figures,
           ("What is right against what was said", plot))  # fmt: skip


@evaluate.command()
def recall(
    index: Annotated[Path, typer.Option("--index", help="The index's folder.")],
    questions: Annotated[Path | None, typer.Option(help="Questions, one a line.", show_default="its own sentences")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Nearest neighbours to compare.")] = 10,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare an index's FAISS search with exact search: which share of the nearest neighbours it finds.

    [bold]oreqa eval recall --index kb -k 10[/bold]
    """
    from oreqa.errors import InputError
    from oreqa.index.search import Index

    opened = Index.open(index, device)
    lines = read_lines(questions) if questions else opened.sample_sentences(200)
    if not lines:
        raise InputError(f"{questions or index}: there is nothing to search with")
    found = {unit: round(100 * share, 2) for unit, share in opened.recall(lines, k).items()}
    if as_json:
        print_json({"factory": opened.settings.factory, "k": k, "questions": len(lines), "recall": found})
    else:
        shares = ", ".join(f"{share:.2f}% of the nearest {unit}s" for unit, share in found.items())
        say(f"{opened.settings.factory}: {shares} (top {k}, {len(lines)} questions)")


def load_classifier(name: str, rerank: int, device: str) -> CrossEncoder | None:
    """The classifier that re-ranks, if anything is to be."""
    if not rerank:
        return None
    from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
    from oreqa.models.folders import CLASSIFIER

    return CrossEncoder.load(name, device, kind=CLASSIFIER)


def reranked_settings(classifier: str, rerank: int) -> dict[str, Any]:
    """What metrics.json says of re-ranking."""
    return {"classifier": classifier, "rerank": rerank} if rerank else {}


def settings_for(model: str | None) -> Settings:
    """An index's settings with another encoder, if one is named."""
    from oreqa.index.store import Settings

    return replace(Settings(), model=model) if model else Settings()


def finish(
    out: Path,
    task: str,
    mode: str,
    results: Sequence[QuestionResult],
    candidates: int,
    files: Sequence[Path],
    settings: Settings,
    begun: float,
    more: dict[str, Any],
    as_json: bool,
    extra: dict[str, Any] | None = None,
    figure: tuple[str, str] | None = None,
) -> None:
    """Write a run's files and show its metrics; ``extra`` is kept in metrics.json beside them, ``figure`` in the report."""
    from oreqa.evaluation.metrics import mean_metrics
    from oreqa.evaluation.papers import published_rows
    from oreqa.evaluation.report import MEANING, write_report
    from oreqa.evaluation.runs import save_run
    from oreqa.provenance import data_hash, versions

    metrics = mean_metrics([result.metrics for result in results])
    summary = {
        "task": task,
        "mode": mode,
        **metrics,
        **(extra or {}),
        "questions": len(results),
        "candidates": candidates,
        "data_sha256": data_hash(files),
        "model": settings.model,
        "settings": {**asdict(settings), **more},
        "seconds": round(time.monotonic() - begun, 2),
        "versions": versions(),
    }
    save_run(out, summary, results, f"oreqa-{mode}")
    published = published_rows(candidates, len(results)) if task == "reqa" else ()
    write_report(out / "report.html", summary, results, published, figure)
    if as_json:
        print_json(summary)
        return
    from rich.table import Column, Table

    from oreqa.cli.console import Console

    shown = [name for name in MEANING if name in summary]
    console, values = Console(), [f"{summary[name]:.2f}" for name in shown]
    if sum(len(name) + 3 for name in shown) < console.width:
        table = Table(*(Column(name, justify="right") for name in shown))
        table.add_row(*values)
    else:  # long names are cut in columns
        table = Table("metric", Column("percent", justify="right"))
        for row in zip(shown, values, strict=True):
            table.add_row(*row)
    say(f"{task} {mode}: {len(results):,} questions, {candidates:,} candidates")
    console.print(table)
    say(f"written to {out}: metrics.json, per_question.jsonl, run.trec, report.html")
