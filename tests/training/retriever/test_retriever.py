from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from interruption import interrupted
from safetensors.numpy import load_file, save_file
from tiny_models import make_model
from training_parts import loss_of, model_of, pool_of

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

from oreqa.datasets.load import load_task, load_training_pairs  # noqa: E402
from oreqa.datasets.pairs import Candidate, Pair, pair_row  # noqa: E402
from oreqa.errors import InputError, ModelError  # noqa: E402
from oreqa.evaluation.metrics import gold_ranks  # noqa: E402
from oreqa.models.encoder.encoder import Encoder  # noqa: E402
from oreqa.models.encoder.folder import read_encoder_folder  # noqa: E402
from oreqa.models.fitted import Fitted, read_fitted  # noqa: E402
from oreqa.training.records import train_recorded  # noqa: E402
from oreqa.training.retriever.collator import RetrieverCollator  # noqa: E402
from oreqa.training.retriever.examples import RetrieverExample, by_passage  # noqa: E402
from oreqa.training.retriever.loss import PASSAGE_WEIGHT, RetrievalLoss  # noqa: E402
from oreqa.training.retriever.recipe import RetrieverRecipe  # noqa: E402
from oreqa.training.retriever.train import train_retriever  # noqa: E402

SUPPORT = Path(__file__).parents[2] / "support"
OPTIMISER = {"learning_rate": 3e-3, "batch": 6, "checkpoint_steps": 3}


def retriever_recipe(squad_file: Path, tiny: Path, **changes: object) -> RetrieverRecipe:
    settings = {
        "kind": "retriever", "backbone": str(tiny), "data": [str(squad_file)], "max_tokens": 48, "dropout": 0.0,
        "optimiser": OPTIMISER, **changes,
    }  # fmt: skip
    return RetrieverRecipe.model_validate(settings)


def prepared(tiny: Path, recipe: RetrieverRecipe, pairs: list[Pair]) -> tuple[list[RetrieverExample], RetrieverCollator]:
    """The examples of one epoch in their order, and what makes batches of them."""
    pool, rng = pool_of(recipe, pairs), random.Random(recipe.seed)
    folder = replace(read_encoder_folder(tiny), context=recipe.context, max_tokens=recipe.max_tokens)
    batches = by_passage(pool.draw(rng), recipe.optimiser.batch, rng)
    return [e for rows in batches for e in rows], RetrieverCollator(folder, pairs, pool.answers)


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


def test_a_batch_knows_who_answers_what(squad_file: Path, tiny: Path) -> None:
    recipe = retriever_recipe(squad_file, tiny)
    pairs = load_training_pairs(squad_file)
    examples, collate = prepared(tiny, recipe, pairs)
    assert sorted(e.question for e in examples) == sorted(p.question for p in pairs)
    batch = collate(examples[:6])
    contexts = {e.positive.context for e in examples[:6]}
    assert len(batch["rows"]) == 2 * len(contexts)  # every sentence of every passage
    inputs = [tuple(row) for row in batch["passage_input_ids"].tolist()]
    assert len(set(inputs)) == len(inputs)  # nothing is read twice
    for q in range(6):
        answering = (batch["candidate_texts"][:, None] == batch["answer_texts"][q]).any(-1)
        assert answering.nonzero()[:, 0].tolist() == [int(batch["positives"][q])]


