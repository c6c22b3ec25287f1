"""A command that dies at a write leaves no trace; benchmarks/faults/kill.py tries every write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parent.parent / "support"

# A process of its own: what forks must not have run a model.
_CRASH = """
import json, sys
from pathlib import Path
from crash import Crashes, Library
from crash_commands import Merges, Removals
from oreqa.index import drafts, segments
segments.RATIO, drafts._SHARE = map(int, sys.argv[2:4])
kind = {"merge": Merges, "remove": Removals}.get(sys.argv[4], Crashes)
crashes = kind(Library(Path(sys.argv[1])), *(flag for flag in sys.argv[4:] if flag.startswith("--")))
every = len(crashes.points) / 7
points = [*(crashes.points[int(every * number)] for number in range(7)), crashes.points[-1]]
results = [crashes.crash(point, [kind.ways[number % len(kind.ways)]]) for number, point in enumerate(points)]
print(json.dumps([[crash.write, crash.after, crash.ways] for crash in results]))
"""


@pytest.mark.system
@pytest.mark.skipif(sys.platform != "linux", reason="counts writes through /proc")
@pytest.mark.parametrize(
    ("command", "ratio", "share"),  # of a ratio of 2 segments are merged, of a share of 0 documents are shared
    [
        ("index", 4, 8),
        ("index", 4, 0),
        ("index --prune", 4, 8),
        ("index --prune", 2, 0),
        ("remove", 4, 8),
        ("remove", 4, 0),
        ("merge", 4, 8),
    ],
)
def test_killed_at_a_write(tmp_path: Path, command: str, ratio: int, share: int) -> None:
    words = [sys.executable, "-c", _CRASH, str(tmp_path), str(ratio), str(share), *command.split()]
    path = os.pathsep.join([str(SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])])
    run = subprocess.run(words, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    crashes = json.loads(run.stdout)
    assert {after for _, after, _ in crashes} == {"old", "new"}
    assert [crash for crash in crashes if any(crash[2].values())] == []
