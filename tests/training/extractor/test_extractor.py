from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors.numpy import load_file
from tiny_models import tokenizer_of
from training_parts import examples_of

pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

from oreqa.datasets.load import load_paragraphs  # noqa: E402
from oreqa.datasets.paragraphs import Gold, Paragraph, Question, is_held_out, save_squad, split_articles  # noqa: E402
from oreqa.errors import InputError  # noqa: E402
from oreqa.models.extractor.extractor import Extractor  # noqa: E402
from oreqa.models.extractor.inputs import ExtractorInputs  # noqa: E402
from oreqa.training.extractor.examples import collate_windows, extractor_examples, load_asked_passages  # noqa: E402
from oreqa.training.extractor.recipe import ExtractorRecipe  # noqa: E402
from oreqa.training.extractor.train import train_extractor  # noqa: E402
from oreqa.training.recipes import load_recipe  # noqa: E402
from oreqa.training.records import train_recorded  # noqa: E402

ROOT = Path(__file__).parents[3]


def extractor_recipe(tiny: Path, *files: Path, epochs: int = 1, **changes: object) -> ExtractorRecipe:
    settings = {
        "kind": "extractor", "backbone": str(tiny), "data": [{"file": str(file), "epochs": epochs} for file in files],
        "max_tokens": 48, "overlap": 8, "dropout": 0.0,
        "optimiser": {"learning_rate": 3e-3, "batch": 4, "checkpoint_steps": 3}, **changes,
    }  # fmt: skip
    return ExtractorRecipe.model_validate(settings)


def test_windows_mark_every_span_that_was_asked_about(squad_file: Path, tiny: Path) -> None:
    inputs = ExtractorInputs(tiny / "tokenizer.json", 80, 8)
    recipe = extractor_recipe(tiny, squad_file, max_tokens=80, epochs=2)
    examples = examples_of(extractor_examples, recipe, inputs, answer_tokens=recipe.answer_tokens)
    train, _ = split_articles(load_paragraphs(squad_file))
    assert len(examples) == 2 * len(train)
    for example in examples:
        texts = [
            tokenizer_of(tiny).decode(example.window.ids[first : last + 1]).replace(" ##", "")
            for first, last in example.spans
        ]
        assert len(texts) == 2
        assert texts[0].startswith(("fox", "f ##ox"))
        assert texts[1].startswith(("house", "h ##ouse"))
        assert len(example.opens) == len(example.closes) == len(example.window.ids)
    again = examples_of(extractor_examples, recipe, inputs, answer_tokens=recipe.answer_tokens)
    assert [e.window.ids for e in again] == [e.window.ids for e in examples]


def test_a_passage_of_two_files_is_seen_once_with_the_spans_of_both(tmp_path: Path, tiny: Path) -> None:
    text = "The brown fox runs home to its den."
    for name, answers in (("a", ("fox", "den")), ("b", ("fox", "home"))):
        questions = tuple(Question(answer, "?", (Gold(answer, text.index(answer)),)) for answer in answers)
        shared, single = Paragraph("T1", text, questions), Paragraph("T1", f"{text} {name}", questions)
        save_squad(tmp_path / f"{name}.json", [shared, single])
    passages = load_asked_passages(extractor_recipe(tiny, tmp_path / "a.json", tmp_path / "b.json").parts)
    assert [{text[start:end] for start, end in passage.answers} for passage in passages] == [
        {"fox", "den", "home"},
        {"fox", "den"},
        {"fox", "home"},
    ]


def test_what_one_file_holds_out_is_in_no_other(tmp_path: Path, tiny: Path) -> None:
    text = "The brown fox runs home."
    questions = (Question("1", "?", (Gold("fox", 10),)),)
    titles = {is_held_out(Paragraph(title, text, ())): title for title in map(str, range(100))}
    for name, held in (("a", False), ("b", True)):
        save_squad(tmp_path / f"{name}.json", [Paragraph(titles[held], text, questions)])
    assert load_asked_passages(extractor_recipe(tiny, tmp_path / "a.json").parts)
    assert load_asked_passages(extractor_recipe(tiny, tmp_path / "a.json", tmp_path / "b.json").parts) == []


