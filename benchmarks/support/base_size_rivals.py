"""The jobs of ``benchmarks/speed/base_size.py``, each a separate program: it does the job once for every line on its
standard input, and prints its seconds and its peak memory."""

from __future__ import annotations

_LOOP = """
import json, os, resource, sys, time
task, model, precision = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3]
{load}
for _ in sys.stdin:
    started = time.perf_counter()
    {run}
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(dict(seconds=seconds, peak=peak)), flush=True)
"""

_DTYPE = """
import torch
dtype = dict(f32=torch.float32, bf16=torch.bfloat16)[precision]
"""

JOBS = {
    (job, library): _LOOP.format(load=load.strip(), run=run)
    for (job, library), (load, run) in {
        ("encode", "oreqa"): (
            "from oreqa import Encoder\nencoder = Encoder(model, precision=precision)",
            "encoder.encode(task)",
        ),
        ("encode", "theirs"): (
            _DTYPE + "from sentence_transformers import SentenceTransformer\n"
            "encoder = SentenceTransformer(model, device='cpu', model_kwargs=dict(dtype=dtype))",
            "encoder.encode(task)",
        ),
        ("read", "oreqa"): (
            "from oreqa import Reader\nreader = Reader(model, precision=precision)",
            "[reader.read(row['question'], row['texts'], k=1) for row in task]",
        ),
        # What users write now that the pipeline is gone: one batch per question, its best span by start + end.
        ("read", "theirs"): (
            _DTYPE
            + """
from transformers import AutoModelForQuestionAnswering, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(model)
reader = AutoModelForQuestionAnswering.from_pretrained(model, dtype=dtype).eval()

def read(question, texts):
    batch = tokenizer([question] * len(texts), texts, truncation="only_second", max_length=384, padding=True,
                      return_tensors="pt")
    with torch.inference_mode():
        out = reader(**batch)
    sums = out.start_logits[:, :, None] + out.end_logits[:, None]
    return sums.triu().tril(15).flatten(1).max(1)
""",
            "[read(row['question'], row['texts']) for row in task]",
        ),
        ("read", "pipeline"): (
            _DTYPE
            + """
from transformers import pipeline
reader = pipeline("question-answering", model=model, tokenizer=model, device="cpu", dtype=dtype)
""",
            "[reader(question=[row['question']] * len(row['texts']), context=row['texts']) for row in task]",
        ),
        ("rerank", "oreqa"): (
            "from oreqa import CrossEncoder\nscorer = CrossEncoder(model, precision=precision)",
            "[scorer.score(row['question'], row['texts']) for row in task]",
        ),
        ("rerank", "theirs"): (
            _DTYPE + "from sentence_transformers import CrossEncoder\n"
            "scorer = CrossEncoder(model, device='cpu', model_kwargs=dict(dtype=dtype))",
            "[scorer.predict([(row['question'], text) for text in row['texts']]) for row in task]",
        ),
    }.items()
}
"""Programs by job and library; arguments: a file of texts, a model's folder, f32 or bf16."""
