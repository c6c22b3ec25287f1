"""What a classifier adds to retrieval: silver pairs, soft labels, re-ranking.

Run:  python benchmarks/experiments/augmentation.py squad --data ../shared/data --work runs/augmentation --draw 4000

In each domain, dual encoders are trained on gold pairs alone and on what the classifier found in addition, all on the
same questions and from the same model. With --width that is one new layer of that width over the principal components of
MiniLM's token embeddings, and BM25 finds the candidates. What --work already contains is reused: the pairs of the same
classifier, and the models that learned from them with the same --set. SQuAD dev, NQ's held-out articles and the test parts
of MedQuAD and SelQA are only used to measure. The classifier has never seen MedQuAD.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_ind

from oreqa.datasets.beir import Beir, load_beir, save_beir
from oreqa.datasets.paragraphs import is_held_out_name
from oreqa.defaults import BASE_ENCODER
from oreqa.evaluation.metrics import paired_difference
from oreqa.evaluation.runs import Run, load_run
from oreqa.files import read_json, read_jsonl, write_jsonl

sys.path.append(str(Path(__file__).parents[1]))
from common import kept_folder, report
from support.small_retrievers import narrow_backbone

RECIPE = Path(__file__).parents[2] / "recipes" / "small" / "retriever.toml"
GOLD, UNWEIGHTED = "gold", "+ silver, w = 1"
CLASSIFIER = "minilm-classifier"
LEAST = 0.5
RERANKED = 20
"""Sentences of the hybrid search that are re-ranked."""

VARIANTS = {
    GOLD: (["gold"], []),
    "+ silver, w = p^2": (["scored"], ["silver=positives"]),
    UNWEIGHTED: (["scored"], ["silver=positives", "weight_power=0.0"]),
    "+ soft labels": (["scored"], ["loss=soft_labels", "silver=missing_gold", "negatives=4"]),
    "+ mined negatives": (["negatives"], ["negatives=3"]),
    "silver alone": (["unlabelled"], ["silver=positives"]),
}
"""Name -> the training pairs, and the settings in the recipe. ``unlabelled`` pairs are mined for questions whose answers
are not given; mined negatives use no classifier."""

SHOWN = ("mrr", "mrr@100", "p@1", "p@5", "p@10", "r@1", "r@5")


@dataclass(frozen=True)
class Test:
    """A set for measuring: its name, its candidates' name, and the arguments of ``oreqa eval``."""

    name: str
    corpus: str
    arguments: tuple[object, ...]


def oreqa(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "oreqa", *map(str, arguments)], check=True)


def split_nq(source: Path, folder: Path) -> Path:
    """Split QED's Natural Questions by article: the held-out tenth is the split test, the rest train."""
    if not (folder / "qrels" / "test.tsv").is_file():
        task = load_beir(source, "train")
        titles = {entry.id: entry.title for entry in task.corpus}
        for name, held in (("train", False), ("test", True)):
            chosen = {q: d for q, d in task.qrels.items() if is_held_out_name(titles[next(iter(d))]) == held}
            save_beir(folder, Beir(task.corpus, {q: task.queries[q] for q in task.qrels}, chosen), name)
    return folder


def domain(name: str, data: Path, work: Path) -> tuple[Path, tuple[Test, ...]]:
    """Return the training set and the test sets of a domain."""

    def beir(test: str, folder: Path, split: str) -> Test:
        return Test(test, folder.name, ("beir", "--data", folder, "--split", split))

    if name == "squad":
        squad = data / "squad"
        return data / "extractive" / "squad-train-pieces.json.gz", tuple(
            Test(test, test, ("reqa", "--data", squad / "squad-v1.1-dev.json.gz", "--sentences", squad / file))
            for test, file in (
                ("reqa", "reqa-squad-dev-sentences.jsonl.gz"),
                ("multireqa", "multireqa-squad-dev-sentences.jsonl.gz"),
            )
        )
    if name == "nq":
        folder = split_nq(data / "retrieval" / "qed-nq-sentence", work / "nq")
        return folder, (beir("nq", folder, "test"), beir("selqa", data / "retrieval" / "selqa", "test"))
    folder = data / "retrieval" / name
    return folder, (beir("test", folder, "test"),)


