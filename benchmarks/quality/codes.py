"""What does one byte per number cost? ReQA SQuAD dev ranked by the encoded vectors, and by their codes.

Run:  OREQA_PRECISION=f32 python benchmarks/quality/codes.py --data ../shared/data --work runs/codes

One index is made, and the vectors are kept as the encoder returns them. Every question ranks all 10,250 sentences
three times, with the same BM25 and the weights that come with the encoder: by these vectors; by the index's codes, whose
scale is each vector's own; and by codes in ranges fitted to the first 8,000 sentences, number by number, as in FAISS's SQ8.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from oreqa.arrays import Floats
from oreqa.core import UNITS, Unit
from oreqa.datasets.reqa import build_reqa, load_boundaries
from oreqa.evaluation.metrics import gold_ranks, question_metrics
from oreqa.index import encodings
from oreqa.index.best import best_sentences
from oreqa.index.codes import Codes, quantise, vectors_of
from oreqa.index.passages import index_passages
from oreqa.index.search import Index
from oreqa.index.store import Settings

sys.path.append(str(Path(__file__).parents[1]))
from common import report, squad

FITTED = 8000
"""Sentences that the ranges are fitted to."""

BATCH = 512
"""Questions whose products are computed together."""


def kept_vectors(build: Callable[[], Index]) -> tuple[Index, Floats]:
    """Return the index made by ``build``, and every stored vector as the encoder returned it: ``[vectors, dim]``."""
    matrices: list[Floats] = []

    def keep(vectors: Floats) -> Codes:
        matrices.append(vectors)
        return quantise(vectors)

    vars(encodings)["quantise"] = keep
    return build(), np.concatenate(matrices)


def in_ranges(vectors: Floats, fitted: Floats) -> tuple[Floats, float]:
    """Return vectors decoded from codes in ranges fitted to others, and the share of their numbers outside the ranges."""
    low, high = fitted.min(axis=0), fitted.max(axis=0)
    step = (high - low) / 255
    codes = np.rint((vectors - low) / step)
    return low + step * codes.clip(0, 255), float(np.mean((codes < 0) | (codes > 255)))


def measure(data: Path, work: Path) -> dict[str, object]:
    """Return MRR and P@1 by variant, and how often the best 1 and the best 10 are those of the encoded vectors."""
    squad_data = data / "squad"
    task = build_reqa(squad(data), load_boundaries(squad_data / "reqa-squad-dev-sentences.jsonl.gz"), "en")
    index, every = kept_vectors(lambda: index_passages(work / "index", task.passages, Settings()))
    sizes = np.array([len(passage.sentences) for passage in task.passages])
    first = np.cumsum(1 + sizes) - (1 + sizes)
    plain: dict[Unit, Floats] = {"passage": every[first], "sentence": np.delete(every, first, axis=0)}
    if not all(len(quantise(plain[unit])) == len(index.snapshot().engine.every().ids(unit)) for unit in UNITS):
        raise SystemExit(f"{work}: the index was there already, or passages repeat: delete it")
    ranged, outside = {}, {}
    for unit in UNITS:
        ranged[unit], outside[unit] = in_ranges(plain[unit], plain["sentence"][:FITTED])
    coded = {unit: vectors_of(quantise(plain[unit])) for unit in UNITS}
    variants: dict[str, Mapping[Unit, Floats]] = {"float32": plain, "codes": coded, "codes in ranges": ranged}
    weights = index.weights()
    metrics: dict[str, list[Mapping[str, float]]] = {name: [] for name in variants}
    same: dict[str, list[tuple[bool, float]]] = {name: [] for name in variants}
    vectors = index.encoder.encode(task.questions)
    for number, (scores, gold) in enumerate(zip(index.raw_scores(task.questions), task.gold, strict=True)):
        if number % BATCH == 0:
            batch = vectors[number : number + BATCH]
            dense = {name: {unit: batch @ v[unit].T for unit in UNITS} for name, v in variants.items()}
        best: list[int] = []
        for name in variants:
            cosines = {f"{unit}_cosine": dense[name][unit][number % BATCH] for unit in UNITS}
            total = replace(scores, scores={**scores.scores, **cosines}).total(weights)
            metrics[name].append(question_metrics(gold_ranks(total, gold)))
            top = best_sentences(total, 10).tolist()
            best = best or top
            same[name].append((top[0] == best[0], len(set(top) & set(best)) / len(best)))
    return {
        "questions": len(task.questions),
        "candidates": len(plain["sentence"]),
        "clipped in ranges, by unit": outside,
        "variants": {
            name: {
                "mrr": round(100 * float(np.mean([row["mrr"] for row in metrics[name]])), 3),
                "p@1": round(100 * float(np.mean([row["p@1"] for row in metrics[name]])), 3),
                "same best": round(100 * float(np.mean([row[0] for row in same[name]])), 3),
                "same best 10": round(100 * float(np.mean([row[1] for row in same[name]])), 3),
            }
            for name in variants
        },
        "bytes a vector": {"float32": 4 * every.shape[1], "codes": quantise(every[:1]).itemsize},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/codes"))
    options = parser.parse_args()
    report("speed/codes", measure(options.data, options.work))


if __name__ == "__main__":
    main()
