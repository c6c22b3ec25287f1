"""A reader that learns from what an index gives for questions without paragraphs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from training_parts import reader_recipe

pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

from oreqa import Document, index_documents  # noqa: E402
from oreqa.errors import InputError  # noqa: E402
from oreqa.index.search import Index  # noqa: E402
from oreqa.models.reader.inputs import ReaderInputs  # noqa: E402
from oreqa.models.reader.reader import Reader  # noqa: E402
from oreqa.progress import ignore  # noqa: E402
from oreqa.training.reader.epochs import collate_drawn, reader_groups, retrieved_parts  # noqa: E402
from oreqa.training.reader.examples import Drawing, Group  # noqa: E402
from oreqa.training.reader.recipe import ReaderRecipe  # noqa: E402
from oreqa.training.reader.train import train_reader  # noqa: E402
from oreqa.training.recipes import load_recipe  # noqa: E402
from oreqa.training.records import train_recorded  # noqa: E402

RECIPES = Path(__file__).parents[3] / "recipes"


@pytest.fixture
def kb(tiny: Path, tmp_path: Path) -> Path:
    """An index of twelve passages about the fox and twelve about the house."""
    texts = [f"the {name} {n} jumps over dog {n} and runs home" for n in range(12) for name in ("fox", "house")]
    index_documents(tmp_path / "kb", [Document(str(n), f"T{n}", text) for n, text in enumerate(texts)], model=tiny)
    return tmp_path / "kb"


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Questions with an answer, with a pattern, and with an answer that stands nowhere."""
    rows = [{"question": f"who jumps over dog {n}", "answers": ["fox"]} for n in range(6)]
    rows += [{"question": "what runs home", "pattern": "hou.e"}, {"question": "who sleeps", "answers": ["cat"]}]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "questions.jsonl"


def index_recipe(kb: Path, questions: Path, tiny: Path, **changes: object) -> ReaderRecipe:
    settings = {"index": kb, "supervision": "distant", "depth": 24, "negatives": 3, "unanswerable": 0, **changes}
    settings = {"data": [{"file": str(questions), "epochs": 2}], **settings}
    return reader_recipe(questions, tiny, **settings)


def drawn_groups(recipe: ReaderRecipe, tiny: Path, unanswerable: float = 0.0) -> tuple[list[Group], int]:
    inputs = ReaderInputs(tiny / "tokenizer.json", 48, 8)
    drawing = Drawing(negatives=3, unanswerable=unanswerable, distant=True, depth=recipe.depth)
    assert recipe.index is not None
    with Index.open(recipe.index) as index:
        files = retrieved_parts(recipe.parts, index, "hybrid", inputs, drawing, ignore)
    groups = reader_groups(recipe.parts, files, batch=4, seed=recipe.seed)
    assert all(group.size[1] == len(group.windowed().windows) for group in groups)
    assert all(group.size[0] >= group.windowed().size[0] for group in groups)
    assert collate_drawn(groups[:2])["input_ids"].shape[:2] == (2, groups[0].size[1])
    return [group.windowed() for group in groups], sum(getattr(file, "unanswered", 0) for file in files)


def test_one_passage_answers_and_the_others_do_not(kb: Path, questions: Path, tiny: Path) -> None:
    groups, unanswered = drawn_groups(index_recipe(kb, questions, tiny), tiny)
    assert unanswered == 1
    assert len(groups) == 2 * 7
    assert {len(group.windows) for group in groups} == {4}
    for group in groups:
        assert [bool(spans) for spans in group.spans] == [True, False, False, False]
        ((first, last),) = group.spans[0]
        answer = group.windows[0].ids[first : last + 1]
        for window in group.windows[1:]:
            ids = window.ids
            assert not any(ids[place : place + len(answer)] == answer for place in range(window.first, len(ids)))


def test_passages_are_drawn_anew_for_every_epoch_and_alike_by_a_seed(kb: Path, questions: Path, tiny: Path) -> None:
    recipe = index_recipe(kb, questions, tiny)
    groups, _ = drawn_groups(recipe, tiny)
    ids = [[window.ids for window in group.windows] for group in groups]
    first, second = ({json.dumps(group[:1]) for group in part} for part in (ids[:7], ids[7:]))
    assert first != second
    assert [[window.ids for window in group.windows] for group in drawn_groups(recipe, tiny)[0]] == ids
    other = drawn_groups(recipe.model_copy(update={"seed": 1}), tiny)[0]
    assert [[window.ids for window in group.windows] for group in other] != ids


def test_a_question_is_asked_of_others_alone_too(kb: Path, questions: Path, tiny: Path) -> None:
    groups, _ = drawn_groups(index_recipe(kb, questions, tiny), tiny, unanswerable=1.0)
    alone = [group for group in groups if not any(group.spans)]
    assert len(alone) == 2 * 8  # the one that nothing answers, too
    assert {len(group.windows) for group in alone} == {1}


def test_the_papers_recipe_learns_and_keeps_the_best_checkpoint(
    kb: Path, questions: Path, tiny: Path, tmp_path: Path
) -> None:
    dev = shutil.copy(questions, tmp_path / "dev.jsonl")
    changes = [f"backbone={tiny}", f"index={kb}", f'data=[{{file="{questions}", epochs=30}}]', f"dev={dev}", "depth=24"]
    changes += ["max_tokens=48", "overlap=8", "negatives=3", "dev_passages=4"]
    changes += ["optimiser.learning_rate=3e-3", "optimiser.batch=4", "optimiser.checkpoint_steps=10"]
    recipe = load_recipe(ReaderRecipe, RECIPES / "papers" / "dpr-reader.toml", changes)
    assert (recipe.mode, recipe.loss, recipe.supervision, recipe.dev_metric) == ("dense", "dpr", "distant", "em")
    record = train_recorded(train_reader, recipe, tmp_path / "m")
    assert record["unanswered"] == 1
    assert record["steps"] == -(-30 * 7 // 4)
    losses = [loss for _, loss in record["losses"]]
    assert losses[-1] < losses[0]
    assert record["checkpoint"]["em"] == max(em for _, em in record["dev"]) > 0
    loaded = Reader(tmp_path / "m")
    assert not loaded.folder.shared
    assert loaded.read(["who jumps over dog 3"], [[("", "the fox 3 jumps over dog 3")]])[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"supervision": "given"}, "set supervision=distant"),
        ({"data": [{"file": "q.jsonl", "asked": "unanswerable"}]}, "leave asked out"),
        ({"index": None, "mode": "dense"}, "mode"),
        ({"dev_passages": 3}, "dev_passages"),
    ],
)
def test_keys_that_do_not_fit_are_refused(
    kb: Path, questions: Path, tiny: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        index_recipe(kb, questions, tiny, **changes)


def test_questions_that_nothing_answers_are_refused(kb: Path, questions: Path, tiny: Path, tmp_path: Path) -> None:
    questions.write_text('{"question": "who sleeps", "answers": ["cat"]}\n')
    with pytest.raises(InputError, match="nothing to learn from"):
        train_reader(index_recipe(kb, questions, tiny), tmp_path / "m")
    questions.write_text('{"question": "who sleeps", "answers": []}\n')
    with pytest.raises(InputError, match="holds no question with an answer"):
        train_reader(index_recipe(kb, questions, tiny), tmp_path / "m")
