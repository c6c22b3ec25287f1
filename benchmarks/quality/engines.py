"""Does a Milvus server find the same as an index's own folder? SQuAD dev's paragraphs, in both.

Run:  milvus-lite server --host 127.0.0.1 --data-dir runs/milvus
      OREQA_PRECISION=f32 python benchmarks/quality/engines.py --data ../shared/data --work runs/engines \
          --engine milvus:http://127.0.0.1:19530

The index is copied to the server, and the same batches of questions are asked of both. In so small an index the folder
scores every sentence, the server only the candidates that it finds, so the first ten may differ.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from oreqa import Document, Index, copy_index, index_documents
from oreqa.core import UNITS, Hit, Unit
from oreqa.provenance import commit, data_hash

sys.path.append(str(Path(__file__).parents[1]))
from common import report, squad
from support.asking import OURS

BATCH = 100


def searched(index: Index, questions: Sequence[str], unit: Unit) -> Iterator[list[Hit]]:
    for start in range(0, len(questions), BATCH):
        yield from index.search(questions[start : start + BATCH], 10, unit=unit)


def compared(ours: Sequence[Sequence[Hit]], theirs: Sequence[Sequence[Hit]]) -> dict[str, float]:
    """Return in how many rankings the first hit, and all hits in order, are the same, and the largest score difference."""
    pairs = list(zip(ours, theirs, strict=True))
    ids = [[[hit.sentence_id for hit in ranking] for ranking in pair] for pair in pairs]
    differences = [
        abs(value - other.scores[name])
        for mine, served in pairs
        for hit in mine
        for other in served
        if hit.sentence_id == other.sentence_id
        for name, value in hit.scores.items()
    ]
    return {
        "same_top_1": sum(mine[:1] == served[:1] for mine, served in ids),
        "same_top_10": sum(mine == served for mine, served in ids),
        "largest_difference": max(differences, default=0.0),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="the index is kept here; its copy on the server is not")
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--engine", required=True, help="milvus:URI of a server that runs")
    options = parser.parse_args()
    paragraphs = squad(options.data)
    local = options.work / "local"
    index_documents(local, [Document(str(n), p.title, p.text) for n, p in enumerate(paragraphs)])
    questions = sorted({question.text for paragraph in paragraphs for question in paragraph.questions})
    sampled = random.Random(0).sample(questions, options.questions)
    copy_index(local, options.work / "served", options.engine)
    units: dict[str, dict[str, float]] = {}
    with Index.open(local) as mine, Index.open(options.work / "served") as served:
        for unit in UNITS:
            units[unit] = compared(*([*searched(index, sampled, unit)] for index in (mine, served)))
    squad_file = options.data / "squad" / "squad-v1.1-dev.json.gz"
    head = {"commit": commit(OURS), "data_sha256": data_hash([squad_file]), "passages": len(paragraphs)}
    report("capacity/engines", {**head, "questions": len(sampled), **units})


if __name__ == "__main__":
    main()
