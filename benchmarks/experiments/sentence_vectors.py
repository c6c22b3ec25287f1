"""What a sentence's vector should be the mean of: the sentence read alone, or its tokens as read inside the passage.

Run:  python benchmarks/experiments/sentence_vectors.py --data ../shared/data

Dense retrieval of the answer sentence, cosine of the sentence plus a share of the passage's cosine (the best share of a grid
is taken for each, which favours neither), on sets that are not SQuAD dev. `titled` reads the title before the passage.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

import numpy as np

from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.reqa import build_reqa
from oreqa.evaluation.metrics import gold_ranks
from oreqa.models.encoder.encoder import Encoder

sys.path.append(str(Path(__file__).parents[1]))
from common import report

SETS = ("covidqa-passages", "timeqa-human")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=1000)
    options = parser.parse_args()
    encoder = Encoder.load("all-minilm-l6-v2")
    result = {}
    for name in SETS:
        task = build_reqa(load_paragraphs(options.data / "extractive" / f"{name}.json.gz"))
        chosen = random.Random(0).sample(range(len(task.questions)), min(options.questions, len(task.questions)))
        questions = encoder.encode([task.questions[i] for i in chosen])
        owner = np.array([n for n, p in enumerate(task.passages) for _ in p.sentences])
        spans = [[(s.start, s.end) for s in p.sentences] for p in task.passages]
        title = ["" if name.startswith("covid") else p.title for p in task.passages]
        plain = encoder.encode_passages([("", p.text, s) for p, s in zip(task.passages, spans, strict=True)])
        titled = encoder.encode_passages([(t, p.text, s) for t, p, s in zip(title, task.passages, spans, strict=True)])
        alone = encoder.encode([s.text for p in task.passages for s in p.sentences])
        kinds = {
            "alone": (alone, np.stack([rows[0] for rows in plain])),
            "in context": (np.concatenate([rows[1:] for rows in plain]), np.stack([rows[0] for rows in plain])),
            "in context, titled": (np.concatenate([rows[1:] for rows in titled]), np.stack([rows[0] for rows in titled])),
        }
        found = {}
        for kind, (sentences, passages) in kinds.items():
            best = 0.0
            for share in (0, 0.3, 0.5, 0.7, 1.0):
                total = 0.0
                for place, question in enumerate(questions):
                    scores = sentences @ question + share * (passages @ question)[owner]
                    total += 1 / gold_ranks(scores, task.gold[chosen[place]])[0]
                best = max(best, 100 * total / len(chosen))
            found[kind] = round(best, 2)
        result[name] = found
        print(name, found, flush=True)
    result["mean"] = {kind: round(float(np.mean([row[kind] for row in result.values()])), 2) for kind in result[SETS[0]]}
    report("sentence_vectors", result)


if __name__ == "__main__":
    main()
