from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.numpy import load_file
from tiny_models import make_generator, tokenizer_of
from training_parts import examples_of

pytest.importorskip("torch")

from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import Gold, Paragraph, Question, save_squad, split_articles
from oreqa.errors import InputError
from oreqa.models.generator.generator import QuestionGenerator
from oreqa.models.generator.inputs import GeneratorInputs, MarkedAnswer
from oreqa.training.generator.examples import GeneratorExample, collate_questions, generator_examples
from oreqa.training.generator.recipe import GeneratorRecipe
from oreqa.training.generator.train import train_generator
from oreqa.training.train import train_model

pytestmark = [pytest.mark.train, pytest.mark.slow]


@pytest.fixture
def tiny_generator(tmp_path: Path) -> Path:
    """A generator that learned one style, and has vocabulary for two more."""
    folder = make_generator(tmp_path / "backbone", styles=("textbook", "story", "poem"))
    config = json.loads((folder / "config.json").read_text())
    config["oreqa"]["styles"] = ["textbook"]
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def generator_recipe(squad_file: Path, backbone: Path, **changes: object) -> GeneratorRecipe:
    settings = {
        "kind": "generator",
        "backbone": str(backbone),
        "data": [{"file": str(squad_file), "style": "story"}],
        "max_tokens": 40,
        "question_tokens": 20,
        "dropout": 0.0,
        "optimiser": {"learning_rate": 3e-3, "batch": 4, "checkpoint_steps": 3},
        **changes,
    }
    return GeneratorRecipe.model_validate(settings)


def inputs_of(recipe: GeneratorRecipe, backbone: Path) -> GeneratorInputs:
    return GeneratorInputs(backbone / "tokenizer.json", recipe.max_tokens, recipe.question_tokens, recipe.styles)


def test_an_example_is_the_answer_marked_in_its_context_and_the_question(squad_file: Path, tiny_generator: Path) -> None:
    recipe = generator_recipe(squad_file, tiny_generator)
    inputs = inputs_of(recipe, tiny_generator)
    examples = examples_of(generator_examples, recipe, inputs)
    train, _ = split_articles(load_paragraphs(squad_file))
    pieces = [
        [tokenizer_of(tiny_generator).id_to_token(i) for i in example.prefix + example.question] for example in examples
    ]
    assert len(examples) == 2 * len(train)
    marked = set()
    for row, example in zip(pieces, examples, strict=True):
        assert row[:2] == ["[CLS]", "[unused2]"]
        assert row[len(example.prefix) - 1] == row[-1] == "[SEP]"
        assert len(example.prefix) <= 40
        assert len(example.question) <= 20
        marked.add("".join(row[row.index("[unused0]") + 1 : row.index("[unused1]")]).replace("##", ""))
    gold = {question.answers[0].text.replace(" ", "") for paragraph in train for question in paragraph.questions}
    assert marked == gold


def test_pairs_are_learned_from_with_and_without_a_context(tiny_generator: Path, tmp_path: Path) -> None:
    rows = [
        {"question": "who sleeps", "answer": "fox 3"},
        {"question": "who jumps", "answer": "fox 4", "context": "dog 1 rests. fox 4 jumps.", "title": "foxes"},
    ]
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    recipe = generator_recipe(file, tiny_generator)
    inputs = inputs_of(recipe, tiny_generator)
    alone = MarkedAnswer("", "fox 3", 0, 5)
    inside = MarkedAnswer("foxes", "dog 1 rests. fox 4 jumps.", 13, 18)
    expected = zip(
        inputs.prefixes([alone, inside], ["story"] * 2), inputs.questions(["who sleeps", "who jumps"]), strict=True
    )
    examples = examples_of(generator_examples, recipe, inputs)
    assert sorted((e.prefix, e.question) for e in examples) == sorted(expected)


