"""Measures an index of up to a million passages: disk, memory, searches, publications and merges, beside other software.

Run:  python benchmarks/speed/growth.py --data ../shared/data --work runs/growth --other PYTHON

The smallest index has 14,000 real paragraphs, SQuAD dev's first, with their encodings. The larger ones are merged from
shards of 4,000 of these and their variations (support/variations.py). Indexes in the work folder are used again. Questions
are SQuAD dev's. Each part runs in a separate process; times are medians, of the wall clock and of the processor. ``--other``
is a Python with txtai, LanceDB and bm25s, which get the same texts and vectors.

Parts: search; quality (candidates against every sentence, and with vectors compared in full); update (one and a hundred
documents published, with drawn vectors instead of encoding, and one removed); merges (a thousand updates); rivals. The
``--parts`` are measured at the ``--sizes``; all other figures in the file are kept, and each part names its commit.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from oreqa import Document, Encoder, Hit, Index, index_documents
from oreqa.index import scoring
from oreqa.index.generations import require_generation
from oreqa.index.removal import remove_documents
from oreqa.index.writer import open_writer

sys.path.append(str(Path(__file__).parents[1]))
from common import RESULTS, measured_commit, report, squad
from support.drawn_vectors import draw_vectors
from support.growth_rivals import RIVALS
from support.paragraphs import paragraph_texts
from support.variations import grow, merged

REAL, VARIED, SHARD = 14_000, 4_000, 48_000
SIZES = (REAL, 100_000, 1_000_000)
PARTS = ("search", "quality", "update", "merges", "rivals")
UPDATES = 5


def prepare(options: argparse.Namespace) -> dict[str, object]:
    """Build the index of a size, unless it exists."""
    if options.index.exists():
        return {}
    texts = paragraph_texts(options.data, REAL)
    documents = [Document(f"text-{number}", "", text) for number, text in enumerate(texts)]
    if options.size == REAL:
        index_documents(options.index, documents)
        return {}
    index_documents(options.work / "base", documents[:VARIED])
    grow(merged(options.work / "varied", [options.work / "base"]), options.work, options.size, SHARD).rename(options.index)
    return {}


def questions(data: Path, count: int) -> list[tuple[str, str]]:
    """Return questions of SQuAD dev with their paragraphs, evenly spread over the paragraphs in the indexes."""
    texts = set(paragraph_texts(data, 2000))
    pairs = [(question.text, p.text) for p in squad(data) if p.text in texts for question in p.questions]
    return pairs[:: len(pairs) // count][:count]


def _milliseconds(seconds: list[float]) -> dict[str, float]:
    p50, p95 = np.percentile(seconds, (50, 95)).tolist()
    return {"p50": round(1000 * p50, 1), "p95": round(1000 * p95, 1)}


def _timed(function: Callable[[], object]) -> tuple[float, float]:
    started, used = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - started, time.process_time() - used


def _memory() -> int:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["RssAnon"].split()[0]) * 1024


def search(options: argparse.Namespace) -> dict[str, object]:
    """Measure disk, memory, and searches one by one."""
    texts = [question for question, _ in questions(options.data, options.questions)]
    with Index.open(options.index) as index:
        for question in texts[:5]:
            index.search(question, 10)
        rows = [_timed(partial(index.search, question, 10)) for question in texts]
        encoding = [_timed(partial(index.encoder.encode, question))[1] for question in texts]
        counts, memory = index.counts(), _memory()
    generation = require_generation(options.index)
    size = sum(file.stat().st_size for file in generation.rglob("*") if file.is_file())
    return {
        **counts,
        "segments": len(list(generation.glob("segment-*"))),
        "bytes a passage": round(size / counts["passages"]),
        "anonymous MB": round(memory / 1e6),
        "wall ms": _milliseconds([wall for wall, _ in rows]),
        "processor ms": _milliseconds([used for _, used in rows]),
        "encoding ms": _milliseconds(encoding)["p50"],
    }


def _ranks(hits: list[Hit], text: str) -> float:
    places = [place for place, hit in enumerate(hits, 1) if hit.passage.text == text and " " not in hit.passage.document_key]
    return 1 / places[0] if places else 0.0


def quality(options: argparse.Namespace) -> dict[str, object]:
    """Compare the best passages by candidates, by candidates with all vectors compared in full, and by every sentence."""
    pairs = questions(options.data, options.questions)
    ranks: dict[str, list[float]] = {}
    best: dict[str, list[list[int]]] = {}
    with Index.open(options.index) as index:
        nearest = index.snapshot().engine._nearest  # type: ignore[attr-defined]
        for way, most, nearly in (("candidates", 0, 8), ("compared in full", 0, 1 << 30), ("every sentence", 1 << 40, 8)):
            vars(scoring)["EXHAUSTIVE"] = most
            vars(sys.modules[type(nearest).__module__])["NEAREST"] = nearly
            hits = [index.search(question, 10, unit="passage") for question, _ in pairs]
            ranks[way] = [_ranks(question_hits, text) for question_hits, (_, text) in zip(hits, pairs, strict=True)]
            best[way] = [[hit.passage_id for hit in question_hits] for question_hits in hits]
    every = best["every sentence"]
    return {
        "questions": len(pairs),
        "mrr@10": {way: round(100 * float(np.mean(values)), 2) for way, values in ranks.items()},
        "same best": {w: round(100 * float(np.mean([a[0] == b[0] for a, b in zip(best[w], every, strict=True)])), 2)
                      for w in best},
        "same best ten": {w: round(10 * float(np.mean([len({*a} & {*b}) for a, b in zip(best[w], every, strict=True)])), 2)
                          for w in best},
    }  # fmt: skip


def _publish(index: Path, encoder: Encoder, texts: list[str], key: str = "new") -> tuple[float, float]:
    """Publish new documents, or new texts of those with the same ``key``; return wall and processor seconds."""

    def publish() -> None:
        with open_writer(index, encoder=encoder) as writer:
            for number, text in enumerate(texts):
                writer.add(Document(f"{key}-{number}", "", text), f"{key}-{number}")
            writer.publish()

    return _timed(publish)


def update(options: argparse.Namespace) -> dict[str, object]:
    """Publish one and a hundred documents in a copy of the index, with the encoder loaded, and remove one."""
    draw_vectors()
    copy, encoder, texts = options.work / "updated", Encoder(), paragraph_texts(options.data, REAL)[-3000:]
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(options.index, copy, copy_function=os.link)
    first = _publish(copy, encoder, texts[:1])  # merges the last of many segments of one size
    rows = {
        count: [_publish(copy, encoder, texts[count * n : count * (n + 1)]) for n in range(UPDATES)] for count in (1, 100)
    }
    removal = _timed(partial(remove_documents, copy, "text-5"))
    shutil.rmtree(copy)
    return {
        "first, s": [round(value, 2) for value in first],
        "one removed, s": [round(value, 2) for value in removal],
        **{f"{count} published, ms": {"wall": _milliseconds([a for a, _ in each])["p50"],
                                      "processor": _milliseconds([b for _, b in each])["p50"]}
           for count, each in rows.items()},
    }  # fmt: skip


def merges(options: argparse.Namespace) -> dict[str, object]:
    """Measure the processor time of many updates of one document each, including the merges that they cause."""
    draw_vectors()
    copy, encoder, texts = options.work / "merged", Encoder(), paragraph_texts(options.data, REAL)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(options.index, copy, copy_function=os.link)
    numbers = range(options.updates)
    seconds = [_publish(copy, encoder, [f"{texts[number]} {number}"], f"grown-{number}")[1] for number in numbers]
    shutil.rmtree(copy)
    mean = 1000 * float(np.mean(seconds))
    return {
        "updates": len(seconds),
        "mean ms": round(mean, 1),
        **_milliseconds(seconds),
        "most ms": round(1000 * max(seconds)),
    }


def rivals(options: argparse.Namespace) -> dict[str, object]:
    """Measure other software on the texts and vectors of an index, and oreqa's searches in the same run."""
    texts, work = [question for question, _ in questions(options.data, options.questions)], options.work / "rivals"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    with Index.open(options.index) as index:
        np.save(work / "vectors.npy", index.passage_vectors())
        np.save(work / "questions.npy", index.encoder.encode(texts))
        (work / "task.json").write_text(json.dumps({"texts": [p.text for p in index.passages()], "questions": texts}))
    results: dict[str, object] = {}
    for name, script in RIVALS.items():
        done = subprocess.run([options.other, "-c", script, str(work)], capture_output=True, text=True, check=False)
        error = done.stderr.strip().splitlines()[-1:]
        results[name] = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"error": error}
    return {**results, "oreqa": search(options)}


def run(part: str, options: argparse.Namespace, size: int) -> dict[str, Any]:
    """Run one part in a separate process, on one core."""
    command = [sys.executable, __file__, *sys.argv[1:], "--part", part, "--index", str(options.work / f"{size}")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    out = subprocess.run(
        [*command, "--size", str(size)], env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    row: dict[str, Any] = json.loads(out.splitlines()[-1])
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/growth"))
    parser.add_argument("--other", default=sys.executable)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--index", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(globals()[options.part](options)))
        return
    kept = RESULTS / "capacity" / "growth.json"
    rows = json.loads(kept.read_text())["collections"] if kept.exists() else {}
    for size in options.sizes:
        run("prepare", options, size)
        for part in options.parts:
            row = {"commit": measured_commit(), **run(part, options, size)}
            rows[f"{size}"] = {**rows.get(f"{size}", {}), part: row}
            report("capacity/growth", {"commit": "that of each part", "collections": rows})


if __name__ == "__main__":
    main()
