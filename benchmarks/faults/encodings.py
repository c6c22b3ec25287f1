"""One byte of encodings.db flipped, at every place of its first page and at places drawn from all others.

Run:  python benchmarks/faults/encodings.py --work runs/encodings

After each flip `oreqa index` runs, with nothing changed or with a document added. It must exit 0, leave nothing that `oreqa
check` finds, and the next run must encode nothing.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
from collections import Counter
from pathlib import Path

from oreqa.errors import OreqaError
from oreqa.index import generations
from oreqa.index.current import check_index
from oreqa.index.ingest import index_files
from oreqa.index.store import Settings

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from tiny_models import make_model

WORDS = ["bee", "tent", "octopus", "lamp", "rope", "river", "stone", "cloud", "ß", "naïve", "東京"]


def outcome(index: Path, docs: Path, before: list[str]) -> str:
    """What an index run makes of a damage that `oreqa check` found, or not, ``before``."""
    try:
        index_files(index, docs)
        stays = check_index(index)
        again = index_files(index, docs).encoded
    except OreqaError as error:
        return f"bad: stopped: {error}"
    except Exception as error:  # any kind is what this looks for
        return f"bad: {type(error).__name__}: {error}"
    if stays or again:
        return f"bad: stays: {stays or again}"
    return "named and mended" if before else "harmless"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("runs/encodings"))
    parser.add_argument("--drawn", type=int, default=150, help="places drawn from the pages behind the first")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    generations._KEPT_SECONDS = 0.0
    work, draw = options.work.absolute(), random.Random(options.seed)
    shutil.rmtree(work, ignore_errors=True)
    docs, kept, index = work / "docs", work / "kept", work / "kb"
    docs.mkdir(parents=True)
    for number in range(60):
        (docs / f"{number}.txt").write_text(" ".join(draw.choices(WORDS, k=12)) + f" {number}.\n")
    index_files(kept, docs, Settings(model=str(make_model(work / "model")), passage_tokens=40))
    content = (kept / "encodings.db").read_bytes()
    header, first_page = range(100), range(100, 4096, 20)
    places = [*header, *first_page, *(draw.randrange(4096, len(content)) for _ in range(options.drawn))]
    counts: Counter[str] = Counter()
    for number, place in enumerate(places):
        shutil.rmtree(index, ignore_errors=True)
        shutil.copytree(kept, index)
        damaged = bytearray(content)
        damaged[place] ^= draw.choice((0x01, 0x80, 0xFF))
        (index / "encodings.db").write_bytes(damaged)
        (docs / "new.txt").unlink(missing_ok=True)
        before = check_index(index)
        if number % 2:
            (docs / "new.txt").write_text("Owls hoot.\n")
        result = outcome(index, docs, before)
        if result.startswith("bad"):
            print(f"byte {place}: {result}", flush=True)
        counts[result.partition(": ")[0]] += 1
    report("faults/encodings_damage", {"damages": len(places), **counts})


if __name__ == "__main__":
    main()
