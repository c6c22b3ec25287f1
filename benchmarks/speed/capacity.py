"""Measures the constants of ``oreqa plan``: bytes per passage by file; encoding, writing, searching, publishing by size.

Run:  python benchmarks/speed/capacity.py --data ../shared/data --work runs/capacity     (ten minutes on two cores)

Texts are real paragraphs of 200 to 1,000 characters. Vectors are random, because encoding takes long and everything
else costs the same; the cost of encoding is measured separately. Times are seconds of one core: CPU time of a separate
process.
"""

from __future__ import annotations

import argparse
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

SIZES = (2_000, 8_000, 32_000, 64_000)
ENCODED, ROUNDS = 512, 5
QUESTIONS = 60
UPDATES = 5


def texts(options: argparse.Namespace) -> list[str]:
    from support.paragraphs import paragraph_texts

    return paragraph_texts(options.data, options.size)


def bytes_by_file(index: Path) -> dict[str, int]:
    """Return the bytes of the newest generation by file name."""
    sizes: dict[str, int] = defaultdict(int)
    for file in max(index.glob("search-*")).rglob("*"):
        if file.is_file():
            sizes[file.name] += file.stat().st_size
    return dict(sorted(sizes.items()))


def build(options: argparse.Namespace) -> dict[str, object]:
    from support.drawn_vectors import draw_vectors

    from oreqa import Document, index_documents

    draw_vectors()
    documents = [Document(f"text-{number}", "", text) for number, text in enumerate(texts(options))]
    shutil.rmtree(options.index, ignore_errors=True)
    started = time.process_time()
    index_documents(options.index, documents)
    seconds = time.process_time() - started
    return {"characters": sum(len(each.text) for each in documents), "build": seconds, "bytes": bytes_by_file(options.index)}


def search(options: argparse.Namespace) -> dict[str, object]:
    from oreqa import Index

    questions = [text[40:110] for text in texts(options)[:: max(1, options.size // QUESTIONS)]][:QUESTIONS]
    seconds = []
    with Index.open(options.index) as index:
        for question in (*questions[:5], *questions):
            started = time.process_time()
            index.search(question, 10)
            seconds.append(time.process_time() - started)
        counts = index.counts()
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {**counts, "search": float(np.median(seconds[5:])), "memory": int(status["RssAnon"].split()[0]) * 1024}


def update(options: argparse.Namespace) -> dict[str, object]:
    """Change one document in a program that has the encoder loaded, as oreqa index --watch."""
    from oreqa import Document, Encoder
    from oreqa.index.writer import open_writer

    encoder, seconds = Encoder(), []
    for number in range(UPDATES + 1):
        document = Document("text-0", "", f"The version {number} of it is the newest one.")
        started = time.process_time()
        with open_writer(options.index, encoder=encoder) as writer:
            writer.add(document, document.key)
            writer.publish()
        seconds.append(time.process_time() - started)
    return {"update": float(np.median(seconds[1:]))}


def encode(options: argparse.Namespace) -> dict[str, object]:
    from oreqa import Document, index_documents

    documents = [Document(f"text-{number}", "", text) for number, text in enumerate(texts(options))]
    index_documents(options.index, "a warm encoder")
    started = time.process_time()
    report = index_documents(options.index, documents)
    return {"passages": report.encoded, "encode": time.process_time() - started}


def run(part: str, options: argparse.Namespace, size: int) -> dict[str, Any]:
    """Run one part in a separate process, on one core."""
    index = options.work.absolute() / (f"{size}" if part != "encode" else "encoded")
    command = [sys.executable, __file__, "--data", str(options.data.absolute()), "--part", part, "--size", str(size)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    out = subprocess.run(
        [*command, "--index", str(index)], env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    row: dict[str, Any] = json.loads(out.splitlines()[-1])
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/capacity"))
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--index", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(globals()[options.part](options)))
        return
    from common import report

    from oreqa.models.graph.precision import chosen_precision

    encoder: dict[str, Any] = {"precision": chosen_precision()}
    seconds = []
    for _ in range(ROUNDS):
        shutil.rmtree(options.work / "encoded", ignore_errors=True)
        encoder |= run("encode", options, ENCODED)
        seconds.append(encoder["encode"])
    encoder |= {"encode": float(np.median(seconds)), "rounds": seconds}
    rows = [{key: value for part in (build, search, update) for key, value in run(part.__name__, options, size).items()}
            for size in SIZES]  # fmt: skip
    report("capacity/costs", {"encoder": encoder, "collections": rows})


if __name__ == "__main__":
    main()
