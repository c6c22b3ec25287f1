"""Dual encoders compared with full cross-attention over every pair of question and sentence: accuracy, time per question.

Run:  python benchmarks/experiments/full_attention.py --data ../shared/data \\
          --model MiniLM=all-minilm-l6-v2 --model ENDX=runs/endx

As in Table 6 of Wang et al. (2021), the questions are those of 27 passages of ReQA SQuAD dev, drawn by --seed, and
their sentences are the candidates (here these are paragraphs, with about 130 questions; the paper has 500 pairs). The
classifier reads each question with each sentence in its passage, as oreqa search --rerank does with a few. Times are CPU
times of one question at a time, with models loaded, in float32.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.pairs import Candidate
from oreqa.datasets.reqa import ReqaTask, build_reqa, load_boundaries
from oreqa.defaults import DEFAULT_CLASSIFIER
from oreqa.evaluation.metrics import gold_ranks, mean_metrics, question_metrics
from oreqa.index.encodings import encoder_input
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.encoder.encoder import Encoder

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.pair_vectors import named_model

Score = Callable[[str], NDArray[np.float32]]
"""Returns the scores of all candidates for a question."""


def draw_task(task: ReqaTask, passages: int, seed: int) -> ReqaTask:
    """Return a task with the questions of some passages, and only these passages."""
    first = np.cumsum([0, *(len(passage.sentences) for passage in task.passages)])
    owner = np.repeat(np.arange(len(task.passages)), np.diff(first))
    kept = sorted(random.Random(seed).sample(range(len(task.passages)), passages))
    places = {int(old): new for new, old in enumerate(np.flatnonzero(np.isin(owner, kept)))}
    asked = [number for number, gold in enumerate(task.gold) if all(candidate in places for candidate in gold)]
    return ReqaTask(
        tuple(task.passages[number] for number in kept),
        tuple(task.questions[number] for number in asked),
        tuple(tuple(places[candidate] for candidate in task.gold[number]) for number in asked),
    )


def by_vectors(task: ReqaTask, model: str) -> Score:
    encoder = Encoder(model, precision="f32")
    vectors = np.concatenate([rows[1:] for rows in encoder.encode_passages([encoder_input(p) for p in task.passages])])
    return lambda question: vectors @ encoder.encode(question)


def by_attention(task: ReqaTask, classifier: str) -> Score:
    model = CrossEncoder(classifier, precision="f32")
    sentences = [
        Candidate(sentence.text, passage.text, passage.title, sentence.start - passage.start)
        for passage in task.passages
        for sentence in passage.sentences
    ]
    return lambda question: model.score(question, sentences)


def measure(task: ReqaTask, score: Score) -> dict[str, float]:
    score(task.questions[0])  # warm
    begin = time.process_time()
    scores = [score(question) for question in task.questions]
    seconds = time.process_time() - begin
    ranks = [question_metrics(gold_ranks(row, gold)) for row, gold in zip(scores, task.gold, strict=True)]
    metrics = mean_metrics(ranks)
    return {name: metrics[name] for name in ("mrr", "r@1", "r@5")} | {"ms": round(1000 * seconds / len(scores), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=named_model, action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--classifier", default=DEFAULT_CLASSIFIER)
    parser.add_argument("--passages", type=int, default=27)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    squad = arguments.data / "squad"
    boundaries = load_boundaries(squad / "reqa-squad-dev-sentences.jsonl.gz")
    task = draw_task(
        build_reqa(load_paragraphs(squad / "squad-v1.1-dev.json.gz"), boundaries), arguments.passages, arguments.seed
    )
    rows = {name: measure(task, by_vectors(task, place)) for name, place in arguments.model}
    rows["full cross-attention"] = measure(task, by_attention(task, arguments.classifier))
    counts = {"passages": len(task.passages), "questions": len(task.questions), "candidates": task.candidates}
    report("geometry/full_attention", {**counts, "rows": rows})


if __name__ == "__main__":
    main()
