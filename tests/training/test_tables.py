"""The names that recipes use are those of the tables, and each of them trains."""

from __future__ import annotations

import inspect
import random
import re
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.train

from oreqa.datasets.pairs import Candidate  # noqa: E402
from oreqa.errors import INSTALL_TRAIN, ModelError  # noqa: E402
from oreqa.losses.reranking import CrossEncoderScores  # noqa: E402
from oreqa.training.batches import in_a_row, similar_length_batches  # noqa: E402
from oreqa.training.losses import (  # noqa: E402
    CROSS_ENCODER_LOSSES,
    EXTRACTOR_LOSSES,
    OPENQA_LOSSES,
    READER_LOSSES,
    RETRIEVER_LOSSES,
    Loss,
    OneOf,
)
from oreqa.training.recipes import Recipe  # noqa: E402
from oreqa.training.retriever.examples import RetrieverExample, by_passage  # noqa: E402
from oreqa.training.train import RECIPES, trainer_of  # noqa: E402


@pytest.mark.parametrize("table", [RETRIEVER_LOSSES, READER_LOSSES, CROSS_ENCODER_LOSSES, OPENQA_LOSSES, EXTRACTOR_LOSSES])
def test_every_row_names_a_function_and_keys_of_its_recipes(table: dict[str, Loss]) -> None:
    recipes = [recipe for recipe in RECIPES.values() if table in names_of(recipe)]
    assert recipes
    for row in table.values():
        assert all(hasattr(recipe, key) or key in recipe.model_fields for recipe in recipes for key in row.settings)
        function = resolve_name(f"oreqa.losses.{row.function}")
        assert list(inspect.signature(function).parameters)[-len(row.settings) or None :][: len(row.settings)] == list(
            row.settings
        )


def names_of(recipe: type[Recipe]) -> list[object]:
    field = recipe.model_fields.get("loss")
    return [part.names for part in field.metadata if isinstance(part, OneOf)] if field else []


def test_every_kind_is_trained() -> None:
    assert all(callable(trainer_of(kind)) for kind in RECIPES)


def example(number: int, passage: str) -> RetrieverExample:
    return RetrieverExample(f"question {number}", Candidate(passage, passage), 1.0, (), ())


EXAMPLES = [example(4 * length + q, "x" * (length + 1)) for length in range(40) for q in range(4)]


def test_batches_by_passage_keep_every_example_and_follow_the_seed() -> None:
    drawn = [e for rows in by_passage(EXAMPLES, 8, random.Random(1)) for e in rows]
    assert sorted(e.question for e in drawn) == sorted(e.question for e in EXAMPLES)
    assert by_passage(EXAMPLES, 8, random.Random(1)) == by_passage(EXAMPLES, 8, random.Random(1))
    assert by_passage(EXAMPLES, 8, random.Random(1)) != by_passage(EXAMPLES, 8, random.Random(2))


def test_questions_of_a_passage_stand_together_by_passage() -> None:
    batches = by_passage(EXAMPLES, 8, random.Random(0))
    assert all(len({e.positive.context for e in rows}) == 2 for rows in batches)  # eight questions of four each


def test_batches_by_length_hold_lengths_that_are_alike() -> None:
    lengths = [number % 40 for number in range(4000)]
    batches = similar_length_batches(lengths, lambda length: length, 8, random.Random(0))
    assert sorted(length for rows in batches for length in rows) == sorted(lengths)
    assert sum(max(rows) - min(rows) for rows in batches) / len(batches) < 2


def test_batches_that_are_not_full_shift_no_others() -> None:
    epochs = [by_passage(EXAMPLES[:20], 8, random.Random(seed)) for seed in range(3)]
    seen = in_a_row(epochs, 8)
    batches = [seen[begin : begin + 8] for begin in range(0, len(seen), 8)]
    assert batches[:6] == [rows for epoch in epochs for rows in epoch if len(rows) == 8]
    assert sorted(e.question for e in seen) == sorted(e.question for e in EXAMPLES[:20] * 3)


def test_the_cross_encoders_losses_take_singles_and_lists() -> None:
    scores = torch.tensor([[2.0, -1.0], [0.5, -1e9]])
    batch = CrossEncoderScores(
        scores=scores,
        labels=torch.tensor([[1.0, 0.0], [1.0, 0.0]]),
        weights=torch.tensor([[0.5, 1.0], [1.0, 0.0]]),
        present=torch.tensor([[True, True], [True, False]]),
    )
    one, two, three = torch.nn.functional.softplus(torch.tensor([-2.0, -1.0, -0.5])).tolist()
    pointwise = CROSS_ENCODER_LOSSES["cross_entropy"].of(None)(batch).item()
    assert pointwise == pytest.approx((0.5 * one + two + three) / 3, rel=1e-5)
    listwise = CROSS_ENCODER_LOSSES["listwise_softmax"].of(None)(batch).item()
    softmax = torch.logsumexp(scores[0], 0).item() - 2.0
    assert listwise == pytest.approx((0.5 * softmax + 0.0) / 2, rel=1e-5)


def test_training_without_its_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import oreqa.training

    assert "train_model" in dir(oreqa.training)
    monkeypatch.setattr(oreqa.training, "find_spec", lambda name: None if name == "sentence_transformers" else name)
    with pytest.raises(ModelError, match=f"training needs sentence_transformers: {re.escape(INSTALL_TRAIN)}$"):
        oreqa.training.train_model  # noqa: B018


def test_adapting_without_its_extra_says_how_to_install_it(tmp_path: Path) -> None:
    code = "import sys; sys.modules['torch'] = None; from oreqa.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "adapt", "--index", tmp_path], capture_output=True, text=True)
    assert done.stderr.strip() == f"error: training needs torch: {INSTALL_TRAIN}"
    assert done.returncode == 2
