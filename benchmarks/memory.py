"""Peak memory of indexing many passages, in bytes a passage.

Run:  python benchmarks/memory.py --data ../shared/data --work runs/memory

Texts are the paragraphs of SQuAD dev and of the SQuAD train pieces, repeated with a number in front so that none is equal to
another. The index is built by the command line, in a process of its own, once small and once large.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from oreqa.datasets.files import write_json
from oreqa.datasets.squad import load_squad


def build(texts: list[str], count: int, work: Path) -> dict[str, float]:
    """Index ``count`` passages and report the process's peak memory and time."""
    source, index = work / f"texts-{count}.jsonl", work / f"index-{count}"
    shutil.rmtree(index, ignore_errors=True)
    with source.open("w") as file:
        for number in range(count):
            text = f"Number {number}. {texts[number % len(texts)]}"
            file.write(json.dumps({"id": number, "text": text}) + "\n")
    begun = time.perf_counter()
    command = [
        sys.executable,
        "-m",
        "oreqa",
        "index",
        str(source),
        "--index",
        str(index),
        "--passage-tokens",
        "512",
        "--json",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    out = process.communicate()[0]
    seconds = time.perf_counter() - begun
    import resource

    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    passages = json.loads(out)["passages"]
    size = sum(f.stat().st_size for f in index.rglob("*") if f.is_file())
    return {"documents": count, "passages": passages, "peak_bytes": peak, "disk_bytes": size, "seconds": round(seconds, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/memory"))
    parser.add_argument("--small", type=int, default=5_000)
    parser.add_argument("--large", type=int, default=100_000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    files = [options.data / "squad/squad-v1.1-dev.json.gz", options.data / "extractive/squad-train-pieces.json.gz"]
    texts = [paragraph.text for file in files for paragraph in load_squad(file)]
    small = build(texts, options.small, options.work)
    print(small, flush=True)
    large = build(texts, options.large, options.work)
    print(large, flush=True)
    grown = (large["peak_bytes"] - small["peak_bytes"]) / (large["passages"] - small["passages"])
    result = {
        "small": small,
        "large": large,
        "peak bytes a passage, all in": round(large["peak_bytes"] / large["passages"]),
        "peak bytes a further passage": round(grown),
        "disk bytes a passage": round(large["disk_bytes"] / large["passages"]),
    }
    print(json.dumps(result, indent=2))
    if options.out:
        write_json(options.out, result)


if __name__ == "__main__":
    main()
