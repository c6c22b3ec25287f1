"""How time, memory and disk grow with an index: 2,000, 10,000, 50,000 and 100,000 passages, against the shortest script.

Run:  python benchmarks/speed/growth.py --data ../shared/data --work runs/growth     (about an hour and a half on two cores)

Texts are real paragraphs of 200 to 1,000 characters; from 22,894 on they are repeated with a number in front. Up to
--real passages are encoded for real. In larger indexes the vectors of passages and sentences are random: a search costs
the same, and encoding 100,000 passages would take an hour; their build is timed without the model. Refreshes (whole
processes, one document changed) and questions always use the model.

The script is what a user would write: FAISS's exact index over the passages' vectors, bm25s over their texts, ten of
each; it encodes questions with the same encoder. Both answer the same questions in turn, in one process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from oreqa.defaults import DEFAULT_ENCODER

sys.path.append(str(Path(__file__).parents[1]))
from common import process, report, squad
from support.paragraphs import paragraph_texts

ROWS_A_FILE = 500
QUESTIONS = 100
ASKED = 30
"""Questions that are asked with the reader, which takes a while for each."""

# An index command whose encoder gives random unit vectors, as many as the real one would.
FAKE = """
import numpy as np
from oreqa.index import writer
rng = np.random.default_rng(0)
def encode_passages(self, passages, progress):
    rows = [rng.standard_normal((1 + len(spans), self.dim)).astype(np.float32) for _, _, spans in passages]
    with progress("encoding passages", len(rows)) as advance:
        advance(len(rows))
    return [matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for matrix in rows]
writer.Encoder.encode_passages = encode_passages
from oreqa.cli import main
main()
"""


def write_files(texts: list[str], folder: Path) -> None:
    """JSON lines, 500 rows a file, written a while ago."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for begin in range(0, len(texts), ROWS_A_FILE):
        rows = (json.dumps({"id": begin + n, "text": text}) for n, text in enumerate(texts[begin : begin + ROWS_A_FILE]))
        _write_old(folder / f"{begin:06}.jsonl", "\n".join(rows))


def _write_old(file: Path, text: str) -> None:
    file.write_text(text + "\n", encoding="utf-8")
    os.utime(file, (time.time() - 60, time.time() - 60))


def percentiles(seconds: list[float]) -> dict[str, float]:
    """Median and 95th percentile in milliseconds."""
    return {
        "p50": round(1000 * float(np.percentile(seconds, 50)), 2),
        "p95": round(1000 * float(np.percentile(seconds, 95)), 2),
    }


def timed(function: Callable[..., object], *arguments: object) -> float:
    begun = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - begun


class Script:
    """FAISS and bm25s as their first pages show them."""

    def __init__(self, texts: list[str], vectors: np.ndarray) -> None:
        import bm25s
        import faiss

        self._index = faiss.IndexFlatIP(vectors.shape[1])
        self._index.add(vectors)
        self._bm25 = bm25s.BM25()
        self._bm25.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
        self._tokenize = bm25s.tokenize

    def search(self, question: str, vector: np.ndarray) -> object:
        near = self._index.search(vector, 10)
        return near, self._bm25.retrieve(self._tokenize([question], show_progress=False), k=10, show_progress=False)


