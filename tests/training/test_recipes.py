from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

import oreqa  # noqa: E402
from oreqa.errors import InputError  # noqa: E402
from oreqa.models.encoder.encoder import Encoder  # noqa: E402
from oreqa.training.cross_encoder.recipe import ClassifierRecipe, RerankerRecipe  # noqa: E402
from oreqa.training.reader.recipe import ReaderRecipe  # noqa: E402
from oreqa.training.recipes import load_recipe  # noqa: E402
from oreqa.training.retriever.recipe import RetrieverRecipe  # noqa: E402
from oreqa.training.train import train_model  # noqa: E402


def test_the_papers_train_every_weight_and_the_pack_keeps_what_it_kept() -> None:
    recipes = Path(__file__).parents[2] / "recipes"
    for name, kind in (("reconsider", RerankerRecipe), ("augmentation-classifier", ClassifierRecipe)):
        recipe = load_recipe(kind, recipes / "papers" / f"{name}.toml")
        assert (recipe.freeze_embeddings, recipe.frozen_layers) == (False, 0)
    for name, kind in (("reranker", RerankerRecipe), ("classifier", ClassifierRecipe)):
        recipe = load_recipe(kind, recipes / "small" / f"{name}.toml")
        assert (recipe.freeze_embeddings, recipe.frozen_layers) == (True, 3 if kind is RerankerRecipe else 0)
    dpr = load_recipe(ReaderRecipe, recipes / "papers" / "dpr-reader.toml")
    assert (dpr.max_tokens, dpr.read_tokens, dpr.answer_tokens) == (350, None, 10)
    small = load_recipe(ReaderRecipe, recipes / "small" / "reader.toml")
    assert (small.max_tokens, small.read_tokens, small.answer_tokens) == (256, 256, 16)
    other = load_recipe(ReaderRecipe, recipes / "small" / "reader-negatives.toml")
    assert [part.file for part in other.data] == [part.file for part in small.data]
    assert [part.file.name for part in small.data if part.asked == "unanswerable"] == ["squad2-train-part.json.gz"]


@pytest.mark.parametrize(
    ("text", "changes", "message"),
    [
        ("kind = 'reader'", [], "data: it is missing"),
        ("kind = 'reader'\ndata = []\noptimiser = {learning_rate = 1e-4, batch = 1}", [], r"data: it must be a list of at least 1$"),
        ("kind = 'reader'\nspeed = 1\ndata = [{file = 'x'}]\noptimiser = {learning_rate = 1, batch = 1}", [], "there is no key speed; did you mean seed\\?$"),
        ("kind = ", [], "cannot be read as TOML"),
        ("kind = " + 5_000 * "[", [], "cannot be read as TOML"),
        ("seed = " + 5_000 * "1", [], "cannot be read as TOML"),
        ("kind = 'reader'", ["seed=" + 5_000 * "1"], "data: it is missing"),
        ("kind = 'reader'", ["data=" + 5_000 * "["], r'^the setting data=\[{55}…: it must be a list; write data=\[{file="..."}\]$'),
        ("kind = 'reader'\ndata = [{file = 'x'}]\noptimiser = {learning_rate = 1, batch = 1}", ["optimiser.batch=0"], "^the setting optimiser.batch=0: it must be greater"),
        ("kind = 'reader'\ndata = [{file = 'x'}]\noptimiser = {learning_rate = 1, batch = 1}", ['data=["x"]'], r"^the setting data=\[\"x\"\]: it must be a table"),
        ("kind = 'reader'\ndata = [{file = 'x'}]\noptimiser = {learning_rate = 1, batch = 1}", ["batch"], "the setting 'batch': write it as name=value, as in optimiser.batch=16"),
        ("kind = 'reader'\ndata = [{file = 'x'}]\noptimiser = {learning_rate = 1, batch = 1}", ["max_tokens=64"], "overlap = 64 is more than half of a window; set it to at most 32"),
        ("kind = 'reader'\ndata = [{file = 'x'}]\noptimiser = {learning_rate = 1, batch = 1}", ["read_tokens=96"], "at most 48"),
    ],
)  # fmt: skip
def test_bad_recipes(tmp_path: Path, text: str, changes: list[str], message: str) -> None:
    (tmp_path / "r.toml").write_text(text)
    with pytest.raises(InputError, match=message):
        load_recipe(ReaderRecipe, tmp_path / "r.toml", changes)


def test_frozen_layers_need_frozen_embeddings() -> None:
    path = Path(__file__).parents[2] / "recipes" / "small" / "classifier.toml"
    with pytest.raises(InputError, match=r"frozen layers need .*; set freeze_embeddings=true, or frozen_layers=0"):
        load_recipe(ClassifierRecipe, path, ["freeze_embeddings=false", "frozen_layers=2"])
    assert load_recipe(ClassifierRecipe, path, ["freeze_embeddings=false", "frozen_layers=0"]).frozen_layers == 0


