"""Low-rank factors against full training: exact match, memory and seconds of a step, of a reader on all-mpnet-base-v2.

Run:  python benchmarks/experiments/lora.py --data ../shared/data --work runs/lora

recipes/base/reader.toml, but on questions of one file alone, each with its own paragraph: all weights above the embeddings,
and factors of each rank. Every training is a process of its own, which also gives its peak memory. EM and F1 are those of
questions about held-out articles, each read in its own paragraph. One seed; rates are those of the card of mpnet-reader.
What is trained or answered already is not done again. Figures go to results/lora/training.json.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import save_squad, split_articles
from oreqa.evaluation import evaluate_openqa
from oreqa.files import read_json, write_json
from oreqa.models.graph.precision import offered_precisions

sys.path.append(str(Path(__file__).parents[1]))
from common import ROOT, process, report

FILE = "extractive/squad-train-pieces.json.gz"
RATES = {"full": 5e-5, "rank 32": 3e-4, "rank 64": 5e-4}


def train(system: str, arguments: argparse.Namespace, out: Path) -> dict[str, Any]:
    """Train a system unless it is trained already: steps, seconds of a step, peak memory and size."""
    figures = out.with_suffix(".json")
    if not figures.is_file():
        steps, batch = arguments.steps, arguments.batch
        settings = {
            "data": f'[{{file="{FILE}", questions={steps * batch}}}]',
            "data_root": str(arguments.data),
            "negatives": 0,
            "unanswerable": 0,
            "max_tokens": arguments.tokens,
            "optimiser.batch": batch,
            "optimiser.learning_rate": RATES[system],
        }
        if system != "full":
            settings["lora.rank"] = int(system.split()[1])
        given = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        recipe = str(ROOT / "recipes" / "base" / "reader.toml")
        command = [sys.executable, "-m", "oreqa", "train", "reader", "--recipe", recipe, *given, "--out", str(out)]
        _, peak, _ = process(command)
        record = read_json(out / "run.json")
        size = sum(file.stat().st_size for file in out.glob("*.safetensors"))
        each = round(record["seconds"] / record["steps"], 2)
        write_json(
            figures, {"steps": record["steps"], "step_seconds": each, "peak_mb": peak // 10**6, "size_mb": size / 1e6}
        )
    return dict(read_json(figures))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch", type=int, default=16, help="questions of a step")
    parser.add_argument("--tokens", type=int, default=192, help="tokens of a window in training")
    parser.add_argument("--questions", type=int, default=400, help="held-out questions that are drawn")
    arguments = parser.parse_args()
    work: Path = arguments.work
    held_out, rows = work / "held-out.json", {}
    save_squad(held_out, split_articles(load_paragraphs(arguments.data / FILE))[1])
    for system in RATES:
        out = work / system.replace(" ", "-")
        rows[system] = train(system, arguments, out)
        run = work / f"{out.name}-run"
        if not (run / "metrics.json").is_file():
            evaluate_openqa(held_out, run, reader=out, gold_passages=True, draw=arguments.questions)
        metrics = read_json(run / "metrics.json")
        rows[system] |= {"em": round(metrics["em"], 1), "f1": round(metrics["f1"], 1), "learning_rate": RATES[system]}
        print(system, rows[system], flush=True)
    settings = {name: getattr(arguments, name) for name in ("steps", "batch", "tokens", "questions")}
    precision = "bf16" if "bf16" in offered_precisions() else "f32"
    report("lora/training", {"settings": {**settings, "precision": precision}, "rows": rows})


if __name__ == "__main__":
    main()
