"""The papers' recipes at the papers' size, on random weights and short texts."""

from __future__ import annotations

import itertools
import json
import string
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]
paper_size = pytest.mark.system  # seconds and gigabytes; the small recipes run in every suite

from transformers import BertConfig, BertModel  # noqa: E402

from oreqa.datasets.load import load_passages  # noqa: E402
from oreqa.datasets.pairs import Candidate, Pair, pair_row  # noqa: E402
from oreqa.index.passages import index_passages  # noqa: E402
from oreqa.index.store import Settings  # noqa: E402
from oreqa.models.encoder.encoder import Encoder  # noqa: E402
from oreqa.models.encoder.folder import read_encoder_folder  # noqa: E402
from oreqa.training.openqa.recipe import OpenQARecipe  # noqa: E402
from oreqa.training.openqa.train import train_openqa  # noqa: E402
from oreqa.training.recipes import load_recipe  # noqa: E402
from oreqa.training.records import train_recorded  # noqa: E402
from oreqa.training.retriever.recipe import Alignment, RetrieverRecipe  # noqa: E402
from oreqa.training.retriever.train import train_retriever  # noqa: E402

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.fixture(scope="module")
def bert_base(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of BERT base's size with random weights; its tokenizer knows letters."""
    folder = tmp_path_factory.mktemp("models") / "bert-base"
    torch.manual_seed(0)
    BertModel(BertConfig(), add_pooling_layer=False).save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes((tiny / "tokenizer.json").read_bytes())
    return folder


@paper_size
def test_proqas_pretraining_takes_two_steps(bert_base: Path, tmp_path: Path) -> None:
    recipe = load_recipe(
        RetrieverRecipe,
        RECIPES / "papers" / "proqa-pretraining.toml",
        [
            *(f"backbone={bert_base}", f'data=["{tmp_path / "questions.jsonl"}"]', "epochs=1", "clusters=3"),
            *("optimiser.batch=10", "optimiser.accumulate=1"),  # a minute less than with batches of 80 and 8
        ],
    )
    letters = string.ascii_lowercase + string.digits
    passages = [" ".join(pair) for pair in itertools.product(letters, repeat=2)]
    pairs = [Pair(f"q {text}", Candidate(text[0], text)) for text in passages[: 2 * 10]]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(pair_row(pair)) + "\n" for pair in pairs))
    record = train_recorded(train_retriever, recipe, tmp_path / "m")
    assert record["steps"] == 2
    assert all(0 < loss < 100 for _, loss in record["losses"])
    encoder = Encoder(tmp_path / "m", precision="f32")
    question = encoder.encode("q a b")
    assert question.shape == encoder.encode_passages([("", "a b", [])])[0][0].shape == (128,)
    assert (encoder.folder.config["num_hidden_layers"], encoder.folder.config["hidden_size"]) == (12, 768)


def pair_file(path: Path) -> Path:
    """Twenty questions of as many passages, each with a hard negative of another and one of its own passage."""
    texts = [f"{a} {b}. {b} {a}." for a, b in itertools.combinations("abcdefg", 2)][:20]
    pairs = [
        Pair(f"which {text}", Candidate(text[:4], text), negatives=(Candidate(other[:4], other), Candidate(text[5:], text)))
        for text, other in zip(texts, texts[1:] + texts[:1], strict=True)
    ]
    path.write_text("".join(json.dumps(pair_row(pair)) + "\n" for pair in pairs))
    return path


@pytest.mark.parametrize(
    ("name", "changes"),
    [("dpr-retriever", ["max_tokens=48"]), ("augmentation-retriever", ["max_tokens=48", "epochs=20", "optimiser.batch=8"])],
)
def test_the_papers_retrievers_learn_on_a_tiny_backbone(tiny: Path, tmp_path: Path, name: str, changes: list[str]) -> None:
    """All epochs of DPR and twenty of the other, whose losses fall; batches are drawn at random."""
    data = pair_file(tmp_path / "pairs.jsonl")
    named = [f"backbone={tiny}", f'data=["{data}"]', "optimiser.learning_rate=3e-3", *changes]
    recipe = load_recipe(RetrieverRecipe, RECIPES / "papers" / f"{name}.toml", named)
    assert recipe.batches == "distinct"
    record = train_recorded(train_retriever, recipe, tmp_path / "m")
    assert record["steps"] == recipe.epochs * -(-20 // recipe.optimiser.batch)
    losses = [loss for _, loss in record["losses"]]
    assert losses[-1] < losses[0]
    encoder = Encoder(tmp_path / "m", precision="f32")
    assert encoder.encode("which a b").shape == (32,)
    assert (encoder.folder.questions is not None) == (name == "dpr-retriever")


@paper_size
@pytest.mark.parametrize("encoder", ["bert", "rnn", "gru", "lstm", "transformer"])
def test_endx_takes_two_steps(bert_base: Path, tmp_path: Path, encoder: str) -> None:
    file = RECIPES / "papers" / f"endx-{encoder}.toml"
    pairs = [Pair(f"which {letter}", Candidate(f"It is {letter}.", f"It is {letter}. So.")) for letter in "abcdef"]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair_row(pair)) + "\n" for pair in pairs))
    changes = [f"backbone={bert_base}", f'data=["{tmp_path / "pairs.jsonl"}"]', "optimiser.batch=3"]
    recipe = load_recipe(RetrieverRecipe, file, changes)
    recipe = recipe.model_copy(update={"epochs": 1, "dev": None})  # whose checkpoint has 3 GB
    printed = Alignment(question_question=1e4, answer_answer=1e4, ramp_epochs=5)
    assert (recipe.alignment, recipe.similarity, recipe.scale) == (printed, "dot", 1.0)
    record = train_recorded(train_retriever, recipe, tmp_path / "m")
    assert record["steps"] == 2
    assert all(0 < loss < 1000 for _, loss in record["losses"])
    model = Encoder(tmp_path / "m", precision="f32")
    settings = model.folder.config
    assert (settings["num_hidden_layers"], settings["hidden_size"]) == (12 if encoder == "bert" else 2, 768)
    assert model.folder.cell == (encoder if encoder in ("rnn", "gru", "lstm") else None)
    assert not (tmp_path / "m" / "cross").exists()
    question = model.encode("who jumps")
    loaded = torch_encoder(tmp_path / "m")
    np.testing.assert_allclose(loaded.encode("who jumps"), question, atol=1e-4 * float(np.abs(question).max()))


