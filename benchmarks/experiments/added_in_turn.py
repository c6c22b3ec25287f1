"""Own documents without a label: what each method gains when it is added to those before it.

Run:  OREQA_PRECISION=f32 python benchmarks/experiments/added_in_turn.py nq --data ../shared/data --work runs/added
      and the same with covidqa, medquad

Questions are generated from the documents alone, and MiniLM learns from them: in batches at random; in batches from
clusters of passages (Xiong et al. 2021); with silver pairs, which the classifier finds among the sentences that MiniLM
retrieves (Yang et al. 2021); with a cross-encoder beside it whose geometry it is taught (Wang et al. 2021). What people
asked about the documents is only measured on: the rank of the first right sentence among those of all documents, by vectors
alone. MedQuAD's candidates are whole documents. Last, minilm-reader reads the passages of the first sentences for some of
the questions, and the classifier scores its spans, marked in their passages, as a re-ranker does (Iyer et al. 2021): the
sentences of the spans come first, in the order of the reader or in that of the classifier.

The generator, the classifier and the reader are those that come with oreqa, and learned from people's questions about other
documents. --work keeps what was made and measured, in a folder per collection and settings, which runs with other --seeds
share. All is computed in float32 with OREQA_PRECISION=f32.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_rel

from oreqa.arrays import Floats
from oreqa.core import Passage
from oreqa.corpus.splitter import passage_head, sentence_at
from oreqa.datasets.beir import load_beir
from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.pairs import Candidate, Pair, load_pairs, pair_row, passage_pairs
from oreqa.datasets.paragraphs import Paragraph, save_squad, split_articles
from oreqa.datasets.reqa import ReqaTask, beir_task, build_reqa
from oreqa.defaults import BASE_ENCODER, DEFAULT_CLASSIFIER, DEFAULT_GENERATOR, DEFAULT_READER
from oreqa.evaluation.metrics import gold_ranks, paired_difference
from oreqa.files import read_json, write_json, write_jsonl
from oreqa.generation import generate_questions
from oreqa.index.passages import index_passages
from oreqa.index.store import Settings
from oreqa.mining.silver import MinedQuestion, score_silver
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.encoder.folder import read_encoder_folder
from oreqa.models.graph.cache import cached_fingerprint
from oreqa.models.model import load_session
from oreqa.models.names import find_model
from oreqa.models.reader.reader import Reader
from oreqa.provenance import data_hash
from oreqa.training import train_model

sys.path.append(str(Path(__file__).parents[1]))
from common import kept_folder, mean_and_deviation, report

RECIPE = Path(__file__).parents[2] / "recipes" / "small" / "endx-bert.toml"
MEAN = ("pooling=mean", "hops=", "joining=", "context=none", "optimiser.batch=32", "optimiser.precision=f32")
NO_TEACHER = ("alignment=", "optimiser.head_learning_rate=")
COLLECTIONS = {
    "nq": "extractive/qed-nq-train.json.gz",
    "covidqa": "extractive/covidqa-passages.json.gz",
    "medquad": "retrieval/medquad",
}
SYSTEMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "generated": ("pairs", ("batches=distinct", *NO_TEACHER)),
    "+ clusters": ("pairs", ("batches=clusters", *NO_TEACHER)),
    "+ silver pairs": ("silver", ("batches=clusters", *NO_TEACHER)),
    "+ alignment": ("silver", ("batches=clusters",)),
}
"""Name -> the pairs that are learned from, and settings of the recipe."""
BEFORE, LAST, READ, RERANKED = "before", "+ alignment", "read", "read, + span re-ranking"
DEPTH = 5
"""Sentences whose passages are read, and spans that are put in order."""


def load_collection(data: Path, name: str, candidates: int) -> tuple[ReqaTask, list[Paragraph]]:
    """Return a task of at most ``candidates`` candidates, and its documents without their questions."""
    draw = random.Random(0).sample
    if name == "medquad":
        beir = load_beir(data / COLLECTIONS[name], "test")
        titles = {entry.id: entry.title for entry in beir.corpus}
        subjects = sorted({titles[document] for grades in beir.qrels.values() for document in grades})
        parts: list[Any] = draw(subjects, len(subjects))
    else:
        paragraphs = load_paragraphs(data / COLLECTIONS[name])
        paragraphs = split_articles(paragraphs)[True] if name == "nq" else paragraphs
        parts = draw(paragraphs, len(paragraphs))
    for count in range(len(parts), 0, -5):
        if name == "medquad":
            chosen = {q: grades for q, grades in beir.qrels.items() if {titles[d] for d in grades} <= set(parts[:count])}
            task = beir_task(replace(beir, qrels=chosen))
        else:
            task = build_reqa(parts[:count])
        if task.candidates <= candidates:
            break
    return task, [Paragraph(passage.title, passage.text, ()) for passage in task.passages]


def generate_pairs(documents: Sequence[Paragraph], work: Path, answers: int, count: int, whole: bool) -> Path:
    """Write at most ``count`` questions about the documents, each with its sentence or, if ``whole``, with its document."""
    file, drafts, source = work / "pairs.jsonl", work / "generated.jsonl", work / "documents.json"
    if not file.is_file():
        save_squad(source, documents)
        if not drafts.is_file():  # an interrupted generation resumes
            generate_questions(
                drafts, data=source, answers=answers, styles=["search"], decoding="greedy", round_trip=0, min_probability=0.9
            )
        pairs = list(load_pairs(drafts))
        pairs = passage_pairs(pairs) if whole else pairs
        chosen = sorted(random.Random(0).sample(range(len(pairs)), min(count, len(pairs))))
        write_jsonl(file, (pair_row(pairs[number]) for number in chosen))
    return file


def mine(task: ReqaTask, pairs: Path, work: Path) -> Path:
    """Write the generated pairs as gold, and the retrieved sentences that the classifier takes for answers as silver."""
    file = work / "silver.jsonl"
    if not file.is_file():
        golds: dict[str, list[Candidate]] = {}
        for pair in load_pairs(pairs):
            golds.setdefault(pair.question, []).append(pair.positive)
        questions = [MinedQuestion(text, tuple(of_question)) for text, of_question in golds.items()]
        with index_passages(work / "index", task.passages, Settings(model=BASE_ENCODER)) as index:
            score_silver(questions, index, CrossEncoder(DEFAULT_CLASSIFIER), file)
    return file


def backbone(max_tokens: int) -> Encoder:
    """Return MiniLM before any training; like the trained encoders it reads sentences alone, up to ``max_tokens``."""
    folder = replace(read_encoder_folder(find_model(BASE_ENCODER)), context="none", max_tokens=max_tokens)
    return Encoder.of(folder, load_session("encoder", folder, cached_fingerprint(folder.path), "cpu", "f32"))


def scores_of(task: ReqaTask, encoder: Encoder) -> Floats:
    """Return the inner product of each question with each candidate, ``[questions, candidates]``."""
    vectors = encoder.encode([sentence.text for passage in task.passages for sentence in passage.sentences])
    scores: Floats = encoder.encode(list(task.questions)) @ vectors.T
    return scores


def span_orders(task: ReqaTask, numbers: Sequence[int], scores: Floats) -> dict[str, list[float]]:
    """Return the rank of the first right candidate for some questions: as retrieved, and with the candidates that hold a
    span first, in the order of the reader or of the classifier."""
    owners = [(passage, sentence) for passage in task.passages for sentence in passage.sentences]
    places = {(id(passage), sentence.start): place for place, (passage, sentence) in enumerate(owners)}
    retrieved = [np.argsort(-scores[number], kind="stable") for number in numbers]
    texts = [task.questions[number] for number in numbers]
    read: list[list[Passage]] = [
        list({id(p): p for p in (owners[c][0] for c in order[:DEPTH])}.values()) for order in retrieved
    ]
    readings = Reader(DEFAULT_READER).read(
        texts, [[(_head(p), p.text) for p in of_question] for of_question in read], k=DEPTH
    )
    spans = [
        sorted(of_question, key=lambda span: -span.scores["span"] - span.scores["passage_logit"])[:DEPTH]
        for of_question in readings
    ]
    candidates = [
        [Candidate(s.text, passages[s.passage_number].text, _head(passages[s.passage_number]), s.start) for s in of_question]
        for of_question, passages in zip(spans, read, strict=True)
    ]
    logits = CrossEncoder(DEFAULT_CLASSIFIER).score(texts, candidates)
    ranks: dict[str, list[float]] = {"retrieved": [], READ: [], RERANKED: []}
    for number, order, of_question, passages, again in zip(numbers, retrieved, spans, read, logits, strict=True):
        moved = []
        for span in of_question:
            passage = passages[span.passage_number]
            start = passage.sentences[sentence_at(passage, span.start)].start
            moved.append(places[id(passage), start])
        orders = {"retrieved": [], READ: moved, RERANKED: [moved[n] for n in np.argsort(-again, kind="stable")]}
        for name, first in orders.items():
            whole = list(dict.fromkeys([*first, *order.tolist()]))
            ranks[name].append(1.0 + min(whole.index(gold) for gold in task.gold[number]))
    return ranks


def _head(passage: Passage) -> str:
    return passage_head(passage.title, passage.heading)


def measure(task: ReqaTask, encoder: Encoder, file: Path, read: int) -> dict[str, list[float]]:
    """Return the ranks of the first right candidate: by vectors for all questions, and with ``read`` of them read. Kept."""
    if not file.is_file():
        scores = scores_of(task, encoder)
        ranks = {"all": [gold_ranks(row, gold)[0] for row, gold in zip(scores, task.gold, strict=True)]}
        if read:
            numbers = sorted(random.Random(0).sample(range(len(task.questions)), min(read, len(task.questions))))
            ranks |= span_orders(task, numbers, scores)
        write_json(file, ranks)
    kept: dict[str, list[float]] = read_json(file)
    return kept


def mrr(ranks: Sequence[float]) -> float:
    return round(100 * float(np.mean(1 / np.array(ranks))), 2)


def compare(runs: dict[str, list[list[float]]], one: str, other: str) -> dict[str, Any]:
    """Return what the second gains on the first: over questions (means over the seeds of both), and p of a paired t-test
    over seeds, which is None for one seed and where all seeds gain the same."""
    theirs, ours = (np.mean([1 / np.array(run) for run in runs[name]], axis=0).tolist() for name in (one, other))
    values = [[mrr(run) for run in runs[name]] for name in (one, other)]
    differ = float(np.ptp(np.array(values[1]) - np.array(values[0]))) > 1e-6
    p = float(ttest_rel(*values).pvalue) if differ else None
    return asdict(paired_difference(theirs, ours, 0)) | {"p_over_seeds": p}


def folder_of(options: argparse.Namespace) -> Path:
    """Return the part of --work for a collection and all settings on which its trainings and ranks depend."""
    shared = ("data", "work", "seeds")
    settings = [(name, value) for name, value in sorted(vars(options).items()) if name not in shared]
    files = data_hash([options.data / COLLECTIONS[options.collection]])
    models = BASE_ENCODER, DEFAULT_GENERATOR, DEFAULT_CLASSIFIER, DEFAULT_READER
    return kept_folder(options.work, *models, settings=[files, *settings])


def count_silver(pairs: Sequence[Pair]) -> dict[str, int]:
    sources = [pair.source for pair in pairs]
    return {source: sources.count(source) for source in ("gold", "silver")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", choices=COLLECTIONS)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=400, help="generated pairs that are learned from")
    parser.add_argument("--answers", type=int, default=5, help="answers that are asked about in each document")
    parser.add_argument("--candidates", type=int, default=1500, help="sentences, or MedQuAD's documents, at most")
    parser.add_argument("--read", type=int, default=200, help="questions whose passages are read")
    parser.add_argument("--max-tokens", type=int, default=128, help="tokens of a sentence, or of MedQuAD's documents")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--set", action="append", default=["epochs=2"], help="a setting of the recipe, for all trainings")
    options = parser.parse_args()
    shared = [*MEAN, f"max_tokens={options.max_tokens}", *options.set]
    work = folder_of(options)
    task, documents = load_collection(options.data, options.collection, options.candidates)
    whole = options.collection == "medquad"
    files = {"pairs": generate_pairs(documents, work, options.answers, options.pairs, whole)}
    files["silver"] = mine(task, files["pairs"], work)
    before = measure(task, backbone(options.max_tokens), work / "before.json", 0)["all"]
    runs: dict[str, list[list[float]]] = {BEFORE: [before] * options.seeds}
    steps: dict[str, int] = {}
    commits: dict[str, str] = {}
    for seed in range(options.seeds):
        for system, (data, settings) in SYSTEMS.items():
            out = work / f"{system.replace('+ ', '').replace(' ', '-')}-{seed}"
            if not (out / "run.json").is_file():
                changes = [f'data=["{files[data].absolute()}"]', f"seed={seed}", *shared, *settings]
                train_model("retriever", RECIPE, out, changes)
            record = read_json(out / "run.json")
            steps[system], commits[out.name] = record["steps"], record["commit"]
            read = options.read if system == LAST else 0
            ranks = measure(task, Encoder(out, precision="f32"), work / f"{out.name}-ranks.json", read)
            for name, of_name in ranks.items():
                runs.setdefault(system if name == "all" else name, []).append(of_name)
            print(system, seed, {name: mrr(of_name) for name, of_name in ranks.items()}, flush=True)
    order = [name for name in (BEFORE, *SYSTEMS) if name in runs]
    gains = {f"{b} over {a}": compare(runs, a, b) for a, b in pairwise(order)}
    gains |= {f"{name} over {BEFORE}": compare(runs, BEFORE, name) for name in order[2:]}
    gains |= {f"{b} over {a}": compare(runs, a, b) for a, b in (("retrieved", READ), (READ, RERANKED)) if RERANKED in runs}
    counts = {"documents": len(documents), "candidates": task.candidates, "asked": len(task.questions)}
    learned = count_silver(list(load_pairs(files["silver"]))) | {"steps": steps, "pairs_sha256": data_hash([files["pairs"]])}
    rows = {name: [*mean_and_deviation(values), values] for name, values in
            ((name, [mrr(run) for run in of_name]) for name, of_name in runs.items())}  # fmt: skip
    chosen = {name: value for name, value in vars(options).items() if name not in ("collection", "data", "work", "set")}
    sizes = {**counts, **learned, "options": chosen, "settings": shared, "trained at": commits}
    report(f"unlabelled/{options.collection}", {**sizes, "mrr": rows, "gains": gains})


if __name__ == "__main__":
    main()
