from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tiny_models import make_model
from training_parts import retriever_recipe

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

from oreqa.datasets.load import load_task, load_training_pairs  # noqa: E402
from oreqa.datasets.pairs import Candidate, Pair, gold_pairs, pair_row  # noqa: E402
from oreqa.errors import InputError, ModelError  # noqa: E402
from oreqa.evaluation.metrics import gold_ranks  # noqa: E402
from oreqa.models.encoder.encoder import Encoder  # noqa: E402
from oreqa.models.fitted import Fitted, read_fitted  # noqa: E402
from oreqa.training.records import train_recorded  # noqa: E402
from oreqa.training.retriever.loss import PASSAGE_WEIGHT  # noqa: E402
from oreqa.training.retriever.train import train_retriever  # noqa: E402

OPTIMISER = {"learning_rate": 3e-3, "batch": 6, "checkpoint_steps": 3}


def test_a_model_with_prompts_learns_and_keeps_them(squad_file: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    base = make_model(tmp_path / "e5-small")  # whose prompts are known by its name
    (base / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": "mean", "include_prompt": False}))
    train_retriever(retriever_recipe(squad_file, base, epochs=1), tmp_path / "m")
    encoder, theirs = (load(tmp_path / "m") for load in (Encoder, lambda path: SentenceTransformer(str(path), device="cpu")))
    assert (theirs.prompts["query"], theirs.prompts["document"]) == ("query: ", "passage: ")
    assert (encoder.prompts, encoder.folder.pool_prompt) == (Encoder(base).prompts, False)
    assert np.allclose(encoder.encode(["who jumps"]), theirs.encode_query(["who jumps"]), atol=2e-3)


def test_static_encoders_are_not_trained(squad_file: Path, tmp_path: Path) -> None:
    folder = make_model(tmp_path / "m")
    (folder / "config.json").write_text(json.dumps({"model_type": "model2vec"}))
    with pytest.raises(InputError, match="m: its embeddings are static, with no layers to train"):
        train_retriever(retriever_recipe(squad_file, folder), tmp_path / "out")


@pytest.mark.numeric
@pytest.mark.parametrize(
    "form",
    [
        {},
        {"context": "cross_segment", "pooling": "cls", "input_types": True, "projection": 8},
        {"input_types": True},
        {"towers": "separate", "projection": 8},
    ],
    ids=["inside", "pairs", "typed", "two encoders"],
)
def test_a_retriever_learns_and_its_folder_encodes(
    squad_file: Path, tiny: Path, tmp_path: Path, form: dict[str, object]
) -> None:
    from sentence_transformers import SentenceTransformer

    recipe = retriever_recipe(squad_file, tiny, epochs=8, scale=20.0, **form)
    record = train_recorded(train_retriever, recipe, tmp_path / "m")
    losses = [loss for _, loss in record["losses"]]
    assert losses[-1] < losses[0]
    encoder = Encoder(tmp_path / "m", precision="f32")
    # sentence-transformers asks for trust before it imports our own module, which models with input types need.
    theirs = SentenceTransformer(str(tmp_path / "m"), device="cpu", trust_remote_code=recipe.input_types)
    questions = ["who jumps over dog 3", "where sleeps fox 11"]
    assert np.allclose(encoder.encode(questions), theirs.encode_query(questions), atol=2e-3)
    text = "fox 3 jumps. it sleeps"
    whole, first, second = encoder.encode_passages([("", text, [(0, 12), (13, 22)])])[0]
    if recipe.context == "cross_segment":
        alone = theirs.encode_document([(text[:12], text), (text[13:], text)])
        assert np.allclose([first, second], alone, atol=2e-3)
    else:
        assert np.allclose(whole, theirs.encode_document([text])[0], atol=2e-3)
    assert json.loads((tmp_path / "m" / "run.json").read_text())["pairs"] == len(load_training_pairs(squad_file))


def test_two_encoders_begin_alike_and_learn_apart(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    recipe = retriever_recipe(squad_file, tiny, towers="separate", dev=str(squad_file))
    optimiser = recipe.optimiser.model_copy(update={"learning_rate": 1e-30})
    train_retriever(recipe.model_copy(update={"optimiser": optimiser}), tmp_path / "start")
    train_retriever(recipe, tmp_path / "end")
    weights = {
        (name, route): load_file(tmp_path / name / f"{route}_0_Transformer" / "model.safetensors")
        for name in ("start", "end")
        for route in ("query", "document")
    }
    tensor = "encoder.layer.0.output.dense.weight"
    backbone = load_file(tiny / "model.safetensors")[tensor]
    assert all(np.allclose(weights["start", route][tensor], backbone) for route in ("query", "document"))
    ends = [weights["end", route][tensor] for route in ("query", "document")]
    assert not any(np.allclose(end, backbone, atol=1e-4) for end in ends)
    assert not np.allclose(*ends, atol=1e-4)
    record = train_retriever(recipe.model_copy(update={"backbone": str(tmp_path / "end")}), tmp_path / "further")
    assert record["steps"] > 0


@pytest.mark.numeric
def test_whole_passages_are_learned_by_inner_products(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    keys = {"unit": "passage", "context": "none", "pooling": "cls", "similarity": "dot", "scale": 1.0, "projection": 8}
    recipe = retriever_recipe(squad_file, tiny, epochs=6, towers="separate", dev=str(squad_file), max_tokens=64, **keys)
    exact = recipe.model_copy(update={"optimiser": recipe.optimiser.model_copy(update={"precision": "f32"})})
    record = train_recorded(train_retriever, exact, tmp_path / "m")
    losses = [loss for _, loss in record["losses"]]
    assert losses[-1] < losses[0]
    encoder = Encoder(tmp_path / "m", precision="f32")
    theirs = SentenceTransformer(str(tmp_path / "m"), device="cpu")
    questions, texts = ["who jumps over dog 3", "where sleeps fox 11"], ["fox 3 jumps", "it sleeps. it jumps"]
    vectors = encoder.encode(questions)
    passages = np.stack([rows[0] for rows in encoder.encode_passages([("", text, []) for text in texts])])
    assert not np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=0.05)
    assert np.allclose(vectors, theirs.encode_query(questions), atol=2e-3)
    assert np.allclose(passages, theirs.encode_document(texts), atol=2e-3)
    scores = theirs.similarity(theirs.encode_query(questions), theirs.encode_document(texts)).numpy()
    assert np.allclose(vectors @ passages.T, scores, atol=1e-2)

    task = load_task(squad_file, held_out=True)
    encodings = encoder.encode_passages([(p.title, p.text, []) for p in task.passages])
    scores = encoder.encode(task.questions) @ np.stack([rows[0] for rows in encodings]).T
    owners = [number for number, passage in enumerate(task.passages) for _ in passage.sentences]
    ranks = [gold_ranks(own, [owners[row] for row in gold])[0] for own, gold in zip(scores, task.gold, strict=True)]
    assert 100 * np.mean(1 / np.array(ranks)) == pytest.approx(max(mrr for _, mrr in record["dev"]), abs=2)


def test_a_projection_is_trained_on_with_or_without_a_bias(squad_file: Path, tmp_path: Path) -> None:
    still = {"learning_rate": 1e-12, "batch": 8}
    for bias in (True, False):
        folder = make_model(tmp_path / f"bias-{bias}", dense=True)
        if not bias:
            weights = load_file(folder / "2_Dense" / "model.safetensors")
            save_file({"linear.weight": weights["linear.weight"]}, folder / "2_Dense" / "model.safetensors")
        linear = json.loads((folder / "2_Dense" / "config.json").read_text())
        linear |= {"activation_function": "torch.nn.modules.linear.Identity", "bias": bias}
        (folder / "2_Dense" / "config.json").write_text(json.dumps(linear))
        recipe = retriever_recipe(squad_file, folder, projection=8, optimiser=still)
        train_retriever(recipe, tmp_path / f"out-{bias}")
        before, after = (Encoder(f, precision="f32").encode("who jumps") for f in (folder, tmp_path / f"out-{bias}"))
        assert np.allclose(before, after, atol=1e-5)


def test_a_projection_with_an_activation_is_not_trained_on(squad_file: Path, tmp_path: Path) -> None:
    folder = make_model(tmp_path / "tanh", dense=True)
    assert "Tanh" in (folder / "2_Dense" / "config.json").read_text()
    with pytest.raises(ModelError, match="its projection to 8 dimensions is no single linear layer"):
        train_retriever(retriever_recipe(squad_file, folder, projection=8), tmp_path / "out")
    train_retriever(retriever_recipe(squad_file, folder, projection=4), tmp_path / "out")


def test_the_weights_of_cosines_do_not_come_with_inner_products(squad_file: Path, fitted: Path, tmp_path: Path) -> None:
    train_retriever(retriever_recipe(squad_file, fitted, similarity="dot", scale=1.0), tmp_path / "m")
    assert read_fitted(tmp_path / "m") == Fitted()


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"unit": "passage", "context": "cross_segment"}, "unit = passage has no sentence beside its passage"),
        ({"chunk": 4, "optimiser": {**OPTIMISER, "accumulate": 2}}, "chunk computes a batch of any size"),
    ],
)
def test_keys_that_do_not_fit_together(squad_file: Path, tiny: Path, keys: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        retriever_recipe(squad_file, tiny, **keys)


def test_two_encoders_are_no_place_for_input_types(squad_file: Path, tiny: Path) -> None:
    with pytest.raises(ValueError, match="tells one encoder what questions are; set towers=shared"):
        retriever_recipe(squad_file, tiny, towers="separate", input_types=True)


def test_nothing_to_learn_from_is_said(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    silver = replace(load_training_pairs(squad_file)[0], source="silver", score=0.2, weight=0.2)
    path.write_text(json.dumps(pair_row(silver)) + "\n")
    with pytest.raises(InputError, match=r"none is gold, and silver = positives with min_probability = 0\.5 takes"):
        train_retriever(retriever_recipe(path, tiny), tmp_path / "m")


def test_pair_files_and_beir_folders_are_read(squad_file: Path, tmp_path: Path) -> None:
    from oreqa.datasets.beir import Beir, Entry, save_beir

    gold = load_training_pairs(squad_file)
    held = gold_pairs(load_task(squad_file, held_out=True))
    assert len(gold) + len(held) == 48
    assert not {p.positive.context for p in gold} & {p.positive.context for p in held}
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(pair_row(pair)) + "\n" for pair in gold))
    assert load_training_pairs(path) == gold
    task = Beir((Entry("1", "t", "one"), Entry("2", "", "two")), {"q": "which"}, {"q": {"1": 1, "2": 0}})
    save_beir(tmp_path / "b", task, "train")
    assert load_training_pairs(tmp_path / "b") == [Pair("which", Candidate("one", "one", "t"))]


