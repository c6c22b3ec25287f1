"""Passages encoded a second, against SentenceTransformer.encode at its defaults, on the same texts in one run.

Run:  python benchmarks/speed/encode.py --data ../shared/data      (needs the train extra)
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from oreqa.datasets.reqa import build_reqa
from oreqa.models.encoder.encoder import Encoder

sys.path.append(str(Path(__file__).parents[1]))
from common import paired, report, squad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    paragraphs = squad(options.data)
    ours = Encoder("all-minilm-l6-v2")
    theirs = SentenceTransformer(str(ours.folder.path), device="cpu")
    sentences = [s.text for p in build_reqa(paragraphs).passages for s in p.sentences]
    result: dict[str, dict[str, float]] = {}
    for name, texts in (("paragraphs", [p.text for p in paragraphs]), ("sentences", sentences)):
        vectors: dict[str, NDArray[Any]] = {}

        def run_ours(texts: list[str] = texts, vectors: dict[str, NDArray[Any]] = vectors) -> float:
            begun = time.perf_counter()
            vectors["ours"] = ours.encode(texts)
            return time.perf_counter() - begun

        def run_theirs(texts: list[str] = texts, vectors: dict[str, NDArray[Any]] = vectors) -> float:
            begun = time.perf_counter()
            vectors["theirs"] = theirs.encode(texts)
            return time.perf_counter() - begun

        ours.encode(texts[:64])
        theirs.encode(texts[:64])
        figures = paired(run_ours, run_theirs, options.rounds)
        cosine = (vectors["ours"] * vectors["theirs"]).sum(1)
        exact = Encoder("all-minilm-l6-v2", precision="f32")
        same = (exact.encode(texts[:200]) * vectors["theirs"][:200]).sum(1)
        result[name] = {
            "texts": len(texts),
            **figures,
            "ours_per_second": round(len(texts) / figures["ours_median"], 1),
            "theirs_per_second": round(len(texts) / figures["theirs_median"], 1),
            "cosine_min": round(float(cosine.min()), 5),
            "cosine_mean": round(float(cosine.mean()), 5),
            "cosine_min_f32": round(float(same.min()), 6),
        }
    report("speed/encode", result)


if __name__ == "__main__":
    main()