def test_a_paragraph_that_is_held_out_in_one_file_is_not_learned_from_another(
    squad_file: Path, tiny_generator: Path, tmp_path: Path
) -> None:
    _, held_out = split_articles(load_paragraphs(squad_file))
    pairs = [{"question": "who sleeps", "answer": p.text, "context": p.text} for p in held_out]
    pairs.append({"question": "who sleeps", "answer": "fox 3"})
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in pairs))
    data = [{"file": str(file), "style": "story"} for file in (squad_file, tmp_path / "pairs.jsonl")]
    recipe = generator_recipe(squad_file, tiny_generator, data=data)
    inputs = inputs_of(recipe, tiny_generator)
    alone = examples_of(generator_examples, generator_recipe(squad_file, tiny_generator), inputs)
    assert held_out
    assert len(examples_of(generator_examples, recipe, inputs)) == len(alone) + 1


def test_silver_pairs_and_answers_that_are_not_where_they_should_be_are_passed_over(
    tiny_generator: Path, tmp_path: Path
) -> None:
    silver = {"question": "who sleeps", "answer": "fox 3", "source": "silver"}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(silver) + "\n")
    text = "fox 3 sleeps. dog 4 eats."
    golds = [("fox 3", 0), ("fox 3", 5), ("dog 4", -11), ("dog 4", 500), (" ", 5), ("dog 4", 14)]
    # The first answer that stands in its place is learned from.
    questions = tuple(Question(f"q{n}", f"who is {n}", (Gold("cat", 3), Gold(*gold))) for n, gold in enumerate(golds))
    paragraphs = [Paragraph(f"title {n}", text if n == 3 else f"fox {n} rests.", ()) for n in range(9)]
    paragraphs = [replace(p, questions=questions if p.text == text else ()) for p in paragraphs]
    assert text in {paragraph.text for paragraph in split_articles(paragraphs)[0]}
    save_squad(tmp_path / "squad.json", paragraphs)
    data = [{"file": str(tmp_path / name), "style": "story"} for name in ("pairs.jsonl", "squad.json")]
    recipe = generator_recipe(tmp_path / "squad.json", tiny_generator, data=data)
    inputs = inputs_of(recipe, tiny_generator)
    answers = []
    for example in examples_of(generator_examples, recipe, inputs):
        pieces = [tokenizer_of(tiny_generator).id_to_token(i) for i in example.prefix]
        answers.append("".join(pieces[pieces.index("[unused0]") + 1 : pieces.index("[unused1]")]).replace("##", ""))
    assert sorted(answers) == ["dog4", "fox3"]


def test_a_generator_that_learns_on_keeps_the_tokens_of_its_styles(
    squad_file: Path, tiny_generator: Path, tmp_path: Path
) -> None:
    data = [{"file": str(squad_file), "style": style, "questions": 2, "titles": False} for style in ("poem", "textbook")]
    data[1]["titles"] = True
    train_generator(generator_recipe(squad_file, tiny_generator, data=data), tmp_path / "out")
    generator = QuestionGenerator(tmp_path / "out")
    assert (generator.styles, generator.folder.untitled) == (("textbook", "poem"), ("poem",))


def test_prefix_and_question_have_to_fit_the_positions(squad_file: Path, tiny_generator: Path, tmp_path: Path) -> None:
    recipe = generator_recipe(squad_file, tiny_generator, max_tokens=480, question_tokens=128)
    with pytest.raises(InputError, match=r"max_tokens = 480 and question_tokens = 128 are more than the \d+ positions"):
        train_generator(recipe, tmp_path / "out")


def test_files_have_their_own_styles_epochs_and_draws(squad_file: Path, tiny_generator: Path) -> None:
    twice = {"file": str(squad_file), "style": "story", "epochs": 2, "questions": 3}
    recipe = generator_recipe(squad_file, tiny_generator, data=[twice, {"file": str(squad_file), "style": "search"}])
    inputs = inputs_of(recipe, tiny_generator)
    examples = examples_of(generator_examples, recipe, inputs)
    styles = [example.prefix[1] for example in examples]
    story, search = (inputs.token_id(f"[unused{number}]") for number in (2, 3))
    count = 2 * len(split_articles(load_paragraphs(squad_file))[0])
    assert (styles.count(story), styles.count(search)) == (6, count)
    assert styles[count + 3 :] == [story] * 3
    assert examples_of(generator_examples, recipe, inputs) == examples
    assert examples_of(generator_examples, recipe.model_copy(update={"seed": 1}), inputs) != examples


