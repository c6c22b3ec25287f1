"""Tune the one score of answers and their confidence on held-out articles, and measure abstention on SQuAD 2.0 dev.

Run:  python benchmarks/answers.py --data ../shared/data --work runs/answers      (keeps what it has read in --work)

Every question of the held-out articles is asked twice: of all paragraphs, and of all but those of its own article, which
cannot answer it; those of squad2-train-part that their own paragraph cannot answer are asked, too. SQuAD dev is only measured on.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from common import report
from confidence import best_threshold, fit, probabilities
from confidence import report as summary

from oreqa.answering.answerer import READ, SPANS_READ, rerank_spans
from oreqa.answering.combining import COMBINATION, Candidate, Combination, merge, rerank
from oreqa.answering.confidence import SPANS, Calibration, span_features
from oreqa.core import Hit, Span
from oreqa.corpus.chunks import passage_head
from oreqa.datasets.questions import OpenQuestion
from oreqa.datasets.reqa import load_paragraphs
from oreqa.datasets.splits import split_articles
from oreqa.datasets.squad import Paragraph, readable_title
from oreqa.defaults import DEFAULT_READER, DEFAULT_RERANKER
from oreqa.evaluation.answers import exact_match, f1_score
from oreqa.evaluation.corpora import whole_passages
from oreqa.evaluation.metrics import mean_metrics
from oreqa.evaluation.openqa import has_answer
from oreqa.files import read_json, write_json
from oreqa.index.passages import index_passages
from oreqa.index.search import Index
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.folders import RERANKER
from oreqa.models.reader.reader import Reader

TUNED = ("squad-train-pieces", "qed-nq-train", "afriqa-en", "timeqa-human", "squad2-train-part")
COLLECTION = 1500
RERANKED = 8
SELECTION, RETRIEVAL = (0, 0.25, 0.5, 0.75, 1.0, 1.5), (0, 1, 2, 4, 8, 12)
"""Weights that are tried: whatever they put among the ``RERANKED`` best is scored by the re-ranker."""


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


def answer_all(
    index: Index, reader: Reader, reranker: CrossEncoder | None, chosen: list[tuple[Paragraph, Any]], apart: bool
) -> list[dict[str, Any]]:
    """Search and read; ``apart`` leaves the passages of the question's own article out."""
    questions = [question.text for _, question in chosen]
    found = []
    for (paragraph, _), hits in zip(
        chosen, index.search(questions, 40 if apart else READ, "hybrid", "passage"), strict=True
    ):
        article = readable_title(paragraph.title)  # a paragraph without one is an article of its own
        own = [h for h in hits if h.passage.text != paragraph.text and not (article and h.passage.title == article)]
        found.append((own if apart else hits)[:READ])
    texts = [[(passage_head(h.passage.title, h.passage.heading), h.passage.text) for h in hits] for hits in found]
    spans = reader.read(questions, texts, SPANS_READ)
    retrieval = [[h.score for h in hits] for hits in found]
    best = [[own[i] for i in dict.fromkeys(reconsidered(own, r))] for own, r in zip(spans, retrieval, strict=True)]
    scores = rerank_spans(reranker, questions, texts, best) if reranker else [[] for _ in questions]
    rows = []
    for (_, question), own, hits, first, again in zip(chosen, spans, found, best, scores, strict=True):
        golds = [] if apart else [gold.text for gold in question.answers]
        rows.append({
            "answerable": bool(golds), "right": [exact_match(s.text, golds) for s in own],
            "f1": [max((f1_score(s.text, gold) for gold in golds), default=0.0) for s in own],
            "spans": [[s.text, s.start, s.end, s.passage_number, s.parts["span"], s.parts["selection"]] for s in own],
            "holds": [bool(golds) and has_answer(h.passage.text, OpenQuestion("", "", tuple(golds))) for h in hits],
            "hits": [[h.score, dict(h.parts)] for h in hits],
            "rescored": {_key(s): float(r) for s, r in zip(first, again, strict=bool(reranker))},
        })  # fmt: skip
    return rows


def reconsidered(spans: list[Span], retrieval: list[float]) -> Iterator[int]:
    """The numbers of the spans that any of the weights that are tried puts among the best."""
    places = {_key(span): place for place, span in enumerate(spans)}
    for selection, weight, aggregate in product(SELECTION, RETRIEVAL, (False, True)):
        for candidate in merge(spans, retrieval, Combination(selection, weight, 0, aggregate=aggregate))[:RERANKED]:
            yield places[_key(candidate.span)]


def _key(span: Span) -> str:
    return f"{span.passage_number}:{span.start}-{span.end}"


def ranked(row: dict[str, Any], weights: Combination, again: bool) -> list[Candidate]:
    """The answers of a row under other weights."""
    spans = [Span(t, a, b, p, v, {"span": v, "selection": s}) for t, a, b, p, v, s in row["spans"]]
    candidates = merge(spans, [score for score, _ in row["hits"]], weights)
    if not again:
        return candidates
    return rerank(candidates, [row["rescored"][_key(c.span)] for c in candidates[: weights.reranked]], weights)


def is_right(row: dict[str, Any], candidates: list[Candidate], score: str = "right") -> float:
    """The first answer's exact match, or its ``f1``."""
    if not candidates:
        return 0.0
    best = candidates[0].span
    keys = [(s[1], s[2], s[3]) for s in row["spans"]]
    return float(row[score][keys.index((best.start, best.end, best.passage_number))])


def em(rows: list[dict[str, Any]], weights: Combination, again: bool) -> float:
    kept = [row for row in rows if row["answerable"]]
    return 100 * float(np.mean([is_right(row, ranked(row, weights, again)) for row in kept]))


def best_weights(sets: dict[str, list[dict[str, Any]]], again: bool, start: Combination) -> tuple[Combination, float]:
    """Coordinate by coordinate, the weights with the best mean EM over the sets."""
    grids = {"selection": SELECTION, "retrieval": RETRIEVAL, "aggregate": (False, True)}
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


def features(rows: list[dict[str, Any]], weights: Combination, again: bool, names: tuple[str, ...]) -> dict[str, np.ndarray]:
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
    return {"risk_coverage": [[round(float(coverage[i]), 3), round(float(risk[i]), 4)] for i in steps],
            "calibration": [[round(a, 4), round(b, 4)] for a, b in points]}  # fmt: skip


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
    options = parser.parse_args()
    reader = Reader.load(options.reader, options.device)
    reranker = None if options.reranker == "none" else CrossEncoder.load(options.reranker, options.device, kind=RERANKER)
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
    names = tuple(SPANS.weights)
    names = names if again else tuple(name for name in names if name != "reranking")
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
    result |= {"combination": {n: getattr(best, n) for n in best.__slots__},
               "calibration": {"weights": dict(shipped.weights), "bias": shipped.bias, "threshold": shipped.threshold}}  # fmt: skip
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


if __name__ == "__main__":
    main()