def test_training_stops_when_dev_no_longer_gains_and_keeps_the_best(
    squad_file: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measures, states = iter([1.0, 3.0, 2.0, 3.0, 9.0]), []

    def measure(task: object, folder: object, model: torch.nn.Module, *_: object, **__: object) -> float:
        states.append(model.passages.backbone.encoder.layer[0].output.dense.weight.detach().clone().numpy())
        return next(measures)

    monkeypatch.setattr("oreqa.training.retriever.train.dev_score", measure)
    recipe = retriever_recipe(squad_file, tiny, epochs=12, dev=str(squad_file), patience=2)
    record = train_retriever(recipe, tmp_path / "m")
    assert record["dev"] == [[3, 1.0], [6, 3.0], [9, 2.0], [12, 3.0]]
    kept = load_file(tmp_path / "m" / "model.safetensors")["encoder.layer.0.output.dense.weight"]
    assert [bool((kept == state).all()) for state in states] == [False, True, False, False]


def test_the_measure_is_what_the_saved_model_gets(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    recipe = retriever_recipe(squad_file, tiny, epochs=2, dev=str(squad_file))
    record = train_retriever(recipe, tmp_path / "m")
    task = load_task(squad_file, held_out=True)
    encoder = Encoder(tmp_path / "m")
    found = encoder.encode_passages([(p.title, p.text, [(s.start, s.end) for s in p.sentences]) for p in task.passages])
    vectors = np.concatenate([rows[1:] + PASSAGE_WEIGHT * rows[:1] for rows in found])
    scores = encoder.encode(task.questions) @ vectors.T
    ranks = [gold_ranks(own, gold)[0] for own, gold in zip(scores, task.gold, strict=True)]
    assert 100 * np.mean(1 / np.array(ranks)) == pytest.approx(max(mrr for _, mrr in record["dev"]), abs=2)


def test_beir_folders_are_trained_on(tiny: Path, tmp_path: Path) -> None:
    from oreqa.datasets.beir import Beir, Entry, save_beir

    entries = tuple(Entry(str(n), "", f"the fox {n} sleeps") for n in range(12))
    save_beir(
        tmp_path / "b",
        Beir(entries, {str(n): f"who {n}" for n in range(12)}, {str(n): {str(n): 1} for n in range(12)}),
        "train",
    )
    recipe = retriever_recipe(tmp_path / "b", tiny)
    record = train_recorded(train_retriever, recipe, tmp_path / "m")
    assert (record["pairs"], record["steps"]) == (12, 2)


def test_a_trained_encoder_keeps_the_weights_of_its_backbone_and_not_its_calibration(
    squad_file: Path, fitted: Path, tmp_path: Path
) -> None:
    train_retriever(retriever_recipe(squad_file, fitted), tmp_path / "trained")
    backbone, trained = read_fitted(fitted), read_fitted(tmp_path / "trained")
    assert trained == Fitted(fusion=backbone.fusion)
    assert backbone.calibration is not None


def test_new_layers_have_no_weights_of_the_backbone(squad_file: Path, fitted: Path, tmp_path: Path) -> None:
    train_retriever(retriever_recipe(squad_file, fitted, encoder="gru"), tmp_path / "m")
    assert (fitted / "fitted.json").is_file()
    assert not (tmp_path / "m" / "fitted.json").exists()


def test_one_pair_teaches_nothing(tiny: Path, tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(json.dumps(pair_row(Pair("who jumps", Candidate("A cat jumps.", "A cat jumps.")))) + "\n")
    with pytest.raises(InputError, match="the data has one pair: its answer has no other to be told from"):
        train_retriever(retriever_recipe(file, tiny), tmp_path / "m")


def test_others_may_read_what_is_trained(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    train_retriever(retriever_recipe(squad_file, tiny, projection=8), tmp_path / "m")
    modes = {file.stat().st_mode for file in (tmp_path / "m").rglob("*") if file.is_file()}
    assert len(modes) == 1