def warm(data: Path, index: Path) -> None:
    """In a process of its own: questions one by one, ours and the script's in turn."""
    from oreqa.answering.answerer import Answerer
    from oreqa.index import Index

    questions = [p.questions[0].text for p in squad(data) if p.questions]
    questions = questions[:: len(questions) // QUESTIONS][:QUESTIONS]
    reader = Index.open(index)
    script = Script([p.text for p in reader.passages()], reader.passage_vectors())
    seconds: dict[str, list[float]] = {name: [] for name in ("encode", "passages", "sentences", "sparse", "script")}
    for number, question in enumerate([*questions[:5], *questions]):
        vector = reader.encoder.encode([question])
        row = {
            "encode": timed(reader.encoder.encode, [question]),
            "passages": timed(reader.search, [question], 10, "hybrid", "passage"),
            "sentences": timed(reader.search, [question], 10, "hybrid", "sentence"),
            "sparse": timed(reader.search, [question], 10, "sparse", "passage"),
            "script": timed(script.search, question, vector),
        }
        for name, value in row.items() if number >= 5 else ():  # the first five warm everything
            seconds[name].append(value)
    answerer = Answerer.load(index)
    answerer.ask(questions[0])
    seconds["ask"] = [timed(answerer.ask, question) for question in questions[:ASKED]]
    floor = [e + s for e, s in zip(seconds["encode"], seconds["script"], strict=True)]
    ratio = float(np.median(np.array(seconds["passages"]) / np.array(floor)))
    print(json.dumps({
        "counts": reader.counts(),
        "milliseconds": {name: percentiles(values) for name, values in seconds.items()},
        "hybrid search / (encoding + script)": round(ratio, 2),
    }))  # fmt: skip


def search_alone(data: Path, index: Path) -> None:
    """In a process of its own: what memory ten searches take, and ten questions asked after them."""
    from oreqa.answering.answerer import Answerer
    from oreqa.index import Index

    questions = [p.questions[0].text for p in squad(data) if p.questions][:10]
    reader = Index.open(index)
    for question in questions:
        reader.search([question], 10, mode="hybrid", unit="passage")
    searched = _peak_mb()
    answerer = Answerer.load(index)
    for question in questions:
        answerer.ask(question)
    print(json.dumps({"search": searched, "ask": _peak_mb()}))


def script_alone(data: Path, index: Path) -> None:
    """What memory the script's ten searches take, in its own process; its index is made from texts and vectors in a file."""
    from oreqa.index import Index
    from oreqa.models.encoder.encoder import Encoder

    questions = [p.questions[0].text for p in squad(data) if p.questions][:10]
    texts = [json.loads(line)["text"] for file in sorted((index.parent / "texts").glob("*.jsonl")) for line in file.open()]
    with Index.open(index) as reader:
        script = Script(texts, reader.passage_vectors())
    encoder = Encoder(DEFAULT_ENCODER)
    for question in questions:
        script.search(question, encoder.encode([question]))
    print(json.dumps({"script": _peak_mb()}))


def _peak_mb() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)


def measure(texts: list[str], data: Path, work: Path, real: bool) -> dict[str, object]:
    """Build an index, refresh it, ask it."""
    files, index = work / "texts", work / "index"
    write_files(texts, files)
    shutil.rmtree(index, ignore_errors=True)
    arguments = ["index", str(files), "--index", str(index), "--json"]
    launcher = ["-m", "oreqa"] if real else ["-c", FAKE]
    build_seconds, build_peak, out = process([sys.executable, *launcher, *arguments])
    built = json.loads(out)
    disk = sum(f.stat().st_size for f in index.rglob("*") if f.is_file())
    changed = sorted(files.iterdir())[-1]
    _write_old(changed, changed.read_text().rstrip().removesuffix('"}') + ' A change."}')
    refresh_seconds, refresh_peak, out = process([sys.executable, "-m", "oreqa", *arguments])
    assert json.loads(out)["changed"] == 1, out
    parts: dict[str, dict[str, object]] = {}
    for part in ("warm", "search_alone", "script_alone"):
        *_, out = process([sys.executable, __file__, "--data", str(data), "--work", str(work), "--part", part])
        parts[part] = json.loads(out.strip().splitlines()[-1])
    return {
        "passages": built["passages"],
        "encoded": "for real" if real else "random vectors",
        "build_seconds": round(build_seconds, 1),
        "refresh_seconds": round(refresh_seconds, 2),
        **parts["warm"],
        "peak_mb": {"build": round(build_peak / 1e6), "refresh": round(refresh_peak / 1e6), **parts["search_alone"],
                    **parts["script_alone"]},
        "disk_mb": round(disk / 1e6),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/growth"))
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 10_000, 50_000, 100_000])
    parser.add_argument("--real", type=int, default=10_000)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        globals()[options.part](options.data, options.work / "index")
        return
    texts = paragraph_texts(options.data, max(options.sizes))
    rows = []
    for size in options.sizes:
        rows.append(measure(texts[:size], options.data, options.work / str(size), size <= options.real))
        print(json.dumps(rows[-1]), flush=True)
    report("speed/growth", {"collections": rows})


if __name__ == "__main__":
    main()
