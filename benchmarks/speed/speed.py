"""How fast is oreqa, compared with other software on the same work, in turn in one run?

Run:  python benchmarks/speed/speed.py encode --data ../shared/data

Figures are written to results/speed/NAME.json. encode, rerank, train and cold_ask need the train extra; train also needs
the package datasets. search and reading run Haystack, txtai and a transformers older than 5.3, which can still read, in
the Python given by --other.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.answering.answerer import PASSAGES_TOP_K
from oreqa.corpus.splitter import passage_head
from oreqa.datasets.load import load_training_pairs
from oreqa.datasets.pairs import Candidate, Pair, pair_row, task_candidates
from oreqa.datasets.paragraphs import whole_passages
from oreqa.datasets.reqa import build_reqa
from oreqa.defaults import BASE_ENCODER, DEFAULT_CLASSIFIER
from oreqa.evaluation.answers import exact_match
from oreqa.files import read_json, write_json, write_jsonl
from oreqa.index.passages import index_passages
from oreqa.index.store import Settings
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.names import find_model, find_tokenizer
from oreqa.models.reader.reader import Reader
from oreqa.models.weights import load_weights

sys.path.append(str(Path(__file__).parents[1]))
from common import Timed, cold, paired, process, report, squad, write_paragraph_files
from support.rivals import READ, READ_ONE, SCRIPT, SEARCH

OREQA = str(Path(sys.executable).parent / "oreqa")
SENTENCES = 50
QUESTION, ANSWER = "Which NFL team represented the AFC at Super Bowl 50?", "Denver Broncos"

Figures = dict[str, Any]


def encode(data: Path, rounds: int = 3) -> Figures:
    """Measure passages and sentences per second, compared with SentenceTransformer.encode at its defaults."""
    from sentence_transformers import SentenceTransformer

    paragraphs = squad(data)
    ours, exact = Encoder(BASE_ENCODER), Encoder(BASE_ENCODER, precision="f32")
    theirs = SentenceTransformer(str(find_model(BASE_ENCODER)), device="cpu")
    sentences = [s.text for p in build_reqa(paragraphs).passages for s in p.sentences]
    result: Figures = {}
    for name, texts in (("paragraphs", [p.text for p in paragraphs]), ("sentences", sentences)):
        run_ours, run_theirs = Timed(partial(ours.encode, texts)), Timed(partial(theirs.encode, texts))
        ours.encode(texts[:64])
        theirs.encode(texts[:64])
        figures = paired(run_ours, run_theirs, rounds)
        cosine = (run_ours.result * run_theirs.result).sum(1)
        same = (exact.encode(texts[:200]) * run_theirs.result[:200]).sum(1)
        result[name] = {"texts": len(texts), **figures, **_rates(len(texts), figures)} | {
            "cosine_min": round(float(cosine.min()), 5), "cosine_mean": round(float(cosine.mean()), 5),
            "cosine_min_f32": round(float(same.min()), 6),
        }  # fmt: skip
    return result


def cold_ask(data: Path, work: Path = Path("runs/cold"), rounds: int = 7) -> Figures:
    """Time a cold `oreqa ask --reader none`, compared with a script of sentence-transformers and FAISS."""
    import faiss
    from sentence_transformers import SentenceTransformer

    theirs, model, texts = work / "script", str(find_model(BASE_ENCODER)), [p.text for p in squad(data)]
    if not (theirs / "vectors.faiss").is_file():
        theirs.mkdir(parents=True, exist_ok=True)
        write_paragraph_files(squad(data), work / "texts")
        (theirs / "texts.json").write_text(json.dumps(texts))
        vectors = SentenceTransformer(model, device="cpu").encode(texts)
        flat = faiss.IndexFlatIP(vectors.shape[1])
        flat.add(vectors)
        faiss.write_index(flat, str(theirs / "vectors.faiss"))
    process([OREQA, "index", str(work / "texts"), "--index", str(work / "index")])
    ours = [OREQA, "ask", QUESTION, "--index", str(work / "index"), "--reader", "none"]
    script = [sys.executable, "-c", SCRIPT, str(theirs), model, QUESTION]
    return {"paragraphs": len(texts), **cold(ours, script, rounds, ANSWER)}


def rerank(data: Path, classifier: str = DEFAULT_CLASSIFIER, questions: int = 20, rounds: int = 3) -> Figures:
    """Re-rank fifty sentences per question, one question at a time, and CrossEncoder.predict with equal weights and
    inputs."""
    import sentence_transformers

    task = build_reqa(squad(data))
    candidates = task_candidates(task)
    sampled = task.questions[:: len(task.questions) // questions][:questions]
    rng = np.random.default_rng(0)
    lists = [[candidates[place] for place in rng.integers(0, len(candidates), SENTENCES)] for _ in sampled]
    with tempfile.TemporaryDirectory() as work:
        _save_whole(find_model(classifier), Path(work))
        ours, theirs = CrossEncoder(Path(work)), sentence_transformers.CrossEncoder(work, device="cpu")
        run_ours = Timed(lambda: [ours.score([q], [own])[0] for q, own in zip(sampled, lists, strict=True)])
        run_theirs = Timed(
            lambda: [theirs.predict([(q, c.answer) for c in own]) for q, own in zip(sampled, lists, strict=True)]
        )
        run_ours()
        run_theirs()
        figures = paired(run_ours, run_theirs, rounds)
    apart = np.abs(1 / (1 + np.exp(-np.concatenate(run_ours.result))) - np.concatenate(run_theirs.result))
    return {"questions": len(sampled), "sentences": SENTENCES, **figures, **_rates(SENTENCES * len(sampled), figures)} | {
        "probability_apart_mean": round(float(apart.mean()), 5), "probability_apart_max": round(float(apart.max()), 5),
    }  # fmt: skip


def _save_whole(classifier: Path, folder: Path) -> None:
    """Save the classifier as CrossEncoder loads it: whole weights, with its tokenizer, sentences shown alone."""
    from safetensors.numpy import save_file

    for file in find_tokenizer(classifier).parent.iterdir():
        if "token" in file.name or file.name == "vocab.txt":
            shutil.copy(file, folder)
    weights = {name: value for name, value in load_weights(classifier).items() if not name.startswith("qa_")}
    save_file(weights, folder / "model.safetensors")
    config = read_json(classifier / "config.json")
    config["oreqa"].pop("difference_from", None)
    config["oreqa"] |= {"marking": "alone", "max_tokens": 512}
    write_json(folder / "config.json", config)


def train(data: Path, steps: int = 12, batch: int = 32, rounds: int = 3) -> Figures:
    """Measure pairs per second in training a dual encoder, compared with MultipleNegativesRankingLoss on the same batches.

    "passages": both get (question, passage), each passage once. "sentences": several questions per passage; ours reads
    every passage of a batch once, theirs gets (question, passage), which costs it the same and teaches it less.
    """
    from oreqa.training.retriever.recipe import RetrieverRecipe
    from oreqa.training.retriever.train import train_retriever
    from oreqa.training.train import keep_freed_memory

    keep_freed_memory()  # as the command does, for both
    count, work = steps * batch, Path(tempfile.mkdtemp())
    gold = load_training_pairs(data / "extractive" / "squad-train-pieces.json.gz")
    one_each = {p.positive.context: p.question for p in gold}
    whole = [Pair(question, Candidate(context, context)) for context, question in one_each.items()]
    result: Figures = {}
    for name, pairs in (("passages", whole[:count]), ("sentences", gold[:count])):
        file = work / f"{name}.jsonl"
        write_jsonl(file, map(pair_row, pairs))
        settings = {"kind": "retriever", "data": [str(file)], "freeze_embeddings": False, "max_tokens": 256, "dropout": 0.1,
                    "optimiser": {"learning_rate": 5e-5, "batch": batch, "checkpoint_steps": 10**6}}  # fmt: skip
        recipe = RetrieverRecipe.model_validate(settings)

        def run_ours(recipe: RetrieverRecipe = recipe) -> float:
            return float(train_retriever(recipe, Path(tempfile.mkdtemp(dir=work)))["seconds"])

        def run_theirs(pairs: Sequence[Pair] = pairs) -> float:
            return _train_theirs(pairs, batch)

        run_theirs()
        figures = paired(run_ours, run_theirs, rounds)
        result[name] = {**figures, "pairs": count, **_rates(count, figures, 2)}
    return result


def _train_theirs(pairs: Sequence[Pair], batch: int) -> float:
    """Return the seconds of their training loop."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.losses import MultipleNegativesRankingLoss

    from oreqa.training.trainer import uses_bf16

    model = SentenceTransformer(str(find_model(BASE_ENCODER)), device="cpu")
    model.max_seq_length = 256
    rows = Dataset.from_list([{"anchor": p.question, "positive": p.positive.context} for p in pairs])
    arguments = SentenceTransformerTrainingArguments(
        output_dir=tempfile.mkdtemp(), num_train_epochs=1, per_device_train_batch_size=batch, learning_rate=5e-5,
        use_cpu=True, bf16=uses_bf16("auto"), save_strategy="no", report_to=[], disable_tqdm=True,
    )  # fmt: skip
    loss = MultipleNegativesRankingLoss(model, scale=100)
    trainer = SentenceTransformerTrainer(model=model, args=arguments, train_dataset=rows, loss=loss)
    return Timed(trainer.train)()


