"""CPU time of a question over HTTP, for 1, 8 and 32 clients, compared with a loop of ``Answerer.ask``.

Run:  python benchmarks/serving/throughput.py --data ../shared/data --work runs/serving

Random questions of SQuAD dev are asked of an index of its paragraphs. The loop asks one after another in a separate
process, before and after the server, and then 16 together, as the server may. Figures are the CPU time per question of the
loop and of the whole server, seconds from request to answer, and questions per second. A question that waited too long (503)
is asked again, and its seconds continue. The machine's load is that of the last minute. Each question is asked six times: 64
of them take ten minutes on two cores without fast eight-bit arithmetic.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from oreqa.models.graph.precision import heads_precision

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.served import Client, Server, by_clients, paragraph_index, server_of

CLIENTS, WARM, TOGETHER = (1, 8, 32), 16, 16

PAUSE = 1.0
"""Seconds until a question that waited too long is asked again."""

_LOOP = """
import json, sys, time
from pathlib import Path
from oreqa.answering import Answerer
questions = json.load(sys.stdin)
answerer = Answerer.load(Path(sys.argv[1]))
warm, together = map(int, sys.argv[2:])
for question in questions[:warm]:
    answerer.ask([question], 3)
begun = time.process_time()
for first in range(warm, len(questions), together):
    answerer.ask(questions[first:first + together], 3)
print(time.process_time() - begun)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/serving"))
    parser.add_argument("--paragraphs", type=int, default=300)
    parser.add_argument("--questions", type=int, default=64)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    index, every = paragraph_index(options.data, options.work, options.paragraphs)
    questions = random.Random(options.seed).sample(every, options.questions + WARM)
    loops = [loop_seconds(index, questions, 1)]
    rows = {}
    with server_of(index, options.work) as server:
        for clients in CLIENTS:
            rows[f"{clients} clients"] = measured(server, questions, clients)
            print(rows, flush=True)
    loops.append(loop_seconds(index, questions, 1))
    loop = 1000 * statistics.mean(loops) / options.questions
    for row in rows.values():
        row["of_loop"] = round(row["cpu_ms"] / loop, 3)
    figures = {"paragraphs": options.paragraphs, "questions": options.questions, "seed": options.seed}
    both = [round(1000 * seconds / options.questions, 1) for seconds in loops]
    batch_share = round(1000 * loop_seconds(index, questions, TOGETHER) / options.questions / loop, 3)
    machine = {"precision": heads_precision(), "load": round(os.getloadavg()[0], 1)}
    loop_figures = {"loop_cpu_ms": both, "batches_of_loop": batch_share}
    report("serving/throughput", {**figures, **machine, **loop_figures, "server": rows})


def loop_seconds(index: Path, questions: list[str], together: int) -> float:
    """Return the CPU seconds of a loop of ``ask`` with ``together`` questions at once, without its start."""
    command = [sys.executable, "-c", _LOOP, str(index), str(WARM), str(together)]
    done = subprocess.run(command, input=json.dumps(questions), capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def measured(server: Server, questions: list[str], clients: int) -> dict[str, float]:
    """Return the server's figures for ``clients`` clients at once."""

    refused = Counter[int]()

    def ask(client: Client, question: str) -> float:
        started = time.perf_counter()
        while (status := client.request("POST", "/v1/ask", {"question": question, "k": 3})[0]) != 200:
            assert status == 503, status
            refused[status] += 1
            time.sleep(PAUSE)
        return time.perf_counter() - started

    by_clients(server.port, clients, questions[:WARM], ask)
    refused.clear()
    started, cpu = time.perf_counter(), server.cpu_seconds()
    seconds = by_clients(server.port, clients, questions[WARM:], ask)
    wall, taken = time.perf_counter() - started, server.cpu_seconds() - cpu
    parts = statistics.quantiles(seconds, n=100)
    return {
        "cpu_ms": round(1000 * taken / len(seconds), 1),
        "p50_ms": round(1000 * parts[49]),
        "p95_ms": round(1000 * parts[94]),
        "p99_ms": round(1000 * parts[98]),
        "questions_a_second": round(len(seconds) / wall, 2),
        "asked_again": refused[503],
    }


if __name__ == "__main__":
    main()
