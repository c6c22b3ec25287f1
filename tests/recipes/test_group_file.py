"""Groups are kept as they are, labelled in the window that shows the answer, and drawn in batches that fit."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from group_file import (  # noqa: E402
    GroupFile,
    LabelledGroup,
    Shown,
    collate_labelled,
    label_all,
    save_groups,
    token_batches,
)

from oreqa.errors import InputError  # noqa: E402
from oreqa.models.reader.inputs import ReaderInputs  # noqa: E402

pytestmark = pytest.mark.train

TEXT = "a b c d. e f g h i j k l m n o p q r s t u v w x y z. 1 2 3."


@pytest.fixture
def groups(tiny: Path) -> list[LabelledGroup]:
    inputs = ReaderInputs(tiny / "tokenizer.json", 24, 8)
    answered = Shown(("t", TEXT), [(6, 7)], [(0, 8)], True)
    late = Shown(("", TEXT), [(TEXT.index("z"), TEXT.index("z") + 1)], [(TEXT.index("x"), TEXT.index(" 2"))], True)
    return list(label_all([("a b", [answered, Shown(("", "g h"))]), ("c", [late])], inputs))


def test_labels_are_tokens_of_the_window_that_shows_the_answer(tiny: Path, groups: list[LabelledGroup]) -> None:
    tokenizer = ReaderInputs(tiny / "tokenizer.json", 24).tokenizer

    def words(group: LabelledGroup, place: int, ranges: list[tuple[int, int]]) -> list[str]:
        return [tokenizer.decode(group.windows[place].ids[first : last + 1]) for first, last in ranges]

    first, second = groups
    assert [words(first, place, first.spans[place]) for place in (0, 1)] == [["d"], []]
    assert words(first, 0, first.blocks[0])[0].split()[:4] == ["a", "b", "c", "d"]
    assert (first.holds, second.holds) == ([True, False], [True])
    assert words(second, 0, second.spans[0]) == ["z"]
    assert words(second, 0, second.blocks[0])[0].split()[:3] == ["x", "y", "z"]
    assert second.windows[0].begin > 0


def test_a_file_keeps_groups(tmp_path: Path, groups: list[LabelledGroup]) -> None:
    assert save_groups(tmp_path / "groups.npz", groups) == 2
    kept = GroupFile(tmp_path / "groups.npz")
    expected, actual = collate_labelled(groups), collate_labelled([kept[0], kept[1]])
    assert {name: actual[name].tolist() for name in expected} == {name: expected[name].tolist() for name in expected}
    assert expected["block"].sum() > 5
    assert expected["holds"].tolist() == [[True, False], [True, False]]
    assert kept.sizes() == ([group.size[0] for group in groups], [2, 1])


@pytest.mark.parametrize("content", [None, b"no archive", b""])
def test_a_file_without_groups_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "groups.npz"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=r"groups\.npz: (there is no such file|it holds no groups).*manual_groups\.py"):
        GroupFile(file)
    save_groups(file, [])
    with pytest.raises(InputError, match="holds no group;"):
        GroupFile(file)


def test_batches_have_every_group_once_and_fit() -> None:
    rng = random.Random(0)
    longest, windows = [rng.randint(5, 60) for _ in range(300)], [rng.randint(1, 4) for _ in range(300)]
    longest[7], windows[7] = 400, 4
    batches = token_batches(longest, windows, 500, random.Random(1))
    assert sorted(group for batch in batches for group in batch) == list(range(300))
    padded = [sum(windows[group] for group in batch) * max(longest[group] for group in batch) for batch in batches]
    assert all(size <= 500 or batch == [7] for size, batch in zip(padded, batches, strict=True))
    assert sum(padded) / sum(length * count for length, count in zip(longest, windows, strict=True)) < 1.2
    assert batches == token_batches(longest, windows, 500, random.Random(1)) != token_batches(longest, windows, 500, rng)