def torch_encoder(folder: Path) -> Encoder:
    """The folder on the processor, by torch."""
    from oreqa.models.encoder.module import open_session

    read = read_encoder_folder(folder)
    return Encoder.of(read, open_session(read, "f32", "cpu"))


def test_endx_recipes_differ_only_where_the_paper_differs() -> None:
    recipes = {
        name: load_recipe(RetrieverRecipe, RECIPES / "papers" / f"endx-{name}.toml").model_dump()
        for name in ("bert", "rnn", "gru", "lstm", "transformer")
    }
    for name, recipe in recipes.items():
        changed = {key for key in recipe if recipe[key] != recipes["gru"][key]}
        if name == "bert":
            assert changed == {"encoder", "epochs", "patience", "freeze_embeddings", "optimiser"}
        else:
            assert changed == ({"encoder"} if name != "gru" else set())


@pytest.mark.parametrize(("name", "encoder"), [("bert", "backbone"), ("gru", "gru"), ("gru", "transformer")])
def test_the_small_recipes_of_endx_train(tiny: Path, squad_file: Path, tmp_path: Path, name: str, encoder: str) -> None:
    changes = [f"backbone={tiny}", f'data=["{squad_file}"]', "max_tokens=48", "optimiser.batch=8", f"encoder={encoder}"]
    recipe = load_recipe(RetrieverRecipe, RECIPES / "small" / f"endx-{name}.toml", changes)
    assert recipe.alignment is not None
    record = train_recorded(train_retriever, recipe, tmp_path / "m")
    assert record["steps"] == recipe.epochs * -(-record["pairs"] // 8)
    assert all(0 < loss < 1e5 for _, loss in record["losses"])
    assert Encoder(tmp_path / "m", precision="f32").encode(["who"]).shape == (1, 32)


def test_the_small_recipe_of_pretraining_trains(tiny: Path, squad_file: Path, tmp_path: Path) -> None:
    changes = [f"backbone={tiny}", f'data=["{squad_file}"]', "max_tokens=48", "optimiser.batch=8"]
    recipe = load_recipe(RetrieverRecipe, RECIPES / "small" / "pretraining.toml", changes)
    assert (recipe.unit, recipe.batches) == ("passage", "clusters")
    record = train_recorded(train_retriever, recipe, tmp_path / "m")
    assert record["steps"] == recipe.epochs * -(-record["pairs"] // 8)
    assert record["clusters"] == 2


@paper_size
def test_proqas_finetuning_takes_two_steps(bert_base: Path, squad_file: Path, tmp_path: Path) -> None:
    index_passages(tmp_path / "index", load_passages(squad_file), Settings(model=str(bert_base))).close()
    rows = [{"question": f"who jumps over dog {number}", "answers": [f"fox {number}"]} for number in range(3)]
    (tmp_path / "dev.jsonl").write_text(json.dumps(rows.pop()))
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    places = {"retriever": bert_base, "reader": bert_base, "index": tmp_path / "index", "dev": tmp_path / "dev.jsonl"}
    changes = [*(f"{name}={place}" for name, place in places.items()), f'data=["{tmp_path / "q.jsonl"}"]', "epochs=1"]
    changes += ["optimiser.accumulate=1", "dev_metric=", "patience="]  # two minutes less than with 8; no checkpoint of 3 GB
    recipe = load_recipe(OpenQARecipe, RECIPES / "papers" / "proqa-finetuning.toml", changes)
    record = train_recorded(train_openqa, recipe, tmp_path / "m")
    assert (record["steps"], record["questions"]) == (2, 2)
    assert all(0 < loss < 100 for _, loss in record["losses"])
    question = Encoder(tmp_path / "m" / "retriever", precision="f32").folder.questions
    assert question is not None
    assert question.config["num_hidden_layers"] == 12


def test_the_small_recipe_of_finetuning_trains(tiny: Path, tiny_reader: Path, squad_file: Path, tmp_path: Path) -> None:
    places = {"retriever": tiny, "reader": tiny_reader, "corpus": squad_file, "dev": squad_file}
    changes = [*(f"{name}={place}" for name, place in places.items()), f'data=["{squad_file}"]']
    recipe = load_recipe(OpenQARecipe, RECIPES / "small" / "openqa.toml", [*changes, "max_tokens=48", "overlap=8"])
    record = train_recorded(train_openqa, recipe, tmp_path / "m")
    assert record["steps"] == -(-(record["questions"] - record["unmatched"]) // 4)