def update(data: Path, work: Path = Path("runs/update"), rounds: int = 3) -> Figures:
    """Refresh an index with one changed document, compared with a new build; documents are paragraphs or articles."""
    shutil.rmtree(work, ignore_errors=True)
    paragraphs, by_paragraph, by_article = squad(data), work / "paragraphs", work / "articles"
    write_paragraph_files(paragraphs, by_paragraph)
    by_article.mkdir(parents=True)
    for title, group in groupby(paragraphs, key=lambda p: p.title):
        (by_article / f"{title}.txt").write_text("\n\n".join(p.text for p in group))
    return {
        "a document a paragraph": _refresh(by_paragraph, work / "index-p", rounds),
        "a document an article": _refresh(by_article, work / "index-a", rounds),
    }


def _refresh(texts: Path, index: Path, rounds: int) -> Figures:
    command = [OREQA, "index", str(texts), "--index", str(index), "--json"]
    files = list(texts.rglob("*.txt"))
    for file in files:  # written a while ago, as a user's files were
        os.utime(file, (time.time() - 60, time.time() - 60))
    full, refresh = [], []
    for round_ in range(rounds):
        shutil.rmtree(index, ignore_errors=True)
        full.append(process(command)[0])
        files[0].write_text(f"{files[0].read_text()} Change number {round_}.")
        seconds, _, out = process(command)
        assert '"changed": 1' in out, out
        refresh.append(seconds)
    ratios = [a / b for a, b in zip(refresh, full, strict=True)]
    return {
        "documents": len(files), "rounds": rounds,
        "full_seconds": round(statistics.median(full), 3), "refresh_seconds": round(statistics.median(refresh), 3),
        "ratio_median": round(statistics.median(ratios), 4), "ratio_max": round(max(ratios), 4),
    }  # fmt: skip


