"""ENDX compared with the dual encoder alone, variational rivals and mined negatives, at equal numbers of seen pairs.

Run:  python benchmarks/experiments/endx.py --data ../shared/data --set squad --work runs/endx \\
          --encoder gru --system dual --system endx
      python benchmarks/experiments/endx.py ... --dev --variant late endx alignment.ramp_epochs=4

Measured are the ranks of each question's right sentences among all of the collection: MRR, R@1 and R@5 as defined by
Wang et al. (2021, Eq. 14 and 15). The collection is ReQA SQuAD dev, the held-out articles of NQ's file, or MedQuAD's
test split; with --dev, for choosing settings, the held-out articles of SQuAD's training files (MedQuAD's dev split). A
--variant is a name, the system that it changes and is compared with, and settings. With --width, the encoders have that
width, over the principal components of the token embeddings, and read 48 tokens: a fifth of the time, at 96.

The ranks of every run are kept in results/endx/ranks, or with --width in results/kernels/ranks; a run with the same
pairs and recipe is neither trained nor measured again. The result includes all of them.

Questions are compared only with vectors of sentences; oreqa eval reqa --mode dense adds a share of the passage's
vector. Everything is computed in float32 on every processor.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_ind

from oreqa.datasets.load import load_training_pairs
from oreqa.datasets.pairs import Pair, pair_row
from oreqa.datasets.reqa import ReqaTask, often_asked_numbers
from oreqa.defaults import BASE_ENCODER
from oreqa.evaluation.metrics import paired_difference
from oreqa.files import read_jsonl, write_jsonl
from oreqa.mining import mine_negatives
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.encoder.folder import read_encoder_folder
from oreqa.models.graph.cache import cached_fingerprint
from oreqa.models.model import load_session
from oreqa.models.names import find_model
from oreqa.provenance import commit, data_hash
from oreqa.training.recipes import load_recipe
from oreqa.training.records import train_recorded
from oreqa.training.retriever.recipe import RetrieverRecipe
from oreqa.training.retriever.train import train_retriever

sys.path.append(str(Path(__file__).parents[1]))
from common import RESULTS, ROOT, mean_and_deviation, report
from support.endx_systems import SYSTEMS, System, rivals
from support.small_retrievers import METRICS, SETS, draw_pairs, figures, load_test, narrow_backbone, ranks_of
from support.teachers import LearnedWidths, Teacher, taught_by

RECIPES = Path(__file__).parents[2] / "recipes" / "small"
ENCODERS = ("bert", "gru", "lstm", "transformer", "rnn")


def with_negatives(data: Path, name: str, pairs: Sequence[Pair], work: Path) -> list[Pair]:
    """Return the pairs with hard negatives."""
    negatives: dict[tuple[str, str], Any] = {}
    for part in SETS[name]:
        mined = work / f"mined-{name}-{Path(part).name.partition('.')[0]}.jsonl"
        if not mined.is_file():
            mine_negatives(data / part, mined, model=BASE_ENCODER)
        negatives |= {(pair.question, pair.positive.answer): pair.negatives for pair in load_training_pairs(mined)}
    return [replace(pair, negatives=negatives[pair.question, pair.positive.answer]) for pair in pairs]


def make_recipe(
    encoder: str, system: System, pairs: Path, seed: int, epochs: int | None, narrow: Path | None
) -> RetrieverRecipe:
    """Return the small recipe of an encoder with the settings of a system."""
    file = RECIPES / ("endx-bert.toml" if encoder == "bert" else "endx-gru.toml")
    settings = [*system.settings, f'data=["{pairs}"]', f"seed={seed}", "optimiser.precision=f32"]
    settings += [f"encoder={encoder}"] if encoder != "bert" else []
    settings += [f"backbone={narrow}", "max_tokens=48"] if narrow else []
    return load_recipe(RetrieverRecipe, file, settings + ([f"epochs={epochs}"] if epochs else []))


def backbone() -> Encoder:
    """Load MiniLM before any training, reading sentences alone, as the trained encoders do."""
    folder = replace(read_encoder_folder(find_model(BASE_ENCODER)), context="none")
    return Encoder.of(folder, load_session("encoder", folder, cached_fingerprint(folder.path), "cpu", "f32"))


def ensure_measured(
    task: ReqaTask, recipe: RetrieverRecipe, teacher: Teacher, facts: dict[str, Any], out: Path, file: Path
) -> None:
    """Train and measure a model, and keep its ranks in ``file``, unless they are there."""
    facts = with_backbone_name({**facts, "recipe": recipe.model_dump(mode="json", exclude={"data"})})
    if file.is_file():
        if same_settings(facts, read_kept(file)[0]):
            return
        raise SystemExit(f"{file}: it has the ranks of other pairs or settings; move or remove it")
    if not (out / "run.json").is_file():
        with taught_by(teacher) as loss:
            train_recorded(train_retriever, recipe, out)
        facts |= {"widths": loss.widths()} if isinstance(loss, LearnedWidths) else {}
    record = json.loads((out / "run.json").read_text())
    hashes = {str(path): data_hash([Path(path)]) for path in recipe.data}
    if record["recipe"] != recipe.model_dump(mode="json") or record["data_sha256"] != hashes:
        raise SystemExit(f"{out}: it was trained with other settings or pairs; name another --work, or remove it")
    of_step = record["seconds"] / (record["steps"] - record.get("seconds_since_step", 0))
    facts |= {"steps": record["steps"], "seconds_a_step": round(of_step, 3), "commit": commit(ROOT / "src")}
    ranks = ranks_of(task, Encoder(out, precision="f32"))
    write_jsonl(file, [facts, *({"ranks": of_question} for of_question in ranks)])


def same_settings(facts: Mapping[str, Any], kept: Mapping[str, Any]) -> bool:
    """Return whether a run of these facts is the kept one; keys that only one recipe has count as defaults."""
    shared = {key: value for key, value in facts.items() if key in kept}
    return all(
        same_settings(value, kept[key]) if isinstance(value, Mapping) and kept[key] else value == kept[key]
        for key, value in shared.items()
    )


def with_backbone_name(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a run with the name of its backbone, which --work holds, in place of its path."""
    return {**facts, "recipe": {**facts["recipe"], "backbone": Path(facts["recipe"]["backbone"]).name}}


