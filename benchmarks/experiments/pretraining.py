"""Progressive pretraining: batches from clusters against batches at random and the inverse cloze task, at equal updates.

Run:  oreqa generate --data ../shared/data/squad/squad-v1.1-dev.json.gz --generator DIR --out questions.jsonl
      python benchmarks/experiments/pretraining.py --corpus ../shared/data/squad/squad-v1.1-dev.json.gz \\
          --questions questions.jsonl --work runs/pretraining --name squad

The corpus is a SQuAD or MRQA file, whose paragraphs are the passages, or a BEIR folder, whose documents are split as an
index splits them. What is learned from is generated from its passages alone, and the questions that people asked about them
are looked at only to measure. For each seed the three trainings take the same number of steps. Measured is how deep each
question's passage, or the first of its document, lies among all, by vectors alone: R@5, R@10, R@20 and MRR, the setting of
ProQA's Table 3 (Xiong et al. 2021). The encoder before any training stands beside them. What --work holds is neither
trained nor measured again.

With --stages N each training goes on N - 1 times, with other batches: in clusters, at random, and, as Xiong et al. do, in
clusters after a first stage at random. With --width all begin with one new layer of that width over the principal components
of MiniLM's token embeddings: a hundredth of the time.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_ind

from oreqa.core import Passage
from oreqa.datasets.beir import load_beir
from oreqa.datasets.load import load_paragraphs, load_passages
from oreqa.datasets.pairs import load_pairs
from oreqa.datasets.paragraphs import is_held_out
from oreqa.defaults import BASE_ENCODER
from oreqa.evaluation.metrics import gold_ranks, paired_difference
from oreqa.files import read_json, write_json, write_text
from oreqa.index.encodings import encoder_input
from oreqa.index.passages import index_data
from oreqa.index.store import Settings
from oreqa.mining import mine_cloze
from oreqa.models.encoder.encoder import Encoder
from oreqa.provenance import data_hash
from oreqa.training import train_model

sys.path.append(str(Path(__file__).parents[1]))
from common import mean_and_deviation, report
from support.small_retrievers import narrow_backbone

RECIPE = Path(__file__).parents[2] / "recipes" / "small" / "pretraining.toml"
SYSTEMS = ("clusters", "distinct", "cloze")
"""Clusters against batches at random on the same questions; cloze pairs in batches at random."""
THEN = " then "
"""Stands between the stages in the name of a system."""


@dataclass(frozen=True, slots=True)
class Task:
    """Passages, the questions that people asked about them, and the numbers of the passages that answer each."""

    passages: list[Passage]
    questions: list[str]
    gold: list[list[int]]


def load_task(corpus: Path, index: Path, split: str, held_out: bool) -> Task:
    """The task of a SQuAD or MRQA file, equal questions merged, or of a BEIR folder's split, which is indexed in ``index``.

    With ``held_out`` only questions of held-out articles are measured, among the passages of all.
    """
    gold = defaultdict[str, list[int]](list)
    if corpus.is_dir():
        with index_data(index, corpus, Settings(model=BASE_ENCODER)) as opened:
            passages = list(opened.passages())
        places = defaultdict[str, list[int]](list)
        for place, passage in enumerate(passages):
            places[passage.document_key].append(place)
        beir = load_beir(corpus, split)
        for key, grades in beir.qrels.items():
            gold[beir.queries[key]] += [p for document, grade in grades.items() if grade > 0 for p in places[document]]
    else:
        passages = load_passages(corpus)
        for place, paragraph in enumerate(load_paragraphs(corpus)):
            for question in paragraph.questions:
                if question.answers and (not held_out or is_held_out(paragraph)):
                    gold[question.text].append(place)
    return Task(passages, list(gold), [sorted(set(places)) for places in gold.values()])


def passage_ranks(task: Task, model: str | Path) -> list[float]:
    """For each question the rank of the first passage that answers it, by the model's vectors of whole passages."""
    encoder = Encoder(model)
    vectors = np.stack([rows[0] for rows in encoder.encode_passages([encoder_input(p) for p in task.passages])])
    ranks = []
    for begin in range(0, len(task.questions), 512):
        scores = encoder.encode(task.questions[begin : begin + 512]) @ vectors.T
        ranks += [gold_ranks(row, gold)[0] for row, gold in zip(scores, task.gold[begin : begin + 512], strict=True)]
    return ranks


