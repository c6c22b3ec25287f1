"""A question generator that learns from paragraphs found by answer match, beside one that learns from the annotated ones.

Run:  OREQA_PRECISION=f32 python benchmarks/experiments/weak_generator.py --data ../shared/data --work runs/weak-generator

Both go on for the same number of steps from one start, MiniLM that learned to ask about SQuAD's sentences, with the same
training questions of QED's Natural Questions. The first is given each question's annotated paragraph; the second the first
passage, of those retrieved among the paragraphs of all these questions, in which an answer stands (`oreqa mine passages`;
Xiong et al. 2021, section 3, train a generator so where nothing is annotated). A third learns from the first such passage
that is not the annotated one, and repeats the questions that have one. Measured is ROUGE-L on questions about held-out
articles, asked about their annotated answers. What --work holds is not made again.
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
from oreqa.training import train_model

sys.path.append(str(Path(__file__).parents[1]))
from common import mean_and_deviation, report

RECIPE = Path(__file__).parents[2] / "recipes" / "small" / "generator.toml"
NQ, SENTENCES = "extractive/qed-nq-train.json.gz", "extractive/squad-train-sentence-context.json.gz"
SMALL = ("max_tokens=96", "question_tokens=24", "dropout=0.0", "optimiser.batch=16", "optimiser.precision=f32")
DEPTH, BATCH = 20, 16
KINDS = ("annotated", "found", "found elsewhere")


def draw(data: Path, count: int) -> list[tuple[Paragraph, OpenQuestion, tuple[int, int]]]:
    """So many training questions, each with its paragraph and the place of its first answer."""
    rows = [
        (paragraph, OpenQuestion(question.id, question.text, tuple(gold.text for gold in question.answers)), places[0])
        for paragraph in split_articles(load_paragraphs(data / NQ))[0]
        for question in paragraph.questions
        if (places := placed_answers(paragraph.text, question))
    ]
    return random.Random(0).sample(rows, count)


def write_pairs(data: Path, work: Path, count: int) -> dict[str, int]:
    """The pairs of each kind; returns how many."""
    drawn = draw(data, count)
    passages = whole_passages({paragraph.text: paragraph for paragraph, _, _ in drawn}.values())
    with index_passages(work / "index", passages, Settings(model=DEFAULT_ENCODER)) as index:
        retrieved = list(search_texts(index, [question.text for _, question, _ in drawn], DEPTH, "hybrid"))
    pairs: dict[str, list[Pair]] = {kind: [] for kind in KINDS}
    for (paragraph, question, (start, end)), texts in zip(drawn, retrieved, strict=True):
        place = Candidate(paragraph.text[start:end], paragraph.text, readable_title(paragraph.title), start)
        pairs["annotated"].append(Pair(question.text, place))
        elsewhere = [(title, text) for title, text in texts if text != paragraph.text]
        for kind, pair in (("found", first_match(question, texts)), ("found elsewhere", first_match(question, elsewhere))):
            pairs[kind] += [pair] if pair is not None else []
    for kind, of_kind in pairs.items():
        write_jsonl(work / f"{kind.replace(' ', '-')}.jsonl", map(pair_row, of_kind))
    same = sum(a.positive.context == b.positive.context for a, b in match(pairs["annotated"], pairs["found"]))
    return {kind: len(of_kind) for kind, of_kind in pairs.items()} | {"found is annotated": same}


def match(one: Sequence[Pair], other: Sequence[Pair]) -> list[tuple[Pair, Pair]]:
    """The pairs of two kinds about the same question."""
    by_question = {pair.question: pair for pair in other}
    return [(pair, by_question[pair.question]) for pair in one if pair.question in by_question]


def train(out: Path, file: Path, backbone: str | Path, steps: int, pairs: int, settings: Sequence[str]) -> dict[str, Any]:
    """Train on a file for as many steps, unless ``out`` holds the generator; a file that is too small is repeated."""
    if not (out / "run.json").is_file():
        seen = min(pairs, steps * BATCH)
        part = f'data=[{{file="{file.absolute()}", style="search", questions={seen}, epochs={-(-steps * BATCH // seen)}}}]'
        train_model("generator", RECIPE, out, [part, f"backbone={backbone}", *SMALL, *settings])
    record: dict[str, Any] = read_json(out / "run.json")
    return record


def measure(generator: Path, data: Path, out: Path, asked: int) -> dict[str, float]:
    """ROUGE-L of greedy questions about NQ's held-out articles."""
    if not (out / "metrics.json").is_file():
        evaluate_generator(data / NQ, out, generator=generator, style="search", held_out=True, draw=asked)
    metrics = read_json(out / "metrics.json")
    return {name: metrics[name] for name in ("rouge_l", "rouge_l_coco")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=1280, help="questions of NQ to learn from")
    parser.add_argument("--start", type=int, default=250, help="steps of 16 that the start learns from SQuAD's sentences")
    parser.add_argument("--steps", type=int, default=80, help="steps of 16 that each generator goes on for")
    parser.add_argument("--asked", type=int, default=400, help="questions of the held-out articles")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    work: Path = options.work
    work.mkdir(parents=True, exist_ok=True)
    counts = write_pairs(options.data, work, options.questions)
    print(counts, flush=True)
    begun, rate = work / "start", "optimiser.learning_rate={}"
    train(begun, options.data / SENTENCES, "all-minilm-l6-v2", options.start, options.start * BATCH, [rate.format("5e-4")])
    rows: dict[str, Any] = {"start": measure(begun, options.data, work / "start-asked", options.asked)}
    print("start", rows["start"], flush=True)
    runs: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    steps: dict[str, int] = {}
    for seed in range(options.seeds):
        for kind in KINDS:
            name = kind.replace(" ", "-")
            out, asked = work / f"{name}-{seed}", work / f"{name}-{seed}-asked"
            settings = [rate.format("2e-4"), f"seed={seed}"]
            steps[kind] = train(out, work / f"{name}.jsonl", begun, options.steps, counts[kind], settings)["steps"]
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
    sizes = {"start": options.start, "batch": BATCH, "steps": steps, "asked": options.asked, "seeds": options.seeds}
    report("proqa/weak_generator", {"pairs": counts, **sizes, "settings": SMALL, "rows": rows, "rouge_l_differences": gains})


if __name__ == "__main__":
    main()
