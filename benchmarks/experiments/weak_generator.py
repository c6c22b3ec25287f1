"""A question generator that learns from paragraphs found by answer match, beside one that learns from the annotated ones.

Run:  OREQA_PRECISION=f32 python benchmarks/experiments/weak_generator.py --data ../shared/data --work runs/weak-generator

MiniLM first learns to ask about SQuAD's sentences. From there each generator goes on with as many of QED's Natural
Questions, in as many steps. "annotated" reads each question's annotated paragraph. "found" reads the first passage with an
answer in it, of those retrieved among the paragraphs of all drawn questions (`oreqa mine passages`; Xiong et al. 2021,
section 3, train a generator so where nothing is annotated); both learn from the same questions. "found elsewhere" reads
the first such passage that is not the annotated one; few questions have one, so it repeats them more often. ROUGE-L is
measured on questions about held-out articles, generated from their annotated answers. --work keeps what was made, by
settings.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.pairs import Candidate, Pair, pair_row
from oreqa.datasets.paragraphs import Paragraph, placed_answers, readable_title, split_articles, whole_passages
from oreqa.datasets.questions import OpenQuestion
from oreqa.defaults import DEFAULT_ENCODER
from oreqa.evaluation import evaluate_generator
from oreqa.evaluation.metrics import paired_difference
from oreqa.evaluation.runs import load_run
from oreqa.files import read_json, write_jsonl
from oreqa.index.passages import index_passages
from oreqa.index.store import Settings
from oreqa.mining.passages import first_match
from oreqa.mining.predictions import search_texts
from oreqa.provenance import data_hash
from oreqa.training import train_model

sys.path.append(str(Path(__file__).parents[1]))
from common import kept_folder, mean_and_deviation, report

RECIPE = Path(__file__).parents[2] / "recipes" / "small" / "generator.toml"
NQ, SENTENCES = "extractive/qed-nq-train.json.gz", "extractive/squad-train-sentence-context.json.gz"
SMALL = ("max_tokens=96", "question_tokens=24", "dropout=0.0", "optimiser.batch=16", "optimiser.precision=f32")
START = "all-minilm-l6-v2"
DEPTH, BATCH = 20, 16
KINDS = ("annotated", "found", "found elsewhere")


def draw(data: Path, count: int) -> list[tuple[Paragraph, OpenQuestion, tuple[int, int]]]:
    """Draw ``count`` training questions, each with its paragraph and the place of its first answer."""
    rows = [
        (paragraph, OpenQuestion(question.id, question.text, tuple(gold.text for gold in question.answers)), places[0])
        for paragraph in split_articles(load_paragraphs(data / NQ))[0]
        for question in paragraph.questions
        if (places := placed_answers(paragraph.text, question))
    ]
    return random.Random(0).sample(rows, count)


def write_pairs(data: Path, work: Path, count: int, learned: int) -> dict[str, int]:
    """Write a pair file per kind, with a few more pairs than the ``learned`` ones; return how many questions of the drawn
    ones have a pair of each kind."""
    drawn = draw(data, count)
    passages = whole_passages({paragraph.text: paragraph for paragraph, _, _ in drawn}.values())
    with index_passages(work / "index", passages, Settings(model=DEFAULT_ENCODER)) as index:
        retrieved = list(search_texts(index, [question.text for _, question, _ in drawn], DEPTH, "hybrid"))
    pairs: dict[str, dict[str, Pair]] = {kind: {} for kind in KINDS}
    for (paragraph, question, (start, end)), texts in zip(drawn, retrieved, strict=True):
        place = Candidate(paragraph.text[start:end], paragraph.text, readable_title(paragraph.title), start)
        elsewhere = [(title, text) for title, text in texts if text != paragraph.text]
        of_kinds = Pair(question.text, place), first_match(question, texts), first_match(question, elsewhere)
        for kind, pair in zip(KINDS, of_kinds, strict=True):
            pairs[kind] |= {} if pair is None else {question.text: pair}
    both = {text: pair for text, pair in pairs["annotated"].items() if text in pairs["found"]}
    same = sum(pair.positive.context == pairs["found"][text].positive.context for text, pair in both.items())
    for kind, of_kind in (pairs | {"annotated": both}).items():
        # A pair whose sentence is too long is left out of the training, so the file holds some to spare.
        rows = list(of_kind.values())[: learned + learned // 20]
        write_jsonl(work / f"{kind.replace(' ', '-')}.jsonl", map(pair_row, rows))
    return {kind: len(of_kind) for kind, of_kind in pairs.items()} | {"found is annotated": same}


def train(out: Path, data: str, backbone: str | Path, steps: int, settings: Sequence[str]) -> None:
    """Train on ``data``, which must make exactly ``steps`` steps, unless ``out`` holds the generator."""
    if not (out / "run.json").is_file():
        train_model("generator", RECIPE, out, [f"data=[{{{data}}}]", f"backbone={backbone}", *SMALL, *settings])
    if (made := read_json(out / "run.json")["steps"]) != steps:
        raise RuntimeError(f"{out}: {made} steps, not {steps}")


def asked_at_once(pairs: int, learned: int, epochs: int) -> int:
    """Return how many questions of a kind an epoch asks, so that whole epochs make ``learned`` times ``epochs``: a divisor
    that leaves some pairs to spare."""
    most = min(learned, pairs - pairs // 20)
    return max(count for count in range(1, most + 1) if learned * epochs % count == 0)


def measure(generator: Path, data: Path, out: Path, asked: int) -> dict[str, float]:
    """Return ROUGE-L of greedy questions about NQ's held-out articles."""
    if not (out / "metrics.json").is_file():
        evaluate_generator(data / NQ, out, generator=generator, style="search", held_out=True, draw=asked)
    metrics = read_json(out / "metrics.json")
    return {name: metrics[name] for name in ("rouge_l", "rouge_l_coco")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=1280, help="questions of NQ that are drawn")
    parser.add_argument("--learned", type=int, default=640, help="questions that each generator learns from")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--start", type=int, default=250, help="steps of 16 that the start learns from SQuAD's sentences")
    parser.add_argument("--asked", type=int, default=400, help="questions of the held-out articles")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    of_run = {name: value for name, value in vars(options).items() if name not in ("data", "work")}
    files = data_hash([options.data / NQ, options.data / SENTENCES])
    work = kept_folder(options.work, DEFAULT_ENCODER, START, settings=[files, SMALL, *of_run.items()])
    counts = write_pairs(options.data, work, options.questions, options.learned)
    print(counts, flush=True)
    begun, rate = work / "start", "optimiser.learning_rate={}"
    sentences = f'file="{(options.data / SENTENCES).absolute()}", style="search", questions={options.start * BATCH}'
    train(begun, sentences, START, options.start, [rate.format("5e-4")])
    rows: dict[str, Any] = {"start": measure(begun, options.data, work / "start-asked", options.asked)}
    print("start", rows["start"], flush=True)
    runs: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    rows_of_run = options.learned * options.epochs
    steps = rows_of_run // BATCH
    at_once = {kind: asked_at_once(counts[kind], options.learned, options.epochs) for kind in KINDS}
    for seed in range(options.seeds):
        for kind in KINDS:
            name = kind.replace(" ", "-")
            out, asked = work / f"{name}-{seed}", work / f"{name}-{seed}-asked"
            file = (work / f"{name}.jsonl").absolute()
            part = f'file="{file}", style="search", questions={at_once[kind]}, epochs={rows_of_run // at_once[kind]}'
            train(out, part, begun, steps, [rate.format("2e-4"), f"seed={seed}"])
            print(kind, seed, measure(out, options.data, asked, options.asked), flush=True)
            runs[kind].append(asked)
    for kind, folders in runs.items():
        of_runs = [read_json(folder / "metrics.json") for folder in folders]
        values = {name: [of_run[name] for of_run in of_runs] for name in ("rouge_l", "rouge_l_coco")}
        rows[kind] = {name: [*mean_and_deviation(of_name), of_name] for name, of_name in values.items()}
    scores = {
        kind: [[row["rouge_l"] for row in load_run(folder).questions.values()] for folder in folders]
        for kind, folders in runs.items()
    }
    means = {
        kind: [sum(of_seeds) / len(of_seeds) for of_seeds in zip(*of_kind, strict=True)] for kind, of_kind in scores.items()
    }
    gains = {f"{kind} - annotated": asdict(paired_difference(means["annotated"], means[kind], 0)) for kind in KINDS[1:]}
    sizes = of_run | {
        "steps": steps,
        "questions in an epoch": at_once,
        "batch": BATCH,
        "settings": SMALL,
        "data_sha256": files,
    }
    report("generator/weak_generator", {"pairs": counts, **sizes, "rows": rows, "rouge_l_differences": gains})


if __name__ == "__main__":
    main()