def kept_ranks(task: Task, model: str | Path, file: Path) -> list[float]:
    """``passage_ranks``, which ``file`` keeps."""
    if not file.is_file():
        write_json(file, passage_ranks(task, model))
    ranks: list[float] = read_json(file)
    return ranks


def figures(ranks: Sequence[float]) -> dict[str, float]:
    """R@N and MRR in percent."""
    best = np.array(ranks)
    metrics = {f"r@{n}": float(np.mean(best <= n)) for n in (1, 5, 10, 20)} | {"mrr": float(np.mean(1 / best))}
    return {name: round(100 * value, 2) for name, value in metrics.items()}


def draw_lines(source: Path, count: int, seed: int, out: Path) -> None:
    """Write so many lines of a file to ``out``, all if it has no more."""
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = sorted(random.Random(seed).sample(range(len(lines)), min(count, len(lines))))
    write_text(out, "".join(lines[number] for number in kept))


def draw_cloze(corpus: Path, index: Path, passages: int, count: int, seed: int, out: Path) -> None:
    """Write so many pairs of the inverse cloze task to ``out``."""
    every = out.with_name(f"every-{out.name}")
    every.unlink(missing_ok=True)
    data, source = (None, index) if corpus.is_dir() else (corpus, None)
    mine_cloze(every, data=data, index=source, per_passage=-(-count // passages) + 1, seed=seed)
    draw_lines(every, count, seed, out)
    every.unlink()


def chains(stages: int) -> list[str]:
    """Systems of so many stages, of which the first are trained before."""
    return [
        THEN.join(("clusters",) * stages),
        THEN.join(("distinct",) * stages),
        *([THEN.join(("distinct", *("clusters",) * (stages - 1)))] if stages > 1 else ()),
    ]


def over_seeds(ranks: dict[str, list[list[float]]], system: str, other: str) -> float | None:
    """Welch's p that the MRR of two systems differs, a run a seed; none from fewer than two."""
    values = [[figures(run)["mrr"] for run in ranks[name]] for name in (system, other)]
    return float(ttest_ind(*values, equal_var=False).pvalue) if len(values[0]) > 1 < len(values[1]) else None


def train(system: str, questions: Path, cloze: Path, out: Path, seed: int, settings: Sequence[str]) -> dict[str, Any]:
    """Train one system, unless it is trained already; returns what its run.json holds."""
    pairs = cloze if system == "cloze" else questions
    if not (out / "run.json").is_file():
        order = "clusters" if system == "clusters" else "distinct"
        train_model("retriever", RECIPE, out, [f'data=["{pairs}"]', f"batches={order}", f"seed={seed}", *settings])
    record: dict[str, Any] = json.loads((out / "run.json").read_text())
    if list(record["data_sha256"].values()) != [data_hash([pairs])]:
        raise SystemExit(f"{out}: it was trained on other pairs than {pairs} holds now; name another --work")
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--split", default="test", help="split of a BEIR folder")
    parser.add_argument(
        "--held-out", action="store_true", help="measure the held-out articles of a file that models learned from"
    )
    parser.add_argument("--questions", type=Path, required=True, help="pairs from oreqa generate")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=5000, help="generated questions that are drawn, all if there are fewer")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], help="a setting of the recipe, for all trainings")
    parser.add_argument("--stages", type=int, default=1, help="trainings, each going on from the one before")
    parser.add_argument("--width", type=int, help="begin with a new layer so wide instead of MiniLM")
    parser.add_argument("--name", required=True, help="part of the result's name")
    arguments = parser.parse_args()
    if arguments.held_out and arguments.corpus.is_dir():
        parser.error("--held-out is for a file; name a split of a BEIR folder")
    arguments.work.mkdir(parents=True, exist_ok=True)
    wide, systems = arguments.work / f"{arguments.width}-wide", list(SYSTEMS)
    base = BASE_ENCODER if arguments.width is None else narrow_backbone(BASE_ENCODER, arguments.width, wide)
    if arguments.stages > 1:
        systems = [chain for stage in range(1, arguments.stages + 1) for chain in chains(stage)]
    index = arguments.work / f"{arguments.name}-index"
    task = load_task(arguments.corpus, index, arguments.split, arguments.held_out)
    questions = arguments.work / f"{arguments.name}-drawn.jsonl"
    draw_lines(arguments.questions, arguments.pairs, 0, questions)
    pairs = sum(1 for _ in load_pairs(questions))
    before = arguments.work / f"{arguments.name}-before-ranks.json"
    ranks: dict[str, list[list[float]]] = {"before": [kept_ranks(task, base, before)]}
    print("before", figures(ranks["before"][0]), flush=True)
    steps: dict[str, int] = {}
    for seed in range(arguments.seeds):
        cloze = arguments.work / f"{arguments.name}-cloze-{pairs}-{seed}.jsonl"
        if "cloze" in systems and not cloze.is_file():
            draw_cloze(arguments.corpus, index, len(task.passages), pairs, seed, cloze)
        for system in systems:
            out, (*before_it, last) = arguments.work / f"{arguments.name}-{system}-{seed}", system.split(THEN)
            begun = arguments.work / f"{arguments.name}-{THEN.join(before_it)}-{seed}" if before_it else base
            settings = [*arguments.set, f"backbone={begun}"]
            record = train(last, questions, cloze, out, seed + 100 * len(before_it), settings)
            steps[system] = record["steps"]
            ranks.setdefault(system, []).append(kept_ranks(task, out, out.with_name(f"{out.name}-ranks.json")))
            print(system, seed, figures(ranks[system][-1]), flush=True)
    if len(set(steps.values())) > 1:
        raise SystemExit(f"the systems took different numbers of steps: {steps}")
    rows: dict[str, dict[str, Any]] = {}
    for system, runs in ranks.items():
        columns = {name: [figures(run)[name] for run in runs] for name in figures(runs[0])}
        rows[system] = {name: [*mean_and_deviation(values), values] for name, values in columns.items()}
    reciprocal = {system: np.mean([1 / np.array(run) for run in runs], axis=0) for system, runs in ranks.items()}
    compared = [("clusters", system) for system in (*systems, "before") if system in ("distinct", "cloze", "before")]
    compared += [(system, "before") for system in ranks if system not in ("clusters", "before")]
    for stage in range(2, arguments.stages + 1):
        *alone, both = chains(stage)
        compared += [(both, system) for system in alone] + [(alone[0], alone[1])]
    differences = {
        f"{system} - {other}": paired_difference(reciprocal[other].tolist(), reciprocal[system].tolist(), 0)
        for system, other in compared
    }
    counts: dict[str, Any] = {"passages": len(task.passages), "asked": len(task.questions), "pairs": pairs, "steps": steps}
    counts["questions_sha256"] = data_hash([questions])
    counts |= {"seeds": arguments.seeds, "settings": arguments.set, "held_out": arguments.held_out}
    counts |= {"stages": arguments.stages, "width": arguments.width}
    gains = {
        f"{pair[0]} - {pair[1]}": asdict(differences[f"{pair[0]} - {pair[1]}"]) | {"p_over_seeds": over_seeds(ranks, *pair)}
        for pair in compared
    }
    report(f"proqa/pretraining-{arguments.name}", {**counts, "rows": rows, "mrr_differences": gains})


if __name__ == "__main__":
    main()
