"""Tune the score of answers and their confidence on held-out articles, and measure abstention on SQuAD 2.0 dev.

Run:  python recipes/fit/answers.py --data ../shared/data --work runs/answers      (keeps in --work what was read)

Every question about the held-out articles is asked twice: of a collection that contains its paragraph, and of the same
collection without its article, which cannot answer it. The questions of squad2-train-part that their own paragraph cannot
answer are asked as well. The collections have 20 to 200 paragraphs. Questions about documents of Debian packages
(benchmarks/quality/questions: both halves, and half of those about lists) and about three manuals held out in
recipes/base/questions are asked with and without the passages that answer them. SQuAD dev and Reddit are only used to
measure.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.answer import LIKELY, SURE
from oreqa.answering.choices import passage_reranker_of
from oreqa.answering.combining import Combination
from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import split_articles, whole_passages
from oreqa.datasets.questions import load_question_list
from oreqa.defaults import DEFAULT_CLASSIFIER, DEFAULT_ENCODER, DEFAULT_READER
from oreqa.files import read_json, write_json
from oreqa.fitting.calibrating import (
    JudgedAnswers,
    calibration_summary,
    fit_calibration,
    fit_logistic,
    probabilities,
    right_threshold,
)
from oreqa.fitting.rows import FEATURES, RERANKER_FEATURES, best_combination, judged_answers, mean_score
from oreqa.index.ingest import index_files
from oreqa.index.passages import index_passages
from oreqa.index.search import Index
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.fitted import Calibration, fitted_file, write_fitted
from oreqa.models.names import find_model, model_fingerprint
from oreqa.models.reader.reader import Reader

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from common import ROOT, kept_folder, report
from support.answer_rows import COMBINATION, answer_all, answer_documents
from support.manual_questions import MANUALS, lay_out_manual, manual_questions
from support.own_collections import COLLECTIONS, LISTS, lay_out

TUNED = ("squad-train-pieces", "qed-nq-train", "afriqa-en", "timeqa-human", "squad2-train-part")
TESTED = ("squad-v2.0-dev", "squadshifts-reddit")
SIZES = (200, 50, 20)
"""Paragraphs of the collections."""

QUESTIONS = ROOT / "benchmarks" / "quality" / "questions"
ASKED = ("tuning", "reporting", "lists-tuning")
"""Files of questions about documents."""

READER_WEIGHTS = ("selection", "retrieval", "aggregate")
MAX_DRAWS = 20
ADVERSARIAL = "squad2-train-part"
"""The set with questions written so that their own paragraph seems to answer them."""

ADVERSARIAL_WEIGHT = 4
"""Its weight, equal to that of the other sets together: people ask what their documents nearly answer."""

RIGHT = 0.5
"""The F1 from which an answer counts as right: only its ends may differ from an annotator's."""


