"""Measures an index of real documentation before and after a code change: disk, a publication, a search.

Run:  python benchmarks/speed/publication.py --before CHECKOUT --work runs/publication

Documentation of the Debian archive is indexed with the code of each of the two checkouts, in separate processes. The
vectors are drawn from the texts' hashes, because encoding takes long and is the same on both sides; the splitter's tokens
are real. Then, in turn, one document is changed and published, and questions are searched, five rounds of both sides.
``--name`` is the file of the figures in results/.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

PACKAGES = ("git-doc", "sqlite3-doc", "exim4-doc-html", "apache2-doc")
CHARACTERS = 9_000_000
"""Characters of the documents that are indexed: some 12,000 passages."""

ROUNDS = 5
QUESTIONS = 40


def gather(work: Path) -> None:
    """Write the documents, each a title and a text."""
    from support.debian import fetch

    from oreqa.corpus.readers import Fields, read_documents
    from oreqa.errors import DocumentError

    size, rows = 0, []
    for package in PACKAGES:
        for file in sorted(fetch(package, work).rglob("*.html")):
            try:
                documents = list(read_documents(file, Fields(), lambda line: None)) if size < CHARACTERS else []
            except DocumentError:
                continue
            for document in documents:
                size += len(document.text)
                rows.append((file.name, document.title, document.text))
    (work / "documents.json").write_text(json.dumps(rows))


def draw_vectors() -> None:
    """Let the encoder draw vectors from the hashes of texts."""
    from oreqa.models.encoder.encoder import Encoder
    from oreqa.progress import no_progress

    def drawn(texts: list[str]) -> Any:
        seeds = (int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) for text in texts)
        rows = np.array([np.random.default_rng(seed).standard_normal(384) for seed in seeds], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def passage_vectors(self: Encoder, passages: Any, progress: Any = no_progress) -> Any:
        return [drawn([text, *(text[a:b] for a, b in spans)]) for _, text, spans in passages]

    def question_vectors(self: Encoder, texts: Any, progress: Any = no_progress) -> Any:
        return drawn([texts])[0] if isinstance(texts, str) else drawn(list(texts))

    for name, function in (("encode_passages", passage_vectors), ("encode", question_vectors)):
        setattr(Encoder, name, function)


def documents(work: Path, changed: int = 0) -> list[Any]:
    """Return the documents; the first one has a different version for each number of changes."""
    from oreqa.core import Document

    rows = json.loads((work / "documents.json").read_text())
    first, *others = [Document(f"{number} {name}", title, text) for number, (name, title, text) in enumerate(rows)]
    return [Document(first.key, first.title, f"{first.text}\n\nVersion {changed} was published."), *others]


def bytes_a_passage(index: Path, passages: int) -> dict[str, int]:
    """Return the bytes per passage on the disk by file, of the newest generation and of the files outside generations."""
    sizes: dict[str, int] = defaultdict(int)
    newest = max(index.glob("search-*"))
    for file in (*newest.rglob("*"), *index.iterdir()):
        if file.is_file():
            sizes[file.name] += file.stat().st_size
    by_name = {name: round(size / passages) for name, size in sorted(sizes.items())}
    return {**by_name, "sum": sum(by_name.values())}


def build(work: Path, index: Path) -> dict[str, object]:
    """Index all documents, and return what that takes on the disk."""
    from oreqa.index.in_memory import index_documents
    from oreqa.index.search import Index

    shutil.rmtree(index, ignore_errors=True)
    index_documents(index, documents(work))
    with Index.open(index) as opened:
        counts = opened.counts()
    return {**counts, "bytes a passage": bytes_a_passage(index, counts["passages"])}


def update(work: Path, index: Path) -> dict[str, object]:
    """Change one document and publish; return the seconds without the start of the process."""
    from oreqa.index.in_memory import index_documents

    document = documents(work, time.time_ns())[0]
    index_documents(index, [])  # imports, and the model's tokenizer
    started, used = time.perf_counter(), time.process_time()
    report = index_documents(index, [document])
    assert report.changed == 1, report
    return {"seconds": time.perf_counter() - started, "processor": time.process_time() - used}


def search(work: Path, index: Path) -> dict[str, object]:
    """Search for sentences of the documents; return seconds per question and the final anonymous memory."""
    from oreqa.index.search import Index

    questions = [document.text[1000:1080] for document in documents(work) if len(document.text) > 2000][:QUESTIONS]
    seconds, used = [], []
    with Index.open(index) as opened:
        for question in (questions[0], *questions):
            started, before = time.perf_counter(), time.process_time()
            assert opened.search(question, 10, unit="passage")
            seconds.append(time.perf_counter() - started)
            used.append(time.process_time() - before)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {"seconds": sorted(seconds[1:]), "processor": used[1:], "anonymous MB": int(status["RssAnon"].split()[0]) / 1000}


def run(part: str, checkout: Path, work: Path, index: Path) -> dict[str, Any]:
    """Run one part with the code of a checkout, in a separate process."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "OREQA_PRECISION": "f32"}
    command = [sys.executable, __file__, "--work", str(work), "--part", part, "--index", str(index)]
    out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    row: dict[str, Any] = json.loads(out.splitlines()[-1])
    return row


def measure(sides: dict[str, Path], work: Path) -> dict[str, object]:
    """Return both sides' figures."""
    from oreqa.provenance import commit

    if not (work / "documents.json").is_file():
        gather(work)
    result: dict[str, dict[str, Any]] = {}
    for name, checkout in sides.items():
        result[name] = {"commit": commit(checkout / "src"), **run("build", checkout, work, work / name)}
    rounds = [
        {name: (run("update", checkout, work, work / name), run("search", checkout, work, work / name))
         for name, checkout in sides.items()}
        for _ in range(ROUNDS)
    ]  # fmt: skip
    for name in sides:
        updates, used = ([row[name][0][kind] for row in rounds] for kind in ("seconds", "processor"))
        milliseconds = [1000 * s for row in rounds for s in row[name][1]["seconds"]]
        result[name] |= {
            "publication of a document, seconds": {"median": float(np.median(updates)), "least": min(updates)},
            "the same, seconds of the processor": {"median": float(np.median(used)), "least": min(used)},
            "search, ms": {"p50": float(np.median(milliseconds)), "p95": float(np.percentile(milliseconds, 95))},
            "search, ms of the processor": 1000 * float(np.median([s for row in rounds for s in row[name][1]["processor"]])),
            "search, anonymous MB": rounds[-1][name][1]["anonymous MB"],
        }
    return dict(result)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="a checkout of the commit to compare with")
    parser.add_argument("--work", type=Path, default=Path("runs/publication"))
    parser.add_argument("--name", default="speed/publication", help="PAGE/RUN, the file of the figures in results/")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--index", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        draw_vectors()
        print(json.dumps(globals()[options.part](options.work, options.index)))
        return
    from common import report

    options.work.mkdir(parents=True, exist_ok=True)
    sides = {"before": options.before.absolute(), "after": Path(__file__).parents[2]}
    report(options.name, measure(sides, options.work.absolute()))


if __name__ == "__main__":
    main()