def test_silver_pairs_are_positives_or_missing_gold_or_no_negatives(tiny: Path, squad_file: Path) -> None:
    def pair(answer: str, score: float | None, source: str = "silver") -> Pair:
        return Pair("q", Candidate(answer, answer), 1.0 if source == "gold" or score is None else score, source, score)

    pairs = [pair("gold", 0.9, "gold"), pair("good", 0.8), pair("fair", 0.6), pair("bad", 0.1)]

    def examples(**changes: object) -> list[tuple[str, float, set[str], tuple[float, ...]]]:
        rows = pool_of(retriever_recipe(squad_file, tiny, **changes), pairs).draw(random.Random(0))
        return [(e.positive.answer, e.weight, {o.answer for o in e.others}, e.scores) for e in rows]

    assert examples() == [
        ("gold", 1.0, set(), ()),
        ("good", pytest.approx(0.64), set(), ()),
        ("fair", pytest.approx(0.36), set(), ()),
    ]
    assert examples(weight_power=0, negatives=3)[1:] == [("good", 1.0, {"bad"}, ()), ("fair", 1.0, {"bad"}, ())]
    assert examples(silver="none", negatives=3) == [("gold", 1.0, {"bad"}, ())]
    assert examples(silver="missing_gold", negatives=3) == [("gold", 1.0, {"bad"}, ())]
    soft = {"loss": "soft_labels", "silver": "missing_gold"}
    ((answer, weight, others, scores),) = examples(**soft, negatives=3)
    assert (answer, weight, others) == ("gold", 1.0, {"good", "fair", "bad"})
    assert sorted(scores) == [0.1, 0.6, 0.8, 0.9]
    lone = [*pairs[1:], *map(replace, pairs[1:])]  # twice the same, as files of several runs have it
    (alone,) = pool_of(retriever_recipe(squad_file, tiny, **soft, negatives=1), lone).draw(
        random.Random(0)
    )  # without gold the likeliest is the positive, once
    assert (alone.positive.answer, alone.weight) == ("good", pytest.approx(0.64))
    assert alone.scores[0] == 0.8
    bad = pairs[3:]  # the likeliest of its question, and still too unlikely
    assert not pool_of(retriever_recipe(squad_file, tiny, **soft, negatives=1), bad).draw(random.Random(0))
    top = retriever_recipe(squad_file, tiny, silver="missing_gold")
    assert [example.positive.answer for example in pool_of(top, lone).draw(random.Random(0))] == ["good"]
    assert not pool_of(retriever_recipe(squad_file, tiny, silver="none"), lone).draw(random.Random(0))
    rows, collate = prepared(tiny, retriever_recipe(squad_file, tiny), pairs)
    assert (collate(rows)["answer_texts"][0] >= 0).sum() == 3  # the bad one stays a negative


def test_nothing_to_learn_from_is_said(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    silver = replace(load_training_pairs(squad_file)[0], source="silver", score=0.2, weight=0.2)
    path.write_text(json.dumps(pair_row(silver)) + "\n")
    with pytest.raises(InputError, match=r"none is gold, and silver = positives with min_probability = 0\.5 takes"):
        train_retriever(retriever_recipe(path, tiny), tmp_path / "m")


def test_passages_of_unlike_length_are_encoded_apart(squad_file: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import oreqa.training.retriever.loss as retriever_loss
    from oreqa.training.retriever.start import start_encoder

    settings = {"kind": "encoder", "context": "late_chunking", "query_token_type": 0, "projection": None}
    model = start_encoder(tiny, settings, 0.0).eval()
    candidates = [Candidate("the fox jumps", "the fox jumps" + " and sleeps" * more) for more in range(12)]
    recipe = retriever_recipe(squad_file, tiny, max_tokens=64)
    examples, collate = prepared(tiny, recipe, [Pair("who jumps", candidate) for candidate in candidates[::-1]])
    batch = collate(examples)
    lengths = batch["passage_attention_mask"].sum(1).tolist()
    assert lengths == sorted(lengths)
    sizes: list[tuple[int, ...]] = []
    model.register_forward_pre_hook(lambda _, args, given: sizes.append(given["input_ids"].shape), with_kwargs=True)
    loss = loss_of(recipe, model_of(model, recipe), 1)
    whole = float(loss(model, batch).detach())
    assert len(sizes) == 2  # the questions, and all passages at once: they are few
    monkeypatch.setattr(retriever_loss, "FEWEST", 2)
    sizes.clear()
    assert float(loss(model, batch).detach()) == pytest.approx(whole, rel=1e-5)
    parts = sizes[1:]  # behind the questions
    assert len(parts) > 1
    assert sum(rows for rows, _ in parts) == len(lengths)
    assert sum(rows * tokens for rows, tokens in parts) < len(lengths) * max(lengths)


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"loss": "soft_labels", "silver": "missing_gold"},
        {"towers": "separate"},
        {"alignment": {"ramp_epochs": 0, "question_question": 3.0, "answer_answer": 2.0}},
        {"alignment": {"ramp_epochs": 0, "detach": False}, "towers": "separate", "loss": "soft_labels", "silver": "none"},
        {"alignment": {"ramp_epochs": 0}, "encoder": "gru", "pooling": "attention", "hops": 2},
    ],
    ids=["softmax", "soft labels", "two encoders", "alignment", "alignment and soft labels", "alignment of a GRU"],
)
def test_gradient_caching_changes_nothing(squad_file: Path, tiny: Path, keys: dict[str, object]) -> None:
    from oreqa.training.retriever.start import start_encoder

    settings = {"kind": "encoder", "context": "late_chunking", "query_token_type": 0, "projection": None}
    settings |= {"towers": keys.get("towers", "shared"), "hops": keys.get("hops"), "joining": "averaged"}
    gold = load_training_pairs(squad_file)
    pairs = [replace(pair, score=0.9) for pair in gold]
    pairs += [replace(a, positive=b.positive, source="silver", score=0.3) for a, b in zip(gold, gold[5:], strict=False)]
    gradients = []
    for chunk in (None, 2):
        recipe = retriever_recipe(squad_file, tiny, chunk=chunk, negatives=2, **keys)
        examples, collate = prepared(tiny, recipe, pairs)
        batch = collate(examples[:6])
        torch.manual_seed(0)
        encoder = start_encoder(tiny, settings, 0.0, keys.get("encoder"))
        model = model_of(encoder, recipe).train()
        loss = loss_of(recipe, model, 1)(model, batch)
        loss.backward()
        gradients.append(
            (float(loss.detach()), {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None})
        )
    (one, whole), (other, cached) = gradients
    assert one == pytest.approx(other, rel=1e-5)
    assert whole.keys() == cached.keys()
    assert all(torch.allclose(whole[name], cached[name], atol=1e-4, rtol=1e-3) for name in whole)


