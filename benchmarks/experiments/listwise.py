"""A classifier that learns on from its own hard negatives, listwise or pointwise: does it re-rank better?

Run:  python benchmarks/experiments/listwise.py --data ../shared/data --work runs/listwise          (needs the train extra)

Of the hybrid's twenty best sentences for a question about a training article, the seven that the classifier scores highest
are its negatives, but for those that hold an answer. A classifier learns on from each question's sentence and those seven,
once with each loss and otherwise alike. Each result, and its mean with the weights before, re-ranks the hybrid's twenty best
for questions about held-out articles. What --work holds is not done again.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.datasets.load import load_paragraphs, load_task
from oreqa.datasets.pairs import Candidate, Pair, pair_row, task_candidates
from oreqa.datasets.paragraphs import split_articles
from oreqa.datasets.questions import OpenQuestion
from oreqa.datasets.reqa import ReqaTask, build_reqa, draw_questions
from oreqa.defaults import DEFAULT_CLASSIFIER
from oreqa.evaluation.metrics import gold_ranks
from oreqa.evaluation.open_scores import has_answer
from oreqa.evaluation.significance import paired_difference
from oreqa.files import read_jsonl, write_jsonl
from oreqa.index.passages import index_passages, sentence_rows
from oreqa.mining.negatives import best_candidates
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.cross_encoder.reranking import rerank_scores
from oreqa.models.mixing import mix_weights
from oreqa.provenance import data_hash
from oreqa.training import train_model

sys.path.append(str(Path(__file__).parents[1]))
from common import report

RECIPE = Path(__file__).parents[2] / "recipes" / "small" / "classifier.toml"
DRAWN = {
    "squad-train-pieces": 1300,
    "squad-train-more": 600,
    "qed-nq-train": 1000,
    "afriqa-en": 500,
    "timeqa-human": 250,
    "fairytaleqa": 350,
}
ONE_IN = 2
"""One mined pair in so many is learned from: 250 steps, 40 minutes of a core."""

DEPTH, NEGATIVES = 20, 7
LOSSES = ("listwise_softmax", "cross_entropy")
LEARN_ON = [f"backbone={DEFAULT_CLASSIFIER}", "optimiser.learning_rate=5e-5", "optimiser.checkpoint_steps=50"]
DEV: dict[str, dict[str, Any]] = {
    "squad held out": {"path": "extractive/squad-train-pieces.json.gz", "held_out": True},
    "nq held out": {"path": "extractive/qed-nq-train.json.gz", "held_out": True},
    "afriqa held out": {"path": "extractive/afriqa-en.json.gz", "held_out": True},
    "selqa dev": {"path": "retrieval/selqa", "split": "dev"},
}
WEIGHTS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)


def answers(file: Path) -> dict[str, OpenQuestion]:
    """The answers of a file's training articles, by question."""
    texts: dict[str, set[str]] = {}
    for paragraph in split_articles(load_paragraphs(file))[0]:
        for question in paragraph.questions:
            texts.setdefault(question.text, set()).update(answer.text for answer in question.answers)
    return {text: OpenQuestion(text, text, tuple(sorted(golds))) for text, golds in texts.items()}


def mine(file: Path, count: int, classifier: CrossEncoder, place: Path) -> list[Pair]:
    """Pairs of ``count`` questions, each with the sentences that the classifier mistakes most for an answer."""
    whole = build_reqa(split_articles(load_paragraphs(file))[0])
    index = index_passages(place, whole.passages)
    task, gold_texts = draw_questions(whole, count, 0), answers(file)
    candidates = task_candidates(task)
    lists: list[list[Candidate]] = []
    for question, golds, best in zip(task.questions, task.gold, best_candidates(task, index, "hybrid", DEPTH), strict=True):
        texts = {candidates[gold].answer for gold in golds}
        others = dict.fromkeys(candidates[number] for number in best if candidates[number].answer not in texts)
        lists.append([other for other in others if not has_answer(other.answer, gold_texts[question])])
    scores = classifier.score(task.questions, lists)
    pairs = []
    for question, golds, rivals, logits in zip(task.questions, task.gold, lists, scores, strict=True):
        hardest = tuple(rivals[number] for number in np.argsort(-logits, kind="stable")[:NEGATIVES])
        if hardest:
            pairs.append(Pair(question, candidates[golds[0]], negatives=hardest))
    return pairs


