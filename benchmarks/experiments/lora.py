"""Low-rank factors compared with full training of a reader on all-mpnet-base-v2: exact match, memory, size, step time.

Run:  python benchmarks/experiments/lora.py --data ../shared/data --work runs/lora

The recipe is recipes/base/reader.toml, but only with questions of one file, each with its own paragraph: all weights
above the embeddings, and factors of each rank. Every training is a separate process, which also gives its peak memory.
EM and F1 are those of questions about held-out articles, each read in its own paragraph. There is one seed; learning
rates are those of mpnet-reader's card. Steps are timed separately, in one process in which the systems take turns. What
is already trained, answered or timed is not done again. Figures are written to results/lora/training.json.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import torch

from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import save_squad, split_articles
from oreqa.evaluation import evaluate_openqa
from oreqa.files import read_json, write_json
from oreqa.models.graph.precision import offered_precisions
from oreqa.models.names import find_model
from oreqa.models.reader.module import ReaderModel
from oreqa.training.backbone import start_headed
from oreqa.training.recipes import Lora

sys.path.append(str(Path(__file__).parents[1]))
from common import ROOT, process, report

FILE = "extractive/squad-train-pieces.json.gz"
SYSTEMS: dict[str, tuple[float, Lora | None]] = {
    "full": (5e-5, None),
    "rank 32": (3e-4, Lora(rank=32)),
    "rank 64": (5e-4, Lora(rank=64)),
}
"""Learning rate and factors of each."""
PRECISION = "bf16" if "bf16" in offered_precisions() else "f32"


def train(system: str, arguments: argparse.Namespace, out: Path) -> dict[str, Any]:
    """Train a system unless it is trained already; return the peak memory and the size of what is saved."""
    figures = out.with_suffix(".json")
    if not figures.is_file():
        steps, batch, (rate, lora) = arguments.steps, arguments.batch, SYSTEMS[system]
        settings = {
            "data": f'[{{file="{FILE}", questions={steps * batch}}}]',
            "data_root": str(arguments.data),
            "negatives": 0,
            "unanswerable": 0,
            "max_tokens": arguments.tokens,
            "optimiser.batch": batch,
            "optimiser.learning_rate": rate,
        }
        if lora is not None:
            settings["lora.rank"] = lora.rank
        given = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        recipe = str(ROOT / "recipes" / "base" / "reader.toml")
        command = [sys.executable, "-m", "oreqa", "train", "reader", "--recipe", recipe, *given, "--out", str(out)]
        _, peak, _ = process(command)
        size = sum(file.stat().st_size for file in out.glob("*.safetensors"))
        write_json(figures, {"peak_mb": peak // 10**6, "size_mb": round(size / 1e6, 1)})
    return dict(read_json(figures))


def time_steps(windows: int, tokens: int, rounds: int = 7) -> dict[str, dict[str, Any]]:
    """Return trained parameters and fastest seconds of a step of each system, on windows of random tokens."""
    base, rows = find_model("all-mpnet-base-v2"), {}
    ids = torch.randint(5, 30_000, (windows, tokens), generator=torch.Generator().manual_seed(0))
    inputs = (ids, torch.ones_like(ids), torch.zeros_like(ids))
    models, optimisers = {}, {}
    for system, (_, lora) in SYSTEMS.items():
        model = start_headed(
            ReaderModel,
            base,
            dropout=0.1,
            attention_dropout=0.0,
            freeze_embeddings=True,
            lora=lora,
            oreqa={"kind": "reader"},
        )
        models[system] = model.train()
        trained = [weights for weights in model.parameters() if weights.requires_grad]
        optimisers[system] = torch.optim.AdamW(trained, fused=True)
        rows[system] = {"trained_parameters": sum(map(torch.numel, trained)), "step_seconds": float("inf")}
    for _ in range(rounds):
        for system, model in models.items():
            begun = time.perf_counter()
            with torch.autocast("cpu", torch.bfloat16, enabled=PRECISION == "bf16"):
                starts, ends, _ = model(*inputs)
            (starts.float().logsumexp(-1).sum() + ends.float().logsumexp(-1).sum()).backward()
            optimisers[system].step()
            optimisers[system].zero_grad()
            rows[system]["step_seconds"] = min(rows[system]["step_seconds"], round(time.perf_counter() - begun, 2))
    return rows


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
    held_out, timed = work / "held-out.json", work / "steps.json"
    save_squad(held_out, split_articles(load_paragraphs(arguments.data / FILE))[1])
    if not timed.is_file():
        write_json(timed, time_steps(arguments.batch, arguments.tokens))
    rows = read_json(timed)
    for system, (rate, _) in SYSTEMS.items():
        out = work / system.replace(" ", "-")
        rows[system] |= train(system, arguments, out)
        run = work / f"{out.name}-run"
        if not (run / "metrics.json").is_file():
            evaluate_openqa(held_out, run, reader=out, gold_passages=True, draw=arguments.questions)
        metrics = read_json(run / "metrics.json")
        rows[system] |= {"em": round(metrics["em"], 1), "f1": round(metrics["f1"], 1), "learning_rate": rate}
        print(system, rows[system], flush=True)
    settings = {name: getattr(arguments, name) for name in ("steps", "batch", "tokens", "questions")}
    report("lora/training", {"settings": {**settings, "precision": PRECISION}, "rows": rows})


if __name__ == "__main__":
    main()
