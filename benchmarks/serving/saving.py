"""How long does it take until a saved file can be found, while the server follows its folder?

Run:  python benchmarks/serving/saving.py --data ../shared/data --work runs/serving

The folder contains SQuAD dev's paragraphs, one per file. Again and again, a file with a unique word is written, and
the word is searched for until it is found. Figures are wall-clock seconds, which other load on the machine lengthens.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.served import Client, paragraph_index, server_of

LONGEST, PAUSE = 120.0, 0.05
NAMES = ("quoxal", "brindum", "veltori", "gasmarn", "pylozek", "tarvino", "wexoli", "jumbrat", "dorkavi", "zintelo")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/serving"))
    parser.add_argument("--paragraphs", type=int, default=300)
    options = parser.parse_args()
    index, _ = paragraph_index(options.data, options.work, options.paragraphs)
    folder, seconds = options.work / f"texts-{options.paragraphs}", list[float]()
    with server_of(index, options.work, "--watch", str(folder)) as server:
        client = Client(server.port)
        status = watched_status(client)
        for name in NAMES:
            seconds.append(seconds_until_answerable(client, folder / f"{name}-{time.time_ns()}.txt", name))
            print(round(seconds[-1], 2), flush=True)
            watched_status(client)
    figures = {"passages": status["passages"], "files": len(seconds), "load": round(os.getloadavg()[0], 1)}
    spread = {"seconds_median": round(statistics.median(seconds), 2), "seconds_max": round(max(seconds), 2)}
    report("serving/saving", {**figures, **spread})


def watched_status(client: Client) -> dict[str, object]:
    """Return the collection's status once its folder is watched and no update is running."""
    while True:
        (row,) = json.loads(client.request("GET", "/v1/status")[1])["collections"]
        if row["watch"]["state"] == "watching" and row["watch"]["updated"] is not None:
            return dict(row)
        time.sleep(PAUSE)


def seconds_until_answerable(client: Client, file: Path, name: str) -> float:
    """Save a file and search for a word that only it contains. The file is removed; its document stays."""
    started = time.monotonic()
    file.write_text(f"The village of {name} was built beside the river in {time.time_ns()}.\n")
    try:
        while time.monotonic() - started < LONGEST:
            body = {"question": f"When was {name} built?", "unit": "passage", "k": 3}
            hits = json.loads(client.request("POST", "/v1/search", body)[1])["hits"]
            if any(hit["document"].endswith(file.name) for hit in hits):
                return time.monotonic() - started
            time.sleep(PAUSE)
    finally:
        file.unlink()
    raise AssertionError(f"{file} is not answerable after {LONGEST:g} s")


if __name__ == "__main__":
    main()
