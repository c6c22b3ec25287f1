"""Three ways in which a classifier helps retrieval, side by side: silver pairs, soft labels, re-ranking.

Run:  python benchmarks/augmentation.py squad --data ../shared/data --work runs/augmentation --classifier minilm-classifier

In each domain a dual encoder is trained on gold pairs alone; on gold and silver ones, weighted by p^2, by p, and not; and on
gold pairs with the classifier's scores as soft labels. All see the same questions and start from the same model. What is
done already in --work is kept. SQuAD dev, NQ's held-out articles and MedQuAD's test are only measured on.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from common import report

from oreqa.datasets.beir import Beir, load_beir, save_beir
from oreqa.datasets.files import read_json, read_jsonl, write_jsonl
from oreqa.datasets.splits import is_held_out_name
from oreqa.evaluation.compare import compare_runs
from oreqa.evaluation.runs import load_run

RECIPE = Path(__file__).parent.parent / "recipes" / "small" / "retriever.toml"
GOLD = "dual encoder, gold"
VARIANTS = {
    GOLD: ("gold", ()),
    "+ silver, w = p^2": ("scored", ("mined=positives", "weight_power=2.0")),
    "+ silver, w = p": ("scored", ("mined=positives", "weight_power=1.0")),
    "+ silver, w = 1": ("scored", ("mined=positives", "weight_power=0.0")),
    "+ soft labels": ("scored", ("mined=soft", "negatives=8")),
}
SHOWN = ("mrr", "mrr@100", "p@1", "p@5", "p@10")


def oreqa(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "oreqa", *map(str, arguments)], check=True)


def split_nq(source: Path, folder: Path) -> Path:
    """QED's Natural Questions by article: the held-out tenth is the split test, the rest train."""
    if not (folder / "qrels" / "test.tsv").is_file():
        task = load_beir(source, "train")
        titles = {entry.id: entry.title for entry in task.corpus}
        for name, held in (("train", False), ("test", True)):
            chosen = {q: d for q, d in task.qrels.items() if is_held_out_name(titles[next(iter(d))]) == held}
            save_beir(folder, Beir(task.corpus, {q: task.queries[q] for q in task.qrels}, chosen), name)
    return folder


def domain(name: str, data: Path, work: Path) -> tuple[Path, tuple[object, ...]]:
    """What is trained on, and the arguments of `oreqa eval` that measure."""
    if name == "squad":
        squad = data / "squad"
        boundaries = squad / "reqa-squad-dev-sentences.jsonl.gz"
        return data / "extractive" / "squad-train-pieces.json.gz", (
            "reqa", "--data", squad / "squad-v1.1-dev.json.gz", "--sentences", boundaries,
        )  # fmt: skip
    folder = split_nq(data / "retrieval" / "qed-nq-sentence", work / "beir") if name == "nq" else data / "retrieval" / name
    return folder, ("beir", "--data", folder, "--split", "test")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("domain", choices=["squad", "nq", "medquad"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/augmentation"))
    parser.add_argument("--classifier", default="minilm-classifier")
    parser.add_argument("--draw", type=int, default=6000, help="questions to learn from")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--modes", nargs="+", default=["dense", "hybrid"], choices=["dense", "hybrid"])
    options = parser.parse_args()
    work = options.work / options.domain
    train, measured = domain(options.domain, options.data, work)

    def evaluate(name: str, mode: str, index: str, *more: object) -> Path:
        out = work / "runs" / name
        if not (out / "metrics.json").is_file():
            oreqa("eval", *measured, "--mode", mode, "--out", out, "--index", work / "indexes" / index, *more)
        return out

    runs = {label: [evaluate(mode, mode, "untrained")] for label, mode in
            (("BM25", "sparse"), ("MiniLM, untrained", "dense"), ("hybrid, untrained", "hybrid"))}  # fmt: skip
    scored, gold = work / "scored.jsonl", work / "gold.jsonl"
    if not scored.is_file():
        oreqa("mine", "silver", "--data", train, "--draw", options.draw, "--least", 0, "--top", 10, "--mode", "hybrid",
              "--classifier", options.classifier, "--work", work / "indexes" / "train", "--out", scored)  # fmt: skip
    rows = [row for _, row in read_jsonl(scored)]
    # Gold pairs as if nothing had been mined: without scores, so that nothing is masked by them.
    write_jsonl(gold, ({k: v for k, v in row.items() if k != "score"} for row in rows if row["source"] == "gold"))
    for variant in options.variants:
        file, settings = VARIANTS[variant]
        for seed in range(options.seeds):
            name = f"{variant}-{seed}".replace(" ", "").replace(",", "-")
            folder = work / "models" / name
            if not (folder / "run.json").is_file():
                chosen = [f'data=["{(work / file).absolute()}.jsonl"]', f"seed={seed}", *settings]
                more = [part for setting in chosen for part in ("--set", setting)]
                oreqa("train", "retriever", "--recipe", RECIPE, *more, "--out", folder)
            for mode in options.modes:
                label = variant if mode == "dense" else f"{variant}, hybrid"
                runs.setdefault(label, []).append(evaluate(f"{name}-{mode}", mode, name, "--model", folder))
    loaded = {label: [load_run(folder) for folder in folders] for label, folders in runs.items()}
    table: dict[str, Any] = {}
    for label, found in loaded.items():
        table[label] = {metric: [run.summary[metric] for run in found] for metric in SHOWN if metric in found[0].summary}
        for rival in ("MiniLM, untrained", GOLD):
            if label != rival and rival in loaded and "hybrid" not in label and label != "BM25":
                compared = compare_runs(loaded[rival][0], found[0], 0)
                table[label][f"mrr over {rival}"] = asdict(compared.differences["mrr"])
    silver = [row["score"] for row in rows if row["source"] == "silver"]
    result = {
        "questions learned from": len({row["question"] for row in rows}),
        "gold": len(rows) - len(silver), "silver of p >= 0.5": sum(score >= 0.5 for score in silver),
        "silver scores": {f"{b / 10:.1f}": n for b, n in sorted(Counter(min(9, int(10 * s)) for s in silver).items())},
        "questions": load_run(runs["BM25"][0]).summary["questions"],
        "data_sha256": read_json(runs["BM25"][0] / "metrics.json")["data_sha256"], "table": table,
    }  # fmt: skip
    report(f"augmentation-{options.domain}", result)


if __name__ == "__main__":
    main()
