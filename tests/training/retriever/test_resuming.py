from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from interruption import interrupted
from safetensors.numpy import load_file, save_file
from training_parts import retriever_recipe

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

from parameters import first_and_system  # noqa: E402
from server_process import free_port  # noqa: E402

from oreqa.datasets.load import load_training_pairs  # noqa: E402
from oreqa.datasets.pairs import pair_row  # noqa: E402
from oreqa.errors import InputError  # noqa: E402
from oreqa.models.encoder.encoder import Encoder  # noqa: E402
from oreqa.training.records import train_recorded  # noqa: E402
from oreqa.training.retriever.train import train_retriever  # noqa: E402

OPTIMISER = {"learning_rate": 3e-3, "batch": 6, "checkpoint_steps": 3}


def test_an_interrupted_training_ends_as_an_uninterrupted_one(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    recipe = retriever_recipe(squad_file, tiny, epochs=3, dropout=0.1, dev=str(squad_file), patience=100)
    whole = train_retriever(recipe, tmp_path / "whole")
    interrupted(lambda: train_retriever(recipe, tmp_path / "cut"), 5)
    cut = train_retriever(recipe, tmp_path / "cut")
    assert cut["dev"] == whole["dev"]
    assert cut["losses"] == whole["losses"]
    assert cut["seconds_since_step"] == 3
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "cut"))
    assert all((one[name] == other[name]).all() for name in one)


