"""Checks and loads what a caller chooses: the quality of answers, the models of the stages, the threshold."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypedDict, TypeVar

from oreqa.answering.reranking import load_hit_reranker
from oreqa.arguments import count, share
from oreqa.defaults import (
    BEST_READER,
    DEFAULT_CLASSIFIER,
    DEFAULT_READER,
    LARGE_ENCODER,
    QUALITIES,
    QUALITY_READERS,
    RERANKED_HITS,
)
from oreqa.errors import InputError, ModelError
from oreqa.index.search import Index
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.fitted import Calibration
from oreqa.models.names import find_model
from oreqa.models.reader.reader import Reader

QUALITY_VARIABLE = "OREQA_QUALITY"

Classifier = TypeVar("Classifier")


def chosen_reader(
    reader: str | Path | None, quality: str | None = None, index_quality: str | None = None
) -> str | Path | None:
    """Return the named reader, or for "auto" the reader of a ``quality``.

    The quality is the one passed, else $OREQA_QUALITY, else the index's, else ``fast``. Raises InputError for an unknown
    quality and for a quality beside a named reader, and ModelError if the base model that ``best`` is stored over is
    missing.
    """
    if reader != "auto":
        if quality is not None:
            raise InputError(f"the quality {quality} chooses a reader: leave it or the reader {reader} out")
        return reader
    name = chosen_quality(quality, index_quality)
    if name not in QUALITIES:
        source = f"{QUALITY_VARIABLE}: " if quality is None else ""
        raise InputError(f"{source}there is no quality {name!r}: choose {' or '.join(QUALITIES)}")
    if name == "best" and not best_is_here():
        raise ModelError(
            f"the quality best needs {LARGE_ENCODER}, which is not here: oreqa models get {LARGE_ENCODER} (440 MB)"
        )
    return QUALITY_READERS[name]


def chosen_quality(quality: str | None, index_quality: str | None) -> str:
    """Return the quality passed, else $OREQA_QUALITY, else the index's, else ``fast``, unchecked."""
    return os.environ.get(QUALITY_VARIABLE) or index_quality or "fast" if quality is None else quality


def best_is_here() -> bool:
    """Return whether the model that ``best`` needs is present."""
    try:
        find_model(LARGE_ENCODER, download=False)
    except ModelError:
        return False
    return True


def checked_threshold(threshold: float | None, calibration: Calibration | None) -> float:
    """Return the lowest confidence that an answer needs: ``threshold``, else the calibrated one.

    Raises InputError unless it is between 0 and 1, and for one above 0 with uncalibrated models.
    """
    if threshold is None:
        return calibration.threshold if calibration else 0.0
    threshold = share(threshold, "the threshold")
    if calibration is None and threshold:
        raise InputError(
            f"the threshold is {threshold}, but these models are not calibrated and give no confidence; leave it out, or "
            "fit one with oreqa fit"
        )
    return threshold


def check_stages(
    reader: object,
    span_reranker: object,
    combination: object = None,
    passages: object = None,
    passage_reranker: object = None,
) -> None:
    """Raise InputError for arguments that need a reader if there is none."""
    if reader is None and passage_reranker is not None:
        raise InputError("a re-ranker of passages needs a reader that reads the first of them")
    if reader is None and span_reranker is not None:
        raise InputError("a re-ranker needs a reader whose spans it reconsiders")
    if reader is None and (combination is not None or passages is not None):
        raise InputError("combination and passages are used by a reader alone: without one, answers are sentences")


def check_folder_alone(others: Iterable[object]) -> None:
    """Raise InputError if an index's folder is passed with any of ``others`` other than None."""
    if any(each is not None for each in others):
        raise InputError("Answerer takes loaded models with an opened Index; with a folder, use Answerer.load(folder, ...)")


def chosen_reranking(hit_reranker: Classifier | None, rerank_hits: int | None) -> tuple[Classifier | str | None, int]:
    """Return the classifier that re-ranks the best hits, and how many it re-ranks; either one implies the other.

    Without both, None and 0. Raises InputError for a number below 0, and for a classifier with 0 hits.
    """
    depth = (0 if hit_reranker is None else RERANKED_HITS) if rerank_hits is None else count(rerank_hits, "rerank_hits", 0)
    if not depth and hit_reranker is not None:
        raise InputError(f"the classifier {hit_reranker} would re-rank no hits: leave it out, or their number, which is 0")
    return (hit_reranker or DEFAULT_CLASSIFIER, depth) if depth else (None, 0)


def passage_reranker_of(reader: str | Path | None) -> str | None:
    """Return the reader that re-ranks what a ``reader`` reads: the default one for that of ``best``, else None.

    Examples:
        >>> passage_reranker_of("mpnet-reader"), passage_reranker_of("minilm-reader")
        ('minilm-reader', None)
    """
    return DEFAULT_READER if reader == BEST_READER else None


class LoadedModels(TypedDict):
    """The loaded models of an Answerer."""

    reader: Reader | None
    span_reranker: CrossEncoder | None
    passage_reranker: Reader | None
    hit_reranker: CrossEncoder | None


def load_stages(
    index: Index, reader: str | Path | None, span_reranker: str | Path | None, hit_reranker: str | Path | None, device: str
) -> LoadedModels:
    """Load the named models and the index's encoder in parallel, so that a single question hardly waits."""
    small = passage_reranker_of(reader)
    with ThreadPoolExecutor(max_workers=2) as pool:
        reading = None if reader is None else pool.submit(Reader, reader, device=device)
        ranking = None if small is None else pool.submit(Reader, small, device=device)
        comparing = None if span_reranker is None else pool.submit(CrossEncoder, span_reranker, device=device)
        scorer = load_hit_reranker(hit_reranker, device)
        _ = index.encoder
    return {
        "reader": reading.result() if reading else None,
        "span_reranker": comparing.result() if comparing else None,
        "passage_reranker": ranking.result() if ranking else None,
        "hit_reranker": scorer,
    }
