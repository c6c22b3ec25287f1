"""What a span re-ranker gains, and what its training depends on: M, K, and how the span is presented.

Run:  oreqa mine predictions -k 40 --data ../shared/data/extractive/squad-train-pieces.json.gz --draw 500 \\
          --out runs/predictions.jsonl
      OREQA_PRECISION=f32 python benchmarks/experiments/ablations.py --data ../shared/data \\
          --predictions runs/predictions.jsonl --work runs/ablations

Every variant is trained by recipes/small/reranker.toml on the same mined questions, once a seed; --set backbone=FOLDER
starts from another re-ranker. Each question is asked of all paragraphs of its set, of which five are read, once; each
re-ranker then orders the same answers. What --work holds is neither trained nor measured again.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_1samp

from oreqa.answering.answerer import PASSAGES_TOP_K
from oreqa.answering.combining import Combination
from oreqa.answering.reading import span_scores
from oreqa.core import Passage
from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import split_articles, whole_passages
from oreqa.datasets.questions import OpenQuestion
from oreqa.defaults import BASE_ENCODER, DEFAULT_READER
from oreqa.evaluation.metrics import paired_difference
from oreqa.files import read_json, write_json, write_text
from oreqa.fitting.rows import Row, first_score, ranked_answers, reading_rows, span_key
from oreqa.index.passages import index_passages
from oreqa.index.store import Settings
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.names import RERANKER
from oreqa.models.reader.reader import Reader
from oreqa.provenance import data_hash
from oreqa.training import train_model

sys.path.append(str(Path(__file__).parents[1]))
from common import kept_folder, mean_and_deviation, report
from support.answer_rows import COMBINATION

RECIPE = Path(__file__).parents[2] / "recipes" / "small" / "reranker.toml"
SETS = {"squad": "squad/squad-v1.1-dev.json.gz", "nq": "extractive/qed-nq-train.json.gz"}
"""Of NQ only the held-out articles are searched and asked about."""
BASE = "M = 6, marked"
ALL = "pool=40"
"""Wrong spans are drawn from all mined ones: the recipe's 20 best are too few for M of the paper's size."""
VARIANTS = {
    BASE: ("candidates=6",),
    "M = 2, marked": ("candidates=2",),
    "M = 12, marked": ("candidates=12",),
    "M = 25, marked": ("candidates=25", ALL),
    "M = 40, marked": ("candidates=40", ALL),
    "M = 6, unmarked": ("candidates=6", "marking=unmarked"),
    "M = 6, appended": ("candidates=6", "marking=appended"),
}
PLAIN = Combination(retrieval=0.0, aggregate=False)
SPANS = 5
BASELINES = {
    "reader": PLAIN,
    "reader + aggregation": replace(PLAIN, aggregate=True),
    "reader + retrieval + aggregation": COMBINATION,
}
COMBINED = f"combined, K = {SPANS}"


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions of a set, the passages read for each, and the answers found in them."""

    questions: list[str]
    passages: list[list[Passage]]
    rows: list[Row]


def orders(most: Sequence[int]) -> dict[str, Combination]:
    """The orders under a re-ranker: alone, of so many answers, and as one score of several."""
    alone = {f"alone, K = {k}": replace(PLAIN, alone=True, rerank_spans=k) for k in most}
    return alone | {COMBINED: replace(COMBINATION, rerank_spans=SPANS)}


def ask(data: Path, name: str, work: Path, count: int) -> Asked:
    """Ask ``count`` questions of a set, or all if there are fewer; ``work`` keeps what was read."""
    paragraphs = load_paragraphs(data / SETS[name])
    if name == "nq":
        paragraphs = split_articles(paragraphs)[1]
    chosen = [question for paragraph in paragraphs for question in paragraph.questions if question.answers]
    chosen = random.Random(0).sample(chosen, min(count, len(chosen)))
    questions = [OpenQuestion(q.id, q.text, tuple(answer.text for answer in q.answers)) for q in chosen]
    texts = [question.text for question in questions]
    with index_passages(work / f"index-{name}", whole_passages(paragraphs), Settings(model=BASE_ENCODER)) as index:
        hits = list(index.search(texts, PASSAGES_TOP_K, mode="hybrid", unit="passage"))
    saved = work / f"read-{name}.json"
    if not saved.is_file():
        write_json(saved, reading_rows(Reader(DEFAULT_READER), None, questions, hits))
    return Asked(texts, [[hit.passage for hit in of_question] for of_question in hits], read_json(saved))


