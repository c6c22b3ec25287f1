"""There is one kind of progress: a wrong kind is refused in one line, before any work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oreqa.core import Document
from oreqa.errors import InputError
from oreqa.index.change_encoder import change_encoder
from oreqa.index.in_memory import index_documents
from oreqa.index.ingest import index_files
from oreqa.models.encoder.encoder import Encoder
from oreqa.progress import Advance, ignore, no_progress, part_of, show


@pytest.mark.parametrize("wrong", [ignore, [].append, print, None, 3, lambda: None, lambda name, total: ignore])
def test_a_wrong_kind_is_refused(tmp_path: Path, tiny: Path, wrong: Any) -> None:
    folder, encoder = tmp_path / "kb", Encoder(tiny)
    (tmp_path / "a.txt").write_text("Bees dance.")
    calls: list[Callable[[], object]] = [
        lambda: index_documents(folder, "Bees dance.", model=tiny, progress=wrong),
        lambda: index_files(folder, tmp_path / "a.txt", model=tiny, progress=wrong),
        lambda: encoder.encode("Bees dance.", progress=wrong),
        lambda: encoder.encode_passages([("", "Bees dance.", [(0, 11)])], progress=wrong),
    ]
    for call in calls:
        with pytest.raises(InputError, match="progress is a function of a stage's name and total") as refused:
            call()
        assert "\n" not in str(refused.value)
    assert not folder.exists()


def test_a_stage_has_a_name_a_total_and_steps(tmp_path: Path, tiny: Path) -> None:
    stages: list[tuple[str, int | None]] = []
    steps: list[int] = []

    @contextmanager
    def progress(name: str, total: int | None) -> Iterator[Advance]:
        stages.append((name, total))
        yield steps.append

    index_documents(
        tmp_path / "kb", [Document("a", "", "Bees dance."), Document("b", "", "Wasps sting.")], model=tiny, progress=progress
    )
    Encoder(tiny).encode(["bees", "wasps"], progress=progress)
    change_encoder(tmp_path / "kb", tiny, progress=progress)
    assert stages == [("encoding passages", None), ("encoding texts", 2), ("encoding passages", 2)]
    assert sum(steps) == 6


def test_steps_of_a_stage_that_is_shown_and_of_none() -> None:
    steps: list[int] = []
    with show(part_of(steps.append), "any") as advance:
        advance(2)
    with show(no_progress, "any", 3) as advance:
        advance(3)
    assert steps == [2]