def mine(train: Path, work: Path, draw: int, classifier: str, base: str | Path, mode: str) -> list[dict[str, Any]]:
    """Make the training pairs in ``work``. Return those of scored.jsonl: gold, and ten candidates per question."""
    scored = work / "scored.jsonl"
    if not scored.is_file():
        oreqa("mine", "silver", "--data", train, "--model", base, "--draw", draw, "--classifier", classifier,
              "-k", 10, "--mode", mode, "--min-probability", 0, "--index", work / "indexes" / "train",
              "--out", scored)  # fmt: skip
    if not (work / "negatives.jsonl").is_file():
        oreqa("mine", "negatives", "--data", train, "--model", base, "--draw", draw,
              "--index", work / "indexes" / "train", "--out", work / "negatives.jsonl")  # fmt: skip
    rows = [row for _, row in read_jsonl(scored)]
    # What `oreqa mine silver --questions` finds without being given the answers: gold ones are among the others.
    found = [row | {"source": "silver", "weight": row["score"]} for row in rows if "rank" in row]
    # Gold pairs as if nothing had been mined: without scores, so that they mask nothing.
    gold = [{k: v for k, v in row.items() if k != "score"} for row in rows if row["source"] == "gold"]
    write_jsonl(work / "gold.jsonl", gold)
    write_jsonl(work / "unlabelled.jsonl", found)
    return rows


