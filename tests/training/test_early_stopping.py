"""The best checkpoint of a dev set is kept, in every family, through interruptions, too."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interruption import interrupted
from safetensors.numpy import load_file
from tiny_models import make_generator

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

from parameters import first_and_system  # noqa: E402

from oreqa.datasets.paragraphs import is_held_out_name  # noqa: E402
from oreqa.errors import InputError  # noqa: E402
from oreqa.training.cross_encoder.train import ranking_metric  # noqa: E402
from oreqa.training.extractor.train import gold_among_best  # noqa: E402
from oreqa.training.loop import EarlyStopping  # noqa: E402
from oreqa.training.train import train_model  # noqa: E402

KINDS = ("reader", "classifier", "reranker", "generator", "extractor", "openqa", "retriever")


def pairs_of(path: Path, numbers: range) -> Path:
    rows = []
    for n in numbers:
        text = f"fox {n} jumps over dog {n}. then it sleeps"
        negative = {"answer": "then it sleeps", "context": text, "title": "", "start": text.index("then")}
        rows.append({"question": f"who jumps over {n}", "answer": text[: text.index(" then")], "context": text})
        rows[-1] |= {"start": 0, "negatives": [negative]}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def predictions_of(path: Path, reader: Path, squad_file: Path) -> Path:
    from oreqa.mining.predictions import mine_predictions

    mine_predictions([squad_file], path, reader=reader, k=20)
    return path


@pytest.fixture
def recipes(squad_file: Path, tiny: Path, tiny_reader: Path, tmp_path: Path) -> dict[str, str]:
    """A small recipe of each kind, with a dev set."""
    on_file, backbone = f'data = [{{file = "{squad_file}", epochs = 2}}]\ndev = "{squad_file}"', f'backbone = "{tiny}"'
    train, dev = pairs_of(tmp_path / "pairs.jsonl", range(24)), pairs_of(tmp_path / "dev.jsonl", range(24, 36))
    predictions = predictions_of(tmp_path / "predictions.jsonl", tiny_reader, squad_file)
    others = shutil.copy(predictions, tmp_path / "others.jsonl")
    generator = make_generator(tmp_path / "generator", styles=("story",))
    windows = "max_tokens = 48\noverlap = 8"
    return {
        "reader": f'{backbone}\n{on_file}\ndev_metric = "f1"\n{windows}',
        "classifier": f'{backbone}\ndata = ["{train}"]\ndev = "{dev}"\ndev_metric = "auc"\nepochs = 2\nmax_tokens = 48',
        "reranker": f'reader = "{tiny_reader}"\npredictions = "{predictions}"\ndev = "{others}"\nepochs = 3\n'
        "candidates = 3\npool = 5\nmax_tokens = 48",
        "generator": f'backbone = "{generator}"\n'
        + on_file.replace("epochs", 'style = "story", epochs')
        + "\nmax_tokens = 40\nquestion_tokens = 20",
        "extractor": f"{backbone}\n{on_file}\n{windows}",
        "openqa": f'retriever = "{tiny}"\nreader = "{tiny_reader}"\ncorpus = "{squad_file}"\ndata = ["{squad_file}"]\n'
        f'dev = "{squad_file}"\ndev_metric = "em"\npassages = 3\nearly_depth = 10\nmatch_depth = 20\nscale = 20.0\n{windows}',
        "retriever": f'{backbone}\ndata = ["{squad_file}"]\ndev = "{squad_file}"\ndev_metric = "r@1"\nepochs = 2\n'
        "max_tokens = 48",
    }


def trained(kind: str, recipe: str, out: Path) -> dict[str, Any]:
    file = out.with_suffix(".toml")
    steps = "learning_rate = 3e-3\nbatch = 6\ncheckpoint_steps = 2"
    file.write_text(f'kind = "{kind}"\npatience = 100\n{recipe}\n[optimiser]\n{steps}\n')
    return train_model(kind, file, out)


def weights_of(folder: Path) -> dict[str, np.ndarray]:
    files = [file for file in sorted(folder.rglob("*.safetensors")) if "work" not in file.parts]
    return {f"{file.relative_to(folder)} {name}": value for file in files for name, value in load_file(file).items()}


@pytest.mark.parametrize("kind", first_and_system(KINDS))
def test_a_killed_run_keeps_the_same_best_checkpoint(kind: str, recipes: dict[str, str], tmp_path: Path) -> None:
    whole = trained(kind, recipes[kind], tmp_path / "whole")
    metric = next(name for name in whole["checkpoint"] if name not in ("kept", "step"))
    values = [value for _, value in whole["dev"]]
    best = min(values) if metric == "loss" else max(values)
    assert whole["checkpoint"] == {"kept": "best", "step": whole["dev"][values.index(best)][0], metric: best}
    assert whole["dev"][-1][0] == whole["steps"]
    interrupted(lambda: trained(kind, recipes[kind], tmp_path / "cut"), whole["steps"] - 1)
    cut = trained(kind, recipes[kind], tmp_path / "cut")
    assert cut["seconds_since_step"] > 0
    assert (cut["dev"], cut["checkpoint"]) == (whole["dev"], whole["checkpoint"])
    weights = weights_of(tmp_path / "whole")
    assert all(np.array_equal(value, weights[name]) for name, value in weights_of(tmp_path / "cut").items())
    assert not (tmp_path / "cut" / "checkpoints").exists()


@pytest.mark.parametrize(("lower", "kept"), [(False, 2), (True, 1)])
def test_the_saved_model_is_that_of_the_best_step(
    recipes: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lower: bool, kept: int
) -> None:
    measures, states = iter([2.0, 1.0, 3.0, 0.5, 2.5]), []

    def begin(recipe: Any, model: torch.nn.Module, *_: Any) -> EarlyStopping:
        def measure() -> float:
            states.append(model.qa_outputs.weight.detach().clone().numpy())
            return next(measures)

        return EarlyStopping("em", measure, patience=10, lower_is_better=lower)

    monkeypatch.setattr("oreqa.training.reader.train.dev_reading", begin)
    record = trained("reader", recipes["reader"].replace("epochs = 2", "questions = 24"), tmp_path / "m")
    weights = load_file(tmp_path / "m" / "model.safetensors")["qa_outputs.weight"]
    assert record["checkpoint"]["step"] == record["dev"][kept][0]
    assert [np.array_equal(weights, state) for state in states] == [place == kept for place in range(len(states))]


def test_a_run_that_was_killed_after_it_stopped_trains_no_further(
    recipes: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measuring(*values: float) -> None:
        measures = iter(values)
        early_stopping = EarlyStopping("em", lambda: next(measures), patience=2)
        monkeypatch.setattr("oreqa.training.reader.train.dev_reading", lambda *_: early_stopping)

    measuring(2.0, 3.0, 1.0, 0.5)
    recipe = recipes["reader"].replace("epochs = 2", "epochs = 5")
    whole = trained("reader", recipe, tmp_path / "whole")
    assert [value for _, value in whole["dev"]] == [2.0, 3.0, 1.0, 0.5]
    measuring(2.0, 3.0, 1.0, 0.5)
    interrupted(lambda: trained("reader", recipe, tmp_path / "cut"))
    measuring()
    (tmp_path / "cut").rename(tmp_path / "moved")
    moved = trained("reader", recipe, tmp_path / "moved")
    assert {**moved, "seconds": 0, "seconds_since_step": 0} == {**whole, "seconds": 0, "seconds_since_step": 0}
    weights = weights_of(tmp_path / "whole")
    assert all(np.array_equal(value, weights[name]) for name, value in weights_of(tmp_path / "moved").items())


@pytest.mark.system
def test_processes_under_torchrun_keep_the_same_best_checkpoint(recipes: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(
        f'kind = "reader"\npatience = 100\n{recipes["reader"]}\n[optimiser]\nlearning_rate = 3e-3\nbatch = 3\n'
        "checkpoint_steps = 1\n"
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "oreqa", "train"]
    result = subprocess.run(
        [*command, "reader", "--recipe", tmp_path / "r.toml", "--out", tmp_path / "m"],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert result.returncode == 0, result.stderr
    record = json.loads((tmp_path / "m" / "run.json").read_text())
    assert [step for step, _ in record["dev"]] == list(range(1, record["steps"] + 1))
    assert record["checkpoint"]["f1"] == max(value for _, value in record["dev"])
    assert not (tmp_path / "m" / "checkpoints").exists()


def test_without_a_dev_set_the_last_checkpoint_is_kept(recipes: dict[str, str], tmp_path: Path) -> None:
    recipe = "\n".join(line for line in recipes["extractor"].splitlines() if not line.startswith("dev"))
    record = train_without_patience("extractor", recipe, tmp_path / "m")
    assert record["checkpoint"] == {"kept": "last", "reason": "no dev set is measured"}
    assert json.loads((tmp_path / "m" / "run.json").read_text())["checkpoint"]["kept"] == "last"


def train_without_patience(kind: str, recipe: str, out: Path) -> dict[str, Any]:
    file = out.with_suffix(".toml")
    file.write_text(f'kind = "{kind}"\n{recipe}\n[optimiser]\nlearning_rate = 3e-3\nbatch = 6\n')
    return train_model(kind, file, out)


def test_a_dev_set_that_measures_nothing_is_refused(recipes: dict[str, str], tmp_path: Path) -> None:
    squad, spans = tmp_path / "empty.json", tmp_path / "spans.jsonl"
    title = next(title for title in map(str, range(100)) if is_held_out_name(title))
    article = {"title": title, "paragraphs": [{"context": "Foxes run.", "qas": []}]}
    squad.write_text(json.dumps({"version": "1.1", "data": [article]}))
    row = {"id": "1", "question": "who", "passages": [["", "a fox"]], "right": [False]}
    rows = [{**row, "spans": [[0, 2, 5, 0.0]]}, {**row, "spans": [], "right": []}]  # the second found nothing
    spans.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for kind, empty, message in (
        ("reader", squad, "answer no question"),
        ("extractor", squad, "hold no answer"),
        ("generator", squad, "no question"),
        ("reranker", spans, "no question has both a right and a wrong span among its first 5"),
    ):
        lines = recipes[kind].splitlines()
        recipe = "\n".join(f'dev = "{empty}"' if line.startswith("dev =") else line for line in lines)
        with pytest.raises(InputError, match=message):
            trained(kind, recipe, tmp_path / kind)


def test_metrics_of_a_ranking_equal_the_obvious_ones() -> None:
    lists = [([3.0, 1.0, 2.0], [1, 0, 0]), ([1.0, 4.0, 1.0], [1, 0, 0]), ([0.0, 5.0], [0, 0]), ([2.0, 7.0, 1.0], [0, 1, 1])]
    scores = [np.array(row) for row, _ in lists]
    labels = [np.array(row, bool) for _, row in lists]
    assert ranking_metric("em", scores, labels) == 50.0
    assert ranking_metric("mrr", scores, labels) == round(100 * (1 + 1 / 2.5 + 0 + 1) / 4, 2)
    flat = [(s, right) for row, golds in lists for s, right in zip(row, golds, strict=True)]
    rows = [(a > b) + 0.5 * (a == b) for a, right in flat if right for b, other in flat if not other]
    assert ranking_metric("auc", scores, labels) == round(100 * sum(rows) / len(rows), 2)


def test_as_many_best_spans_count_as_were_asked_about() -> None:
    scores = torch.tensor([[[5.0, 9.0], [4.0, 1.0]], [[1.0, 2.0], [3.0, 4.0]]])
    allowed = torch.tensor([[[True, False], [True, True]], [[True, True], [True, True]]])
    gold = torch.tensor([[[True, False], [False, True]], [[False, False], [True, False]]])
    assert gold_among_best(scores, allowed, gold) == 1  # of the first window's two, the best allowed one; not the second's