def test_soft_labels_need_candidates() -> None:
    path = Path(__file__).parents[2] / "recipes" / "small" / "retriever.toml"
    with pytest.raises(
        InputError, match=r"retriever\.toml: the recipe: loss = soft_labels compares .* set negatives to 1 or more"
    ):
        load_recipe(RetrieverRecipe, path, ["loss=soft_labels", "silver=missing_gold", "negatives=0"])
    with pytest.raises(InputError, match=r"set silver=missing_gold, or silver=none"):
        load_recipe(RetrieverRecipe, path, ["loss=soft_labels"])
    assert load_recipe(RetrieverRecipe, path, ["loss=soft_labels", "silver=missing_gold"]).negatives == 4
    assert load_recipe(RetrieverRecipe, path, ["loss=soft_labels", "silver=none"]).silver == "none"


def test_dev_pairs_and_predictions_are_others_than_those_to_learn_from() -> None:
    small = Path(__file__).parents[2] / "recipes" / "small"
    for kind, name, key in (
        (ClassifierRecipe, "classifier", 'data=["x.jsonl"]'),
        (RerankerRecipe, "reranker", "predictions=x.jsonl"),
    ):
        with pytest.raises(InputError, match=r"dev = x.jsonl is learned from, too; name a file of other questions"):
            load_recipe(kind, small / f"{name}.toml", [key, "dev=x.jsonl"])
        assert load_recipe(kind, small / f"{name}.toml", [key, "dev=y.jsonl"]).dev == Path("y.jsonl")


@pytest.mark.parametrize(
    ("setting", "needs"),
    [
        ("patience=3", "patience = 3 would be ignored: it needs dev=FILE"),
        ("hops=2", "hops = 2 would be ignored: it needs pooling=attention"),
        ("patience=5", "it needs dev=FILE"),
        ("pooling=cls", "pooling = cls has no vector for a sentence .* set context=cross_segment, or none"),
    ],
)
def test_a_key_that_would_be_ignored_is_refused(setting: str, needs: str) -> None:
    path = Path(__file__).parents[2] / "recipes" / "small" / "retriever.toml"
    with pytest.raises(InputError, match=needs):
        load_recipe(RetrieverRecipe, path, [setting])
    for other in ("silver=none", "weight_power=3"):
        assert load_recipe(RetrieverRecipe, path, [other]).silver
    with pytest.raises(InputError, match=r"weight_power = 3.0 would be ignored: it needs silver=positives or missing_gold"):
        load_recipe(RetrieverRecipe, path, ["silver=none", "weight_power=3"])


def test_a_readers_depth_needs_a_search() -> None:
    path = Path(__file__).parents[2] / "recipes" / "small" / "reader.toml"
    alone = ["negatives=0", "unanswerable=0"]
    with pytest.raises(
        InputError, match=r"depth = 20 would be ignored: it needs negatives or unanswerable above 0, or super"
    ):
        load_recipe(ReaderRecipe, path, [*alone, "depth=20"])
    for retrieving in ("negatives=1", "unanswerable=0.1", "supervision=distant"):
        assert load_recipe(ReaderRecipe, path, [*alone, retrieving, "depth=7"]).depth == 7
    assert load_recipe(ReaderRecipe, path, alone).depth == 20


@pytest.mark.parametrize(
    ("setting", "hint"),
    [
        ("minimum_probability=0.3", "there is no key minimum_probability; did you mean min_probability\\?"),
        (
            "optimiser.learningrate=1",
            "^the setting optimiser.learningrate=1: there is no key .*; did you mean learning_rate\\?$",
        ),
        ("mined=soft", "there is no key mined; the keys here are kind, .*, loss, silver, min_probability, .*"),
    ],
)
def test_an_unknown_key_names_the_nearest(setting: str, hint: str) -> None:
    path = Path(__file__).parents[2] / "recipes" / "small" / "retriever.toml"
    with pytest.raises(InputError, match=hint):
        load_recipe(RetrieverRecipe, path, [setting])


def test_a_setting_without_a_value_leaves_the_key_out() -> None:
    path = Path(__file__).parents[2] / "recipes" / "small" / "endx-gru.toml"
    assert load_recipe(RetrieverRecipe, path).alignment is not None
    changed = load_recipe(RetrieverRecipe, path, ["alignment=", "variational.kind=cross", "dropout="])
    assert (changed.alignment, changed.variational.kind, changed.dropout) == (None, "cross", None)  # type: ignore[union-attr]
    with pytest.raises(
        InputError, match=r"^the setting alignment=5: it must be a table; to leave it out, write alignment=$"
    ):
        load_recipe(RetrieverRecipe, path, ["alignment=5"])
    with pytest.raises(InputError, match=r'^the setting data=x: it must be a list; write data=\["..."\]$'):
        load_recipe(RetrieverRecipe, path, ["data=x"])
    with pytest.raises(InputError, match=r"^the setting alignment.share=abc: it must be a valid number$"):
        load_recipe(RetrieverRecipe, path, ["alignment.share=abc"])
    with pytest.raises(InputError, match="are all 0: nothing would be learned"):
        load_recipe(RetrieverRecipe, path, ["alignment.share=0", "alignment.dual_share=0", "alignment.cross_share=0"])


