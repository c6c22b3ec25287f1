"""Low-rank factors at inference: merged into each model's weights, or beside one base that two models share.

Run:  python benchmarks/speed/lora_graph.py --reader mpnet-reader

Two models of one base are loaded, and read five passages of 260 tokens each. ``merged`` is two graphs whose factors
were added to the weights, as oreqa loads them; ``beside`` is one graph in which an input chooses one of two sets of factors,
``W x + B (A x)``. The second model's factors are copies of the first's. Each way runs in a separate process, from graphs
saved before: seconds to load, resident memory when loaded and after reading, median and fastest milliseconds of one reading,
and the largest difference between the start logits of the two ways. Figures are written to results/lora/inference.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.models.differences import DIFFERENCE
from oreqa.models.graph import layers
from oreqa.models.graph.architectures import build_graph
from oreqa.models.graph.mpnet import mpnet_graph
from oreqa.models.graph.openvino import compile_cached
from oreqa.models.graph.precision import offered_precisions
from oreqa.models.graph.quiet_openvino import op
from oreqa.models.names import difference_base, load_tensors, read_config
from oreqa.models.settings import encoder_prefix
from oreqa.models.weights import linear_head, load_weights, uniform_name
from oreqa.paths import cache_folder

sys.path.append(str(Path(__file__).parents[1]))
from common import process, report

WAYS, PASSAGES, TOKENS = ("merged", "beside"), 5, 260


class Beside(layers.Constants):
    """Constants whose linear layers add the chosen factors' product."""

    factors: dict[str, np.ndarray]
    chosen: Any

    def linear(self, x: Any, name: str, *shape: Any, **options: Any) -> Any:
        """Return the linear layer with its factors beside it."""
        y = super().linear(x, name, *shape, **options)
        for side in "ab":
            pair = np.stack([self.factors[f"{self._prefix}{name}.{side}"]] * 2)
            x = op.matmul(x, op.gather(op.constant(pair), self.chosen, layers.scalar(0)), False, True)
        return op.add(y, x)


def graph(folder: Path, way: str) -> Any:
    """Return the reader's graph, with its factors merged or beside the base's weights."""
    config, weights = read_config(folder), load_weights(folder)
    head = linear_head(weights, "qa_outputs", folder, config)
    if way == "merged":
        built, extra = build_graph(folder, weights, config), {}
    else:
        prefix, base = encoder_prefix(config), difference_base(folder)
        assert base is not None
        stored = {uniform_name(name, prefix): value for name, value in load_tensors(folder / DIFFERENCE).items()}
        scaled = {n: v * stored[f"{n}_scale"] if f"{n}_scale" in stored else v for n, v in stored.items()}
        Beside.factors = {name: np.asarray(value, np.float32) for name, value in scaled.items()}
        Beside.chosen = op.parameter([], np.int64, "chosen")
        matrices = {name: value for name, value in load_weights(base).items() if value.ndim > 1}
        built, extra = (
            mpnet_graph(Beside(folder, {**weights, **matrices}, config), layers.Options()),
            {"chosen": Beside.chosen},
        )
    return built.model({"ends": layers.dense(built.hidden, *head)}, extra)


def resident() -> int:
    """Return the resident memory of this process, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) // 1000


def measure(folder: Path, way: str, precision: str, rounds: int) -> dict[str, Any]:
    """Return the figures of one way, measured in this process."""
    before, begin = resident(), time.perf_counter()
    number = 2 if way == "merged" else 1
    models = [compile_cached(f"lora-{way}-{n}", lambda: graph(folder, way), precision) for n in range(number)]
    seconds, loaded = time.perf_counter() - begin, resident()
    rng = np.random.default_rng(0)
    ids = rng.integers(1000, 30000, (PASSAGES, TOKENS))
    inputs = [ids, np.ones_like(ids), np.zeros_like(ids)]
    requests = [model.create_infer_request() for model in models]
    times = []
    for turn in range(rounds + 2):
        begin = time.perf_counter()
        for which in range(2):
            given = inputs if way == "merged" else [*inputs, np.array(which, np.int64)]
            requests[which % number].infer(given)
        times.append((time.perf_counter() - begin) / 2 * (turn > 1))
    logits = requests[0].output_tensors[0].data[..., 0].tolist()
    median, fastest = (round(1000 * figure(times[2:]), 1) for figure in (statistics.median, min))
    row = {"load_seconds": round(seconds, 2), "loaded_mb": loaded - before, "read_mb": resident() - before}
    return {**row, "read_milliseconds": median, "fastest_milliseconds": fastest, "logits": logits}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reader", type=Path, required=True, help="a reader that is a low-rank difference from its base")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--precision", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        print(json.dumps(measure(options.reader, options.way, options.precision, options.rounds)))
        return
    rows: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as cache:
        (Path(cache) / "models").symlink_to(cache_folder() / "models")  # the base is there
        for precision in ("f32", "bf16"):
            if precision not in offered_precisions():
                continue
            logits = {}
            for way in WAYS:
                command = [sys.executable, __file__, "--reader", str(options.reader), "--way", way, "--precision", precision]
                command = ["/usr/bin/env", f"OREQA_CACHE={cache}", *command]
                for rounds in (0, options.rounds):  # the first time, graphs are built and saved
                    _, peak, printed = process([*command, "--rounds", str(max(1, rounds))])
                row = json.loads(printed.splitlines()[-1])
                logits[way] = np.array(row.pop("logits"))
                rows[f"{way}, {precision}"] = {**row, "peak_mb": peak // 10**6}
            difference = float(np.abs(logits["merged"] - logits["beside"]).max())
            rows[f"beside, {precision}"]["largest_difference"] = round(difference, 5)
    report("lora/inference", {"passages": PASSAGES, "tokens": TOKENS, "rows": rows})


if __name__ == "__main__":
    main()
