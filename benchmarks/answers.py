"""Tune the one score of answers and their confidence on held-out articles, and measure abstention on SQuAD 2.0 dev.

Run:  python benchmarks/answers.py --data ../shared/data --work runs/answers      (keeps what it has read in --work)

Every question of the held-out articles is asked twice: of all paragraphs, and of all but those of its own article, which
cannot answer it; those of squad2-train-part that their own paragraph cannot answer are asked, too. SQuAD dev is only
measured on.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from common import report
from support.answer_rows import COMBINATION, RETRIEVAL, SELECTION, answer_all, is_right, ranked
from support.calibration import Features, best_threshold, fit, probabilities, summary

from oreqa.answering.combining import Combination
from oreqa.answering.confidence import span_features
from oreqa.core import Hit
from oreqa.datasets.passages import whole_passages
from oreqa.datasets.reqa import load_paragraphs
from oreqa.datasets.splits import split_articles
from oreqa.defaults import DEFAULT_ENCODER, DEFAULT_READER, DEFAULT_RERANKER
from oreqa.evaluation.metrics import mean_metrics
from oreqa.files import read_json, write_json
from oreqa.index.passages import index_passages
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.fitted import Calibration, fitted_file, write_fitted
from oreqa.models.folders import CLASSIFIER, RERANKER, find_model, fingerprint
from oreqa.models.reader.reader import Reader

TUNED = ("squad-train-pieces", "qed-nq-train", "afriqa-en", "timeqa-human", "squad2-train-part")
COLLECTION = 1500
FEATURES = (
    "sentence_cosine", "passage_cosine", "sentence_coverage", "passage_coverage", "reading", "passage", "margin",
    "agreement",
)  # fmt: skip
RERANKED = {RERANKER: ("reranking",), CLASSIFIER: ("odds",)}
"""What a re-ranker, and a classifier, adds to the features."""


def collect(
    name: str, path: Path, options: argparse.Namespace, reader: Reader, reranker: CrossEncoder | None
) -> list[dict[str, Any]]:
    """Rows of one data set: each question with the spans that were read, and what the search and the re-ranker said."""
    saved = options.work / f"{name}.json"
    if saved.is_file():
        return list(read_json(saved))
    paragraphs = load_paragraphs(path)
    test = name.startswith("squad-v2")
    asked = paragraphs if test else split_articles(paragraphs)[1]
    rng = random.Random(0)
    chosen = [(p, q) for p in asked for q in p.questions]
    chosen = rng.sample(chosen, min(options.questions * (5 if test else 1), len(chosen)))
    rest = [p for p in paragraphs if p not in asked]
    collection = list(asked) + rng.sample(rest, min(len(rest), max(0, COLLECTION - len(asked))))
    index = index_passages(options.work / "index" / name, whole_passages(collection), device=options.device)
    if test:  # SQuAD 2.0 has its own unanswerable questions
        rows = answer_all(index, reader, reranker, chosen, apart=False)
    else:
        rows = answer_all(index, reader, reranker, chosen, apart=False) + answer_all(
            index, reader, reranker, chosen, apart=True
        )
    write_json(saved, rows)
    return rows


def em(rows: list[dict[str, Any]], weights: Combination, again: bool) -> float:
    kept = [row for row in rows if row["answerable"]]
    return 100 * float(np.mean([is_right(row, ranked(row, weights, again)) for row in kept]))


def best_weights(sets: dict[str, list[dict[str, Any]]], again: bool, start: Combination) -> tuple[Combination, float]:
    """Coordinate by coordinate, the weights with the best mean EM over the sets."""
    grids: dict[str, tuple[Any, ...]] = {"selection": SELECTION, "retrieval": RETRIEVAL, "aggregate": (False, True)}
    if again:
        grids |= {"reranking": (0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 4.0), "reranked": (3, 5, 8)}
    best, score = start, -1.0
    for _ in range(2):
        for name, values in grids.items():
            for value in values:
                trial = replace(best, **{name: value})
                mean = float(np.mean([em(rows, trial, again) for rows in sets.values()]))
                if mean > score + 1e-9:
                    best, score = trial, mean
    return best, score


def features(rows: list[dict[str, Any]], weights: Combination, again: bool, names: tuple[str, ...]) -> Features:
    """What the confidence is fitted on: ``x``, whether the best answer is ``right``, whether there is one."""
    x, right, answerable = [], [], []
    for row in rows:
        candidates = ranked(row, weights, again)
        if not candidates:
            continue
        hits = [Hit(score, None, None, 0, 0, parts) for score, parts in row["hits"]]  # type: ignore[arg-type]
        found = span_features(candidates, 0, hits)
        x.append([found[name] for name in names])
        right.append(bool(is_right(row, candidates)))
        answerable.append(row["answerable"])
    return {"x": np.array(x), "right": np.array(right), "answerable": np.array(answerable)}


def curves(p: np.ndarray, right: np.ndarray, path: Path) -> dict[str, list[list[float]]]:
    """Risk (share of wrong answers) against coverage, and right answers against confidence; drawn to ``path``."""
    from matplotlib.figure import Figure

    order = np.argsort(-p, kind="stable")
    risk = 1 - np.cumsum(right[order]) / np.arange(1, len(p) + 1)
    coverage = np.arange(1, len(p) + 1) / len(p)
    edges = np.quantile(p, np.linspace(0, 1, 11))
    bins = np.clip(np.searchsorted(edges, p, "right") - 1, 0, 9)
    points = [[float(p[bins == i].mean()), float(right[bins == i].mean())] for i in range(10) if (bins == i).any()]
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, other = figure.subplots(1, 2)
    left.plot(100 * coverage, 100 * risk, color="#2f7d4f", linewidth=2)
    left.set(xlabel="questions answered, %", ylabel="wrong answers among them, %", xlim=(0, 100), ylim=(0, 100))
    other.plot([0, 100], [0, 100], color="#99a", linewidth=1)
    other.plot(*(100 * np.array(points).T), color="#2f7d4f", marker="o", linewidth=2)
    other.set(xlabel="confidence, %", ylabel="answers that are right, %", xlim=(0, 100), ylim=(0, 100))
    for axes in (left, other):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
    steps = [int(len(p) * share) - 1 for share in (0.1, 0.25, 0.5, 0.75, 1.0)]
    return {
        "risk_coverage": [[round(float(coverage[i]), 3), round(float(risk[i]), 4)] for i in steps],
        "calibration": [[round(a, 4), round(b, 4)] for a, b in points],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/answers"))
    parser.add_argument(
        "--questions", type=int, default=200, help="questions of every set (five times as many of SQuAD 2.0)"
    )
    parser.add_argument("--reader", default=DEFAULT_READER)
    parser.add_argument("--reranker", default=DEFAULT_RERANKER)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument(
        "--write", action="store_true", help="keep the calibration with the re-ranker, or the reader, in its fitted.json"
    )
    options = parser.parse_args()
    reader = Reader.load(options.reader, options.device)
    reranker = None if options.reranker == "none" else CrossEncoder.load(options.reranker, options.device)
    sets = {}
    for name in TUNED:
        sets[name] = collect(name, options.data / "extractive" / f"{name}.json.gz", options, reader, reranker)
        print(name, len(sets[name]), flush=True)
    again = reranker is not None
    plain, plain_em = best_weights(sets, False, replace(COMBINATION, aggregate=False))
    result: dict[str, Any] = {"questions": {name: len(rows) // 2 for name, rows in sets.items()}}
    result["em"] = {
        "span alone": {
            name: round(em(rows, Combination(0, 0, 0, aggregate=False), False), 2) for name, rows in sets.items()
        },
        "tuned, no re-ranking": {name: round(em(rows, plain, False), 2) for name, rows in sets.items()},
    }
    best, tuned = plain, plain_em
    shipped_em = {name: round(em(rows, COMBINATION, again), 2) for name, rows in sets.items()}
    if again:
        best, tuned = best_weights(sets, True, replace(plain, reranking=1.0))
        result["em"]["tuned, re-ranked"] = {name: round(em(rows, best, True), 2) for name, rows in sets.items()}
        result["em"]["re-ranker alone"] = {
            name: round(em(rows, replace(best, alone=True), True), 2) for name, rows in sets.items()
        }
        result["em"]["shipped"] = shipped_em
    print(plain, plain_em, "\n", best, tuned, "\n", COMBINATION, shipped_em, flush=True)
    best = COMBINATION  # the confidence belongs to the weights that are shipped
    names = FEATURES + (RERANKED[reranker.folder.kind] if reranker else ())
    fitted = {name: features(rows, best, again, names) for name, rows in sets.items()}
    result["left_out"] = {}
    for name in sets:
        others = [s for other, s in fitted.items() if other != name]
        w, b = fit(others)
        result["left_out"][name] = summary(probabilities(fitted[name], w, b), fitted[name], best_threshold(others, w, b))
    w, b = fit(list(fitted.values()))
    shipped = Calibration(
        {n: round(float(v), 3) for n, v in zip(names, w, strict=True)},
        round(b, 3),
        best_threshold(list(fitted.values()), w, b),
    )
    print(shipped)
    result["combination"] = {n: getattr(best, n) for n in best.__slots__}
    result["calibration"] = {"weights": dict(shipped.weights), "bias": shipped.bias, "threshold": shipped.threshold}
    test = features(
        collect("squad-v2.0-dev", options.data / "squad" / "squad-v2.0-dev.json.gz", options, reader, reranker),
        best,
        again,
        names,
    )
    p = probabilities(test, np.array([shipped.weights[n] for n in names]), shipped.bias)
    pages = Path(__file__).parent.parent / "docs" / "results"
    result["squad-v2.0-dev"] = {
        **summary(p, test, shipped.threshold),
        **mean_metrics([{"em": float(r)} for r, a in zip(test["right"], test["answerable"], strict=True) if a]),
        **curves(p, test["right"], pages / "abstention.svg"),
    }
    report("answers", result)
    if options.write:
        encoder = fingerprint(find_model(DEFAULT_ENCODER))
        last = options.reader if reranker is None else options.reranker
        write_fitted(fitted_file(last), encoder=encoder, calibration=result["calibration"])


if __name__ == "__main__":
    main()