def read_kept(file: Path) -> tuple[dict[str, Any], list[list[float]]]:
    """Return the facts of a run, and its ranks."""
    facts, *rows = (row for _, row in read_jsonl(file))
    return with_backbone_name(facts), [row["ranks"] for row in rows]


def row(runs: Sequence[Sequence[Sequence[float]]]) -> dict[str, list[float]]:
    """Return mean and standard deviation over seeds."""
    of_runs = [figures(run) for run in runs]
    return {name: mean_and_deviation([of_run[name] for of_run in of_runs]) for name in METRICS}


def reciprocal(runs: Sequence[Sequence[Sequence[float]]]) -> list[float]:
    """Return each question's reciprocal rank, averaged over seeds."""
    values: list[float] = np.mean([[1 / of_question[0] for of_question in run] for run in runs], axis=0).tolist()
    return values


def over_seeds(theirs: Mapping[int, Any], ours: Mapping[int, Any]) -> float | None:
    """Return Welch's p for a difference in MRR of two systems, one run per seed; None for fewer than two of either."""
    if min(len(theirs), len(ours)) < 2:
        return None
    return float(
        ttest_ind(
            *([np.mean(reciprocal([run])) for run in runs.values()] for runs in (theirs, ours)), equal_var=False
        ).pvalue
    )