def rerank(asked: Asked, reranker: Path, most: int, saved: Path) -> list[Row]:
    """Return the rows with the re-ranker's scores of each reader's ``most`` best answers, and of the ``SPANS`` best by all
    scores; ``saved`` keeps the scores."""
    if not saved.is_file():
        spans = []
        for row in asked.rows:
            best = ranked_answers(row, PLAIN, False)[:most] + ranked_answers(row, COMBINATION, False)[:SPANS]
            spans.append(list({span_key(answer.span): answer.span for answer in best}.values()))
        scores = span_scores(CrossEncoder(reranker), asked.questions, asked.passages, spans)
        keyed = [
            {span_key(span): float(score) for span, score in zip(of_question, values, strict=True)}
            for of_question, values in zip(spans, scores, strict=True)
        ]
        write_json(saved, keyed)
    return [row | {"rescored": of_row, "kind": RERANKER} for row, of_row in zip(asked.rows, read_json(saved), strict=True)]


def right(rows: Sequence[Row], weights: Combination, reranked: bool) -> list[float]:
    """For each question whether its first answer is right (EM)."""
    return [first_score(row, ranked_answers(row, weights, reranked)) for row in rows]


def baseline_rows(asked: Asked, baselines: dict[str, list[float]]) -> dict[str, Any]:
    """Return the EM of each order without a re-ranker, its difference from the reader's, and how often an answer among the
    reader's first k is right."""
    table: dict[str, Any] = {}
    for name, values in baselines.items():
        table[name] = {"em": round(100 * float(np.mean(values)), 2)}
        table[name] |= {"over reader": asdict(paired_difference(baselines["reader"], values, 0))} if name != "reader" else {}
    ranked = [ranked_answers(row, PLAIN, False) for row in asked.rows]
    for k in (5, 10, 25):
        best = [
            max((first_score(row, [a]) for a in own[:k]), default=0.0) for row, own in zip(asked.rows, ranked, strict=True)
        ]
        table["reader"][f"em@{k}"] = round(100 * float(np.mean(best)), 2)
    return table


def compared(runs: Sequence[Sequence[float]], baselines: dict[str, list[float]]) -> dict[str, Any]:
    """Return the EM over seeds, the difference of the mean over seeds from each baseline, question by question, and the p
    over seeds that it is none (a t-test, as the baselines have no seed)."""
    values = [round(100 * float(np.mean(run)), 2) for run in runs]
    means = np.mean(runs, axis=0).tolist()
    entry: dict[str, Any] = {"em": [*mean_and_deviation(values), values]}
    for name, baseline in baselines.items():
        gain = asdict(paired_difference(baseline, means, 0))
        p = float(ttest_1samp(values, 100 * np.mean(baseline)).pvalue) if len(set(values)) > 1 else None
        entry[f"over {name}"] = gain | {"p_over_seeds": p}
    reader = baselines["reader"]
    entry["mended"] = [sum(a < b for a, b in zip(reader, run, strict=True)) for run in runs]
    entry["broken"] = [sum(a > b for a, b in zip(reader, run, strict=True)) for run in runs]
    return entry


