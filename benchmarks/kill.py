"""Fifty kill -9 at random moments of an indexing run, each followed by a search and a resumed run.

Run:  python benchmarks/kill.py --data ../shared/data --work runs/kill

Between kills documents are added, changed and removed. In the end the index must equal one built without interruption:
nothing lost, nothing twice.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from common import process, report, squad, write_paragraph_files

from oreqa.errors import IndexStateError
from oreqa.index.search import Index

# Small batches make many moments at which something is half done.
RUN = "from oreqa.index import update; update.BATCH_PASSAGES = 24; from oreqa.cli import main; main()"


def content(index: Path) -> list[tuple[object, ...]]:
    """All that a search can give, without row numbers; vectors to three digits, as batches differ."""
    database = sqlite3.connect(index / "index.db")
    rows = database.execute(
        "SELECT key, title, fields, heading, passages.text, passages.start, sentences.start, sentences.end, terms, lengths "
        "FROM documents JOIN passages ON document = documents.id JOIN sentences ON passage = passages.id "
        "JOIN encodings ON encodings.hash = encoding WHERE live = 1"
    ).fetchall()
    words = dict(database.execute("SELECT id, term FROM terms"))
    database.close()
    import numpy as np

    return sorted((*row[:-2], " ".join(words[i] for i in np.frombuffer(row[-2], np.int32))) for row in rows)


def files(index: Path) -> dict[str, int]:
    """Counts of the search files, which must agree with SQLite."""
    return Index.open(index).counts()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/kill"))
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--documents", type=int, default=400)
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    rng = random.Random(0)
    texts, index = options.work / "texts", options.work / "index"
    paragraphs = squad(options.data)
    write_paragraph_files(paragraphs[: options.documents], texts)
    command = [sys.executable, "-c", RUN, "index", str(texts), "--index", str(index), "--prune"]
    longest, killed, searches, unfinished = 8.0, 0, 0, 0
    while killed < options.kills:
        process_ = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            process_.wait(timeout=rng.uniform(0.05, longest))
        except subprocess.TimeoutExpired:
            process_.kill()
            process_.wait()
            killed += 1
        else:
            # It finished: change the documents so that there is something to interrupt again.
            assert process_.returncode == 0
            some = sorted(texts.rglob("*.txt"))
            for file in rng.sample(some, 40):
                file.write_text(f"{file.read_text()} Changed after kill {killed}.")
            for file in rng.sample(some, 10):
                file.unlink()
            write_paragraph_files(rng.sample(paragraphs, 20), texts)
            longest = 3.0
            continue
        try:
            assert Index.open(index).search(["What is the capital?"], 3, "sparse")[0]
            searches += 1
        except IndexStateError as error:
            assert searches == 0, f"a complete state was lost: {error}"
            unfinished += 1
        time.sleep(0.01)
    process(command)
    fresh = options.work / "fresh"
    process([*command[:-2], str(fresh), "--prune"])
    ours, theirs = content(index), content(fresh)
    assert ours == theirs, "the index differs from an uninterrupted one"
    assert files(index) == files(fresh)
    left = sorted(p.name for p in index.iterdir() if p.name.startswith("search"))
    report(
        "kill",
        {
            "kills": killed,
            "searches of a complete state after a kill": searches,
            "kills before the first complete state": unfinished,
            "sentences, equal to an uninterrupted index": len(ours),
            "documents": len({row[0] for row in ours}),
            "search folders left": left,
        },
    )


if __name__ == "__main__":
    main()
