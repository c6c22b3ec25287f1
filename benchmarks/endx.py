"""ENDX against the dual encoder alone, variational rivals and mined negatives, at equal numbers of seen pairs.

Run:  python benchmarks/endx.py --data ../shared/data --set squad --work runs/endx
      python benchmarks/endx.py --data ../shared/data --set squad --work runs/endx --encoder gru --system dual --system endx
      python benchmarks/endx.py ... --dev --variant mild endx alignment.question_question=100

Each run of an encoder, a system and a seed is trained once, and what --work holds is not trained again. The result has all
runs there of the data set, and what it had before of the same pairs. Measured are the ranks of each question's right
sentences among all of the collection: MRR, R@1 and R@5 as Wang et al. (2021, Eq. 14 and 15) define them. The collection is
ReQA SQuAD dev, the held-out articles of NQ's file, or MedQuAD's test split; with --dev, for choosing settings, the held-out
articles of SQuAD's training file (MedQuAD's dev split). A --variant is a name, the system that it changes, and settings.

Questions are compared with vectors of sentences and nothing else; oreqa eval reqa --mode dense adds a share of the passage's
vector. All is computed in float32, whatever the processor.
"""

from __future__ import annotations

import argparse
import json
import random
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, report

from oreqa.datasets.pairs import Pair, pair_row
from oreqa.datasets.reqa import ReqaTask, build_reqa, load_boundaries, load_paragraphs
from oreqa.datasets.tasks import load_task, often_asked_numbers
from oreqa.defaults import DEFAULT_ENCODER
from oreqa.evaluation.metrics import gold_ranks, mean_metrics, question_metrics
from oreqa.evaluation.significance import paired_difference
from oreqa.files import write_json, write_jsonl
from oreqa.index.encodings import encoder_input
from oreqa.mining import mine_negatives
from oreqa.models.encoder.encoder import Encoder
from oreqa.provenance import data_hash
from oreqa.training.data import load_training_pairs
from oreqa.training.records import train_recorded
from oreqa.training.retriever import train_retriever
from oreqa.training.retriever_recipe import RetrieverRecipe

RECIPES = Path(__file__).parents[1] / "recipes" / "small"
SQUAD = ("extractive/squad-train-pieces.json.gz", "extractive/squad-train-more.json.gz")
SETS = {"squad": SQUAD, "nq": ("extractive/qed-nq-train.json.gz",), "medquad": ("retrieval/medquad",)}
ENCODERS = ("bert", "gru", "lstm", "transformer", "rnn")
METRICS = ("mrr", "r@1", "r@5")
RAW: dict[str, Any] = {"similarity": "dot", "scale": 1.0}
"""Inner products of vectors of any length, as the paper has them."""
PRINTED_WEIGHTS = {"alignment.question_question": 1e4, "alignment.answer_answer": 1e4}
SYSTEMS: dict[str, dict[str, Any]] = {
    "dual": {"alignment": None},
    "endx": {},
    "dual_vae": {"alignment": None, "variational": {"kind": "dual"}},
    "cross_vae": {"alignment": None, "variational": {"kind": "cross"}},
    "endx_without_qq": {"alignment.question_question": 0.0},
    "endx_without_aa": {"alignment.answer_answer": 0.0},
    "endx_without_qa": {"alignment.question_answer": 0.0},
    "endx_without_aq": {"alignment.answer_question": 0.0},
    "endx_attached": {"alignment.detach": False},
    "endx_gaussian": {"alignment.kernel": "gaussian"},
    "mined": {"alignment": None, "negatives": 4},
    "endx_mined": {"negatives": 4},
    "dual_dot": {"alignment": None, **RAW},
    "endx_dot": {**RAW, "alignment.scale": 1.0},
    "endx_dot_without_qq": {**RAW, "alignment.scale": 1.0, "alignment.question_question": 0.0},
    "endx_dot_without_aa": {**RAW, "alignment.scale": 1.0, "alignment.answer_answer": 0.0},
    "endx_dot_without_qa": {**RAW, "alignment.scale": 1.0, "alignment.question_answer": 0.0},
    "endx_dot_without_aq": {**RAW, "alignment.scale": 1.0, "alignment.answer_question": 0.0},
    "endx_dot_attached": {**RAW, "alignment.scale": 1.0, "alignment.detach": False},
    "endx_dot_printed": {**RAW, "alignment.scale": 1.0, **PRINTED_WEIGHTS},
}
"""What each system changes in the small recipe of its encoder, which is ENDX with unit vectors."""


