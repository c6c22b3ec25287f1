"""``oreqa eval classifier``: how well a classifier separates answers from other sentences.

It is compared with guessing and the dual encoder's cosine: Yang et al. 2021, Table 2, reports accuracy and the area under
the precision-recall curve of the same three.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.answering.reranking import probability
from oreqa.arrays import Reals
from oreqa.datasets.pairs import GOLD, Candidate, Pair, load_pairs
from oreqa.defaults import DEFAULT_CLASSIFIER, DEFAULT_ENCODER
from oreqa.errors import InputError
from oreqa.evaluation.figures import calibration_figure
from oreqa.evaluation.frame import Evaluation
from oreqa.evaluation.metrics import (
    average_precision,
    best_threshold,
    calibration,
    calibration_error,
    gold_ranks,
)
from oreqa.evaluation.runs import QuestionResult
from oreqa.index.store import Settings
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.graph.precision import used_precision
from oreqa.models.names import CLASSIFIER
from oreqa.progress import Progress, no_progress


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question with candidates; a candidate's label says whether it answers the question."""

    question: str
    candidates: tuple[Candidate, ...]
    labels: tuple[bool, ...]


def evaluate_classifier(
    data: str | Path,
    out: str | Path,
    *,
    classifier: str | Path = DEFAULT_CLASSIFIER,
    model: str | Path = DEFAULT_ENCODER,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Separate the answers of a pair file from their negatives (``oreqa mine negatives`` makes such a file).

    Writes the run's files to ``out`` and returns the content of metrics.json, metrics in percent. Raises InputError for
    pairs that cannot be read or have no negatives, and for an ``out`` with a run, a model or an index, ModelError for a
    model that cannot be loaded.
    """
    data = Path(data)
    run = Evaluation("classifier", [data], out)
    settings, scorer = Settings(model=str(model)), CrossEncoder(classifier, device=device, kind=CLASSIFIER)
    rows = labelled_questions(list(load_pairs(data)))
    run.start()
    logits = scorer.score([row.question for row in rows], [row.candidates for row in rows], progress=progress)
    results = question_results(rows, logits)
    probabilities = probability(np.concatenate(logits))
    metrics = classification_metrics(rows, probabilities, cosines(Encoder(settings.model, device=device), rows))
    labels = np.array([label for row in rows for label in row.labels])
    settings_of_run = {
        **asdict(settings),
        "data": data.name,
        "classifier": str(classifier),
        "precision": used_precision(device, "encoder", "classifier"),
    }
    figure = "Calibration: how many are answers, by p", calibration_figure(calibration(probabilities, labels))
    return run.write(
        results,
        "cross-attention",
        settings.model,
        settings_of_run,
        candidates=len(labels),
        metrics=metrics,
        figure=figure,
    )


def labelled_questions(pairs: Sequence[Pair]) -> list[LabelledQuestion]:
    """Return the gold pairs of a file and their negatives, question by question, with distinct candidates.

    Raises InputError if there are no negatives.
    """
    labels: dict[str, dict[Candidate, bool]] = {}
    for pair in pairs:
        if pair.source == GOLD:
            question_labels = labels.setdefault(pair.question, {})
            question_labels[pair.positive] = True
            for negative in pair.negatives:
                question_labels.setdefault(negative, False)
    rows = [LabelledQuestion(question, tuple(label), tuple(label.values())) for question, label in labels.items()]
    if all(all(row.labels) for row in rows):
        raise InputError("there are no negatives to tell answers from; make such pairs with: oreqa mine negatives")
    return rows


def cosines(encoder: Encoder, rows: Sequence[LabelledQuestion]) -> Reals:
    """Return the cosine of every question and candidate sentence, in order, ``[candidates]``."""
    questions = encoder.encode([row.question for row in rows])
    sentences = sorted({candidate.answer for row in rows for candidate in row.candidates})
    places = {sentence: place for place, sentence in enumerate(sentences)}
    vectors = [matrix[0] for matrix in encoder.encode_passages([("", sentence, []) for sentence in sentences])]
    products = [questions[q] @ vectors[places[c.answer]] for q, row in enumerate(rows) for c in row.candidates]
    return np.array(products, np.float64)


def classification_metrics(rows: Sequence[LabelledQuestion], probabilities: Reals, cosine: Reals) -> dict[str, float]:
    """Return metrics in percent:

    ``acc`` at p = 0.5, ``auc_pr``, ``ece``; ``majority_acc``, ``cosine_acc``, ``cosine_auc_pr``.

    The cosine's threshold for one half of the questions is the best one on the other half.
    """
    labels = np.array([label for row in rows for label in row.labels])
    half = np.array([_first_half(row.question) for row in rows for _ in row.labels])
    correct = np.zeros(len(labels), bool)
    for tested, others in ((half, ~half), (~half, half)):
        if tested.any():
            fitted = others if others.any() else tested
            correct[tested] = (cosine[tested] >= best_threshold(cosine[fitted], labels[fitted])) == labels[tested]
    metrics = {
        "acc": np.mean((probabilities >= 0.5) == labels),
        "auc_pr": average_precision(probabilities, labels),
        "ece": calibration_error(probabilities, labels),
        "majority_acc": max(np.mean(labels), 1 - np.mean(labels)),
        "cosine_acc": np.mean(correct),
        "cosine_auc_pr": average_precision(cosine, labels),
    }
    return {name: round(100 * float(value), 2) for name, value in metrics.items()}


def question_results(rows: Sequence[LabelledQuestion], logits: Sequence[Reals]) -> list[QuestionResult]:
    """Return each question's share of candidates classified correctly, and the ranks of its answers among its candidates."""
    results = []
    for number, (row, scores) in enumerate(zip(rows, logits, strict=True)):
        gold = [place for place, label in enumerate(row.labels) if label]
        order = np.argsort(-scores, kind="stable")
        results.append(
            QuestionResult(
                id=str(number),
                question=row.question,
                metrics={"acc": float(np.mean((scores >= 0) == np.array(row.labels)))},
                ranks=gold_ranks(scores, gold),
                gold=[str(place) for place in gold],
                top=[(str(place), float(scores[place])) for place in order],
                texts=[row.candidates[place].answer for place in order[:3]],
            )
        )
    return results


def _first_half(question: str) -> bool:
    return hashlib.sha1(question.encode()).digest()[0] % 2 == 0
