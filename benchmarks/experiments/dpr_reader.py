"""DPR's reader, trained on an index and question lists: exact matches among its first answers, before and after.

Run:  python benchmarks/experiments/dpr_reader.py --data ../shared/data --work runs/dpr-reader (needs the train extra)

The index contains the passages of QED's Natural Questions, of AfriQA and of a part of SQuAD's training set. The reader
is trained on questions of CuratedTREC's and WebQuestions' training sets, whose answers are searched for in the passages that
dense retrieval returns (recipes/papers/dpr-reader.toml; fewer and shorter passages). It starts as the packaged reader, which
was trained on paragraphs of NQ and SQuAD, and never on these questions. It is tested on questions of NQ's held-out articles,
and on those of CuratedTREC's test set that a passage of the index answers, with the reader's scores alone: no retrieval
score, nothing summed. What --work already contains is not computed again.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from oreqa.datasets.load import answered_questions, load_paragraphs, load_passages
from oreqa.datasets.paragraphs import Paragraph, save_squad
from oreqa.defaults import DEFAULT_ENCODER, DEFAULT_READER
from oreqa.evaluation.metrics import paired_difference
from oreqa.evaluation.runs import load_run
from oreqa.files import read_json
from oreqa.index.passages import index_passages
from oreqa.index.store import Settings
from oreqa.training import train_model

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.open_questions import TREC, answer_tests, trec_test, write_questions

RECIPE = Path(__file__).parents[2] / "recipes" / "papers" / "dpr-reader.toml"
NQ = "extractive/qed-nq-train.json.gz"
COLLECTION = (NQ, "extractive/afriqa-en.json.gz", "extractive/squad-train-more.json.gz")
SMALL = (
    "mode=dense",
    "depth=50",
    "negatives=3",
    "max_tokens=256",
    "dev_passages=5",
    "patience=2",
    "optimiser.batch=8",
    "optimiser.learning_rate=3e-5",
    "optimiser.checkpoint_steps=15",
    "optimiser.precision=bf16",
    "seed=0",
)
READER_ALONE = {"selection": 1, "retrieval": 0, "aggregate": 0}
METRICS = ("em", "f1", "em@1", "em@5", "em@10", "em@25", "acc@5")


def prepare(data: Path, work: Path, learned: int, asked: int) -> dict[str, int]:
    """Write the collection and the question lists; return how many passages and questions they contain."""
    paragraphs = {p.text: Paragraph(p.title, p.text, ()) for name in COLLECTION for p in load_paragraphs(data / name)}
    save_squad(work / "collection.json", paragraphs.values())
    trec = answered_questions(data / TREC.format("train"))
    web = answered_questions(data / "factoid" / "webquestions-trainmodel.jsonl.gz")
    draw = random.Random(0).sample
    trec, web = (draw(questions, min(len(questions), learned)) for questions in (trec, web))
    tests = {
        "nq": answered_questions(data / NQ, held_out=True),
        "trec": trec_test(data, list(paragraphs), answered_questions(data / TREC.format("train"))),
    }
    lists = {"train": trec[:-60] + web, "dev": trec[-60:]}
    lists |= {name: draw(questions, min(len(questions), asked)) for name, questions in tests.items()}
    for name, questions in lists.items():
        write_questions(work / f"{name}.jsonl", questions)
    return {"passages": len(paragraphs)} | {name: len(questions) for name, questions in lists.items()}


def answer(work: Path, name: str, reader: str | Path, passages: int) -> dict[str, Any]:
    """Answer both test sets from the index; return the figures of each."""
    options = {"index": work / "index", "reader": reader, "passages": passages, "mode": "dense", "combine": READER_ALONE}
    return answer_tests(work, name, METRICS, **options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=400, help="questions of each list that are learned from")
    parser.add_argument("--asked", type=int, default=250, help="questions of each test set")
    parser.add_argument("--passages", type=int, default=5, help="passages that are read for each question")
    parser.add_argument("--set", action="append", default=[], help="a setting of the recipe")
    arguments = parser.parse_args()
    work: Path = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    counts = prepare(arguments.data, work, arguments.questions, arguments.asked)
    print(counts, flush=True)
    index_passages(work / "index", load_passages(work / "collection.json"), Settings(model=DEFAULT_ENCODER)).close()
    rows = {"before": answer(work, "before", DEFAULT_READER, arguments.passages)}
    print("before", rows["before"], flush=True)
    trained = work / "reader"
    if not (trained / "run.json").is_file():
        lists = [f"data_root={work}", "data=[{file='train.jsonl'}]", "dev=dev.jsonl"]
        settings = [*lists, f"backbone={DEFAULT_READER}", f"index={work / 'index'}", *SMALL, *arguments.set]
        train_model("reader", RECIPE, trained, settings)
    record = read_json(trained / "run.json")
    rows["after"] = answer(work, "after", trained, arguments.passages)
    print("after", rows["after"], flush=True)
    of_run = {key: record[key] for key in ("steps", "seconds", "unanswered")}
    differences = {}
    for test in ("nq", "trec"):
        before, after = (
            [row["em"] for row in load_run(work / f"{name}-{test}").questions.values()] for name in ("before", "after")
        )
        differences[f"after - before, {test}"] = asdict(paired_difference(before, after, 0))
    settings_of_run = {"settings": [*SMALL, *arguments.set], "read": arguments.passages}
    report("reconsider/dpr_reader", {**counts, **settings_of_run, **of_run, "rows": rows, "em_differences": differences})


if __name__ == "__main__":
    main()
