"""Reading: a whole cold `oreqa ask` and warm questions a second, against transformers' pipeline and Haystack's reader.

Run:  python benchmarks/speed/reading.py --data ../shared/data --work runs/reading --other PYTHON

The question-answering pipeline is gone from transformers since 5.3: PYTHON is one in which an older transformers and
haystack-ai are installed. All read the same passages with the same weights: the folder of a reader as it was trained
(--reader), which transformers loads as BertForQuestionAnswering.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from oreqa.answering.answerer import PASSAGES_TOP_K
from oreqa.corpus.splitter import passage_head
from oreqa.datasets.paragraphs import whole_passages
from oreqa.evaluation.answers import exact_match
from oreqa.index.passages import index_passages
from oreqa.models.reader.reader import Reader

sys.path.append(str(Path(__file__).parents[1]))
from common import cold, process, report, squad, write_paragraph_files

QUESTION = "Which NFL team represented the AFC at Super Bowl 50?"
ANSWER = "Denver Broncos"

# The pipeline only reads: its five passages are given to it, while ours searches an index, reads and re-ranks.
COLD = """
import json, sys
from transformers import pipeline
task = json.load(open(sys.argv[1]))
read = pipeline("question-answering", model=sys.argv[2], tokenizer=sys.argv[2], device="cpu")
found = read(question=[task["question"]] * len(task["passages"]), context=task["passages"])
print(max(found, key=lambda answer: answer["score"]))
"""

PIPELINE = """
import json, sys, time
from transformers import pipeline, __version__
rows = json.load(open(sys.argv[1]))
read = pipeline("question-answering", model=sys.argv[2], tokenizer=sys.argv[2], device="cpu")
def run(rows, size):
    out = []
    questions = [r["question"] for r in rows for _ in r["passages"]]
    found = read(question=questions, context=[t for r in rows for t in r["passages"]], batch_size=size)
    for r in rows:
        own, found = found[:len(r["passages"])], found[len(r["passages"]):]
        out.append(max(own, key=lambda answer: answer["score"])["answer"])
    return out
run(rows[:2], 1)
result = {}
for size in (1, 16):
    begun = time.perf_counter()
    answers = run(rows, size)
    result[size] = time.perf_counter() - begun
print(json.dumps({"seconds": min(result.values()), "by_batch": result, "answers": answers, "version": __version__}))
"""

HAYSTACK = """
import json, sys, time
import haystack
from haystack import Document
from haystack.components.readers import ExtractiveReader
from haystack.utils import ComponentDevice
rows = json.load(open(sys.argv[1]))
read = ExtractiveReader(model=sys.argv[2], device=ComponentDevice.from_str("cpu"), no_answer=False, top_k=1)
read.warm_up()
read.run(query=rows[0]["question"], documents=[Document(content=t) for t in rows[0]["passages"]])
begun = time.perf_counter()
answers = []
for r in rows:
    found = read.run(query=r["question"], documents=[Document(content=t) for t in r["passages"]])["answers"]
    answers.append(found[0].data or "" if found else "")
seconds = time.perf_counter() - begun
print(json.dumps({"seconds": seconds, "answers": answers, "version": haystack.__version__}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/reading"))
    parser.add_argument("--other", type=Path, required=True, help="Python with transformers < 5.3 and haystack-ai")
    parser.add_argument("--reader", type=Path, required=True, help="folder of the trained reader")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    paragraphs = squad(options.data)
    folder, oreqa = options.work / "texts", str(Path(sys.executable).parent / "oreqa")
    if not folder.is_dir():
        write_paragraph_files(paragraphs, folder)
    process([oreqa, "index", str(folder), "--index", str(options.work / "files")])
    index = index_passages(options.work / "index", whole_passages(paragraphs))
    asked = [(q.text, [g.text for g in q.answers]) for p in paragraphs for q in p.questions]
    asked = asked[:: len(asked) // options.questions][: options.questions]
    hits = index.search([QUESTION, *(text for text, _ in asked)], PASSAGES_TOP_K, "hybrid", "passage")
    one, warm = options.work / "one.json", options.work / "warm.json"
    one.write_text(json.dumps({"question": QUESTION, "passages": [h.passage.text for h in hits[0]]}))
    rows = [{"question": q, "passages": [h.passage.text for h in own]} for (q, _), own in zip(asked, hits[1:], strict=True)]
    warm.write_text(json.dumps(rows))

    ours = [oreqa, "ask", QUESTION, "--index", str(options.work / "files")]
    pipeline = [str(options.other), "-c", COLD, str(one), str(options.reader)]
    of_one = cold(ours, pipeline, options.rounds, ANSWER)

    loaded = Reader(options.reader)
    texts = [[(passage_head(h.passage.title, h.passage.heading), h.passage.text) for h in own] for own in hits[1:]]
    loaded.read([text for text, _ in asked[:2]], texts[:2])
    golds = [gold for _, gold in asked]
    seconds = []
    for _ in range(3):
        begun = time.perf_counter()
        spans = loaded.read([text for text, _ in asked], texts, k=1)
        seconds.append(time.perf_counter() - begun)
    answers = [max(own, key=lambda span: span.score).text for own in spans]
    rate = len(asked) / statistics.median(seconds)
    warm_rows = {"oreqa": {"per_second": round(rate, 2), "em": _em(answers, golds)}}
    for name, script in (("transformers", PIPELINE), ("haystack", HAYSTACK)):
        command = [str(options.other), "-c", script, str(warm), str(options.reader)]
        found = subprocess.run(command, capture_output=True, text=True)
        if found.returncode:
            print(f"{name} did not run: {found.stderr.strip().splitlines()[-1]}")
            continue
        row = json.loads(found.stdout.strip().splitlines()[-1])
        theirs = len(asked) / row["seconds"]
        warm_rows[f"{name} {row['version']}"] = {
            "per_second": round(theirs, 2), "em": _em(row["answers"], golds), "oreqa is faster by": round(rate / theirs, 2),
        }  # fmt: skip
    report("speed/reading", {"cold": of_one, "questions": len(asked), "passages": PASSAGES_TOP_K, "warm": warm_rows})


def _em(answers: list[str], golds: list[list[str]]) -> float:
    return round(100 * statistics.mean(exact_match(a, g) for a, g in zip(answers, golds, strict=True)), 1)


if __name__ == "__main__":
    main()
