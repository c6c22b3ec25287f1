"""Real texts of many sets, for indexes of any size."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from oreqa import Document
from oreqa.datasets.beir import load_corpus
from oreqa.datasets.paragraphs import load_squad

sys.path.append(str(Path(__file__).parents[1]))
from common import squad

TEXTS = (
    "squad-train-pieces",
    "squad-train-more",
    "qed-nq-train",
    "afriqa-en",
    "fairytaleqa",
    "timeqa-human",
    "multihop-hotpot-2wiki",
    "covidqa-passages",
    "nq-short-sample",
)


def paragraph_texts(data: Path, count: int) -> list[str]:
    """Return ``count`` texts of 200 to 1,000 characters, SQuAD dev's paragraphs first; numbered in front from 22,894 on."""
    texts = [paragraph.text for paragraph in squad(data)]
    texts += [p.text for name in TEXTS for p in load_squad(data / "extractive" / f"{name}.json.gz")]
    texts = [text for text in dict.fromkeys(texts) if 200 <= len(text) <= 1000]
    return [
        text if n < len(texts) else f"Number {n}. {text}" for n, text in ((n, texts[n % len(texts)]) for n in range(count))
    ]


def real_documents(data: Path) -> list[Document]:
    """Return some 100,000 distinct texts, most of one sentence: SQuAD dev's paragraphs, sentences of Wikipedia that answer
    questions of two sets, and the Debian archive's descriptions of its packages."""
    documents = [Document(f"squad {n}", p.title.replace("_", " "), p.text) for n, p in enumerate(squad(data))]
    for name in ("qed-nq-sentence", "selqa"):
        documents += [Document(f"{name} {e.id}", e.title, e.text) for e in load_corpus(data / "retrieval" / name)]
    documents += [Document(f"package {name}", name, text) for name, text in _packages()]
    return list({document.text: document for document in reversed(documents)}.values())[::-1]


def _packages() -> Iterator[tuple[str, str]]:
    """Yield the packages of the Debian archive with their one-line descriptions."""
    rows = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True, text=True).stdout.splitlines()
    name = ""
    for key, _, value in (row.partition(": ") for row in rows):
        if key == "Package":
            name = value
        elif key == "Description":
            yield name, value
