"""FAISS's inverted lists compared with an exact search: what they miss, and what they save.

Run:  python benchmarks/speed/inverted_lists.py --data ../shared/data --work runs/inverted

The setting is ProQA's (Xiong et al. 2020): IndexIVFFlat with 100 cells, of which a question probes 20. Vectors are
those of the sentences of SQuAD dev, alone and together with those of NQ's paragraphs, by the packaged encoder; the questions
are SQuAD dev's. Measured are the share of the five nearest sentences that the lists return, the share of questions with a
right sentence among the five, and the CPU time of single questions in one thread, lists and exact search in turn.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from oreqa.arrays import Floats, Ints
from oreqa.datasets.load import load_task
from oreqa.datasets.reqa import ReqaTask
from oreqa.defaults import DEFAULT_ENCODER
from oreqa.index.encodings import encoder_input
from oreqa.models.encoder.encoder import Encoder
from oreqa.provenance import data_hash

sys.path.append(str(Path(__file__).parents[1]))
from common import mean_and_deviation, report
from support.small_retrievers import SETS, load_test

CELLS, PROBES, NEAREST, SEEDS = 100, (1, 5, 10, 20, 50), 5, (0, 1, 2)
TIMED, ROUNDS = 500, 7


def lists_of(vectors: Floats, seed: int) -> Any:
    """Put the vectors in FAISS's inverted lists, by inner product; the cells are fitted by ``seed``."""
    lists = faiss.IndexIVFFlat(faiss.IndexFlatIP(vectors.shape[1]), vectors.shape[1], CELLS, faiss.METRIC_INNER_PRODUCT)
    lists.cp.seed = seed
    lists.train(vectors)
    lists.add(vectors)
    return lists


def shares(exact: Ints, given: Ints, gold: Sequence[Sequence[int]]) -> dict[str, float]:
    """Return, in percent, how many of the ``exact`` nearest ``[questions, N]`` are given, and questions with a gold one."""
    same = [len({*a} & {*b}) / len(a) for a, b in zip(exact.tolist(), given.tolist(), strict=True)]
    hits = [not {*b}.isdisjoint(question_gold) for b, question_gold in zip(given.tolist(), gold, strict=True)]
    return {"of the nearest": 100 * statistics.fmean(same), "hit rate": 100 * statistics.fmean(hits)}


def milliseconds(searches: dict[str, Callable[[Floats], object]], questions: Floats) -> dict[str, float]:
    """Return the CPU time of a question by each search, the median of rounds in turn."""
    taken: dict[str, list[float]] = {name: [] for name in searches}
    for _ in range(ROUNDS):
        for name, search in searches.items():
            started = time.process_time()
            for row in range(len(questions)):
                search(questions[row : row + 1])
            taken[name].append(1000 * (time.process_time() - started) / len(questions))
    return {name: round(statistics.median(times), 4) for name, times in taken.items()}


def compare(vectors: Floats, questions: Floats, gold: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return a collection's rows: exact search, and lists by the number of probed cells, with deviations over seeds."""
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(vectors)
    exact = flat.search(questions, NEAREST)[1]
    by_probes: dict[int, list[dict[str, float]]] = {probes: [] for probes in PROBES}
    for seed in SEEDS:
        lists = lists_of(vectors, seed)
        for probes, seed_rows in by_probes.items():
            lists.nprobe = probes
            seed_rows.append(shares(exact, lists.search(questions, NEAREST)[1], gold))

    def probe(probes: int) -> Callable[[Floats], object]:
        def search(row: Floats) -> object:
            lists.nprobe = probes
            return lists.search(row, NEAREST)

        return search

    searches: dict[str, Callable[[Floats], object]] = {"exact": lambda row: flat.search(row, NEAREST)}
    searches |= {str(probes): probe(probes) for probes in PROBES}
    timed = questions[random.Random(0).sample(range(len(questions)), min(TIMED, len(questions)))]
    taken = milliseconds(searches, timed)
    rows: dict[str, Any] = {"exact": {"hit rate": round(shares(exact, exact, gold)["hit rate"], 2), "ms": taken["exact"]}}
    for probes, seed_rows in by_probes.items():
        columns = {name: mean_and_deviation([row[name] for row in seed_rows]) for name in seed_rows[0]}
        rows[f"{probes} of {CELLS} cells"] = columns | {"ms": taken[str(probes)]}
    return {"sentences": len(vectors), "questions": len(questions), "seeds": len(SEEDS), "rows": rows}


def kept(file: Path, encode: Callable[[], Floats]) -> Floats:
    """Return the vectors of ``file``, encoded first if it is missing."""
    if not file.is_file():
        np.save(file, encode())
    vectors: Floats = np.load(file)
    return vectors


def encoded_sentences(task: ReqaTask, encoder: Encoder) -> Floats:
    return np.concatenate([rows[1:] for rows in encoder.encode_passages([encoder_input(p) for p in task.passages])])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    faiss.omp_set_num_threads(1)
    task, beside = load_test(options.data, "squad", False), load_task(options.data / SETS["nq"][0])
    encoder = Encoder(DEFAULT_ENCODER)
    vectors = kept(options.work / "squad.npy", lambda: encoded_sentences(task, encoder))
    others = kept(options.work / "nq.npy", lambda: encoded_sentences(beside, encoder))
    questions = kept(options.work / "questions.npy", lambda: np.asarray(encoder.encode(list(task.questions))))
    collections = {
        "SQuAD dev": compare(vectors, questions, task.gold),
        "SQuAD dev and NQ": compare(np.concatenate([vectors, others]), questions, task.gold),
    }
    files = [options.data / "squad" / "squad-v1.1-dev.json.gz", options.data / SETS["nq"][0]]
    report("openqa/inverted_lists", {"data_sha256": data_hash(files), "dimensions": vectors.shape[1], **collections})


if __name__ == "__main__":
    main()
