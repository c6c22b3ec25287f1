"""What re-ranking gains over the plain reader and over the aggregation of equal answers, question by question.

Run:  python benchmarks/quality/reconsider.py --data ../shared/data --work runs/reconsider --questions 2000

The setting is open: each question is asked of all paragraphs of its set. The reader and the re-ranker run once; every
row of the table orders their answers in another way. A classifier may replace the re-ranker. The combination is the one that
ships with the models, tuned by answers.py on other data.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.answering.answerer import PASSAGES_TOP_K
from oreqa.answering.combining import Combination
from oreqa.answering.reading import combination_of
from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import split_articles, whole_passages
from oreqa.defaults import BASE_ENCODER, DEFAULT_CLASSIFIER, DEFAULT_READER
from oreqa.evaluation.metrics import paired_difference
from oreqa.files import read_json, write_json
from oreqa.fitting.rows import RESCORED, first_score, ranked_answers
from oreqa.index.passages import index_passages
from oreqa.index.store import Settings
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.names import CLASSIFIER
from oreqa.models.reader.reader import Reader
from oreqa.provenance import data_hash

sys.path.append(str(Path(__file__).parents[1]))
from common import kept_folder, report
from support.answer_rows import answer_all

SETS = {
    "squad-v1.1-dev": "squad/squad-v1.1-dev.json.gz",
    "squadshifts-reddit": "shift/squadshifts-reddit.json.gz",
    "qed-nq-train, held out": "extractive/qed-nq-train.json.gz",
}

UNTUNED, TUNED = (f"reader + retrieval + aggregation, {how}" for how in ("every weight 1", "tuned"))


def collect(name: str, options: argparse.Namespace, reader: Reader, reranker: CrossEncoder) -> list[dict[str, Any]]:
    saved = options.work / f"{name.split(',')[0]}.json"
    if saved.is_file():
        return list(read_json(saved))
    paragraphs = load_paragraphs(options.data / SETS[name])
    asked = split_articles(paragraphs)[1] if "held out" in name else paragraphs
    chosen = [(p, q) for p in asked for q in p.questions if q.answers]
    chosen = random.Random(0).sample(chosen, min(options.questions, len(chosen)))
    index = index_passages(
        options.work / "index" / saved.stem, whole_passages(paragraphs), Settings(model=BASE_ENCODER), options.device
    )
    rows = answer_all(index, reader, reranker, chosen, without_answers=False)
    write_json(saved, rows)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/reconsider"))
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--reader", default=DEFAULT_READER)
    parser.add_argument("--reranker", default=DEFAULT_CLASSIFIER)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--name", help="of the file in results/reconsider")
    options = parser.parse_args()
    reader = Reader(options.reader, device=options.device)
    reranker = CrossEncoder(options.reranker, device=options.device)
    options.work = kept_folder(options.work, options.reader, options.reranker, settings=[options.questions])
    tuned = combination_of(reader, reranker)
    file = options.name or ("open-classifier" if reranker.folder.kind == CLASSIFIER else "open")
    plain = Combination(selection=1.0, retrieval=0.0, reranking=0.0, aggregate=False)
    untuned = Combination(selection=1.0, retrieval=1.0, reranking=1.0)
    variants = {
        "reader": (plain, False),
        "reader + aggregation": (replace(plain, aggregate=True), False),
        **{f"re-ranker alone, K = {k}": (replace(plain, alone=True, rerank_spans=k), True) for k in (2, 3, 5, RESCORED)},
        "aggregation, re-ranker alone": (replace(tuned, alone=True), True),
        UNTUNED: (untuned, False),
        "all combined, every weight 1": (untuned, True),
        TUNED: (tuned, False),
        "all combined, tuned": (tuned, True),
    }
    result: dict[str, Any] = {}
    for name in options.sets:
        rows = collect(name, options, reader, reranker)
        found = {
            label: {
                metric: np.array([first_score(row, ranked_answers(row, weights, again), metric) for row in rows])
                for metric in ("right", "f1")
            }
            for label, (weights, again) in variants.items()
        }
        table: dict[str, Any] = {"questions": len(rows), "data_sha256": data_hash([options.data / SETS[name]])}
        holds = {k: [any(row["holds"][:k]) for row in rows] for k in (1, 3, PASSAGES_TOP_K)}
        table |= {f"acc@{k}": round(100 * float(np.mean(of_questions)), 2) for k, of_questions in holds.items()}
        first = [ranked_answers(row, plain, False) for row in rows]
        for k in (1, 5):
            table[f"em@{k} of the reader"] = round(
                100
                * float(
                    np.mean(
                        [max((first_score(r, [c]) for c in own[:k]), default=0) for r, own in zip(rows, first, strict=True)]
                    )
                ),
                2,
            )
        for label, values in found.items():
            entry: dict[str, Any] = {
                "em": round(100 * float(values["right"].mean()), 2),
                "f1": round(100 * float(values["f1"].mean()), 2),
            }
            for rival in ("reader", UNTUNED, TUNED):
                if label != rival:
                    gain = paired_difference(found[rival]["right"].tolist(), values["right"].tolist(), 0)
                    entry[f"em over {rival}"] = [round(100 * v, 2) for v in (gain.mean, gain.low, gain.high)] + [gain.p]
            base = found["reader"]["right"]
            entry |= {"mended": int(((base == 0) & (values["right"] == 1)).sum()),
                      "broken": int(((base == 1) & (values["right"] == 0)).sum())}  # fmt: skip
            table[label] = entry
        result[name] = table
        report(f"reconsider/{file}", result)


if __name__ == "__main__":
    main()
