"""1,000 questions searched in one batch over SQuAD's 2,067 paragraphs, against other software's embedded stores.

Run:  python benchmarks/speed/search.py --data ../shared/data --work runs/search

Haystack (haystack-ai) and txtai run where they are installed, in the Python given by --other. Each encodes the questions
with all-MiniLM-L6-v2 and searches hybrid (BM25 and vectors), the ten best passages; loading and indexing are not counted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from oreqa.datasets.reqa import build_reqa
from oreqa.defaults import BASE_ENCODER
from oreqa.index.passages import index_passages
from oreqa.index.store import Settings
from oreqa.models.folders import find_model

sys.path.append(str(Path(__file__).parents[1]))
from common import report, squad

HAYSTACK = """
import json, sys, time
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.components.joiners import DocumentJoiner
from sentence_transformers import SentenceTransformer
task, model = json.load(open(sys.argv[1])), SentenceTransformer(sys.argv[2], device="cpu")
store = InMemoryDocumentStore(embedding_similarity_function="cosine")
vectors = model.encode(task["texts"])
store.write_documents([Document(content=t, embedding=v.tolist()) for t, v in zip(task["texts"], vectors)])
bm25, dense = InMemoryBM25Retriever(store, top_k=10), InMemoryEmbeddingRetriever(store, top_k=10)
join = DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=10)
questions = task["questions"][:int(sys.argv[3])]
begun = time.perf_counter()
vectors = model.encode(questions)
right = 0
for q, v, gold in zip(questions, vectors, task["gold"]):
    both = [bm25.run(query=q)["documents"], dense.run(query_embedding=v.tolist())["documents"]]
    found = join.run(documents=both)["documents"]
    right += found[0].content == task["texts"][gold]
seconds = time.perf_counter() - begun
from haystack import __version__ as version
print(json.dumps({"seconds": seconds, "questions": len(questions), "p1": right / len(questions), "version": version}))
"""

TXTAI = """
import json, sys, time
from txtai import Embeddings
task = json.load(open(sys.argv[1]))
store = Embeddings(path=sys.argv[2], hybrid=True, content=False, gpu=False)
store.index(list(enumerate(task["texts"])))
questions = task["questions"][:int(sys.argv[3])]
begun = time.perf_counter()
found = store.batchsearch(questions, 10)
seconds = time.perf_counter() - begun
right = sum(int(f[0][0]) == g for f, g in zip(found, task["gold"]))
from importlib.metadata import version
version = version("txtai")
print(json.dumps({"seconds": seconds, "questions": len(questions), "p1": right / len(questions), "version": version}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/search"))
    parser.add_argument(
        "--other", type=Path, help="Python in which haystack-ai, txtai and sentence-transformers are installed"
    )
    parser.add_argument("--questions", type=int, default=1000)
    options = parser.parse_args()
    paragraphs = squad(options.data)
    task = build_reqa(paragraphs)
    owner = [n for n, p in enumerate(task.passages) for _ in p.sentences]
    step = len(task.questions) // options.questions
    chosen = range(0, step * options.questions, step)
    questions = [task.questions[i] for i in chosen]
    gold = [owner[task.gold[i][0]] for i in chosen]
    index = index_passages(options.work / "index", task.passages, Settings(model=BASE_ENCODER))
    index.search(questions[:50], 10, "hybrid", "passage")  # the model and the files are loaded
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        hits = index.search(questions, 10, "hybrid", "passage")
        times.append(time.perf_counter() - begun)
    ours = sorted(times)[1]
    right = sum(h[0].passage.document_key == task.passages[g].document_key for h, g in zip(hits, gold, strict=True))
    result: dict[str, dict[str, float]] = {
        "oreqa": {"per_second": round(len(questions) / ours, 1), "p@1": round(100 * right / len(questions), 1)}
    }
    file = options.work / "task.json"
    file.write_text(json.dumps({"texts": [p.text for p in task.passages], "questions": questions, "gold": gold}))
    for name, script, count in (("haystack", HAYSTACK, 200), ("txtai", TXTAI, len(questions))):
        if options.other is None:
            continue
        command = [str(options.other), "-c", script, str(file), str(find_model(BASE_ENCODER)), str(count)]
        found = subprocess.run(command, capture_output=True, text=True)
        if found.returncode:
            print(f"{name} did not run: {found.stderr.strip().splitlines()[-1]}")
            continue
        row = json.loads(found.stdout.strip().splitlines()[-1])
        rate = row["questions"] / row["seconds"]
        result[f"{name} {row['version']}"] = {
            "per_second": round(rate, 1),
            "p@1": round(100 * row["p1"], 1),
            "questions": row["questions"],
            "oreqa is faster by": round(result["oreqa"]["per_second"] / rate, 1),
        }
    report("speed/search", result)


if __name__ == "__main__":
    main()
