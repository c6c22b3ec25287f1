"""What a user of other software would write to search many texts, each run as a separate process.

Each program reads texts, questions and the vectors of both from the folder that is its one argument, and prints JSON:
seconds to build, milliseconds per single search (without encoding, as the vectors are given), and bytes on the disk.
"""

from __future__ import annotations

_BEGIN = """
import json, sys, time, pathlib
import numpy as np
work = pathlib.Path(sys.argv[1])
task = json.load(open(work / "task.json"))
vectors, asked = np.load(work / "vectors.npy"), np.load(work / "questions.npy")
texts, questions = task["texts"], task["questions"]
started = time.perf_counter()
"""

_END = """
built, wall, used = time.perf_counter() - started, [], []
for question, vector in zip(questions, asked):
    a, b = time.perf_counter(), time.process_time()
    search(question, vector)
    wall.append(time.perf_counter() - a)
    used.append(time.process_time() - b)
def ms(values):
    return {f"p{p}": round(1000 * float(np.percentile(values[5:], p)), 1) for p in (50, 95)}
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
memory = round(int(status["RssAnon"].split()[0]) / 1000)
print(json.dumps({"texts": len(texts), "build s": round(built, 1), "wall ms": ms(wall), "processor ms": ms(used),
                  "anonymous MB": memory, "version": version}))
"""

RIVALS = {
    "bm25s and FAISS": _BEGIN + """
import bm25s, faiss
version = f"{bm25s.__version__}, {faiss.__version__}"
index = faiss.IndexFlatIP(vectors.shape[1])
index.add(vectors)
words = bm25s.BM25()
words.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
def search(question, vector):
    near = index.search(vector[None], 10)
    return near, words.retrieve(bm25s.tokenize([question], show_progress=False), k=10, show_progress=False)
""" + _END,
    "LanceDB": _BEGIN + """
import lancedb, pyarrow
from lancedb.rerankers import RRFReranker
version = lancedb.__version__
table = pyarrow.table({
    "id": np.arange(len(texts)), "text": texts,
    "vector": pyarrow.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1]),
})
table = lancedb.connect(work / "lance").create_table("texts", table, mode="overwrite")
table.create_fts_index("text")
reranker = RRFReranker()
def search(question, vector):
    words = " ".join(part for part in question.split())
    return table.search(query_type="hybrid").vector(vector).text(words).rerank(reranker).limit(10).to_list()
""" + _END,
    "txtai": _BEGIN + """
from importlib.metadata import version as version_of
from txtai import Embeddings
version = version_of("txtai")
by_question = dict(zip(questions, asked))
def transform(batch):
    return np.stack([by_question[text] if isinstance(text, str) and text in by_question else vectors[texts_at[text]]
                     for text in batch])
texts_at = {text: number for number, text in enumerate(texts)}
store = Embeddings(method="external", transform=transform, hybrid=True, content=False, gpu=False)
store.index(list(enumerate(texts)))
def search(question, vector):
    return store.search(question, 10)
""" + _END,
}  # fmt: skip
"""Programs by name."""
