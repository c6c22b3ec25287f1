"""Real paragraphs of many sets, for indexes of any size."""

from __future__ import annotations

import sys
from pathlib import Path

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
    """``count`` texts of 200 to 1,000 characters, SQuAD dev's paragraphs first; from 22,894 on with a number in front."""
    texts = [paragraph.text for paragraph in squad(data)]
    texts += [p.text for name in TEXTS for p in load_squad(data / "extractive" / f"{name}.json.gz")]
    texts = [text for text in dict.fromkeys(texts) if 200 <= len(text) <= 1000]
    return [
        text if n < len(texts) else f"Number {n}. {text}" for n, text in ((n, texts[n % len(texts)]) for n in range(count))
    ]