@pytest.mark.parametrize("keys", [{}, {"alignment": {"ramp_epochs": 0}}], ids=["alone", "alignment"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_gradient_caching_replays_its_dropout(squad_file: Path, tiny: Path, device: str, keys: dict[str, object]) -> None:
    from oreqa.training.retriever.start import start_encoder

    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU here")
    settings = {"kind": "encoder", "context": "late_chunking", "query_token_type": 0, "projection": None}
    pairs, recipe = load_training_pairs(squad_file), retriever_recipe(squad_file, tiny, chunk=2, **keys)
    examples, collate = prepared(tiny, recipe, pairs)
    batch = {name: value.to(device) for name, value in collate(examples[:6]).items()}

    def slowly(loss: RetrievalLoss, model: torch.nn.Module) -> torch.Tensor:
        """Chunk after chunk, so that dropout is the same, with all that they leave behind kept."""
        calls = loss.calls(batch, 2)
        assert all(len(chunks) > 1 for chunks in calls.values())
        return loss.of_vectors({side: torch.cat([model(**chunk) for chunk in calls[side]]) for side in calls}, batch)

    results = []
    for run in (slowly, lambda loss, model: loss(model, batch)):
        torch.manual_seed(3)
        model = model_of(start_encoder(tiny, settings, 0.3), recipe).train().to(device)
        torch.manual_seed(7)
        loss = run(loss_of(recipe, model, 1), model)
        loss.backward()
        gradients = {n: p.grad.cpu() for n, p in model.named_parameters() if p.grad is not None}
        results.append((float(loss.detach()), gradients, torch.rand(1, device=device).item()))
    (loss, whole, after), (loss_of_chunks, cached, after_chunks) = results
    assert loss == pytest.approx(loss_of_chunks, rel=1e-5)
    assert after == after_chunks  # replaying draws nothing more
    assert whole.keys() == cached.keys()
    assert all(torch.allclose(whole[name], cached[name], atol=1e-4, rtol=1e-3) for name in whole)


def test_a_batch_that_fits_into_a_chunk_is_encoded_once(squad_file: Path, tiny: Path) -> None:
    from oreqa.training.retriever.start import start_encoder

    settings = {"kind": "encoder", "context": "late_chunking", "query_token_type": 0, "projection": None}
    pairs = load_training_pairs(squad_file)[:6]
    counts = {}
    for chunk in (None, 6, 5):  # the questions are six
        recipe = retriever_recipe(squad_file, tiny, chunk=chunk)
        examples, collate = prepared(tiny, recipe, pairs)
        model = start_encoder(tiny, settings, 0.0).train()
        encoded: list[int] = []
        model.register_forward_pre_hook(lambda _, a, given, e=encoded: e.append(len(given["input_ids"])), with_kwargs=True)
        loss_of(recipe, model_of(model, recipe), 1)(model, collate(examples))
        counts[chunk] = sum(encoded)
    assert counts[6] == counts[None]
    assert counts[5] == 2 * counts[None]


def test_pair_files_and_beir_folders_are_read(squad_file: Path, tmp_path: Path) -> None:
    from oreqa.datasets.beir import Beir, Entry, save_beir

    gold = load_training_pairs(squad_file)
    held = load_training_pairs(squad_file, held_out=True)
    assert len(gold) + len(held) == 48
    assert not {p.positive.context for p in gold} & {p.positive.context for p in held}
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(pair_row(pair)) + "\n" for pair in gold))
    assert load_training_pairs(path) == gold
    task = Beir((Entry("1", "t", "one"), Entry("2", "", "two")), {"q": "which"}, {"q": {"1": 1, "2": 0}})
    save_beir(tmp_path / "b", task, "train")
    assert load_training_pairs(tmp_path / "b", "train") == [Pair("which", Candidate("one", "one", "t"))]


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


