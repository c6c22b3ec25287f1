"""Draw the plot at the top of each page of results from the raw figures under results/.

    python benchmarks/plots.py

The same figures give the same bytes. Published figures that are in no file of results/ are given with their plots, with
sources.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from matplotlib.axes import Axes
from support.charts import svg
from support.paper_charts import (
    added_in_turn,
    candidates,
    kernels,
    pretraining,
    published_gains,
    reading,
    reranking,
    separations,
    shared_errors,
    silver_pairs,
    spans,
    teaching,
)
from support.program_charts import (
    adaptation,
    architectures,
    blocks,
    capacity,
    confidence,
    documents,
    factors,
    faults,
    files,
    follow_ups,
    retrieval,
    retriever,
    serving,
    speed,
)

IMAGES = Path(__file__).parent.parent / "docs" / "images"

PLOTS: dict[str, tuple[Callable[[Axes], None], float]] = {
    "fusion": (retrieval, 3.2),
    "augmentation": (reranking, 2.8),
    "silver": (silver_pairs, 3.2),
    "reconsider": (reading, 3.0),
    "spans": (spans, 4.2),
    "confidence": (confidence, 3.6),
    "generator": (candidates, 3.2),
    "proqa": (pretraining, 3.2),
    "endx": (teaching, 6.0),
    "kernels": (kernels, 3.2),
    "geometry": (separations, 4.0),
    "adapt": (adaptation, 2.6),
    "retriever": (retriever, 3.3),
    "documents": (documents, 4.2),
    "blocks": (blocks, 3.0),
    "files": (files, 4.4),
    "speed": (speed, 4.4),
    "models": (architectures, 4.4),
    "lora": (factors, 2.0),
    "faults": (faults, 5.4),
    "capacity": (capacity, 2.0),
    "serving": (serving, 2.4),
    "chat": (follow_ups, 1.8),
    "papers": (published_gains, 4.0),
    "openqa": (shared_errors, 2.8),
    "unlabelled": (added_in_turn, 3.2),
}


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    for name, (draw, height) in PLOTS.items():
        (IMAGES / f"{name}.svg").write_text(svg(draw, height), encoding="utf-8")


if __name__ == "__main__":
    main()
