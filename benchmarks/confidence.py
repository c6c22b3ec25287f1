"""Fit the confidence of answers, and measure it on questions that were not used for it.

Run:  python benchmarks/confidence.py --data ../shared/data --work runs/confidence --out results/confidence.json

Of every set half the articles are indexed. Questions on them are answerable, questions on the other half are not.
The weights and the threshold are fitted on the extractive sets; SQuAD dev 2.0's paragraphs are only measured on.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from oreqa.answering.answerer import CONSIDERED, Answerer
from oreqa.answering.confidence import SENTENCES as CALIBRATION
from oreqa.answering.confidence import Calibration
from oreqa.answering.confidence import sentence_features as features
from oreqa.datasets.reqa import build_reqa, load_paragraphs
from oreqa.files import write_json
from oreqa.index.passages import index_passages

FITTED = ("squad-train-pieces", "qed-nq-train", "afriqa-en", "fairytaleqa", "covidqa-passages", "timeqa-human")
NAMES = tuple(CALIBRATION.weights)
QUESTIONS = 1200


def collect(path: Path, work: Path) -> dict[str, np.ndarray]:
    """Features of every question's best sentence: ``x``, whether it is ``right``, whether it is ``answerable``."""
    name = path.name.split(".json")[0]
    saved = work / f"{name}.npz"
    if saved.is_file():
        return dict(np.load(saved))
    paragraphs = load_paragraphs(path)
    titles = sorted({p.title for p in paragraphs})
    random.Random(0).shuffle(titles)
    half = set(titles[: len(titles) // 2])
    here = build_reqa([p for p in paragraphs if p.title in half])
    away = build_reqa([p for p in paragraphs if p.title not in half])
    plain = name.startswith(("covidqa", "squad-train"))
    passages = tuple(
        replace(p, title="" if plain and p.title.startswith(("covid", "sq-")) else p.title) for p in here.passages
    )
    answerer = Answerer(index_passages(work / name, passages))
    sentence_ids = [
        s for p in range(len(passages)) for s in [(passages[p].document_key, x.start) for x in passages[p].sentences]
    ]
    rng = random.Random(1)
    known = rng.sample(range(len(here.questions)), min(QUESTIONS, len(here.questions)))
    # A question that is asked on both halves is left out.
    foreign = [q for q in away.questions if q not in set(here.questions)]
    foreign = rng.sample(foreign, min(len(known), len(foreign)))
    questions = [here.questions[i] for i in known] + foreign
    gold = [{sentence_ids[g] for g in here.gold[i]} for i in known] + [set() for _ in foreign]
    x, right, answerable = [], [], []
    for hits, golds in zip(answerer.index.search(questions, CONSIDERED), gold, strict=True):
        if not hits:
            continue
        rival = hits[1].score if len(hits) > 1 else hits[0].score
        found = features(hits[0], rival)
        x.append([found[n] for n in NAMES])
        right.append((hits[0].passage.document_key, hits[0].sentence.start) in golds)
        answerable.append(bool(golds))
    result = {"x": np.array(x), "right": np.array(right), "answerable": np.array(answerable)}
    np.savez(saved, **result)
    return result


def fit(sets: list[dict[str, np.ndarray]]) -> tuple[np.ndarray, float]:
    """Logistic regression of ``right``, every set weighing the same."""

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = 0.0, np.zeros_like(w)
        for s in sets:
            z = s["x"] @ w[:-1] + w[-1]
            p = 1 / (1 + np.exp(-z))
            value += float(np.mean(np.logaddexp(0, z) - s["right"] * z))
            push = (p - s["right"]) / len(z)
            slope += np.r_[s["x"].T @ push, push.sum()]
        return value / len(sets) + 1e-4 * float(w[:-1] @ w[:-1]), slope / len(sets) + 2e-4 * np.r_[w[:-1], 0]

    w = minimize(loss, np.zeros(sets[0]["x"].shape[1] + 1), jac=True, method="L-BFGS-B").x
    return w[:-1], float(w[-1])


def probabilities(s: dict[str, np.ndarray], w: np.ndarray, b: float) -> np.ndarray:
    return 1 / (1 + np.exp(-(s["x"] @ w + b)))


def report(p: np.ndarray, s: dict[str, np.ndarray], threshold: float) -> dict[str, float]:
    """AUC of telling answerable from not, calibration error, and what the threshold does, in percent."""
    yes, no = p[s["answerable"]], p[~s["answerable"]]
    auc = float(np.mean([(np.mean(v > no) + 0.5 * np.mean(v == no)) for v in yes])) if len(no) and len(yes) else 0.0
    edges = np.quantile(p, np.linspace(0, 1, 11))
    bins = np.clip(np.searchsorted(edges, p, "right") - 1, 0, 9)
    ece = sum(
        abs(p[bins == i].mean() - s["right"][bins == i].mean()) * np.mean(bins == i) for i in range(10) if (bins == i).any()
    )
    given = p >= threshold
    return {
        "questions": len(p),
        "auc answerable": round(100 * auc, 2),
        "expected calibration error": round(100 * float(ece), 2),
        "abstains, unanswerable": round(100 * float(np.mean(~given[~s["answerable"]])), 2),
        "answers, answerable": round(100 * float(np.mean(given[s["answerable"]])), 2),
        "right of answerable, all": round(100 * float(np.mean(s["right"][s["answerable"]])), 2),
        "right of given": round(100 * float(np.mean(s["right"][given])), 2),
    }


def best_threshold(sets: list[dict[str, np.ndarray]], w: np.ndarray, b: float) -> float:
    """The threshold with the best mean of: answering the answerable, abstaining on the others."""
    grid = np.linspace(0.01, 0.8, 80)
    score = np.zeros(len(grid))
    for s in sets:
        p = probabilities(s, w, b)
        score += [np.mean(p[s["answerable"]] >= t) + np.mean(p[~s["answerable"]] < t) for t in grid]
    return round(float(grid[np.argmax(score)]), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/confidence"))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sets = {name: collect(options.data / "extractive" / f"{name}.json.gz", options.work) for name in FITTED}
    result = {"left_out": {}}
    for name in sets:  # each set measured with what the others gave
        others = [s for other, s in sets.items() if other != name]
        w, b = fit(others)
        result["left_out"][name] = report(probabilities(sets[name], w, b), sets[name], best_threshold(others, w, b))
        print(name, result["left_out"][name], flush=True)
    w, b = fit(list(sets.values()))
    threshold = best_threshold(list(sets.values()), w, b)
    fitted = Calibration({n: round(float(v), 3) for n, v in zip(NAMES, w, strict=True)}, round(b, 3), threshold)
    print(fitted)
    result["fitted"] = {"weights": dict(fitted.weights), "bias": fitted.bias, "threshold": threshold}
    test = collect(options.data / "squad" / "squad-v2.0-dev.json.gz", options.work)
    for label, c in (("squad-v2.0-dev, fitted", fitted), ("squad-v2.0-dev, shipped", CALIBRATION)):
        p = probabilities(test, np.array([c.weights[n] for n in NAMES]), c.bias)
        result[label] = report(p, test, c.threshold)
        print(label, result[label])
    if options.out:
        write_json(options.out, result)


if __name__ == "__main__":
    main()