def search(data: Path, work: Path = Path("runs/search"), other: Path | None = None, questions: int = 1000) -> Figures:
    """Search questions in one batch, hybrid, for the ten best passages; includes encoding the questions, not indexing."""
    task = build_reqa(squad(data))
    owner = [n for n, p in enumerate(task.passages) for _ in p.sentences]
    step = len(task.questions) // questions
    chosen = range(0, step * questions, step)
    sampled, gold = [task.questions[i] for i in chosen], [owner[task.gold[i][0]] for i in chosen]
    index = index_passages(work / "index", task.passages, Settings(model=BASE_ENCODER))
    index.search(sampled[:50], 10, mode="hybrid", unit="passage")  # the model and the files are loaded
    run = Timed(lambda: index.search(sampled, 10, mode="hybrid", unit="passage"))
    rate = len(sampled) / statistics.median(run() for _ in range(3))
    right = sum(h[0].passage.document_key == task.passages[g].document_key for h, g in zip(run.result, gold, strict=True))
    result: Figures = {"oreqa": {"per_second": round(rate, 1), "p@1": round(100 * right / len(sampled), 1)}}
    file = work / "task.json"
    file.write_text(json.dumps({"texts": [p.text for p in task.passages], "questions": sampled, "gold": gold}))
    counts = {"haystack": 200, "txtai": len(sampled)}
    arguments = {name: [str(file), str(find_model(BASE_ENCODER)), str(count)] for name, count in counts.items()}
    for name, row in _others(other, SEARCH, arguments).items():
        theirs = row["questions"] / row["seconds"]
        result[name] = {"per_second": round(theirs, 1), "p@1": round(100 * row["p1"], 1), "questions": row["questions"],
                        "oreqa is faster by": round(rate / theirs, 1)}  # fmt: skip
    return result