def mine_all(data: Path, work: Path) -> list[Path]:
    files = [work / f"{name}-{count}.jsonl" for name, count in DRAWN.items()]
    classifier = None
    for (name, count), out in zip(DRAWN.items(), files, strict=True):
        if not out.is_file():
            classifier = classifier or CrossEncoder.load(DEFAULT_CLASSIFIER)
            pairs = mine(data / "extractive" / f"{name}.json.gz", count, classifier, work / f"{name}-index")
            write_jsonl(out, map(pair_row, pairs))
            print(f"{out}: {len(pairs)} pairs", flush=True)
    return files


def learned_from(files: list[Path], work: Path) -> Path:
    """One file of the pairs that are learned from."""
    out = work / "pairs.jsonl"
    if not out.is_file():
        write_jsonl(out, (row for file in files for place, (_, row) in enumerate(read_jsonl(file)) if place % ONE_IN == 0))
    return out


def train(pairs: Path, loss: str, work: Path) -> Path:
    """The classifier that has learned on with a loss. A batch is 64 sentences, either way."""
    out = work / loss
    if not (out / "run.json").is_file():
        batch = 64 if loss == "cross_entropy" else 64 // (NEGATIVES + 1)
        data = json.dumps([str(pairs.resolve())])
        train_model("classifier", RECIPE, out, [*LEARN_ON, f"data={data}", f"loss={loss}", f"optimiser.batch={batch}"])
    return out


def half(trained: Path) -> Path:
    """The mean of the weights before and after."""
    out = trained.with_name(f"{trained.name}-half")
    if not (out / "model.safetensors").is_file():
        mix_weights(trained, DEFAULT_CLASSIFIER, 0.5, out)
    return out


def re_ranks(task: ReqaTask, scores: list[Any], best: list[Any], logits: list[Any], weight: float) -> list[float]:
    """Each question's reciprocal rank."""
    again = [rerank_scores(s, places, of, weight) for s, places, of in zip(scores, best, logits, strict=True)]
    return [1 / gold_ranks(s, gold)[0] for s, gold in zip(again, task.gold, strict=True)]


def mean(values: list[float]) -> float:
    return round(100 * float(np.mean(values)), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=300, help="of each held-out set")
    parser.add_argument("--only", choices=("mine", *LOSSES), help="stop after one part")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    files = mine_all(options.data, options.work)
    if options.only == "mine":
        return
    pairs = learned_from(files, options.work)
    trained = [train(pairs, loss, options.work) for loss in LOSSES if options.only in (None, loss)]
    if options.only:
        return
    models: dict[str, str | Path] = {"before": DEFAULT_CLASSIFIER}
    for after in trained:
        models |= {after.name: after, f"{after.name}, half": half(after)}
    result: dict[str, Any] = {"drawn": DRAWN, "pairs_sha256": data_hash([pairs]), "questions": options.questions}
    for name, settings in DEV.items():
        whole = load_task(options.data / settings["path"], settings.get("split", "train"), settings.get("held_out", False))
        index = index_passages(options.work / f"{name.replace(' ', '-')}-index", whole.passages)
        task = draw_questions(whole, options.questions, 0)
        candidates = task_candidates(task)
        rows = sentence_rows(index, task.passages)
        scores = [of_question[rows] for of_question in index.score_all(task.questions)]
        best = [np.argsort(-of_question, kind="stable")[:DEPTH] for of_question in scores]
        before: dict[float, list[float]] = {}
        for model_name, model in models.items():
            classifier = CrossEncoder.load(model)
            logits = classifier.score(task.questions, [[candidates[place] for place in places] for places in best])
            ranks = {weight: re_ranks(task, scores, best, logits, weight) for weight in WEIGHTS}
            before = before or ranks
            row = {str(weight): mean(values) for weight, values in ranks.items()}
            gain = {str(weight): asdict(paired_difference(before[weight], ranks[weight], 0)) for weight in WEIGHTS}
            result.setdefault(name, {})[model_name] = {"mrr by weight": row, "gain": gain}
            print(name, model_name, row, flush=True)
    report("listwise", result)


if __name__ == "__main__":
    main()
