"""A disk that is too small for an index or its update: one line says so, and what was there stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parent.parent / "support"

_MOUNTING = ["unshare", "--user", "--map-root-user", "--mount"]

_RUNS = """
import json, random, sys
from dataclasses import asdict
from pathlib import Path
from full_disk import Disks
disks, update = Disks(Path(sys.argv[1])), sys.argv[2] == "update"
need = disks.need(update)
draw = random.Random(1)
rooms = draw.sample(range(4, need, 4), 10) + draw.sample(range(need, need * 4 // 3, 4), 10)
print(json.dumps([asdict(disks.run(update, room)) for room in [*rooms, 3 * need]]))
"""


def _mounts(work: Path) -> bool:
    command = [*_MOUNTING, "mount", "-t", "tmpfs", "none", str(work)]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.system
@pytest.mark.parametrize("kind", ["first", "update"])
def test_a_disk_of_any_size(tmp_path: Path, kind: str) -> None:
    if not _mounts(tmp_path):
        pytest.skip("only root of a namespace may mount a small disk")
    path = os.pathsep.join([str(SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [*_MOUNTING, sys.executable, "-c", _RUNS, str(tmp_path / "work"), kind]
    run = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    *small, enough = json.loads(run.stdout)
    assert [disk for disk in (*small, enough) if disk["wrong"]] == []
    assert not enough["error"]
    errors = [disk["error"] for disk in small if disk["error"]]
    assert len(errors) > len(small) / 2
    assert [error for error in errors if "full" not in error and "No space left" not in error] == []
    assert [
        error for error in errors if ("; searches see the state before this update" in error) != (kind == "update")
    ] == []