def test_a_run_that_fails_at_once_leaves_nothing(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    recipe = retriever_recipe(squad_file, tiny, max_tokens=512)
    with pytest.raises(InputError, match="max_tokens = 512 is more than the 64 positions of tiny: set max_tokens lower"):
        train_recorded(train_retriever, recipe, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "keys",
    [
        {"batches": "clusters", "clusters": 3, "towers": "separate", "projection": 8},
        {"batches": "clusters", "cluster_epochs": 2, "chunk": 4, "loss": "soft_labels", "silver": "none", "negatives": 2},
        {"batches": "distinct", "unit": "passage", "optimiser": {**OPTIMISER, "accumulate": 2}},
        {"batches": "distinct", "encoder": "gru", "pooling": "attention", "alignment": {"ramp_epochs": 2}},
        {"batches": "distinct", "variational": {"kind": "cross"}},
    ],
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


def test_a_key_of_clusters_without_them_is_refused(squad_file: Path, tiny: Path) -> None:
    for key in ("clusters", "cluster_epochs"):
        with pytest.raises(ValueError, match=f"{key} = 3 would be ignored: it needs batches=clusters"):
            retriever_recipe(squad_file, tiny, batches="distinct", **{key: 3})


def test_training_stops_when_dev_no_longer_gains_and_keeps_the_best(
    squad_file: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measures, states = iter([1.0, 3.0, 2.0, 3.0, 9.0]), []

    def measure(task: object, folder: object, model: torch.nn.Module, *_: object, **__: object) -> float:
        states.append(model.passages.bert.encoder.layer[0].output.dense.weight.detach().clone().numpy())
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


GLOO = """
import sys, torch, json, random
from pathlib import Path
from dataclasses import replace
from oreqa.training.retriever.start import start_encoder
from oreqa.models.encoder.folder import read_encoder_folder
from oreqa.datasets.load import load_training_pairs
from oreqa.training.retriever.recipe import RetrieverRecipe
from oreqa.training.retriever.collator import RetrieverCollator
from oreqa.training.retriever.examples import by_passage
from training_parts import loss_of, model_of, pool_of
squad, tiny, out, chunk, towers, aligned, count = sys.argv[1:]
torch.distributed.init_process_group("gloo")
rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
recipe = RetrieverRecipe.model_validate({"kind": "retriever", "backbone": tiny, "data": [squad], "max_tokens": 48,
    "dropout": 0.0, "chunk": int(chunk) or None, "towers": towers,
    "alignment": {"ramp_epochs": 0} if aligned == "True" else None, "optimiser": {"learning_rate": 1e-3, "batch": 3}})
pairs = load_training_pairs(Path(squad))
pool = pool_of(recipe, pairs)
collate = RetrieverCollator(replace(read_encoder_folder(Path(tiny)), max_tokens=48), pairs, pool.answers)
examples = [e for rows in by_passage(pool.draw(random.Random(0)), 3, random.Random(0)) for e in rows][: int(count)]
size = -(-len(examples) // world)
part = examples[rank * size : (rank + 1) * size]
torch.manual_seed(0)
settings = {"kind": "encoder", "context": "late_chunking", "query_token_type": 0, "projection": None, "towers": towers}
trained = model_of(start_encoder(Path(tiny), settings, 0.0), recipe).train()
model = torch.nn.parallel.DistributedDataParallel(trained, broadcast_buffers=False)
# each process' loss is the mean over its questions; gradients become the mean over the processes
loss = loss_of(recipe, trained, 1)(model, collate(part)) * len(part) * world / len(examples)
loss.backward()
total = loss.detach().clone()
torch.distributed.all_reduce(total)
norm = sum(float(p.grad.pow(2).sum()) for p in model.parameters() if p.grad is not None)
if rank == 0:
    Path(out).write_text(json.dumps([float(total) / world, norm]))
torch.distributed.destroy_process_group()
"""


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
    import subprocess
    import sys

    recipe = tmp_path / "r.toml"
    recipe.write_text(
        f'kind = "retriever"\nbackbone = "{tiny}"\ndata = ["{squad_file}"]\nmax_tokens = 48\n'
        f'towers = "{towers}"\nbatches = "{batches}"\n'
        f"{table}[optimiser]\nlearning_rate = 1e-3\nbatch = 6\n"
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "oreqa", "train"]
    found = subprocess.run(
        [*command, "retriever", "--recipe", recipe, "--out", tmp_path / "m"], capture_output=True, text=True, timeout=200
    )
    assert found.returncode == 0, found.stderr
    record = json.loads((tmp_path / "m" / "run.json").read_text())
    assert record["steps"] == -(-record["pairs"] // 12)  # both learn from six at a time
    assert not (tmp_path / "m" / "checkpoints").exists()
    assert Encoder(tmp_path / "m").encode(["who"]).shape == (1, 32)


@pytest.mark.system
@pytest.mark.parametrize(
    ("chunk", "towers", "aligned", "count"),
    [(2, "shared", False, 6), (0, "separate", False, 5), (0, "separate", True, 6), (0, "shared", True, 5)],
)
def test_two_processes_equal_one(
    squad_file: Path, tiny: Path, tmp_path: Path, chunk: int, towers: str, aligned: bool, count: int
) -> None:
    """Of five questions one process has three, and the other two: a blank takes the place of the third."""
    import subprocess
    import sys

    script = tmp_path / "gloo.py"
    script.write_text(f"import sys; sys.path.insert(0, {str(SUPPORT)!r})\n{GLOO}")
    found = []
    for processes in (1, 2):
        out = tmp_path / f"{processes}.json"
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        arguments = [script, squad_file, tiny, out, str(chunk), towers, str(aligned), str(count)]
        subprocess.run([*command, *arguments], check=True, capture_output=True, timeout=200)
        found.append(json.loads(out.read_text()))
    (loss, norm), (loss_of_two, norm_of_two) = found
    assert loss == pytest.approx(loss_of_two, rel=1e-5)
    assert norm == pytest.approx(norm_of_two, rel=1e-3)


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


def test_checkpoints_with_other_names_of_weights_are_refused(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    recipe = retriever_recipe(squad_file, tiny)
    interrupted(lambda: train_retriever(recipe, tmp_path / "m"), 5)
    (file,) = (tmp_path / "m" / "checkpoints").glob("*/model.safetensors")
    save_file({name.replace("passages", "former"): value for name, value in load_file(file).items()}, file)
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


def test_one_pair_teaches_nothing(tiny: Path, tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(json.dumps(pair_row(Pair("who jumps", Candidate("A cat jumps.", "A cat jumps.")))) + "\n")
    with pytest.raises(InputError, match="the data has one pair: its answer has no other to be told from"):
        train_retriever(retriever_recipe(file, tiny), tmp_path / "m")


def test_others_may_read_what_is_trained(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    train_retriever(retriever_recipe(squad_file, tiny, projection=8), tmp_path / "m")
    modes = {file.stat().st_mode for file in (tmp_path / "m").rglob("*") if file.is_file()}
    assert len(modes) == 1
