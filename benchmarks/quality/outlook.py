"""What `oreqa adapt` predicts for an encoder that is not the default one, on two collections.

Run:  python benchmarks/quality/outlook.py medquad --data ../shared/data --work runs/outlook [--encoder MODEL]

The documents are indexed without their questions; for MedQuAD they are 3,000: the answers to its dev questions and
others. Every stage resumes when the command is run again.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from oreqa import Document, Index, index_documents
from oreqa.adaptation.outlook import foresee
from oreqa.adaptation.report import Gain
from oreqa.adaptation.work import Work
from oreqa.datasets.beir import load_beir
from oreqa.datasets.paragraphs import load_squad
from oreqa.defaults import BASE_ENCODER, DEFAULT_GENERATOR
from oreqa.evaluation.metrics import paired_difference
from oreqa.index.generations import newest_generation
from oreqa.progress import no_progress

sys.path.append(str(Path(__file__).parents[1]))
from common import report

SEED, MEDQUAD_DOCUMENTS = 0, 3000
COVIDQA = "covidqa-passages", "covidqa-more-passages"


def medquad(data: Path) -> list[Document]:
    beir = load_beir(data / "retrieval" / "medquad", "dev")
    answers = {document for right in beir.qrels.values() for document in right}
    others = [entry.id for entry in beir.corpus if entry.id not in answers]
    kept = answers.union(random.Random(SEED).sample(others, MEDQUAD_DOCUMENTS - len(answers)))
    return [Document(entry.id, entry.title, entry.text) for entry in beir.corpus if entry.id in kept]


def covidqa(data: Path) -> list[Document]:
    paragraphs = chain.from_iterable(load_squad(data / "extractive" / f"{file}.json.gz") for file in COVIDQA)
    texts = dict.fromkeys(paragraph.text for paragraph in paragraphs)  # their titles are placeholders
    return [Document(str(number), "", text) for number, text in enumerate(texts)]


COLLECTIONS = {"medquad": medquad, "covidqa": covidqa}


def measure(documents: list[Document], work: Path, encoder: str) -> dict[str, Any]:
    base, paths = work / "index", Work(work / "adapted" / "1")
    if newest_generation(base) is None:
        index_documents(base, documents, model=encoder)
    paths.folder.mkdir(parents=True, exist_ok=True)
    compare = partial(Gain.from_questions, seed=SEED, significance=paired_difference)
    with Index.open(base) as index:
        outlook = foresee(paths, index, {"generator": DEFAULT_GENERATOR, "seed": SEED}, compare, "cpu", no_progress)
        return {"encoder": encoder, **index.counts(), "outlook": asdict(outlook)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", choices=COLLECTIONS)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="indexes are kept here")
    parser.add_argument("--encoder", default=BASE_ENCODER)
    options = parser.parse_args()
    name = f"{options.collection}-{options.encoder.replace('/', '-')}"
    documents = COLLECTIONS[options.collection](options.data)
    report(f"adapt/outlook-{name}", measure(documents, options.work / name, options.encoder))


if __name__ == "__main__":
    main()
