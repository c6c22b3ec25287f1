"""Measures the overhead of Ray when shards are indexed, and the cost of killed processes.

Run:  python benchmarks/speed/cluster.py --data ../shared/data --work runs/cluster

Paragraphs of SQuAD dev are indexed in turn, in three rounds: by one process; as shards, each by a separate process, one a
core at a time, and then merged; and the same shards by tasks of Ray (`--cluster local`). Ray's overhead is its
time, without that of starting it, relative to the time of the shards without Ray. Then a worker is killed while it indexes a
shard; then the command itself is killed once the first shard is done, and run again. Every index must equal that of one
process, except for rounding in its vectors, whose largest difference is reported. Needs the cluster extra.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
from common import report, squad, write_paragraph_files
from index_content import content
from ray_workers import workers

from oreqa.index.cluster import SHARDS_A_CORE, split_evenly
from oreqa.index.merging import merge_indexes

ROUNDS = 3

INDEX = "import sys; from oreqa.index.ingest import index_files; index_files(sys.argv[1], sys.argv[2:])"

CLUSTER = """
import json, sys, time
import ray
from oreqa.index.cluster import index_on_cluster
begin, seconds = ray.init, []
def init(**options):
    at = time.perf_counter()
    begin(**options)
    seconds.append(time.perf_counter() - at)
ray.init = init
index_on_cluster(sys.argv[1], sys.argv[2], shards=int(sys.argv[3]))
print(json.dumps(seconds))
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a process that runs Python code."""
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str]) -> str:
    """Wait for a process and return its output. Raises RuntimeError if it failed."""
    out, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"a command exited with {process.returncode}")
    return out


class Bench:
    """The documents and the ways to index them, each into a separate folder. Each way returns its seconds."""

    def __init__(self, work: Path, cores: int) -> None:
        self.work, self.docs, self.cores = work, work / "docs", cores
        self.shards = SHARDS_A_CORE * cores
        self.init_seconds: list[float] = []

    def one_process(self) -> float:
        """Index with one process."""
        started = time.perf_counter()
        finished(start(INDEX, self.fresh("one"), self.docs))
        return time.perf_counter() - started

    def processes(self) -> float:
        """Index shards in separate processes, as many at a time as there are cores, and merge them."""
        started, folder = time.perf_counter(), self.fresh("merged")
        files = sorted(self.docs.rglob("*.txt"))
        parts = split_evenly(files, [file.stat().st_size for file in files], self.shards)
        places = [self.fresh(f"shard-{number}") for number in range(len(parts))]
        with ThreadPoolExecutor(self.cores) as pool:
            list(pool.map(lambda job: finished(start(INDEX, job[0], *job[1])), zip(places, parts, strict=True)))
        merge_indexes(folder, places)
        return time.perf_counter() - started

    def cluster(self) -> float:
        """Index shards by tasks of Ray; the start of Ray is not counted."""
        started = time.perf_counter()
        self.init_seconds += json.loads(finished(start(CLUSTER, self.fresh("ray"), self.docs, self.shards)))
        return time.perf_counter() - started - self.init_seconds[-1]

    def worker_killed(self) -> float:
        """Do the same, but kill a worker while it indexes a shard; the start of Ray is counted."""
        started, process = time.perf_counter(), start(CLUSTER, self.fresh("worker killed"), self.docs, self.shards)
        killed: list[int] = []

        def kill_one() -> None:
            while not killed and process.poll() is None:
                for worker in workers(process.pid)[:1]:
                    os.kill(worker, signal.SIGKILL)
                    killed.append(worker)
                time.sleep(0.01)

        killer = threading.Thread(target=kill_one)
        killer.start()
        finished(process)
        killer.join()
        if not killed:
            raise RuntimeError("no worker was killed")
        return time.perf_counter() - started

    def driver_killed(self) -> float:
        """Do the same, but kill the command once a shard is done, and run it again; both runs are counted."""
        folder = self.fresh("driver killed")
        started, process = time.perf_counter(), start(CLUSTER, folder, self.docs, self.shards)
        while not list(self.work.glob("driver killed.shards/*/search-000001/manifest.json")):
            if process.poll() is not None:
                raise RuntimeError("it ended before a shard was done")
            time.sleep(0.01)
        process.kill()
        process.wait()
        time.sleep(1)  # its workers end with it
        finished(start(CLUSTER, folder, self.docs, self.shards))
        return time.perf_counter() - started

    def fresh(self, name: str) -> Path:
        """Return a folder that does not exist."""
        shutil.rmtree(self.work / name, ignore_errors=True)
        return self.work / name

    def difference(self, name: str) -> float:
        """Return the largest difference of a vector's number from the index of one process.

        Raises RuntimeError if anything else differs.
        """
        ours, theirs = content(self.work / name), content(self.work / "one")
        if [row[:-1] for row in ours] != [row[:-1] for row in theirs]:
            raise RuntimeError(f"{name} is another index than that of one process")
        pairs = (
            (np.frombuffer(a[-1], np.float32), np.frombuffer(b[-1], np.float32)) for a, b in zip(ours, theirs, strict=True)
        )
        return max(float(np.abs(a - b).max()) for a, b in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/cluster"))
    parser.add_argument("--documents", type=int, default=600)
    options = parser.parse_args()
    work = options.work.absolute()
    shutil.rmtree(work, ignore_errors=True)
    bench = Bench(work, len(os.sched_getaffinity(0)))
    write_paragraph_files(squad(options.data)[: options.documents], bench.docs)
    rounds: list[dict[str, float]] = []
    for _ in range(ROUNDS):
        rounds.append({way.__name__: way() for way in (bench.one_process, bench.processes, bench.cluster)})
        print(json.dumps(rounds[-1]), flush=True)
    killed = {way.__name__: round(way(), 1) for way in (bench.worker_killed, bench.driver_killed)}
    medians = {name: round(statistics.median(each[name] for each in rounds), 1) for name in rounds[0]}
    folders = ("merged", "ray", "worker killed", "driver killed")
    result: dict[str, Any] = {
        "documents": options.documents,
        "shards": bench.shards,
        "cores": bench.cores,
        "seconds": {**medians, "ray.init": round(statistics.median(bench.init_seconds), 1), **killed},
        "ray to processes": round(statistics.median(each["cluster"] / each["processes"] for each in rounds), 2),
        "ray to one process": round(statistics.median(each["cluster"] / each["one_process"] for each in rounds), 2),
        "largest difference of a vector": {name: bench.difference(name) for name in folders},
        "rounds": [{name: round(seconds, 1) for name, seconds in each.items()} for each in rounds],
    }
    report("capacity/cluster", result)


if __name__ == "__main__":
    main()