def test_checkpoints_of_another_run_are_refused(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    recipe = retriever_recipe(squad_file, tiny, epochs=3)
    out = tmp_path / "cut"
    interrupted(lambda: train_recorded(train_retriever, recipe, out), 5)
    assert json.loads((out / "started.json").read_text())["recipe"]["epochs"] == 3
    with pytest.raises(InputError, match=r"differs in seed \(it has \d+, not 3\), epochs \(it has 3, not 4\);"):
        train_recorded(train_retriever, recipe.model_copy(update={"seed": 3, "epochs": 4}), out)
    data = squad_file.read_bytes()
    squad_file.write_bytes(data + b" ")
    with pytest.raises(InputError, match="differs in the content of its files"):
        train_recorded(train_retriever, recipe, out)
    squad_file.write_bytes(data)
    # How often checkpoints are written decides nothing of the model.
    optimiser = recipe.optimiser.model_copy(update={"checkpoint_steps": 4})
    recipe = recipe.model_copy(update={"optimiser": optimiser})
    interrupted(lambda: train_recorded(train_retriever, recipe, out), 5)
    assert {path.name for path in (out / "checkpoints").glob("checkpoint-*")} == {"checkpoint-3", "checkpoint-4"}
    with pytest.raises(InputError, match=r"differs in dev"):  # with which the steps between checkpoints would matter
        train_recorded(train_retriever, recipe.model_copy(update={"dev": squad_file}), out)
    record = train_recorded(train_retriever, recipe, out)
    assert record["seconds_since_step"] > 0
    assert not (out / "started.json").exists()


@pytest.mark.parametrize("key", ["recipe", "optimiser", "data_sha256"])
def test_a_damaged_record_of_what_a_run_began_with_is_refused(
    squad_file: Path, tiny: Path, tmp_path: Path, key: str
) -> None:
    recipe, out = retriever_recipe(squad_file, tiny), tmp_path / "cut"
    interrupted(lambda: train_recorded(train_retriever, recipe, out), 5)
    (out / "started.json").write_text((out / "started.json").read_text().replace(f'"{key}"', '"x"'))
    with pytest.raises(InputError, match="it holds an interrupted run that differs in "):
        train_recorded(train_retriever, recipe, out)


def test_a_run_that_fails_at_once_leaves_nothing(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    recipe = retriever_recipe(squad_file, tiny, max_tokens=512)
    with pytest.raises(InputError, match="max_tokens = 512 is more than the 64 positions of tiny: set max_tokens lower"):
        train_recorded(train_retriever, recipe, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "keys",
    first_and_system(
        [
            {"batches": "clusters", "clusters": 3, "towers": "separate", "projection": 8},
            {
                "batches": "clusters",
                "cluster_epochs": 2,
                "chunk": 4,
                "loss": "soft_labels",
                "silver": "none",
                "negatives": 2,
            },
            {"batches": "distinct", "unit": "passage", "optimiser": {**OPTIMISER, "accumulate": 2}},
            {"batches": "distinct", "encoder": "gru", "pooling": "attention", "alignment": {"ramp_epochs": 2}},
            {"batches": "distinct", "encoder": "gru", "variational": {"kind": "cross"}},
        ]
    ),
    ids=["two encoders", "soft labels", "distinct", "alignment", "variational"],
)
def test_a_training_in_rounds_that_is_interrupted_five_times_ends_as_an_uninterrupted_one(
    squad_file: Path, tiny: Path, tmp_path: Path, keys: dict[str, object]
) -> None:
    gold = load_training_pairs(squad_file)
    pairs = [replace(pair, score=0.9) for pair in gold]
    pairs += [replace(a, positive=b.positive, source="silver", score=0.3) for a, b in zip(gold, gold[5:], strict=False)]
    data = tmp_path / "pairs.jsonl"
    data.write_text("".join(json.dumps(pair_row(pair)) + "\n" for pair in pairs))
    recipe = retriever_recipe(data, tiny, epochs=3, dropout=0.1, seed=5, **keys)
    whole = train_retriever(recipe, tmp_path / "whole")
    in_a_round = whole["steps"] // 3
    assert whole["steps"] == 3 * -(-len(gold) // (6 * recipe.optimiser.accumulate))
    steps = random.Random(0).sample(range(1, whole["steps"]), 4)
    for step in sorted([*steps, in_a_round]):  # at the end of a round, too
        interrupted(lambda: train_retriever(recipe, tmp_path / "cut"), step)
    clusters = {file.name for file in (tmp_path / "cut" / "checkpoints").glob("clusters-*")}
    made = max(0, (max(steps) - 1) // in_a_round) // recipe.cluster_epochs + 1 if recipe.batches == "clusters" else 0
    assert clusters == {f"clusters-{number}.npy" for number in range(made)}
    cut = train_retriever(recipe, tmp_path / "cut")
    assert cut["losses"] == whole["losses"]
    assert "seconds_since_step" in cut
    assert not (tmp_path / "cut" / "checkpoints").exists()
    files = sorted(file.relative_to(tmp_path / "whole") for file in (tmp_path / "whole").rglob("*.safetensors"))
    assert len(files) == (4 if recipe.towers == "separate" else 1 + (recipe.pooling == "attention"))
    for file in files:
        one, other = (load_file(tmp_path / name / file) for name in ("whole", "cut"))
        assert all((one[name] == other[name]).all() for name in one)


def test_clusters_are_of_the_model_as_it_is(
    squad_file: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import oreqa.training.retriever.rounds as clusters

    vectors: list[np.ndarray] = []

    def k_means(found: np.ndarray, number: int, points: int, seed: int) -> np.ndarray:
        assert (number, points) == (4, 1000)
        vectors.append(found)
        return np.zeros(len(found), np.int32)

    monkeypatch.setattr(clusters, "k_means", k_means)
    keys = {"batches": "clusters", "clusters": 4}
    recipe = retriever_recipe(squad_file, tiny, epochs=3, max_tokens=64, **keys)
    train_retriever(recipe, tmp_path / "m")
    assert len(vectors) == 3
    positives = (pair.positive for pair in load_training_pairs(squad_file))
    passages = [(title, text, []) for text, title in dict.fromkeys((c.context, c.head) for c in positives)]
    encodings = Encoder(tiny, precision="f32").encode_passages(passages)
    assert np.allclose(vectors[0], [rows[0] for rows in encodings], atol=2e-5)
    assert not np.allclose(vectors[0], vectors[1], atol=1e-3)
    assert not np.allclose(vectors[1], vectors[2], atol=1e-3)


def test_clusters_of_a_run_that_left_no_checkpoint_are_made_anew(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    recipe = retriever_recipe(squad_file, tiny, batches="clusters", clusters=4)
    train_retriever(recipe, tmp_path / "whole")
    (tmp_path / "again" / "checkpoints").mkdir(parents=True)
    np.save(tmp_path / "again" / "checkpoints" / "clusters-0.npy", np.zeros(3, np.int32))  # of other data
    train_retriever(recipe, tmp_path / "again")
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "again"))
    assert all((one[name] == other[name]).all() for name in one)


def test_passages_that_would_be_a_cluster_each_are_refused(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    recipe = retriever_recipe(squad_file, tiny, batches="clusters", clusters=1000)
    with pytest.raises(InputError, match=r"the data has \d+ passages, too few for 1,000 clusters"):
        train_retriever(recipe, tmp_path / "out")
    with pytest.raises(ValueError, match="greater than or equal to 2"):
        retriever_recipe(squad_file, tiny, batches="clusters", clusters=1)


def test_clusters_are_made_anew_within_an_epoch(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    recipe = retriever_recipe(squad_file, tiny, epochs=2, batches="clusters", clusters=2, cluster_epochs=0.5)
    whole = train_retriever(recipe, tmp_path / "whole")
    interrupted(lambda: train_retriever(recipe, tmp_path / "cut"), whole["steps"] // 2)  # in the second half of the first
    clusters = {file.name for file in (tmp_path / "cut" / "checkpoints").glob("clusters-*")}
    assert clusters == {"clusters-0.npy", "clusters-1.npy"}
    cut = train_retriever(recipe, tmp_path / "cut")
    assert cut["losses"] == whole["losses"]
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "cut"))
    assert all((one[name] == other[name]).all() for name in one)
    for epochs in (0.4, 1.5):
        with pytest.raises(ValueError, match="a whole number of epochs, or a half, a third"):
            retriever_recipe(squad_file, tiny, batches="clusters", cluster_epochs=epochs)


def test_a_key_of_clusters_without_them_is_refused(squad_file: Path, tiny: Path) -> None:
    for key in ("clusters", "cluster_epochs"):
        with pytest.raises(ValueError, match=f"{key} = 3 would be ignored: it needs batches=clusters"):
            retriever_recipe(squad_file, tiny, batches="distinct", **{key: 3})


@pytest.mark.system
@pytest.mark.parametrize(
    ("towers", "batches", "table"),
    [
        ("shared", "by_passage", ""),
        ("separate", "clusters", "[alignment]\n"),
        ("shared", "distinct", '[variational]\nkind = "cross"\n'),
    ],
)
def test_the_command_trains_under_torchrun(
    squad_file: Path, tiny: Path, tmp_path: Path, towers: str, batches: str, table: str
) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text(
        f'kind = "retriever"\nbackbone = "{tiny}"\ndata = ["{squad_file}"]\nmax_tokens = 48\n'
        f'towers = "{towers}"\nbatches = "{batches}"\n'
        f"{table}[optimiser]\nlearning_rate = 1e-3\nbatch = 6\n"
    )
    ended = torchrun("--standalone", "--nproc-per-node=2", recipe=recipe, out=tmp_path / "m")
    assert ended.wait(200) == 0
    assert_two_processes_trained(tmp_path / "m")


@pytest.mark.system
def test_the_command_trains_on_two_machines(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text(
        f'kind = "retriever"\nbackbone = "{tiny}"\ndata = ["{squad_file}"]\nmax_tokens = 48\n'
        "[optimiser]\nlearning_rate = 1e-3\nbatch = 6\n"
    )
    place = ("--nnodes=2", "--nproc-per-node=1", "--master-addr=127.0.0.1", f"--master-port={free_port()}")
    nodes = [torchrun(*place, f"--node-rank={node}", recipe=recipe, out=tmp_path / "m") for node in range(2)]
    assert [node.wait(200) for node in nodes] == [0, 0]
    assert_two_processes_trained(tmp_path / "m")


def torchrun(*options: str, recipe: Path, out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "torch.distributed.run", *options, "-m", "oreqa", "train", "retriever"]
    return subprocess.Popen([*command, "--recipe", recipe, "--out", out])


def assert_two_processes_trained(out: Path) -> None:
    record = json.loads((out / "run.json").read_text())
    assert record["steps"] == -(-record["pairs"] // 12)  # both learn from six at a time
    assert not (out / "checkpoints").exists()
    assert Encoder(out).encode(["who"]).shape == (1, 32)


def test_checkpoints_with_other_names_of_weights_are_refused(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    recipe = retriever_recipe(squad_file, tiny)
    interrupted(lambda: train_retriever(recipe, tmp_path / "m"), 5)
    (file,) = (tmp_path / "m" / "checkpoints").glob("*/model.safetensors")
    save_file({name.replace("passages", "former"): value for name, value in load_file(file).items()}, file)
    (file.parent / "checksums.json").unlink()  # it would be a damaged one
    with pytest.raises(InputError, match="its checkpoints were made by another version of oreqa; remove them to begin anew"):
        train_retriever(recipe, tmp_path / "m")


@pytest.mark.parametrize("changes", [{"optimiser.learning_rate": 1e30}, {"scale": 1e38}])
def test_a_training_that_diverges_saves_nothing(
    squad_file: Path, tiny: Path, tmp_path: Path, changes: dict[str, float]
) -> None:
    optimiser = {**OPTIMISER, "learning_rate": changes.get("optimiser.learning_rate", 1e-3), "checkpoint_steps": 1}
    recipe = retriever_recipe(squad_file, tiny, epochs=2, optimiser=optimiser, scale=changes.get("scale", 20.0))
    with pytest.raises(InputError, match=r"training diverged at step \d+: its loss is not a finite number; set optimiser"):
        train_recorded(train_retriever, recipe, tmp_path / "m")
    assert not (tmp_path / "m").exists()
