"""Refreshing an index of SQuAD's 2,067 paragraphs in which one document changed, against building it anew.

Run:  python benchmarks/speed/update.py --data ../shared/data --work runs/update

Both are whole processes of the command line. Once every paragraph is a document, once every article.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import time
from itertools import groupby
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from common import process, report, squad, write_paragraph_files


def measure(texts: Path, changed: Path, index: Path, rounds: int) -> dict[str, float]:
    oreqa = str(Path(sys.executable).parent / "oreqa")
    command = [oreqa, "index", str(texts), "--index", str(index), "--json"]
    for file in texts.rglob("*.txt"):  # written a while ago, as a user's files were
        os.utime(file, (time.time() - 60, time.time() - 60))
    full, refresh = [], []
    for round_ in range(rounds):
        shutil.rmtree(index, ignore_errors=True)
        full.append(process(command)[0])
        changed.write_text(f"{changed.read_text()} Change number {round_}.")
        seconds, _, out = process(command)
        assert '"changed": 1' in out, out
        refresh.append(seconds)
    ratios = [a / b for a, b in zip(refresh, full, strict=True)]
    return {
        "documents": sum(1 for _ in texts.rglob("*.txt")),
        "full_seconds": round(statistics.median(full), 3),
        "refresh_seconds": round(statistics.median(refresh), 3),
        "ratio_median": round(statistics.median(ratios), 4),
        "ratio_max": round(max(ratios), 4),
        "rounds": rounds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/update"))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    paragraphs = squad(options.data)
    by_paragraph, by_article = options.work / "paragraphs", options.work / "articles"
    write_paragraph_files(paragraphs, by_paragraph)
    by_article.mkdir(parents=True)
    for title, group in groupby(paragraphs, key=lambda p: p.title):
        (by_article / f"{title}.txt").write_text("\n\n".join(p.text for p in group))
    one = next(by_paragraph.rglob("*.txt"))
    result = {
        "a document a paragraph": measure(by_paragraph, one, options.work / "index-p", options.rounds),
        "a document an article": measure(by_article, next(by_article.iterdir()), options.work / "index-a", options.rounds),
    }
    report("speed/update", result)


if __name__ == "__main__":
    main()
