from __future__ import annotations

import json
from pathlib import Path

import pytest
from tiny_models import tokenizer_of
from training_parts import reader_recipe

pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

from oreqa.datasets.load import load_paragraphs  # noqa: E402
from oreqa.datasets.paragraphs import Gold, Paragraph, Question, is_held_out, save_squad, split_articles  # noqa: E402
from oreqa.models.reader.inputs import ReaderInputs  # noqa: E402
from oreqa.training.reader.epochs import data_files, reader_groups  # noqa: E402
from oreqa.training.reader.examples import Drawing, Group, collate_groups  # noqa: E402
from oreqa.training.reader.recipe import ReaderRecipe  # noqa: E402


def groups_of(recipe: ReaderRecipe, inputs: ReaderInputs) -> list[Group]:
    drawing = Drawing(
        negatives=recipe.negatives,
        unanswerable=recipe.unanswerable,
        distant=recipe.supervision == "distant",
        depth=recipe.depth,
    )
    files = data_files(recipe.parts, inputs, drawing)
    groups = reader_groups(recipe.parts, files, batch=recipe.optimiser.batch, seed=recipe.seed)
    return [group.windowed() for group in groups]


def decoded(model: Path, ids: list[int]) -> str:
    return tokenizer_of(model).decode(ids).replace(" ##", "")


def test_groups_mark_the_answers(squad_file: Path, tiny: Path) -> None:
    inputs = ReaderInputs(tiny / "tokenizer.json", 48, 8)
    groups = groups_of(reader_recipe(squad_file, tiny), inputs)
    train, held = split_articles(load_paragraphs(squad_file))
    assert len(train) + len(held) == 24
    assert held
    assert not any(is_held_out(paragraph) for paragraph in train)
    answered = [group for group in groups if any(group.spans)]
    lone = [group for group in groups if not any(group.spans)]
    assert len(answered) == 2 * len(train)
    assert 0 < len(lone) < len(answered)
    for group in answered:
        assert [bool(spans) for spans in group.spans] == [True] + [False] * (len(group.windows) - 1)
        ((first, last),) = group.spans[0]
        text = decoded(tiny, group.windows[0].ids[first : last + 1])
        assert text.startswith(("f ##ox", "fox", "h ##ou", "house"))
    assert all(len(window.ids) <= 48 for group in groups for window in group.windows)
    again = groups_of(reader_recipe(squad_file, tiny), inputs)
    assert [g.windows[0].ids for g in again] == [g.windows[0].ids for g in groups]


@pytest.mark.parametrize(
    ("asked", "answerable"), [("all", {True, False}), ("answerable", {True}), ("unanswerable", {False})]
)
def test_a_part_of_a_files_questions_is_taken(tmp_path: Path, tiny: Path, asked: str, answerable: set[bool]) -> None:
    text = "The brown fox runs home."
    questions = (Question("1", "Who runs?", (Gold("fox", 10),)), Question("2", "Who swims?", ()))
    save_squad(tmp_path / "part.json", [Paragraph(f"T{n}", f"{text} {n}", questions) for n in range(6)], "2.0")
    changes = {"data": [{"file": str(tmp_path / "part.json"), "asked": asked}], "negatives": 0, "unanswerable": 0}
    groups = groups_of(reader_recipe(tmp_path, tiny, **changes), ReaderInputs(tiny / "tokenizer.json", 48, 8))
    assert {any(group.spans) for group in groups} == answerable


def test_an_epoch_is_drawn_alike_however_many_there_are(squad_file: Path, tiny: Path) -> None:
    inputs = ReaderInputs(tiny / "tokenizer.json", 48, 8)
    once, twice = (
        groups_of(reader_recipe(squad_file, tiny, data=[{"file": str(squad_file), "epochs": epochs}]), inputs)
        for epochs in (1, 2)
    )
    first, second = ([group.windows for group in part] for part in (twice[: len(once)], twice[len(once) :]))
    assert first == [group.windows for group in once]
    assert first != second


@pytest.mark.parametrize("supervision", ["given", "distant"])
def test_passages_that_mention_the_answer_are_no_negatives(squad_file: Path, tiny: Path, supervision: str) -> None:
    content = json.loads(squad_file.read_text())
    for article in content["data"]:
        article["paragraphs"][0]["context"] += ". beside The Fox, 3!"  # as an answer is normalised
    squad_file.write_text(json.dumps(content))
    maker = ReaderInputs(tiny / "tokenizer.json", 200, 8)
    recipe = reader_recipe(squad_file, tiny, max_tokens=200, unanswerable=0, negatives=3, supervision=supervision)
    counts: dict[str, int] = {}
    for group in groups_of(recipe, maker):
        first, last = group.spans[0][0]
        answer = decoded(tiny, group.windows[0].ids[first : last + 1])
        counts[answer] = len(group.windows)
        for window in group.windows[1:]:
            passage = decoded(tiny, window.ids[window.first : window.last]).replace("[UNK] ", "")
            assert f" {answer} " not in f" {passage} "
    assert counts.pop("fox 3") == 1
    assert set(counts.values()) == {4}


def test_distant_supervision_finds_every_occurrence(squad_file: Path, tiny: Path) -> None:
    content = json.loads(squad_file.read_text())
    for article in content["data"]:
        paragraph = article["paragraphs"][0]
        paragraph["context"] = paragraph["context"].replace("then it", "fox") + " " + paragraph["context"].split(" jumps")[0]
    squad_file.write_text(json.dumps(content))
    recipe = reader_recipe(squad_file, tiny, supervision="distant", max_tokens=200, negatives=0, unanswerable=0)
    groups = groups_of(recipe, ReaderInputs(tiny / "tokenizer.json", 200, 8))
    assert max(len(group.spans[0]) for group in groups) == 2


def test_collate_pads_with_nothing(squad_file: Path, tiny: Path) -> None:
    groups = groups_of(reader_recipe(squad_file, tiny), ReaderInputs(tiny / "tokenizer.json", 48, 8))[:6]
    batch = collate_groups(groups)
    for g, group in enumerate(groups):
        for p, window in enumerate(group.windows):
            size = len(window.ids)
            assert batch["input_ids"][g, p, :size].tolist() == window.ids
            assert batch["attention_mask"][g, p].sum() == size
            assert batch["tokens"][g, p].sum() == window.last - window.first
            assert batch["spans"][g, p, : len(group.spans[p])].tolist() == [list(s) for s in group.spans[p]]
        assert not batch["attention_mask"][g, len(group.windows) :].any()