def test_a_batch_predicts_each_token_of_each_question_from_the_one_before() -> None:
    batch = collate_questions([GeneratorExample([2, 7, 3], [8, 9, 3]), GeneratorExample([2, 3], [5, 3])])
    assert batch["input_ids"].tolist() == [[2, 7, 3, 8, 9], [2, 3, 5, 0, 0]]
    assert batch["token_type_ids"].tolist() == [[0, 0, 0, 1, 1], [0, 0, 1, 0, 0]]
    assert batch["predicts"].tolist() == [[False, False, True, True, True], [False, True, True, False, False]]
    assert batch["targets"].tolist() == [8, 9, 3, 5, 3]
    assert (batch["prefixes"].tolist(), batch["lengths"].tolist()) == ([3, 2], [5, 3])


def test_a_generator_learns_and_its_folder_generates(squad_file: Path, tiny_generator: Path, tmp_path: Path) -> None:
    data = [{"file": str(squad_file), "style": "story", "epochs": 12}]
    record = train_generator(generator_recipe(squad_file, tiny_generator, data=data, label_smoothing=0.0), tmp_path / "g")
    losses = [loss for _, loss in record["losses"]]
    assert losses[-1] < 0.7 * losses[0]
    config = json.loads((tmp_path / "g" / "config.json").read_text())
    assert config["oreqa"] == {
        "kind": "generator",
        "styles": ["textbook", "story"],
        "untitled": [],
        "max_tokens": 40,
        "question_tokens": 20,
    }
    generator = QuestionGenerator(tmp_path / "g")
    text = "fox 3 jumps over dog 3 and sleeps in house 3"
    questions = generator.generate([MarkedAnswer("", text, 0, 5), MarkedAnswer("", text, 37, 44)], "story")
    assert all(question.text.lower().startswith("wh") for (question,) in questions)  # as every question that it learned from


def test_an_interrupted_training_ends_as_an_uninterrupted_one(
    squad_file: Path, tiny_generator: Path, tmp_path: Path
) -> None:
    from transformers import TrainerCallback, trainer

    recipe = generator_recipe(squad_file, tiny_generator)
    train_generator(recipe, tmp_path / "whole")

    class Stop(TrainerCallback):
        def on_step_end(self, args, state, control, **_) -> None:  # type: ignore[no-untyped-def]
            if state.global_step == 5:
                raise KeyboardInterrupt

    trainer.DEFAULT_CALLBACKS.append(Stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            train_generator(recipe, tmp_path / "cut")
    finally:
        trainer.DEFAULT_CALLBACKS.remove(Stop)
    assert train_generator(recipe, tmp_path / "cut")["seconds_since_step"] == 3
    whole, cut = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "cut"))
    assert all((whole[name] == cut[name]).all() for name in whole)


def test_data_without_an_answer_is_refused(tiny_generator: Path, tmp_path: Path) -> None:
    file = tmp_path / "none.json"
    file.write_text(json.dumps({"data": [{"title": "t", "paragraphs": [{"context": "fox", "qas": []}]}]}))
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        f'kind = "generator"\nbackbone = "{tiny_generator}"\nmax_tokens = 32\nquestion_tokens = 8\ndata = [{{file = "{file}", style = "story"}}]\n'
        "[optimiser]\nlearning_rate = 1e-3\nbatch = 4\n"
    )
    with pytest.raises(InputError, match="nothing to learn from"):
        train_model("generator", recipe, tmp_path / "out")
