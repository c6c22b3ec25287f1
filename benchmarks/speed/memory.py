"""Peak memory of indexing many passages, in bytes a passage.

Run:  python benchmarks/speed/memory.py --data ../shared/data --work runs/memory

Texts are the paragraphs of SQuAD dev and of the SQuAD train pieces, repeated with a number in front so that none is equal to
another. The index is built by the command line, in a process of its own, once small and once large.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

from oreqa.datasets.paragraphs import load_squad

sys.path.append(str(Path(__file__).parents[1]))
from common import process, report


def build(texts: list[str], count: int, work: Path) -> dict[str, float]:
    """Index ``count`` passages and report the process's peak memory and time."""
    source, index = work / f"texts-{count}.jsonl", work / f"index-{count}"
    shutil.rmtree(index, ignore_errors=True)
    with source.open("w") as file:
        for number in range(count):
            text = f"Number {number}. {texts[number % len(texts)]}"
            file.write(json.dumps({"id": number, "text": text}) + "\n")
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
    seconds, peak, out = process(command)
    passages = json.loads(out)["passages"]
    size = sum(f.stat().st_size for f in index.rglob("*") if f.is_file())
    return {"documents": count, "passages": passages, "peak_bytes": peak, "disk_bytes": size, "seconds": round(seconds, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/memory"))
    parser.add_argument("--small", type=int, default=5_000)
    parser.add_argument("--large", type=int, default=100_000)
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
    report("memory", result)


if __name__ == "__main__":
    main()