def rival(system: str) -> str:
    """What a system is compared with: a change of ENDX with ENDX, all others with what they add to."""
    if system.startswith("endx_dot_"):
        return "endx_dot"
    if system.startswith(("endx_without_", "endx_attached", "endx_gaussian")):
        return "endx"
    return {"endx_mined": "mined", "endx_dot": "dual_dot"}.get(system, "dual")


def load_test(data: Path, name: str, dev: bool) -> ReqaTask:
    """The task that a set is measured on."""
    if name == "medquad":
        return load_task(data / SETS[name][0], "dev" if dev else "test")
    if name == "nq" or dev:
        return load_task(data / SETS[name][0], held_out=True)
    boundaries = load_boundaries(data / "squad" / "reqa-squad-dev-sentences.jsonl.gz")
    return build_reqa(load_paragraphs(data / "squad" / "squad-v1.1-dev.json.gz"), boundaries)


def draw_pairs(data: Path, name: str, count: int, out: Path) -> list[Pair]:
    """So many pairs of question and answer, all if there are fewer, each with hard negatives; written to ``out``, too."""
    if not out.is_file():
        pairs: list[Pair] = []
        for part in SETS[name]:
            mined = out.with_name(f"mined-{name}-{Path(part).name.partition('.')[0]}.jsonl")
            if not mined.is_file():
                mine_negatives(data / part, mined)
            pairs += load_training_pairs(mined)
        kept = sorted(random.Random(0).sample(range(len(pairs)), min(count, len(pairs))))
        write_jsonl(out, [pair_row(pairs[number]) for number in kept])
    return load_training_pairs(out)


def make_recipe(encoder: str, changes: dict[str, Any], pairs: Path, seed: int, epochs: int | None) -> RetrieverRecipe:
    """The small recipe of an encoder with the changes of a system; a value of None removes a table."""
    file = RECIPES / ("endx-bert.toml" if encoder == "bert" else "endx-gru.toml")
    content = tomllib.loads(file.read_text())
    for key, value in changes.items():
        table, _, last = key.rpartition(".")
        place = content.setdefault(table, {}) if table else content
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
    content |= {"data": [str(pairs)], "seed": seed, **({} if epochs is None else {"epochs": epochs})}
    content["optimiser"]["precision"] = "f32"
    return RetrieverRecipe.model_validate(content if encoder == "bert" else {**content, "encoder": encoder})


def ranks_of(task: ReqaTask, model: str | Path) -> list[list[float]]:
    """For each question the ranks of its right sentences."""
    encoder = Encoder.load(model, precision="f32")
    vectors = np.concatenate([rows[1:] for rows in encoder.encode_passages([encoder_input(p) for p in task.passages])])
    questions = encoder.encode(list(task.questions))
    return [gold_ranks(vectors @ question, gold) for question, gold in zip(questions, task.gold, strict=True)]


def measured(task: ReqaTask, recipe: RetrieverRecipe, out: Path, file: Path) -> list[list[float]]:
    """The ranks of a model, which is trained and measured unless it has been, by the same recipe."""
    if not (out / "run.json").is_file():
        train_recorded(train_retriever, recipe, out)
    record = json.loads((out / "run.json").read_text())
    if record["recipe"] != recipe.model_dump(mode="json"):
        raise SystemExit(f"{out}: it was trained with other settings; name another --work, or remove it")
    if not file.is_file():
        of_step = record["seconds"] / (record["steps"] - record.get("seconds_since_step", 0))
        write_json(file, {"ranks": ranks_of(task, out), "seconds_a_step": of_step, "recipe": record["recipe"]})
    ranks: list[list[float]] = json.loads(file.read_text())["ranks"]
    return ranks


def figures(ranks: Sequence[Sequence[float]]) -> dict[str, float]:
    metrics = mean_metrics([question_metrics(of_question) for of_question in ranks])
    return {name: metrics[name] for name in METRICS}


def row(runs: Sequence[Sequence[Sequence[float]]]) -> dict[str, list[float]]:
    """Mean and standard deviation over seeds."""
    of_runs = [figures(run) for run in runs]
    return {name: [round(float(f([of_run[name] for of_run in of_runs])), 2) for f in (np.mean, np.std)] for name in METRICS}


def reciprocal(runs: Sequence[Sequence[Sequence[float]]]) -> list[float]:
    """Each question's reciprocal rank, the mean over seeds."""
    values: list[float] = np.mean([[1 / of_question[0] for of_question in run] for run in runs], axis=0).tolist()
    return values