def but_seed(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the recipe of a run without its seed."""
    return {**facts["recipe"], "seed": None}


def collect(kept: Path, task: ReqaTask, name: str, pairs_sha256: str) -> dict[str, Any]:
    """Return the rows of all runs in ``kept`` on a set's pairs, and each system's differences from its rival and further
    ones."""
    runs: dict[tuple[str, str], dict[int, list[list[float]]]] = {}
    facts: dict[tuple[str, str], dict[str, Any]] = {}
    for file in sorted(kept.glob(f"{name}-*.jsonl.gz")):
        of_run, ranks = read_kept(file)
        if of_run["pairs_sha256"] == pairs_sha256:
            run = of_run["encoder"], of_run["system"]
            runs.setdefault(run, {})[of_run["seed"]] = ranks
            if but_seed(facts.setdefault(run, of_run)) != but_seed(of_run):
                raise SystemExit(f"{file}: it is of another recipe than the runs with other seeds; move it away")
    rows, differences, often = dict[str, Any](), dict[str, Any](), dict[str, dict[str, Any]]()
    for (encoder, system), of_seed in runs.items():
        key, of_run = f"{encoder} {system}", facts[encoder, system]
        rows[key] = row(list(of_seed.values())) | {"seeds": len(of_seed), "epochs": of_run["recipe"]["epochs"]}
        rows[key] |= {name: of_run[name] for name in ("settings", "steps", "seconds_a_step", "commit")}
        tables = []
        for minimum in (2, 4, 8) if name == "squad" else ():
            numbers = often_asked_numbers(task, minimum)
            tables.append((numbers, often.setdefault(f"at least {minimum}", {"questions": len(numbers)})))
            tables[-1][1][key] = row([[ranks[number] for number in numbers] for ranks in of_seed.values()])
        for rival in rivals(of_run["rival"]):
            theirs_of_seed = runs.get((encoder, rival), {})
            if theirs_of_seed and facts[encoder, rival]["recipe"]["epochs"] != of_run["recipe"]["epochs"]:
                raise SystemExit(f"{key}: it saw its pairs more or less often than {rival}; train both alike")
            if not (common := sorted(set(of_seed) & set(theirs_of_seed))):
                continue
            theirs, ours = (reciprocal([of[seed] for seed in common]) for of in (theirs_of_seed, of_seed))
            seeds = {"seeds": len(common), "p_over_seeds": over_seeds(theirs_of_seed, of_seed)}
            differences[f"{key} - {rival}"] = asdict(paired_difference(theirs, ours, 0)) | seeds
            for numbers, table in tables:
                gain = paired_difference([theirs[number] for number in numbers], [ours[number] for number in numbers], 0)
                table[f"{key} - {rival}"] = asdict(gain)
    return {"rows": rows, "mrr_differences": differences, "answers_with_questions": often}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", choices=SETS, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--encoder", action="append", choices=ENCODERS)
    parser.add_argument("--system", action="append", choices=[*SYSTEMS])
    parser.add_argument("--variant", action="append", nargs="+", default=[], help="NAME SYSTEM KEY=VALUE ...")
    parser.add_argument("--pairs", type=int, default=3000)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--width", type=int)
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--dev", action="store_true")
    arguments = parser.parse_args()
    if arguments.width and arguments.encoder and "bert" in arguments.encoder:
        parser.error("--width: bert is the whole backbone, whose width is its own")
    if arguments.dev and arguments.set == "nq":
        parser.error("--dev: NQ's held-out articles are its test collection; choose settings on another set")
    systems = {name: SYSTEMS[name] for name in arguments.system or ()}
    for name, base, *settings in arguments.variant:
        if base not in SYSTEMS:
            parser.error(f"--variant {name} {base}: there is no such system")
        systems[name] = System(base, (*SYSTEMS[base].settings, *settings), SYSTEMS[base].teacher)
    work, name, page = arguments.work, arguments.set, "kernels" if arguments.width else "endx"
    name += (f"_{arguments.width}_wide" if arguments.width else "") + ("_dev" if arguments.dev else "")
    work.mkdir(parents=True, exist_ok=True)
    narrow = narrow_backbone(BASE_ENCODER, arguments.width, work / f"{arguments.width}-wide") if arguments.width else None
    mined, plain = (work / f"{kind}-{arguments.set}-{arguments.pairs}.jsonl" for kind in ("with-negatives", "pairs"))
    pairs = draw_pairs(arguments.data, arguments.set, arguments.pairs)
    write_jsonl(plain, map(pair_row, pairs))
    if any("negatives=4" in system.settings for system in systems.values()) and not mined.is_file():
        write_jsonl(mined, map(pair_row, with_negatives(arguments.data, arguments.set, pairs, work)))
    task, pairs_sha256 = load_test(arguments.data, arguments.set, arguments.dev), data_hash([plain])
    before = None if narrow else figures(ranks_of(task, backbone()))
    print("the backbone as it is", before, flush=True)
    for encoder in arguments.encoder or ("gru",):
        for seed in arguments.seed or (0,):
            for key, system in systems.items():
                kind = mined if "negatives=4" in system.settings else plain
                recipe = make_recipe(encoder, system, kind, seed, arguments.epochs, narrow)
                facts = {"encoder": encoder, "system": key, "seed": seed, "pairs_sha256": pairs_sha256}
                facts |= {"rival": system.rival, "settings": list(system.settings)}
                if kind is mined:
                    facts["negatives_sha256"] = data_hash([mined])
                file = RESULTS / page / "ranks" / f"{name}-{encoder}-{key}-{seed}.jsonl.gz"
                out = work / f"{encoder}-{key}-{arguments.set}-{seed}"
                ensure_measured(task, recipe, system.teacher, facts, out, file)
                print(encoder, key, seed, figures(read_kept(file)[1]), flush=True)
    counts = {"pairs": len(pairs), "asked": len(task.questions), "candidates": task.candidates}
    counted = {**counts, "pairs_sha256": pairs_sha256, "backbone": before}
    report(f"{page}/{name}", {**counted, **collect(RESULTS / page / "ranks", task, name, pairs_sha256)})


if __name__ == "__main__":
    main()
