"""How fast does a model of 110 million parameters run, compared in turn with sentence-transformers and transformers?

Run:  python benchmarks/speed/base_size.py --data ../shared/data --other PYTHON

The jobs are to encode SQuAD's paragraphs, to read five passages per question and to score 20 sentences per question,
each with all-mpnet-base-v2; the heads of reader and cross-encoder are random, which costs the same. Each side runs in a
separate process, which also gives its peak memory: at equal precision, and with the rival's default, float32. --other is a
Python whose transformers is older than 5.3 and still has the question-answering pipeline; without it, its row is left out.
Figures are written to results/models/speed.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from oreqa.datasets.paragraphs import Paragraph, whole_passages
from oreqa.datasets.reqa import build_reqa
from oreqa.defaults import BASE_ENCODER
from oreqa.files import read_json, write_json
from oreqa.index.passages import index_passages
from oreqa.index.store import Settings
from oreqa.models.graph.precision import offered_precisions
from oreqa.models.names import find_model

sys.path.append(str(Path(__file__).parents[1]))
from common import Timed, report, squad
from support.base_size_rivals import JOBS

BASE = "all-mpnet-base-v2"
PASSAGES, SENTENCES = 5, 20
CLASSES = {"read": "MPNetForQuestionAnswering", "rerank": "MPNetForSequenceClassification"}


def save_heads(folder: Path) -> dict[str, str]:
    """Save the model of each job: the encoder as it is, and with a random head of either kind."""
    import torch
    import transformers

    torch.manual_seed(0)
    base = find_model(BASE)
    models = {"encode": str(base)}
    for job, kind in CLASSES.items():
        place = folder / kind
        models[job] = str(place)
        if not (place / "config.json").is_file():
            options: dict[str, Any] = {"num_labels": 1} if job == "rerank" else {}
            getattr(transformers, kind).from_pretrained(base, **options).save_pretrained(place)
            transformers.AutoTokenizer.from_pretrained(base).save_pretrained(place)
    return models


def write_tasks(folder: Path, paragraphs: Sequence[Paragraph], count: int) -> dict[str, Path]:
    """Write the texts of each job to files that all sides read; passages of one article are read together."""
    step = len(paragraphs) // count
    chosen = range(0, step * count, step)
    sentences = [s.text for p in build_reqa(paragraphs).passages for s in p.sentences]
    questions = [paragraphs[n].questions[0].text for n in chosen]
    lists = [[p.text for p in paragraphs[n : n + PASSAGES]] for n in chosen]
    jobs: dict[str, Any] = {
        "encode": [paragraphs[n].text for n in chosen for n in range(n, min(n + PASSAGES, len(paragraphs)))],
        "read": [{"question": q, "texts": texts} for q, texts in zip(questions, lists, strict=True)],
        "rerank": [{"question": q, "texts": sentences[n : n + SENTENCES]} for q, n in zip(questions, chosen, strict=True)],
    }
    for job, rows in jobs.items():
        write_json(folder / f"{job}.json", rows)
    return {job: folder / f"{job}.json" for job in jobs}


class Side:
    """A process that does one job with one library each time it is told to."""

    def __init__(self, python: str, job: str, library: str, task: Path, model: str, precision: str) -> None:
        arguments = [python, "-c", JOBS[job, library], str(task), model, precision]
        self._process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.peak = 0

    def run(self) -> float:
        """Return the seconds of the whole job."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("run\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args!r} ended with {self._process.wait()}")
        row = json.loads(line)
        self.peak = int(row["peak"])
        return float(row["seconds"])

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


@contextmanager
def started(*arguments: Any) -> Iterator[Side]:
    side = Side(*arguments)
    try:
        yield side
    finally:
        side.close()


def compare(job: str, task: Path, model: str, sides: Mapping[str, tuple[str, str, str]], rounds: int) -> dict[str, Any]:
    """Time the sides (Python, library, precision) in turn; return seconds and peak memory of each; the first is ours."""
    with ExitStack() as stack:
        running = {
            name: stack.enter_context(started(python, job, library, task, model, precision))
            for name, (python, library, precision) in sides.items()
        }
        seconds: dict[str, list[float]] = {name: [] for name in running}
        for round_ in range(rounds + 1):
            for name, side in running.items():
                spent = side.run()
                if round_:  # the first one loads and compiles
                    seconds[name].append(spent)
        ours = next(iter(seconds))
        return {
            name: {
                "seconds": round(statistics.median(spent), 3),
                "ours_faster_by": round(statistics.median(b / a for a, b in zip(seconds[ours], spent, strict=True)), 2),
                "peak_mb": round(running[name].peak / 1e6),
            }
            for name, spent in seconds.items()
        }


def search(work: Path, paragraphs: Sequence[Paragraph], rounds: int = 100) -> dict[str, Any]:
    """Return milliseconds of a hybrid search for passages of SQuAD, including encoding, and bytes of the index on disk."""
    rows: dict[str, Any] = {}
    opened = {}
    for model in (BASE_ENCODER, BASE):
        opened[model] = index_passages(work / f"index-{model}", whole_passages(paragraphs), Settings(model=model))
        rows[model] = {"bytes": sum(f.stat().st_size for f in (work / f"index-{model}").rglob("*") if f.is_file())}
    questions = [question.text for paragraph in paragraphs for question in paragraph.questions][: rounds + 1]
    spent: dict[str, list[float]] = {model: [] for model in opened}
    for text in questions:
        for model, index in opened.items():
            spent[model].append(Timed(partial(index.search, text, 10, mode="hybrid", unit="passage"))())
    for model, seconds in spent.items():
        rows[model]["milliseconds"] = round(1000 * statistics.median(seconds[1:]), 2)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/base-size"))
    parser.add_argument("--other", type=Path, help="a Python with transformers before 5.3")
    parser.add_argument("--questions", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    models, tasks = save_heads(options.work), write_tasks(options.work, squad(options.data), options.questions)
    result: dict[str, Any] = {"questions": options.questions, "passages": PASSAGES, "sentences": SENTENCES}
    for job, task in tasks.items():
        rows = result[job] = {}
        for precision in ("f32", *(p for p in ("bf16",) if p in offered_precisions())):
            sides = {"oreqa": (sys.executable, "oreqa", precision), "same": (sys.executable, "theirs", precision)}
            if precision != "f32":
                sides["float32"] = (sys.executable, "theirs", "f32")
            if job == "read" and options.other:
                sides["pipeline"] = (str(options.other), "pipeline", precision)
                if precision != "f32":
                    sides["pipeline, float32"] = (str(options.other), "pipeline", "f32")
            rows[precision] = compare(job, task, models[job], sides, options.rounds)
            print(job, precision, json.dumps(rows[precision], indent=1))
    result["search"] = search(options.work, squad(options.data))
    result["texts"] = len(read_json(tasks["encode"]))
    report("models/speed", result)


if __name__ == "__main__":
    main()
