"""What users of other software would write, each run as a separate process; the last line that it prints is JSON."""

from __future__ import annotations

# The texts and their vectors are on disk, as ours are. Arguments: their folder, a model, a question.
SCRIPT = """
import json, sys
import faiss
from sentence_transformers import SentenceTransformer
texts = json.load(open(sys.argv[1] + "/texts.json"))
index = faiss.read_index(sys.argv[1] + "/vectors.faiss")
model = SentenceTransformer(sys.argv[2], device="cpu")
scores, rows = index.search(model.encode([sys.argv[3]]), 3)
for score, row in zip(scores[0], rows[0]):
    print(score, texts[row])
"""

# Arguments of both: a file of texts, questions and gold numbers, a model, the number of questions.
SEARCH = {
    "haystack": """
import json, sys, time
from haystack import Document, __version__ as version
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
started = time.perf_counter()
vectors = model.encode(questions)
right = 0
for q, v, gold in zip(questions, vectors, task["gold"]):
    both = [bm25.run(query=q)["documents"], dense.run(query_embedding=v.tolist())["documents"]]
    right += join.run(documents=both)["documents"][0].content == task["texts"][gold]
seconds = time.perf_counter() - started
print(json.dumps({"seconds": seconds, "questions": len(questions), "p1": right / len(questions), "version": version}))
""",
    "txtai": """
import json, sys, time
from importlib.metadata import version
from txtai import Embeddings
task = json.load(open(sys.argv[1]))
store = Embeddings(path=sys.argv[2], hybrid=True, content=False, gpu=False)
store.index(list(enumerate(task["texts"])))
questions = task["questions"][:int(sys.argv[3])]
started = time.perf_counter()
found = store.batchsearch(questions, 10)
seconds = time.perf_counter() - started
p1 = sum(int(f[0][0]) == g for f, g in zip(found, task["gold"])) / len(questions)
print(json.dumps({"seconds": seconds, "questions": len(questions), "p1": p1, "version": version("txtai")}))
""",
}

# It only reads: its five passages are given, while ours searches an index and reads. Arguments: a file, a reader.
READ_ONE = """
import json, sys
from transformers import pipeline
task = json.load(open(sys.argv[1]))
read = pipeline("question-answering", model=sys.argv[2], tokenizer=sys.argv[2], device="cpu")
found = read(question=[task["question"]] * len(task["passages"]), context=task["passages"])
print(max(found, key=lambda answer: answer["score"]))
"""

# Arguments of both: a file of questions with their passages, a reader.
READ = {
    "transformers": """
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
    started = time.perf_counter()
    answers = run(rows, size)
    result[size] = time.perf_counter() - started
print(json.dumps({"seconds": min(result.values()), "answers": answers, "version": __version__}))
""",
    "haystack": """
import json, sys, time
import haystack
from haystack import Document
from haystack.components.readers import ExtractiveReader
from haystack.utils import ComponentDevice
rows = json.load(open(sys.argv[1]))
read = ExtractiveReader(model=sys.argv[2], device=ComponentDevice.from_str("cpu"), no_answer=False, top_k=1)
read.warm_up()
read.run(query=rows[0]["question"], documents=[Document(content=t) for t in rows[0]["passages"]])
started = time.perf_counter()
answers = []
for r in rows:
    found = read.run(query=r["question"], documents=[Document(content=t) for t in r["passages"]])["answers"]
    answers.append(found[0].data or "" if found else "")
seconds = time.perf_counter() - started
print(json.dumps({"seconds": seconds, "answers": answers, "version": haystack.__version__}))
""",
}
