"""How well do classifiers tell answers from other sentences: mined negatives, and plausible answers of SQuAD 2.0?

Run:  python benchmarks/quality/classifier.py --data ../shared/data --work runs/classifier [--model FOLDER ...]

All questions are about held-out articles: those of three sets, each with its answer and up to three mined sentences;
and those of SQuAD 2.0's training part, about paragraphs that answer some questions and only seem to answer others.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.pairs import Candidate, Pair, gold_pairs
from oreqa.datasets.paragraphs import split_articles
from oreqa.datasets.reqa import build_reqa
from oreqa.defaults import BASE_ENCODER, DEFAULT_CLASSIFIER
from oreqa.mining.negatives import mine_negatives
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.names import CLASSIFIER
from oreqa.provenance import data_hash
from oreqa.training.cross_encoder.examples import plausible_candidates

sys.path.append(str(Path(__file__).parents[1]))
from common import report

MINED = ("squad-train-more", "qed-nq-train", "afriqa-en")
PLAUSIBLE = "squad2-train-part"

Asked = list[tuple[str, Candidate]]


def plausible_and_gold(file: Path, questions: int) -> tuple[Asked, Asked]:
    """Return ``questions`` questions with a sentence that only seems to answer, and as many of the same paragraphs with one
    that does."""
    held_out = split_articles(load_paragraphs(file))[1]
    plausible = plausible_candidates(held_out)
    texts = {candidate.context for _, candidate in plausible}
    answered = gold_pairs(build_reqa([paragraph for paragraph in held_out if paragraph.text in texts]))
    rng = random.Random(0)
    gold = [(pair.question, pair.positive) for pair in answered]
    return rng.sample(plausible, min(questions, len(plausible))), rng.sample(gold, min(questions, len(gold)))


def scores_of(classifier: CrossEncoder, pairs: Asked) -> np.ndarray:
    return np.concatenate(classifier.score([question for question, _ in pairs], [[candidate] for _, candidate in pairs]))


def measure(
    classifier: CrossEncoder, mined: dict[str, list[Pair]], wrong: Asked, right: Asked
) -> dict[str, dict[str, float]]:
    """Return, in percent: how often the answer scores highest, accuracy at p = 0.5, AUC-PR; for plausible answers AUC."""
    result = {}
    for name, pairs in mined.items():
        logits = classifier.score([pair.question for pair in pairs], [[pair.positive, *pair.negatives] for pair in pairs])
        labels = np.concatenate([[1] + [0] * len(pair.negatives) for pair in pairs])
        scores = np.concatenate(logits)
        first = np.mean([row[0] >= row.max() for row in logits])
        entry = {"first": first, "acc": np.mean((scores > 0) == labels), "auc_pr": average_precision_score(labels, scores)}
        result[name] = {metric: round(100 * float(value), 2) for metric, value in entry.items()}
    scores, labels = (
        np.r_[scores_of(classifier, right), scores_of(classifier, wrong)],
        np.repeat((1, 0), (len(right), len(wrong))),
    )
    entry = {"auc": roc_auc_score(labels, scores), "acc": np.mean((scores > 0) == labels)}
    result[PLAUSIBLE] = {metric: round(100 * float(value), 2) for metric, value in entry.items()}
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="indexes of the held-out articles are kept here")
    parser.add_argument("--questions", type=int, default=700)
    parser.add_argument("--model", action="append", help="classifiers by name or folder; the shipped one without it")
    options = parser.parse_args()
    files = {name: options.data / "extractive" / f"{name}.json.gz" for name in (*MINED, PLAUSIBLE)}
    options.work.mkdir(parents=True, exist_ok=True)
    for name in MINED:
        (options.work / f"{name}.jsonl").unlink(missing_ok=True)
    mined = {
        name: mine_negatives(
            files[name],
            options.work / f"{name}.jsonl",
            held_out=True,
            draw=options.questions // 2,
            model=BASE_ENCODER,
            index=options.work / f"{name}.index",
        )
        for name in MINED
    }
    wrong, right = plausible_and_gold(files[PLAUSIBLE], options.questions)
    models = {
        Path(name).name: measure(CrossEncoder(name, kind=CLASSIFIER), mined, wrong, right)
        for name in options.model or [DEFAULT_CLASSIFIER]
    }
    counts = {**{name: len(pairs) for name, pairs in mined.items()}, PLAUSIBLE: len(wrong) + len(right)}
    report("reconsider/plausible", {"questions": counts, "data_sha256": data_hash(files.values()), **models})


if __name__ == "__main__":
    main()
