"""``oreqa eval reqa`` (ReQA, MultiReQA) and ``oreqa eval beir``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from oreqa.answering.choices import chosen_reranking
from oreqa.answering.reranking import load_hit_reranker
from oreqa.arguments import choice, count
from oreqa.core import MODES, Mode
from oreqa.datasets.beir import load_beir
from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import held_out_paragraphs
from oreqa.datasets.reqa import build_reqa, draw_questions, load_boundaries, need_questions, often_asked
from oreqa.defaults import DEFAULT_ENCODER
from oreqa.evaluation.frame import Evaluation
from oreqa.evaluation.ranking import rank_documents, rank_sentences
from oreqa.index.passages import index_corpus, index_passages
from oreqa.index.store import Settings
from oreqa.models.graph.precision import used_precision
from oreqa.progress import Progress, no_progress, show


def evaluate_reqa(
    data: str | Path,
    out: str | Path,
    *,
    sentences: str | Path | None = None,
    mode: Mode = "hybrid",
    model: str | Path = DEFAULT_ENCODER,
    index: str | Path | None = None,
    rerank_hits: int | None = None,
    hit_reranker: str | Path | None = None,
    held_out: bool = False,
    min_questions: int = 1,
    draw: int | None = None,
    seed: int = 0,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Retrieve the answer sentence among all sentences of a SQuAD or MRQA file (ReQA, MultiReQA).

    The candidates' boundaries come from the file ``sentences``, else from our splitter. The task's index is kept in the
    folder ``index``, else in ``out/index``. The ``hit_reranker`` re-ranks the ``rerank_hits`` best. ``held_out`` uses
    only the tenth of the articles that training leaves out. Of their questions, those are asked that have an answer
    sentence with at least ``min_questions`` questions (``often_asked``); ``draw`` of these are drawn by ``seed``. The
    candidates stay.

    Writes the run's files to ``out`` and returns the content of metrics.json, metrics in percent. Raises InputError for
    data that cannot be read, have no question with an answer or no answer with ``min_questions`` questions, for an
    invalid mode or number, and for an ``out`` with a run, a model or an index, ModelError for a model that cannot be
    loaded.
    """
    choice(mode, MODES, "mode")
    hit_reranker, rerank_hits = chosen_reranking(hit_reranker, rerank_hits)
    min_questions, draw = count(min_questions, "min_questions"), None if draw is None else count(draw, "draw")
    data = Path(data)
    run = Evaluation("reqa", [data, Path(sentences)] if sentences else [data], out)
    settings, scorer = Settings(model=str(model)), load_hit_reranker(hit_reranker, device)
    boundaries = load_boundaries(Path(sentences)) if sentences else None
    paragraphs, where = load_paragraphs(data), str(data)
    if held_out:
        paragraphs, where = held_out_paragraphs(paragraphs, data), f"{data}, held-out articles (a tenth, chosen by title)"
    task = need_questions(build_reqa(paragraphs, boundaries, settings.language), where)
    task = draw_questions(often_asked(task, min_questions, where), draw, seed)
    run.start()
    opened = index_passages(Path(index) if index else run.out / "index", task.passages, settings, device, progress)
    with show(progress, "ranking questions", len(task.questions)) as advance:
        results = rank_sentences(task, opened, mode, advance, scorer, rerank_hits)
    task_settings = {
        "data": data.name,
        "sentences": Path(sentences).name if sentences else "own splitter",
        "seed": seed,
        **({"held_out": True} if held_out else {}),
        **({"min_questions": min_questions} if min_questions > 1 else {}),
    }
    settings_of_run = _settings(settings, task_settings, hit_reranker, rerank_hits, device)
    return run.write(results, mode, settings.model, settings_of_run, candidates=task.candidates)


def evaluate_beir(
    data: str | Path,
    out: str | Path,
    *,
    split: str = "test",
    mode: Mode = "hybrid",
    model: str | Path = DEFAULT_ENCODER,
    index: str | Path | None = None,
    rerank_hits: int | None = None,
    hit_reranker: str | Path | None = None,
    seed: int = 0,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Retrieve documents for the judged questions ``split`` of a BEIR folder. Other arguments are as in evaluate_reqa.

    Writes the run's files to ``out`` and returns the content of metrics.json, metrics in percent. Raises InputError for
    data that cannot be read, an invalid mode or number, and an ``out`` with a run, a model or an index, ModelError for a
    model that cannot be loaded.
    """
    choice(mode, MODES, "mode")
    data, (hit_reranker, rerank_hits) = Path(data), chosen_reranking(hit_reranker, rerank_hits)
    run = Evaluation("beir", [data], out)
    settings, scorer = Settings(model=str(model)), load_hit_reranker(hit_reranker, device)
    task = load_beir(data, split)
    run.start()
    opened = index_corpus(Path(index) if index else run.out / "index", task.corpus, settings, device, progress)
    with show(progress, "ranking questions", len(task.queries)) as advance:
        results = rank_documents(task, opened, mode, advance, scorer, rerank_hits)
    task_settings = {"data": data.name, "split": split, "seed": seed}
    settings_of_run = _settings(settings, task_settings, hit_reranker, rerank_hits, device)
    return run.write(results, mode, settings.model, settings_of_run, candidates=len(task.corpus))


def _settings(
    settings: Settings, task_settings: Mapping[str, Any], hit_reranker: str | Path | None, rerank_hits: int, device: str
) -> dict[str, Any]:
    """Return everything that determined the numbers of a run."""
    precision = used_precision(device, "encoder", *(["classifier"] if rerank_hits else []))
    return {**asdict(settings), **task_settings, **reranking_settings(hit_reranker, rerank_hits), "precision": precision}


def reranking_settings(hit_reranker: str | Path | None, rerank_hits: int) -> dict[str, Any]:
    """Return the settings of re-ranking hits for metrics.json; empty without re-ranking."""
    return {"classifier": str(hit_reranker), "rerank": rerank_hits} if rerank_hits else {}
