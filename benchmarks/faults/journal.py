"""Flips one byte of a killed run's journal: each of the first hundred bytes, and others drawn at random.

Run:  python benchmarks/faults/journal.py --work runs/journal

After each flip `oreqa index` runs again. It must exit 0 and leave no journal and nothing that `oreqa check` reports, and
the next run must encode nothing.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

from oreqa.errors import OreqaError
from oreqa.index import replacing
from oreqa.index.ingest import index_files
from oreqa.index.integrity import check_index
from oreqa.index.journal import JOURNAL
from oreqa.index.search import Index
from oreqa.index.store import Settings

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from tiny_models import make_model

WORDS = ["bee", "tent", "octopus", "lamp", "rope", "river", "stone", "cloud", "ß", "naïve", "東京"]
DOCUMENTS = 60


class Killed(BaseException):
    """Stands for a kill just before an update is published."""


def killed(*_: object) -> None:
    raise Killed


def outcome(index: Path, docs: Path) -> str:
    """Return the outcome of an index run with a damaged journal."""
    try:
        encoded = index_files(index, docs).encoded
        stays = check_index(index)
        again = index_files(index, docs).encoded
        answers = [len(hits) for hits in Index.open(index).search(WORDS, 1_000)]
    except OreqaError as error:
        return f"bad: stopped: {error}"
    except Exception as error:  # any kind of error is looked for
        return f"bad: {type(error).__name__}: {error}"
    if stays or again or min(answers) < DOCUMENTS or (index / JOURNAL).exists():
        return f"bad: stays: {stays or again or answers}"
    return "encoded again" if encoded else "harmless"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("runs/journal"))
    parser.add_argument("--drawn", type=int, default=100, help="places drawn from behind the first hundred bytes")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    replacing._KEPT_SECONDS = 0.0
    work, draw = options.work.absolute(), random.Random(options.seed)
    shutil.rmtree(work, ignore_errors=True)
    docs, kept, index = work / "docs", work / "kept", work / "kb"
    docs.mkdir(parents=True)
    for number in range(DOCUMENTS):
        (docs / f"{number}.txt").write_text(" ".join(draw.choices(WORDS, k=12)) + f" {number}.\n")
    with suppress(Killed), patch("oreqa.index.writer.publish_draft", killed):
        index_files(kept, docs, Settings(model=str(make_model(work / "model")), passage_tokens=40))
    content = (kept / JOURNAL).read_bytes()
    places = [*range(100), *(draw.randrange(100, len(content)) for _ in range(options.drawn))]
    counts: Counter[str] = Counter()
    for place in places:
        shutil.rmtree(index, ignore_errors=True)
        shutil.copytree(kept, index)
        damaged = bytearray(content)
        damaged[place] ^= draw.choice((0x01, 0x80, 0xFF))
        (index / JOURNAL).write_bytes(damaged)
        result = outcome(index, docs)
        if result.startswith("bad"):
            print(f"byte {place}: {result}", flush=True)
        counts[result.partition(": ")[0]] += 1
    report("faults/journal_damage", {"damages": len(places), **counts})


if __name__ == "__main__":
    main()