def test_a_wrong_recipe_is_refused_before_torch_is_imported() -> None:
    import subprocess
    import sys

    code = """
import sys
from oreqa.training import train_model
try:
    train_model("retriever", sys.argv[1], "out", "alignment.share=-1")
except Exception as error:
    print(error, "torch" in sys.modules)
"""
    recipe = Path(__file__).parents[2] / "recipes" / "small" / "endx-gru.toml"
    printed = subprocess.run([sys.executable, "-c", code, str(recipe)], capture_output=True, text=True, check=True).stdout
    assert printed == "the setting alignment.share=-1: it must be greater than or equal to 0 False\n"


@pytest.mark.slow
def test_a_retriever_learns_from_a_table_without_a_recipe(tiny: Path, tmp_path: Path) -> None:
    rows = [f"How many legs has animal {n}?,It has {n} legs. It sleeps.,It has a tail." for n in range(4)]
    (tmp_path / "pairs.csv").write_text("\n".join(["question,passage,negative", *rows]))
    settings = [f"backbone={tiny}", "optimiser.batch=2", "chunk=", "max_tokens=64"]
    record = train_model("retriever", None, tmp_path / "out", settings, data=tmp_path / "pairs.csv")
    assert (record["pairs"], record["steps"], list(record["data_sha256"])) == (4, 2, [str(tmp_path / "pairs.csv")])
    assert record["recipe"]["negatives"] == 4
    assert Encoder(tmp_path / "out").encode("How many?").shape == (32,)


def test_wrong_arguments_of_train_model_are_one_line(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "reader.toml"
    recipe.write_text(f"""
        kind = "reader"
        backbone = "{tiny}"
        data = [{{file = "{squad_file}"}}]
        optimiser = {{learning_rate = 1e-4, batch = 4}}
    """)
    arguments: dict[str, Any] = {"kind": "reader", "recipe": str(recipe), "out": str(tmp_path / "out")}
    for changes, message in (
        ({"kind": "raeder"}, "there is no kind of model 'raeder': choose reader, reranker, classifier, retriever"),
        ({"kind": ["reader"]}, "there is no kind of model"),
        ({"recipe": 3}, "a recipe is a path, as a string or a Path, not an int"),
        ({"recipe": str(tmp_path / "none.toml")}, "there is no such recipe"),
        ({"out": None}, "out is a path, as a string or a Path, not None"),
        ({"out": str(recipe)}, "it is a file; name a folder"),
        ({"settings": {"seed": 1}}, "settings are a string or a list of strings, not a dict"),
        ({"settings": "speed=1"}, "there is no key speed"),
        ({"data": "pairs.csv"}, "data is for a retriever: name what a reader learns from in its recipe"),
        ({"recipe": None}, "name a recipe, or for a retriever the data"),
        (
            {"kind": "retriever", "recipe": None, "data": "a \U0001f600\x7f.csv"},
            "a \U0001f600\x7f.csv: there is no such file",
        ),
    ):
        with pytest.raises(InputError, match=message):
            train_model(**{**arguments, **changes})
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "run.json").write_text("{}")
    with pytest.raises(InputError, match="holds a trained model already"):  # the strings were read as paths
        train_model(**arguments, settings="seed=1")


def test_settings_change_a_recipe() -> None:
    path = Path(__file__).parents[2] / "recipes" / "small" / "reader.toml"
    recipe = load_recipe(ReaderRecipe, path, ["optimiser.batch=8", "backbone=some/folder", "loss=dpr"])
    assert (recipe.optimiser.batch, recipe.backbone, recipe.loss) == (8, "some/folder", "dpr")


def test_recipes_that_the_documentation_names_come_with_oreqa(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    root = Path(oreqa.__file__).parent
    pages = [Path(__file__).parents[2] / "docs" / name for name in ("how-to.md", "papers.md", "tutorial.md", "reference.md")]
    named = {name for page in pages for name in re.findall(r"recipes/(?:small|papers)/[\w-]+\.toml", page.read_text())}
    assert len(named) > 5
    assert [name for name in sorted(named) if not (root / name).is_file()] == []
    assert load_recipe(ReaderRecipe, "recipes/small/reader.toml").kind == "reader"
    (tmp_path / "recipes" / "small").mkdir(parents=True)
    (tmp_path / "recipes" / "small" / "reader.toml").write_text("kind = 'elephant'")
    with pytest.raises(InputError, match="kind 'elephant'"):  # one in the working folder comes first
        load_recipe(ReaderRecipe, "recipes/small/reader.toml")
    with pytest.raises(InputError, match="there is no such recipe"):
        load_recipe(ReaderRecipe, "recipes/small/other.toml")
