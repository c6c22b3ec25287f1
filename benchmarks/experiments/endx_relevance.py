"""What the cross-encoder of ENDX learns: does it find a question's answer in a batch better if the answer is the right one?

Run:  python benchmarks/experiments/endx_relevance.py --data ../shared/data --model gru=runs/gru   (needs the train extra)

The model is one that was trained with alignment.keep_cross. From held-out articles of SQuAD's training file, batches of 64
questions are drawn, no two about one sentence, and each question is paired with its answer, or with the next question's.
Measured is how often a question's vector is nearest to its right answer in either case, and how often to the wrong one that
it was paired with. The dual encoder sees question and answer apart; what the cross-encoder knows of pairs alone draws it
from the right answer to the one that it was paired with.
"""

from __future__ import annotations

import argparse
import random
import sys
from functools import partial
from pathlib import Path

import numpy as np

from oreqa.datasets.load import load_task
from oreqa.datasets.reqa import ReqaTask
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.encoder.folder import read_encoder_folder
from oreqa.models.folders import find_model
from oreqa.training.cross_side import load_cross

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.pair_vectors import Answer, cross_vectors, encoder_vectors, named_model

SQUAD = "extractive/squad-train-pieces.json.gz"
BATCH = 64


def draw_batches(task: ReqaTask, count: int) -> list[list[tuple[str, Answer]]]:
    """Batches of questions, each with one of its answers; no two of a batch have an answer in common."""
    places = [Answer(passage, number) for passage in task.passages for number in range(len(passage.sentences))]
    order = list(range(len(task.questions)))
    random.Random(0).shuffle(order)
    batches: list[list[tuple[str, Answer]]] = []
    batch: list[tuple[str, Answer]] = []
    taken: set[int] = set()
    for question in order:
        if taken.isdisjoint(task.gold[question]):
            batch.append((task.questions[question], places[task.gold[question][0]]))
            taken.update(task.gold[question])
        if len(batch) == BATCH:
            batches.append(batch)
            batch, taken = [], set()
    return batches[:count]


def nearest(questions: np.ndarray, answers: np.ndarray, shift: int = 0) -> float:
    """How often, in percent, a question's vector is nearest to the answer ``shift`` places before the one beside it."""
    return 100 * float(((questions @ answers.T).argmax(1) == (np.arange(len(questions)) - shift) % len(answers)).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=named_model, action="append", required=True, metavar="NAME=DIR")
    parser.add_argument("--batches", type=int, default=8)
    arguments = parser.parse_args()
    batches = draw_batches(load_task(arguments.data / SQUAD, held_out=True), arguments.batches)
    rows = {}
    for name, place in arguments.model:
        folder = find_model(place)
        encoder, cross = Encoder.load(folder, precision="f32"), load_cross(folder)
        measures: dict[str, list[float]] = {}
        for batch in batches:
            questions, answers = [[question] for question, _ in batch], [answer for _, answer in batch]
            shifted = [*answers[1:], answers[0]]
            for system, embed in (
                ("dual", partial(encoder_vectors, encoder)),
                ("cross", partial(cross_vectors, read_encoder_folder(folder), cross)),
            ):
                right, wrong = embed(questions, answers), embed(questions, shifted)
                measures.setdefault(f"{system}, paired right: right", []).append(nearest(*right))
                measures.setdefault(f"{system}, paired wrong: right", []).append(nearest(*wrong, shift=1))
                measures.setdefault(f"{system}, paired wrong: wrong", []).append(nearest(*wrong))
        rows[name] = {kind: round(float(np.mean(values)), 2) for kind, values in measures.items()}
        print(name, rows[name], flush=True)
    report("endx_relevance", {"batch": BATCH, "batches": len(batches), "accuracy": rows})


if __name__ == "__main__":
    main()