def reading(
    data: Path, other: Path, reader: Path, work: Path = Path("runs/reading"), questions: int = 100, rounds: int = 5
) -> Figures:
    """Time a whole cold `oreqa ask`, and warm questions per second; all read the same passages with --reader's weights."""
    paragraphs, folder = squad(data), work / "texts"
    if not folder.is_dir():
        write_paragraph_files(paragraphs, folder)
    process([OREQA, "index", str(folder), "--index", str(work / "files")])
    index = index_passages(work / "index", whole_passages(paragraphs))
    sampled = [(q.text, [g.text for g in q.answers]) for p in paragraphs for q in p.questions]
    sampled = sampled[:: len(sampled) // questions][:questions]
    hits = index.search([QUESTION, *(text for text, _ in sampled)], PASSAGES_TOP_K, mode="hybrid", unit="passage")
    one, warm = work / "one.json", work / "warm.json"
    one.write_text(json.dumps({"question": QUESTION, "passages": [h.passage.text for h in hits[0]]}))
    rows = [
        {"question": q, "passages": [h.passage.text for h in row]} for (q, _), row in zip(sampled, hits[1:], strict=True)
    ]
    warm.write_text(json.dumps(rows))
    ours = [OREQA, "ask", QUESTION, "--index", str(work / "files")]
    cold_seconds = cold(ours, [str(other), "-c", READ_ONE, str(one), str(reader)], rounds, ANSWER)

    loaded = Reader(reader)
    texts = [[(passage_head(h.passage.title, h.passage.heading), h.passage.text) for h in row] for row in hits[1:]]
    loaded.read([text for text, _ in sampled[:2]], texts[:2])
    run = Timed(lambda: loaded.read([text for text, _ in sampled], texts, k=1))
    rate = len(sampled) / statistics.median(run() for _ in range(3))
    golds = [gold for _, gold in sampled]
    answers = [max(own, key=lambda span: span.score).text for own in run.result]
    result: Figures = {"oreqa": {"per_second": round(rate, 2), "em": _em(answers, golds)}}
    for name, row in _others(other, READ, {name: [str(warm), str(reader)] for name in READ}).items():
        theirs = len(sampled) / row["seconds"]
        result[name] = {"per_second": round(theirs, 2), "em": _em(row["answers"], golds),
                        "oreqa is faster by": round(rate / theirs, 2)}  # fmt: skip
    return {"cold": cold_seconds, "questions": len(sampled), "passages": PASSAGES_TOP_K, "warm": result}


def _em(answers: Sequence[str], golds: Sequence[Sequence[str]]) -> float:
    return round(100 * statistics.mean(exact_match(a, g) for a, g in zip(answers, golds, strict=True)), 1)


def _others(python: Path | None, scripts: dict[str, str], arguments: dict[str, list[str]]) -> dict[str, Figures]:
    """Return what the scripts print, by name and version of the software; print the ones that fail and leave them out."""
    rows: dict[str, Figures] = {}
    for name, script in scripts.items() if python else ():
        done = subprocess.run([str(python), "-c", script, *arguments[name]], capture_output=True, text=True)
        if done.returncode:
            print(f"{name} did not run: {done.stderr.strip().splitlines()[-1]}")
            continue
        row = json.loads(done.stdout.strip().splitlines()[-1])
        rows[f"{name} {row['version']}"] = row
    return rows


def _rates(count: int, figures: dict[str, float], digits: int = 1) -> dict[str, float]:
    return {f"{side}_per_second": round(count / figures[f"{side}_median"], digits) for side in ("ours", "theirs")}


MEASURES: tuple[Callable[..., Figures], ...] = (encode, cold_ask, rerank, train, update, search, reading)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="name", required=True)
    for measure in MEASURES:
        command = commands.add_parser(measure.__name__, help=inspect.getdoc(measure), description=inspect.getdoc(measure))
        for name, parameter in inspect.signature(measure).parameters.items():
            needed = parameter.default is parameter.empty
            kind = int if isinstance(parameter.default, int) else str if isinstance(parameter.default, str) else Path
            command.add_argument(f"--{name}", type=kind, required=needed, default=None if needed else parameter.default)
    options = vars(parser.parse_args())
    name = options.pop("name")
    report(f"speed/{name}", next(measure for measure in MEASURES if measure.__name__ == name)(**options))


if __name__ == "__main__":
    main()
