"""What a caller chooses, checked: the quality of answers, the models of the stages, the threshold."""

from __future__ import annotations

import os

from oreqa.arguments import count, share
from oreqa.defaults import LARGE_ENCODER, QUALITIES, QUALITY_READERS
from oreqa.errors import InputError, ModelError
from oreqa.models.fitted import Calibration
from oreqa.models.names import find_model

QUALITY_VARIABLE = "OREQA_QUALITY"


def chosen_reader(quality: str | None = None) -> str:
    """The name of the reader for a ``quality``, which is that of $OREQA_QUALITY if left out, else ``fast``.

    Raises InputError for an unknown quality, ModelError if ``best`` lacks the model that its reader is stored over.
    """
    name = os.environ.get(QUALITY_VARIABLE) or "fast" if quality is None else quality
    if name not in QUALITIES:
        source = f"{QUALITY_VARIABLE}: " if quality is None else ""
        raise InputError(f"{source}there is no quality {name!r}: choose {' or '.join(QUALITIES)}")
    if name == "best" and not best_is_here():
        raise ModelError(
            f"the quality best needs {LARGE_ENCODER}, which is not here: oreqa models get {LARGE_ENCODER} (440 MB)"
        )
    return QUALITY_READERS[name]


def best_is_here() -> bool:
    """Whether the model that ``best`` needs lies here."""
    try:
        find_model(LARGE_ENCODER, download=False)
    except ModelError:
        return False
    return True


def checked_threshold(threshold: float | None, calibration: Calibration | None) -> float:
    """The lowest confidence of an answer that is given: ``threshold``, else the calibrated one.

    Raises InputError if it is no share, or one above 0 for models that are not calibrated.
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


def check_stages(reader: object, span_reranker: object, hit_reranker: object, rerank_hits: int) -> None:
    """Raise InputError for a model or a number that no stage would use."""
    if span_reranker is not None and reader is None:
        raise InputError("a re-ranker needs a reader whose spans it reconsiders")
    if (hit_reranker is None) != (rerank_hits == 0):
        raise InputError("a classifier re-ranks the first hits of the search: name both it and their number (rerank_hits)")
    if rerank_hits:
        count(rerank_hits, "the number of hits to re-rank")
