from __future__ import annotations

import json
from pathlib import Path

import pytest
from training_parts import examples_of

pytest.importorskip("torch")

from tiny_models import make_seq2seq

from oreqa.errors import InputError
from oreqa.models.generator.generator import QuestionGenerator
from oreqa.models.generator.inputs import MarkedAnswer
from oreqa.training.generator.examples import GeneratorExample, generator_examples
from oreqa.training.generator.recipe import GeneratorRecipe
from oreqa.training.generator.train import seq2seq_collate, start_seq2seq, train_generator
from oreqa.training.recipes import load_recipe

pytestmark = [pytest.mark.train, pytest.mark.slow]

PAPER = Path(__file__).parents[3] / "recipes" / "papers" / "proqa-generator.toml"


def paper_recipe(squad_file: Path, backbone: Path, *settings: str) -> GeneratorRecipe:
    data = f'data=[{{file="{squad_file}", style="search", epochs=30}}]'
    small = ("optimiser.batch=4", "optimiser.learning_rate=3e-3", "max_tokens=60", "question_tokens=40", "dropout=0.0")
    return load_recipe(GeneratorRecipe, PAPER, [f"backbone={json.dumps(str(backbone))}", data, *small, *settings])


@pytest.mark.parametrize("kind", ["bart", "t5"])
def test_a_batch_predicts_the_question_from_passage_and_answer(squad_file: Path, tmp_path: Path, kind: str) -> None:
    folder = make_seq2seq(tmp_path / kind, kind)
    recipe = paper_recipe(squad_file, folder)
    model, inputs = start_seq2seq(recipe, folder)
    examples = examples_of(generator_examples, recipe, inputs)
    text = inputs.text([i for i in examples[0].prefix if i > 3], MarkedAnswer("", "", 0, 0))
    assert "jumps over dog" in text.replace("  ", " ") or "jumpsoverdog" in text.replace(" ", "")
    batch = seq2seq_collate(model)([GeneratorExample([5, 6, 2, 7, 2], [8, 9, 2]), GeneratorExample([5, 2, 7, 2], [4, 2])])
    first = [2, 0] if kind == "bart" else [1]
    assert batch["decoder_input_ids"].tolist() == [[*first, 8, 9], [*first, 4, 1]]
    before = [False] * (len(first) - 1)
    assert batch["predicts"].tolist() == [[*before, True, True, True], [*before, True, True, False]]
    assert batch["attention_mask"].tolist() == [[1] * 5, [1] * 4 + [0]]
    assert batch["targets"].tolist() == [8, 9, 2, 4, 2]


@pytest.mark.system
def test_a_bart_learns_by_the_papers_recipe_and_its_folder_generates(squad_file: Path, tmp_path: Path) -> None:
    folder = make_seq2seq(tmp_path / "bart", "bart")
    record = train_generator(paper_recipe(squad_file, folder, "label_smoothing=0.0"), tmp_path / "out")
    losses = [loss for _, loss in record["losses"]]
    assert losses[-1] < 0.7 * losses[0]
    generator = QuestionGenerator(tmp_path / "out")
    assert (generator.styles, generator.folder.max_tokens, generator.folder.question_tokens) == (("search",), 60, 40)
    text = "fox 3 jumps over dog 3 and eats the bone of dog 3. then it sleeps in house 3"
    ((question,),) = generator.generate([MarkedAnswer("", text, 0, 5)], "search")
    assert question.text.startswith("wh")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (['data=[{file="a", style="x"}, {file="a", style="y"}]'], "learns one style, not x, y"),
        (['data=[{file="a", style="x", titles=true}]'], "titles would be ignored"),
        (["optimiser.head_learning_rate=1e-3"], "head_learning_rate would be ignored"),
    ],
)
def test_keys_that_would_be_ignored_are_refused(squad_file: Path, tmp_path: Path, settings: list[str], message: str) -> None:
    folder = make_seq2seq(tmp_path / "bart", "bart")
    with pytest.raises(InputError, match=message):
        start_seq2seq(paper_recipe(squad_file, folder, *settings), folder)


def test_t5_has_one_rate_of_dropout(squad_file: Path, tmp_path: Path) -> None:
    folder = make_seq2seq(tmp_path / "t5", "t5")
    with pytest.raises(InputError, match="attention_dropout would be ignored"):
        start_seq2seq(paper_recipe(squad_file, folder, "attention_dropout=0.1"), folder)
