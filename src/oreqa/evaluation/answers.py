"""``oreqa eval answers``: exact match and F1 as SQuAD's official scripts compute them (Rajpurkar et al. 2016, 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oreqa.datasets.load import data_kind
from oreqa.datasets.questions import load_question_list
from oreqa.errors import InputError
from oreqa.files import need, read_json
from oreqa.text.answers import f1_score, normalize_answer


@dataclass(frozen=True, slots=True)
class Score:
    """A question's exact match (0 or 1) and F1 (0..1)."""

    em: float
    f1: float


def exact_match(prediction: str, golds: Sequence[str]) -> float:
    """Return 1 if the prediction equals an answer after normalisation, else 0."""
    return float(any(normalize_answer(prediction) == normalize_answer(gold) for gold in golds))


def score_answer(prediction: str, golds: Sequence[str], version2: bool = False) -> Score:
    """Return the best score over all answers.

    SQuAD 2.0's script ignores answers that are empty after normalisation, treats a question without any as unanswerable, and
    gives two empty strings an F1 of 1; that of 1.1 does none of this.
    """
    if not version2:
        return Score(exact_match(prediction, golds), max((f1_score(prediction, gold) for gold in golds), default=0.0))
    golds = [gold for gold in golds if normalize_answer(gold)] or [""]
    return Score(exact_match(prediction, golds), max(_f1_version2(prediction, gold) for gold in golds))


def _f1_version2(prediction: str, gold: str) -> float:
    if not normalize_answer(prediction) or not normalize_answer(gold):
        return float(normalize_answer(prediction) == normalize_answer(gold))
    return f1_score(prediction, gold)


def evaluate_answers(predictions: str | Path, gold: str | Path) -> dict[str, Any]:
    """Score a file of predictions (JSON: question id to answer) against a SQuAD file, 1.1 or 2.0, or a question list.

    Returns ``em`` and ``f1`` in percent, the numbers of ``questions`` and of ``missing`` predictions; for 2.0 the same for
    the ``answerable`` and the ``unanswerable`` ones. Raises InputError for files that cannot be read or do not match.
    """
    return score_answer_file(Path(gold), Path(predictions))[0]


def score_answer_file(gold: Path, predictions: Path) -> tuple[dict[str, Any], dict[str, Score]]:
    """Return the metrics of evaluate_answers, and each question's score.

    Version 2.0, recognised by its unanswerable questions or its version, counts the predicted questions and adds figures for
    those with and without an answer; 1.1 counts a missing prediction as wrong.
    """
    answers = read_json(predictions)
    if not isinstance(answers, dict) or not all(isinstance(text, str) for text in answers.values()):
        raise InputError(f"{predictions}: it must be a JSON object from question ids to answer strings")
    golds, version2 = _golds(gold)
    if not golds:
        raise InputError(f"{gold}: it holds no question")
    missing = [name for name in golds if name not in answers]
    scores = {
        name: score_answer(answers.get(name, ""), texts, version2) if name in answers else Score(0.0, 0.0)
        for name, texts in golds.items()
        if name in answers or not version2
    }
    if not scores:
        raise InputError(f"{predictions}: none of its ids is a question of {gold}")
    metrics: dict[str, Any] = {**percent(list(scores.values())), "questions": len(scores), "missing": len(missing)}
    if version2:
        answerable = {name for name, texts in golds.items() if any(normalize_answer(text) for text in texts)}
        for label, chosen in (("answerable", True), ("unanswerable", False)):
            part = [score for name, score in scores.items() if (name in answerable) == chosen]
            metrics |= {f"{label}_{key}": value for key, value in percent(part).items()} if part else {}
            metrics[label] = len(part)
    return metrics, scores


def _golds(file: Path) -> tuple[dict[str, list[str]], bool]:
    """Return the accepted answers of each question, and whether there may be none."""
    if data_kind(file) in ("questions", "pairs"):
        golds = {question.id: list(question.answers) for question in load_question_list(file)}
        return golds, not all(golds.values())
    content = read_json(file)
    try:
        rows = [row for article in content["data"] for paragraph in article["paragraphs"] for row in paragraph["qas"]]
        golds = {str(row["id"]): [need(answer, "text", str, str(file)) for answer in row["answers"]] for row in rows}
    except (KeyError, TypeError, IndexError) as error:
        raise InputError(f"{file}: it is not a SQuAD file ({error!r} is missing or of the wrong kind)") from error
    return golds, str(content.get("version", "")).lower().startswith("v2") or any("is_impossible" in row for row in rows)


def percent(scores: Sequence[Score]) -> dict[str, float]:
    """Return mean exact match and F1 in percent."""
    count = max(len(scores), 1)
    return {
        "em": 100 * sum(score.em for score in scores) / count,
        "f1": 100 * sum(score.f1 for score in scores) / count,
    }