def test_collate_allows_whole_words_that_are_short_enough(squad_file: Path, tiny: Path) -> None:
    recipe = extractor_recipe(tiny, squad_file, answer_tokens=7)
    inputs = ExtractorInputs(tiny / "tokenizer.json", 48, 8)
    examples = examples_of(extractor_examples, recipe, inputs, answer_tokens=recipe.answer_tokens)[:5]
    batch = collate_windows(examples, 7)
    for n, example in enumerate(examples):
        size = len(example.window.ids)
        assert batch["input_ids"][n, :size].tolist() == example.window.ids
        assert batch["attention_mask"][n].sum() == size
        allowed = {(i, i + d) for i, d in batch["allowed"][n].nonzero().tolist()}
        ends = [(i, j) for i in range(size) for j in range(i, min(i + 7, size))]
        assert allowed == {(i, j) for i, j in ends if example.opens[i] and example.closes[j]}
        assert {(i, i + d) for i, d in batch["gold"][n].nonzero().tolist()} == set(example.spans) <= allowed
        assert all(example.window.first <= i <= j < example.window.last for i, j in allowed)


@pytest.mark.parametrize("loss", ["softmax", "cross_entropy"])
def test_an_extractor_learns_and_its_folder_extracts(squad_file: Path, tiny: Path, tmp_path: Path, loss: str) -> None:
    recipe = extractor_recipe(tiny, squad_file, loss=loss, epochs=25)
    record = train_recorded(train_extractor, recipe, tmp_path / "x")
    losses = [value for _, value in record["losses"]]
    assert losses[-1] < losses[0]
    assert json.loads((tmp_path / "x" / "run.json").read_text())["recipe"]["loss"] == loss
    assert not (tmp_path / "x" / "checkpoints").exists()
    before, after = load_file(tiny / "model.safetensors"), load_file(tmp_path / "x" / "model.safetensors")
    name = "embeddings.word_embeddings.weight"
    assert (before[name] == after[f"bert.{name}"]).all()
    train, _ = split_articles(load_paragraphs(squad_file))
    best = Extractor(tmp_path / "x", precision="f32").extract([paragraph.text for paragraph in train], k=2)
    golds = [{gold.text for question in paragraph.questions for gold in question.answers} for paragraph in train]
    right = [span.text in answers for spans, answers in zip(best, golds, strict=True) for span in spans]
    assert sum(right) > 5  # of 42; a model that has not learned finds none
    with pytest.raises(InputError, match="holds a trained model already"):
        train_recorded(train_extractor, recipe, tmp_path / "x")


@pytest.mark.parametrize("loss", ["softmax", "cross_entropy"])
def test_an_interrupted_training_ends_as_an_uninterrupted_one(
    squad_file: Path, tiny: Path, tmp_path: Path, loss: str
) -> None:
    from transformers import TrainerCallback, trainer

    class Stop(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args, state, control, **_) -> None:  # type: ignore[no-untyped-def]
            if state.global_step == 5:
                raise KeyboardInterrupt

    recipe = extractor_recipe(tiny, squad_file, loss=loss, dropout=0.1, epochs=2)
    train_extractor(recipe, tmp_path / "whole")
    trainer.DEFAULT_CALLBACKS.append(Stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            train_extractor(recipe, tmp_path / "cut")
    finally:
        trainer.DEFAULT_CALLBACKS.remove(Stop)
    assert train_extractor(recipe, tmp_path / "cut")["seconds_since_step"] == 3
    whole, cut = (load_file(tmp_path / n / "model.safetensors") for n in ("whole", "cut"))
    assert all((whole[name] == cut[name]).all() for name in whole)


def test_data_without_answers_is_refused(tmp_path: Path, tiny: Path) -> None:
    save_squad(tmp_path / "none.json", [Paragraph("T1", "The fox.", (Question("1", "?", ()),))], "2.0")
    with pytest.raises(InputError, match="there is nothing to learn from"):
        train_extractor(extractor_recipe(tiny, tmp_path / "none.json"), tmp_path / "x")


def test_recipes() -> None:
    recipe = load_recipe(ExtractorRecipe, ROOT / "recipes" / "small" / "extractor.toml")
    assert recipe.loss == "softmax"
    with pytest.raises(InputError, match="negatives = 9 would be ignored: it needs loss=cross_entropy"):
        load_recipe(ExtractorRecipe, ROOT / "recipes" / "small" / "extractor.toml", "negatives=9")
    with pytest.raises(InputError, match="overlap = 200 is more than half of a window"):
        load_recipe(ExtractorRecipe, ROOT / "recipes" / "small" / "extractor.toml", "overlap=200")