def count_pairs(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Count the pairs by source and by tenths of p, and measure how pure they are if the answers are not given."""
    questions = {row["question"] for row in rows}
    by_source = {source: [row["score"] for row in rows if row["source"] == source] for source in ("gold", "silver")}
    kept = [score for score in by_source["silver"] if score >= LEAST]
    tenths = {source: Counter(min(9, int(10 * score)) / 10 for score in scores) for source, scores in by_source.items()}
    unlabelled = {}
    for least in (0.3, 0.5, 0.7, 0.8, 0.9):
        found = [row for row in rows if "rank" in row and row["score"] >= least]
        unlabelled[least] = {
            "pairs": len(found),
            "gold": sum(row["source"] == "gold" for row in found) / max(1, len(found)),
            "questions": len({row["question"] for row in found}) / len(questions),
        }
    return {
        "questions": len(questions), "gold": len(by_source["gold"]), "silver": len(kept),
        "mean p of silver": sum(kept) / max(1, len(kept)),
        "by tenths of p": {source: dict(sorted(counts.items())) for source, counts in tenths.items()},
        "answers not given, by least p": unlabelled,
    }  # fmt: skip


def train_encoder(variant: str, seed: int, work: Path, learned: Path, of_all: list[str]) -> Path:
    """Train on the pairs in ``work``, unless ``learned`` has the model, which is of the settings ``of_all``."""
    files, settings = VARIANTS[variant]
    folder = learned / "models" / f"{variant}-{seed}".replace(" ", "").replace(",", "-")
    if not (folder / "run.json").is_file():
        data = [str((work / f"{file}.jsonl").absolute()) for file in files]
        chosen = [f"data={json.dumps(data)}", f"seed={seed}", "negatives=0", *settings, *of_all]
        more = [part for setting in chosen for part in ("--set", setting)]
        oreqa("train", "retriever", "--recipe", RECIPE, *more, "--out", folder)
    return folder


def evaluate(test: Test, work: Path, name: str, mode: str, index: str, *more: object) -> Run:
    out = work / "runs" / f"{name}@{test.name}"
    if not (out / "metrics.json").is_file():
        where = work / "indexes" / f"{index}@{test.corpus}"
        oreqa("eval", *test.arguments, "--mode", mode, "--out", out, "--index", where, *more)
    return load_run(out)


def tabulate(runs: dict[str, list[Run]], rivals: tuple[str, ...]) -> dict[str, Any]:
    """Return each run's metrics by seed, and the gain of the mean over seeds on each rival's, question by question."""
    table: dict[str, Any] = {}
    for label, found in runs.items():
        table[label] = {metric: [run.summary[metric] for run in found] for metric in SHOWN if metric in found[0].summary}
        for rival in rivals:
            if rival in runs and rival != label:
                ids = list(found[0].questions)
                a, b = (np.mean([[run.questions[i]["mrr"] for i in ids] for run in own], 0) for own in (runs[rival], found))
                gain = asdict(paired_difference(list(a), list(b), 0))
                seeds = [[run.summary["mrr"] for run in of_label] for of_label in (runs[rival], found)]
                p = float(ttest_ind(*seeds, equal_var=False).pvalue) if min(map(len, seeds)) > 1 else None
                table[label][f"mrr over {rival}"] = gain | {"p_over_seeds": p}
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("domain", choices=["squad", "nq", "medquad"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/augmentation"))
    parser.add_argument("--classifier", default=CLASSIFIER, help="the model that scores candidates")
    parser.add_argument("--draw", type=int, default=4000, help="questions to learn from")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--width", type=int, help="begin with a new layer so wide instead of MiniLM")
    parser.add_argument("--set", action="append", default=[], help="change the recipe of all variants: name=value")
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--tests", nargs="+", help="names of the sets to measure on; all of the domain's if left out")
    parser.add_argument("--modes", nargs="+", default=["dense", "hybrid"], choices=["dense", "hybrid"])
    parser.add_argument(
        "--rerank", action="store_true", help="also re-rank the untrained hybrid: slow on SQuAD's 10,539 questions"
    )
    options = parser.parse_args()
    wide = f"-{options.width}-wide" if options.width else ""
    work = kept_folder(options.work / f"{options.domain}-{options.draw}{wide}", BASE_ENCODER, options.classifier)
    learned = kept_folder(work, settings=options.set)
    train, tests = domain(options.domain, options.data, work)
    base = narrow_backbone(BASE_ENCODER, options.width, work / "backbone") if options.width else BASE_ENCODER
    rows = mine(train, work, options.draw, options.classifier, base, "sparse" if options.width else "hybrid")
    settings = [f"backbone={base}", *options.set]
    trained = {
        v: [train_encoder(v, seed, work, learned, settings) for seed in range(options.seeds)] for v in options.variants
    }
    for test in (test for test in tests if test.name in (options.tests or [test.name])):
        runs = {label: [evaluate(test, work, mode, mode, "untrained", "--model", base)] for label, mode in
                (("BM25", "sparse"), ("dense, untrained", "dense"), ("hybrid, untrained", "hybrid"))}  # fmt: skip
        if options.rerank:
            more = ("--model", base, "--rerank", RERANKED, "--classifier", options.classifier)
            runs["hybrid, untrained, re-ranked"] = [evaluate(test, work, "reranked", "hybrid", "untrained", *more)]
        for mode in options.modes:
            for variant, folders in trained.items():
                runs[f"{mode}, {variant}"] = [
                    evaluate(test, learned, f"{folder.name}-{mode}", mode, folder.name, "--model", folder)
                                              for folder in folders]  # fmt: skip
        rivals = ("dense, untrained", "hybrid, untrained", *(f"{mode}, {variant}" for mode in options.modes
                                                             for variant in (GOLD, UNWEIGHTED)))  # fmt: skip
        result = {
            "learned from": count_pairs(rows), "seeds": options.seeds, "settings": options.set, "width": options.width,
            "test": test.name,
            "questions": runs["BM25"][0].summary["questions"],
            "data_sha256": read_json(work / "runs" / f"sparse@{test.name}" / "metrics.json")["data_sha256"],
            "runs": tabulate(runs, rivals),
        }  # fmt: skip
        classifier = f"-{Path(options.classifier).name}" if options.classifier != CLASSIFIER else ""
        seeds = f"-{options.seeds}-seeds" if options.seeds > 1 else ""
        report(f"silver/{options.domain}-{test.name}{wide}{classifier}{seeds}", result)


if __name__ == "__main__":
    main()