def collect(
    name: str, path: Path, options: argparse.Namespace, reader: Reader, reranker: CrossEncoder | None
) -> list[dict[str, Any]]:
    """Return the rows of a data set: each question with its spans and the scores of search and re-ranker.

    Equal shares of the questions are asked of collections of each of ``SIZES``; for a test set, three times as many are
    asked of all its paragraphs instead of the largest size. A small collection is drawn as often as its questions need.
    """
    saved = options.work / f"{name}-{options.questions}.json"
    if saved.is_file():
        return list(read_json(saved))
    paragraphs = load_paragraphs(path)
    test = name in TESTED
    with_questions = [p for p in (paragraphs if test else split_articles(paragraphs)[1]) if p.questions]
    held = {id(p) for p in with_questions}
    rest = [p for p in paragraphs if id(p) not in held]
    rows = []
    shares: dict[int | None, int] = dict.fromkeys(SIZES, options.questions // len(SIZES))
    if test:
        shares = {None: 3 * options.questions, **{size: shares[size] for size in SIZES[1:]}}
    for size, share in shares.items():
        rng, wanted, draws = random.Random(size or 0), share, 0
        while wanted > 0 and draws < MAX_DRAWS:
            about = with_questions if size is None or size > len(with_questions) else rng.sample(with_questions, size)
            other_paragraphs = rng.sample(rest, min(len(rest), max(0, (size or 0) - len(about))))
            chosen = [(p, q) for p in about for q in p.questions]
            chosen = rng.sample(chosen, min(wanted, len(chosen)))
            place = options.work / "index" / f"{name}-{size}-{draws}"
            index = index_passages(place, whole_passages([*about, *other_paragraphs]), device=options.device)
            for without_answers in (
                (False,) if test else (False, True)
            ):  # a set with unanswerable questions, or a single article
                size_rows = answer_all(index, reader, reranker, chosen, without_answers)
                rows += [{**row, "size": size} for row in size_rows]
            wanted, draws = wanted - len(chosen), draws + 1
    write_json(saved, rows)
    return rows


def collect_documents(
    options: argparse.Namespace, reader: Reader, reranker: CrossEncoder, first: Reader | None
) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the questions about documents: a set per collection and held-out manual, and one for all lists.

    A ``first`` reader chooses the passages, as ``oreqa ask`` does for the reader of ``best``.
    """
    saved = options.work / "documents.json"
    if saved.is_file():
        return dict(read_json(saved))
    questions = [question for name in ASKED for question in load_question_list(QUESTIONS / f"{name}.jsonl")]
    sets: dict[str, list[dict[str, Any]]] = {}
    for name in (*COLLECTIONS, *LISTS):
        place = options.work / "index" / name
        index_files(place, [lay_out(name, options.documents)])
        with Index.open(place, options.device) as index:
            rows = answer_documents(index, reader, reranker, [q for q in questions if q.collection == name], first)
        sets.setdefault(name if name in COLLECTIONS else "lists", []).extend(rows)
    for name in MANUALS:
        place = options.work / "index" / name
        index_files(place, [lay_out_manual(name, options.documents)])
        with Index.open(place, options.device) as index:
            sets[name] = answer_documents(index, reader, reranker, manual_questions(name), first)
    write_json(saved, sets)
    return sets


def curves(p: np.ndarray, right: np.ndarray, path: Path) -> dict[str, list[list[float]]]:
    """Return risk (share of wrong answers) by coverage and right answers by confidence, and draw both to ``path``."""
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


def band_shares(p: np.ndarray, right: np.ndarray) -> dict[str, list[float]]:
    """Return, for each word of certainty, the share of answers and how many of them are right, in percent."""
    bands = {"sure": p >= SURE, "likely": (p >= LIKELY) & (p < SURE), "weak": p < LIKELY}
    return {
        name: [round(100 * float(of.mean()), 1), round(100 * float(right[of].mean()), 1) if of.any() else 0.0]
        for name, of in bands.items()
    }


def weighted(sets: dict[str, JudgedAnswers]) -> list[JudgedAnswers]:
    """Return the sets, one of them repeated by its weight."""
    return [s for name, s in sets.items() for _ in range(ADVERSARIAL_WEIGHT if name == ADVERSARIAL else 1)]


def calibrate(
    sets: dict[str, list[dict[str, Any]]], tests: dict[str, list[dict[str, Any]]], kind: str | None, figure: Path | None
) -> tuple[Calibration, dict[str, Any]]:
    """Fit the calibration of answers that a cross-encoder of this ``kind`` (or none) has rescored, and measure it.

    Each set is measured with a calibration fitted on the others, each test set with one fitted on all sets.
    """
    names, again = FEATURES + RERANKER_FEATURES[kind], kind is not None
    fitted = {name: judged_answers(rows, COMBINATION, again, names, RIGHT) for name, rows in sets.items()}
    worth: dict[str, Any] = {}
    for name, held_out in fitted.items():
        others = {other: s for other, s in fitted.items() if other != name}
        w, b = fit_logistic(weighted(others))
        p = probabilities(held_out, w, b)
        worth[name] = {
            **calibration_summary(p, held_out, right_threshold(list(others.values()), w, b)),
            **band_shares(p, held_out.right),
        }
    shipped = fit_calibration(names, weighted(fitted), list(fitted.values()))
    for name, rows in tests.items():
        for size in dict.fromkeys(row["size"] for row in rows):
            test = judged_answers([row for row in rows if row["size"] == size], COMBINATION, again, names, RIGHT)
            p = probabilities(test, np.array([shipped.weights[n] for n in names]), shipped.bias)
            entry = {**calibration_summary(p, test, shipped.threshold), **band_shares(p, test.right)}
            if size is None and name == TESTED[0] and figure:
                entry |= curves(p, test.right, figure)
            worth[f"{name}, {size or 'all'} paragraphs"] = entry
    return shipped, worth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/answers"))
    parser.add_argument("--documents", type=Path, default=Path("runs/own"), help="where packages of Debian are kept")
    parser.add_argument("--questions", type=int, default=200, help="questions of every set")
    parser.add_argument("--reader", default=DEFAULT_READER)
    parser.add_argument("--reranker", default=DEFAULT_CLASSIFIER)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--name", default="", help="results/confidence/spans-NAME.json in place of spans.json")
    parser.add_argument("--write", action="store_true", help="keep the calibrations with the models, in their fitted.json")
    options = parser.parse_args()
    reader = Reader(options.reader, device=options.device)
    reranker = CrossEncoder(options.reranker, device=options.device)
    small = passage_reranker_of(options.reader)
    first = Reader(small, device=options.device) if small else None
    options.work = kept_folder(options.work, DEFAULT_ENCODER, options.reader, options.reranker)
    sets, tests = {}, {}
    for name in TUNED:
        sets[name] = collect(name, options.data / "extractive" / f"{name}.json.gz", options, reader, reranker)
        print(name, len(sets[name]), flush=True)
    sets |= collect_documents(options, reader, reranker, first)
    for name, folder in zip(TESTED, ("squad", "shift"), strict=True):
        tests[name] = collect(name, options.data / folder / f"{name}.json.gz", options, reader, reranker)
        print(name, len(tests[name]), flush=True)
    plain = best_combination(list(sets.values()), False, replace(COMBINATION, aggregate=False))
    best = best_combination(list(sets.values()), True, replace(plain, reranking=1.0))
    rows_of_em = {
        "span alone": (Combination(0, 0, 0, aggregate=False), False),
        "tuned, no re-ranking": (plain, False),
        "tuned, re-ranked": (best, True),
        "re-ranker alone": (replace(best, alone=True), True),
        "shipped weights": (COMBINATION, False),
        "shipped weights, re-ranked": (COMBINATION, True),
    }
    result: dict[str, Any] = {"questions": {name: len(rows) for name, rows in {**sets, **tests}.items()}}
    result["em"] = {
        label: {name: round(mean_score(rows, weights, again), 2) for name, rows in {**sets, **tests}.items()}
        for label, (weights, again) in rows_of_em.items()
    }
    result["tuned"] = {label: {n: getattr(w, n) for n in w.__slots__} for label, (w, _) in rows_of_em.items()}
    figure = ROOT / "docs" / "images" / "abstention.svg"
    encoder = model_fingerprint(find_model(DEFAULT_ENCODER))
    for model, kind in ((options.reader, None), (options.reranker, reranker.folder.kind)):
        shipped, worth = calibrate(sets, tests, kind, None if kind else figure)
        calibration = {"weights": dict(shipped.weights), "bias": shipped.bias, "threshold": shipped.threshold}
        result["re-ranked" if kind else "not re-ranked"] = {"calibration": calibration, **worth}
        if options.write:
            weights = {} if kind else {"combination": {n: getattr(COMBINATION, n) for n in READER_WEIGHTS}}
            write_fitted(fitted_file(model), encoder=encoder, **weights, calibration=calibration)
    report(f"confidence/spans-{options.name}" if options.name else "confidence/spans", result)


if __name__ == "__main__":
    main()
