"""Files of an index damaged at random: a search gives what it gave, or one line; the next update puts all right."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from index_content import assert_same_content, content, old

from oreqa.errors import IndexStateError
from oreqa.index.current import check_index
from oreqa.index.ingest import index_files
from oreqa.index.search import Index
from oreqa.index.store import Settings

DAMAGES = 40


def _flip(data: bytearray, draw: random.Random) -> bytearray:
    data[draw.randrange(len(data))] ^= draw.randrange(1, 256)
    return data


def _zeros(data: bytearray, draw: random.Random) -> bytearray:
    begin = draw.randrange(len(data))
    end = min(len(data), begin + draw.choice([16, 512, 4096]))
    return data[:begin] + bytes(end - begin) + data[end:]


KINDS: list[Callable[[bytearray, random.Random], bytearray | None]] = [
    _flip,
    _flip,
    _zeros,
    lambda data, draw: data[: draw.randrange(len(data))],
    lambda data, draw: data + draw.randbytes(100),
    lambda data, draw: bytearray(draw.randbytes(len(data))),
    lambda data, draw: None,
]
"""None deletes the file."""


def _damage(folder: Path, draw: random.Random) -> str:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.stat().st_size)
    file, kind = draw.choice(files), draw.randrange(len(KINDS))
    data = KINDS[kind](bytearray(file.read_bytes()), draw)
    file.unlink() if data is None else file.write_bytes(data)
    return f"{file.relative_to(folder)}, kind {kind}"


def _hits(folder: Path) -> list[str] | str:
    try:
        return [repr(hit) for hit in Index.open(folder).search("octopus arms", 50)]
    except IndexStateError as error:
        return str(error)


def _update(folder: Path, library: Path) -> None:
    """Index again, after what an error says must be deleted is."""
    try:
        index_files(folder, [library])
    except IndexStateError as error:
        advice = re.search(r"delete the folder (.*), then run", str(error))
        if not advice:
            raise
        shutil.rmtree(advice[1])
        index_files(folder, [library])


@pytest.mark.system
@pytest.mark.parametrize(("factory", "seed"), [("Flat", 1), ("SQ8", 2)])
def test_damage_at_random(tmp_path: Path, library: Path, tiny: Path, factory: str, seed: int) -> None:
    old(library)
    kept, folder, draw = tmp_path / "kept", tmp_path / "kb", random.Random(seed)
    index_files(kept, [library], Settings(str(tiny), passage_tokens=40, factory=factory))
    (library / "new.txt").write_text("Owls hoot.")
    old(library)
    index_files(kept, [library])  # two generations
    shutil.copytree(kept, folder)
    expected, before = content(kept) if factory == "Flat" else [], _hits(folder)
    assert len(before) > 5
    for _ in range(DAMAGES):
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)
        what = _damage(folder, draw)
        after = _hits(folder)
        assert after == before or (isinstance(after, str) and str(folder) in after and "\n" not in after), what
        _update(folder, library)
        assert check_index(folder) == [], what
        assert _hits(folder) == before, what
        if expected:
            assert_same_content(content(folder), expected)
