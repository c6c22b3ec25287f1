"""The objectives of ProQA's Table 4 (Xiong et al. 2021), each fine-tuned from the same question encoder and reader.

Run:  python benchmarks/experiments/openqa_objectives.py --data ../shared/data --work runs/objectives (needs the train extra)

The collection is the passages of QED's Natural Questions and of AfriQA. Training questions are those of NQ's training
articles and of CuratedTREC's training set; lambda is chosen on a third of the questions of NQ's held-out articles, whose
answers the reader has never seen. Test questions are the other two thirds, and those of CuratedTREC's test set that a
passage of the collection answers. The first row is the encoder and the reader after steps of almost zero length: its
passages are ranked by vectors alone, and its lambda is chosen as in the other rows. What is already trained or answered
is not done again.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from oreqa.datasets.load import answered_questions, load_paragraphs, load_passages
from oreqa.datasets.paragraphs import Paragraph, save_squad
from oreqa.evaluation.metrics import paired_difference
from oreqa.evaluation.runs import load_run
from oreqa.index.passages import index_passages
from oreqa.index.store import Settings
from oreqa.provenance import data_hash
from oreqa.training import train_model

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.open_questions import TREC, answer_tests, trec_test, write_questions

RECIPE = Path(__file__).parents[2] / "recipes" / "small" / "openqa.toml"
NQ = "extractive/qed-nq-train.json.gz"
COLLECTION = (NQ, "extractive/afriqa-en.json.gz")
OBJECTIVES = ("shared", "shared_joint", "shared_rerank", "joint", "separate")
METRICS = ("em", "f1", "acc@1", "acc@5")


def prepare(data: Path, work: Path, count: int) -> dict[str, int]:
    """Write the collection and the four question lists; return how many passages and questions they contain."""
    paragraphs = {p.text: Paragraph(p.title, p.text, ()) for name in COLLECTION for p in load_paragraphs(data / name)}
    save_squad(work / "collection.json", paragraphs.values())
    asked, held_out = answered_questions(data / NQ), answered_questions(data / NQ, held_out=True)
    trec = answered_questions(data / TREC.format("train"))
    asked, trec = (random.Random(0).sample(questions, min(len(questions), count)) for questions in (asked, trec))
    dev = random.Random(0).sample(held_out, len(held_out) // 3)
    lists = {
        "train": asked + trec,
        "few": asked[:8],
        "dev": dev,
        "nq": [question for question in held_out if question not in dev],
        "trec": trec_test(data, list(paragraphs), (*asked, *trec)),
    }
    for name, questions in lists.items():
        write_questions(work / f"{name}.jsonl", questions)
    return {"passages": len(paragraphs)} | {name: len(questions) for name, questions in lists.items()}


def answer(work: Path, name: str, model: str | Path, reader: str | Path, passages: int) -> dict[str, Any]:
    """Answer both test sets; return EM, F1 and the retrieval accuracy of each."""
    index = work / f"{name}-index"
    index_passages(index, load_passages(work / "collection.json"), Settings(model=str(model))).close()
    return answer_tests(work, name, METRICS, index=index, reader=reader, span_reranker=None, passages=passages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=1000, help="questions of each set that are learned from")
    parser.add_argument("--set", action="append", default=[], help="a setting of the recipe, for all trainings")
    arguments = parser.parse_args()
    work: Path = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    counts = prepare(arguments.data, work, arguments.questions)
    print(counts, flush=True)
    rows, records = {}, {}
    for name in ("before", *OBJECTIVES):
        places = {"corpus": "collection.json", "dev": "dev.jsonl", "data_root": work, "work": work / "work"}
        changes = [f"{key}={value}" for key, value in places.items()] + arguments.set
        if name == "before":
            changes += ['data=["few.jsonl"]', "loss=shared", "optimiser.learning_rate=1e-12"]
        else:
            changes += ['data=["train.jsonl"]', f"loss={name}"]
        if not (work / name / "run.json").is_file():
            train_model("openqa", RECIPE, work / name, changes)
        record = json.loads((work / name / "run.json").read_text())
        learned = work / ("few.jsonl" if name == "before" else "train.jsonl")
        if data_hash([learned]) not in record["data_sha256"].values():
            raise SystemExit(f"{work / name}: it learned from other questions than {learned} holds now; name another --work")
        records[name] = {key: record[key] for key in ("steps", "seconds", "unmatched", "skipped", "lambda")}
        rows[name] = answer(work, name, work / name / "retriever", work / name / "reader", passages=5)
        print(name, rows[name], flush=True)
    em: dict[tuple[str, str], list[float]] = {}
    for name in rows:
        for test in ("nq", "trec"):
            em[name, test] = [row["em"] for row in load_run(work / f"{name}-{test}").questions.values()]
    differences = {
        f"shared - {name}, {test}": asdict(paired_difference(em[name, test], em["shared", test], 0))
        for name in rows
        if name != "shared"
        for test in ("nq", "trec")
    }
    report("openqa/objectives", {**counts, "records": records, "rows": rows, "em_differences": differences})


if __name__ == "__main__":
    main()