def collect(task: ReqaTask, name: str, work: Path) -> dict[str, Any]:
    """The result of all runs in ``work`` of a data set and its pairs."""
    runs: dict[str, dict[int, list[list[float]]]] = {}
    seconds: dict[str, list[float]] = {}
    for file in sorted((work / "ranks").glob(f"{name}-*.json")):
        encoder, system, seed = file.stem.removeprefix(f"{name}-").split("-")
        content = json.loads(file.read_text())
        runs.setdefault(f"{encoder} {system}", {})[int(seed)] = content["ranks"]
        seconds.setdefault(f"{encoder} {system}", []).append(content["seconds_a_step"])
    rows: dict[str, Any] = {}
    differences, often = dict[str, Any](), dict[str, dict[str, Any]]()
    for key, of_seed in runs.items():
        rows[key] = row(list(of_seed.values())) | {"seeds": len(of_seed), "seconds_a_step": round(min(seconds[key]), 3)}
        encoder, _, system = key.partition(" ")
        other = rival(system)
        common = sorted(set(of_seed) & set(runs.get(f"{encoder} {other}", {})))
        if common and system != other:
            ours, theirs = ([runs[of][seed] for seed in common] for of in (key, f"{encoder} {other}"))
            gain = paired_difference(reciprocal(theirs), reciprocal(ours), 0)
            differences[f"{key} - {other}"] = asdict(gain) | {"seeds": len(common)}
        for minimum in (2, 4, 8) if name == "squad" else ():
            if kept := often_asked_numbers(task, minimum):
                some = row([[run[number] for number in kept] for run in of_seed.values()])
                often.setdefault(f"at least {minimum}", {"questions": len(kept)})[key] = some
    return {"rows": rows, "mrr_differences": differences, "answers_with_questions": often}


def joined(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """The result, with what runs on the same pairs that are not in --work left in the published one, and their commits."""
    file = RESULTS / f"{name}.json"
    earlier = json.loads(file.read_text()) if file.is_file() else {}
    if any(earlier.get(key) != result[key] for key in ("pairs_sha256", "asked", "candidates")):
        return result
    commits = earlier.get("commits", {})
    kept = [name for name in earlier["rows"] if name not in result["rows"]]
    if kept:
        result["commits"] = {name: commits.get(name, earlier.get("commit")) for name in kept}
    for table in ("rows", "mrr_differences"):
        result[table] = earlier[table] | result[table]
    often = result["answers_with_questions"]
    for minimum, rows in earlier["answers_with_questions"].items():
        often[minimum] = rows | often.get(minimum, {})
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", choices=SETS, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--encoder", action="append", choices=ENCODERS)
    parser.add_argument("--system", action="append", choices=[*SYSTEMS])
    parser.add_argument("--variant", action="append", nargs="+", default=[], help="NAME SYSTEM KEY=VALUE ...")
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--dev", action="store_true")
    arguments = parser.parse_args()
    systems = {name: SYSTEMS[name] for name in arguments.system or ([] if arguments.variant else SYSTEMS)}
    for name, base, *settings in arguments.variant:
        if "-" in name:
            parser.error(f"--variant {name}: name it without a hyphen, which parts the names of files")
        changed = {key: json.loads(value) for key, _, value in (setting.partition("=") for setting in settings)}
        systems[name] = SYSTEMS[base] | changed
    work, name = arguments.work, arguments.set + ("_dev" if arguments.dev else "")
    (work / "ranks").mkdir(parents=True, exist_ok=True)
    mined, plain = (work / f"{kind}-{arguments.set}-{arguments.pairs}.jsonl" for kind in ("with-negatives", "pairs"))
    pairs = draw_pairs(arguments.data, arguments.set, arguments.pairs, mined)
    if not plain.is_file():
        write_jsonl(plain, [pair_row(replace(pair, negatives=())) for pair in pairs])
    task = load_test(arguments.data, arguments.set, arguments.dev)
    before = figures(ranks_of(task, DEFAULT_ENCODER))
    print("the backbone as it is", before, flush=True)
    for encoder in arguments.encoder or ENCODERS[:4]:
        for seed in range(arguments.seeds):
            for system, changes in systems.items():
                kind = mined if "negatives" in changes else plain
                recipe = make_recipe(encoder, changes, kind, seed, arguments.epochs)
                out = work / f"{encoder}-{system}-{arguments.set}-{seed}"
                ranks = measured(task, recipe, out, work / "ranks" / f"{name}-{encoder}-{system}-{seed}.json")
                print(encoder, system, seed, figures(ranks), flush=True)
    counts = {"pairs": len(pairs), "asked": len(task.questions), "candidates": task.candidates}
    counted = {**counts, "pairs_sha256": data_hash([plain]), "backbone": before}
    report(f"endx-{name}", joined(f"endx-{name}", {**counted, **collect(task, name, work)}))


if __name__ == "__main__":
    main()
