"""Replaces an index while clients ask: does a request fail, or does a reply mix two states?

Run:  python benchmarks/serving/replacing.py --work runs/serving

Every document names its edition. All documents are rewritten and indexed by `oreqa index`, again and again, while
clients ask. A reply is mixed if its answers and nearest passages name different editions, or another edition than an earlier
reply from the same state of the index.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.served import Client, server_of

NAMES = ("Adler", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel", "Ivy", "Juniper", "Kapok", "Larch")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("runs/serving"))
    parser.add_argument("--replacements", type=int, default=10)
    parser.add_argument("--clients", type=int, default=8)
    options = parser.parse_args()
    folder, index = options.work / "houses", options.work / "houses-index"
    folder.mkdir(parents=True, exist_ok=True)
    publish(folder, index, 1)
    counts, editions, ended = Counter[str](), dict[int, str](), threading.Event()
    with server_of(index, options.work) as server:
        threads = [
            threading.Thread(target=ask, args=(server.port, number, counts, editions, ended))
            for number in range(options.clients)
        ]
        for thread in threads:
            thread.start()
        for edition in range(2, options.replacements + 2):
            publish(folder, index, edition)
            print(edition, dict(counts), flush=True)
        ended.set()
        for thread in threads:
            thread.join()
    figures = {"replacements": options.replacements, "clients": options.clients, "load": round(os.getloadavg()[0], 1)}
    reply_counts = {name: counts[name] for name in ("replies", "failed", "mixed")}
    report("serving/replacing", {**figures, **reply_counts, "states_seen": len(editions)})


def publish(folder: Path, index: Path, edition: int) -> None:
    """Rewrite all documents and index them."""
    for number, name in enumerate(NAMES):
        text = f"The {name} house has {number + edition} rooms, says edition {edition} of the list.\n"
        (folder / f"{name}.txt").write_text(text)
    subprocess.run(
        [sys.executable, "-m", "oreqa", "index", str(folder), "--index", str(index)], check=True, capture_output=True
    )


def ask(port: int, number: int, counts: Counter[str], editions: dict[int, str], ended: threading.Event) -> None:
    """Ask one question after another until ``ended`` is set."""
    client = Client(port)
    while not ended.is_set():
        name = NAMES[number % len(NAMES)]
        number += 1
        status, body = client.request("POST", "/v1/ask", {"question": f"How many rooms has the {name} house?", "k": 3})
        counts["replies"] += 1
        if status != 200:
            counts["failed"] += 1
            continue
        reply = json.loads(body)
        (state,) = reply["generations"].values()
        seen = editions_of(reply)
        if len(seen) > 1 or seen - {editions.setdefault(state, min(seen, default=""))}:
            counts["mixed"] += 1


def editions_of(reply: Mapping[str, Any]) -> set[str]:
    """Return the editions that the passages of a reply name."""
    rows = [*reply["answers"], *reply.get("nearest", ()), *filter(None, [reply.get("guess")])]
    return {match[1] for row in rows for match in re.finditer(r"edition (\d+)", row["passage"]["text"])}


if __name__ == "__main__":
    main()
