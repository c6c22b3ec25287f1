"""The processes of a Ray that a test or benchmark has begun."""

from __future__ import annotations

import os
from pathlib import Path


def workers(root: int | None = None) -> list[int]:
    """The processes that index a shard, of those that a process has begun, by default this one."""
    root = root or os.getpid()
    parents, shard_tasks = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if (folder / "cmdline").read_bytes().startswith(b"ray::index_shard"):
                shard_tasks.append(int(folder.name))
        except OSError:
            continue

    def is_ours(process: int) -> bool:
        return process == root or (process in parents and is_ours(parents[process]))

    return [process for process in shard_tasks if is_ours(process)]