def examples(asked: Asked, rows: Sequence[Row], weights: Combination, count: int) -> dict[str, list[dict[str, str]]]:
    """Return the first questions that the re-ranker mends and breaks, with the first answers before and after."""
    shown: dict[str, list[dict[str, str]]] = {"mended": [], "broken": []}
    for question, row in zip(asked.questions, rows, strict=True):
        before, after = ranked_answers(row, PLAIN, False), ranked_answers(row, weights, True)
        change = first_score(row, after) - first_score(row, before)
        if change:
            example = {"question": question, "reader": before[0].span.text, "re-ranked": after[0].span.text}
            shown["mended" if change > 0 else "broken"].append(example)
    return {kind: of_kind[:count] for kind, of_kind in shown.items()}


def train(settings: Sequence[str], predictions: Path, out: Path) -> dict[str, Any]:
    """Train a re-ranker, unless ``out`` holds it; returns what its run.json holds."""
    if not (out / "run.json").is_file():
        train_model("reranker", RECIPE, out, [f"predictions={predictions}", f"reader={DEFAULT_READER}", *settings])
    record: dict[str, Any] = read_json(out / "run.json")
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--predictions", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--variant", action="append", choices=list(VARIANTS), help=f"compared with {BASE}; default: all")
    parser.add_argument("--set", action="append", default=[], help="change the recipe of all variants: name=value")
    parser.add_argument("--questions", type=int, default=500, help="how many mined questions to train on")
    parser.add_argument("--asked", type=int, default=300, help="how many questions to ask of each set")
    parser.add_argument(
        "--most", type=int, nargs="+", default=[2, 3, 5, 10, 15, 25], help=f"values of K for {BASE}; the others have {SPANS}"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--name", default="spans/ablations", help="of the results file: PAGE/RUN")
    options = parser.parse_args()
    hashed = data_hash([options.predictions])
    work = kept_folder(options.work, DEFAULT_READER, settings=[hashed, options.questions, options.asked, *options.set])
    learned = work / "predictions.jsonl"
    with options.predictions.open(encoding="utf-8") as lines:
        write_text(learned, "".join(islice(lines, options.questions)))
    asked = {name: ask(options.data, name, work, options.asked) for name in SETS}
    baselines = {
        name: {label: right(of_set.rows, weights, False) for label, weights in BASELINES.items()}
        for name, of_set in asked.items()
    }
    table: dict[str, dict[str, Any]] = {name: baseline_rows(asked[name], values) for name, values in baselines.items()}
    sizes: dict[str, Any] = {"mined questions": options.questions, "asked": {n: len(a.rows) for n, a in asked.items()}}
    sizes |= {"seeds": options.seeds, "settings": options.set, "with right and wrong spans": {}}
    sizes |= {"steps": {}, "trained at": {}}
    shown: dict[str, Any] = {}
    for variant in [name for name in VARIANTS if name == BASE or name in (options.variant or VARIANTS)]:
        depths = options.most if variant == BASE else [SPANS]
        runs: dict[tuple[str, str], list[list[float]]] = {}
        for seed in range(options.seeds):
            folder = work / f"{variant.replace(' ', '').replace(',', '-').replace('=', '')}-{seed}"
            record = train([*options.set, *VARIANTS[variant], f"seed={seed}"], learned, folder)
            sizes["with right and wrong spans"][variant], sizes["steps"][variant] = record["questions"], record["steps"]
            sizes["trained at"][folder.name] = record["commit"]
            for name, of_set in asked.items():
                most = max(*depths, SPANS)  # what is shown has SPANS
                rows = rerank(of_set, folder, most, folder / f"scores-{name}-{most}.json")
                for order, weights in orders(depths).items():
                    runs.setdefault((name, order), []).append(right(rows, weights, True))
                if variant == BASE and not seed:
                    shown[name] = examples(of_set, rows, orders([SPANS])[f"alone, K = {SPANS}"], 8)
        for (name, order), of_order in runs.items():
            table[name][f"{variant}: {order}"] = compared(of_order, baselines[name])
            print(name, variant, order, table[name][f"{variant}: {order}"]["em"], flush=True)
    sizes |= {"predictions_sha256": hashed, "data_sha256": data_hash([options.data / file for file in SETS.values()])}
    report(options.name, {**sizes, **table, "examples": shown})


if __name__ == "__main__":
    main()
