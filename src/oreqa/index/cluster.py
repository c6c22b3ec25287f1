"""Builds an index with many processes or machines: each Ray task indexes a shard, and the shards are merged.

A shard is an ordinary index of some of the files. Its published state is reused when work restarts under the same name, so
tasks, and the process that started them, can be killed.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from oreqa.arguments import as_index_folder, as_paths, text_list
from oreqa.corpus.files import find_files
from oreqa.corpus.readers import Fields
from oreqa.errors import IndexStateError, InputError, OreqaError
from oreqa.files import read_json, remove, write_json
from oreqa.index.generations import newest_generation
from oreqa.index.ingest import index_files
from oreqa.index.merging import MergeReport, merge_indexes
from oreqa.index.store import Settings
from oreqa.progress import Progress, no_progress, show

LOCAL = "local"
"""Replaces a cluster's address: processes on this machine."""

SHARDS_A_CORE = 4
"""Shards per core: enough that cores finish at about the same time, and that a killed task loses little."""

_FILES = "files.json"

_PATIENCE = 10
"""Seconds in which a cluster must respond."""


def index_on_cluster(
    folder: str | Path,
    paths: str | Path | Iterable[str | Path],
    address: str = LOCAL,
    settings: Settings | None = None,
    *,
    include: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    fields: Fields | None = None,
    shards: int | None = None,
    progress: Progress = no_progress,
) -> MergeReport | None:
    """Create an index of the documents in files and folders with tasks of a Ray cluster, at an ``address`` or ``local``.

    Its machines must see the files and the index's folder under the same paths. The files are divided into ``shards`` of
    similar size in bytes, each indexed by a task in ``FOLDER.shards``, and then merged. ``index_files`` documents the
    other arguments and which files are skipped as unreadable. After an interruption, call it again with the same
    arguments: finished shards are reused. An existing index is left unchanged, and None is returned.

    Raises InputError if Ray is not installed or not reachable, IndexStateError if leftovers of a different run exist, and
    whatever ``index_files`` and ``merge_indexes`` raise.
    """
    folder, paths = as_index_folder(folder), as_paths(paths)
    work = folder.with_name(f"{folder.name}.shards")
    merged = None
    if newest_generation(folder) is None:
        patterns = text_list(include, "include"), text_list(exclude, "exclude")
        with _ray(address) as ray:
            parts = _parts(work, paths, patterns, shards or SHARDS_A_CORE * int(ray.cluster_resources().get("CPU", 1)))
            _index_parts(ray, work, parts, settings, fields, progress)
        places = [path for path in (work / f"{number:05}" for number in range(len(parts))) if newest_generation(path)]
        if not places:
            remove(work)
            raise OreqaError(f"{paths[0]}: no documents could be read, so no index was made")
        merged = merge_indexes(folder, places, progress)
    if work.is_dir():
        remove(work)
    return merged


@contextmanager
def _ray(address: str) -> Iterator[Any]:
    """Yield Ray, connected to a cluster or started on this machine. It sends no usage statistics."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray = import_module("ray")
    except ImportError:
        raise InputError("--cluster needs Ray, which is not installed: pip install 'oreqa[cluster]'") from None
    _check_address(address)
    here = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}  # nobody else may submit work to it
    options: dict[str, Any] = {"address": address} if address != LOCAL else here
    try:
        ray.init(**options, log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # a plain Exception if it takes too long to start, as on a busy machine
        what = "cannot be started on this machine" if address == LOCAL else "cannot be reached there"
        reason = str(error).partition("\n")[0]
        raise InputError(f"--cluster {address}: Ray {what} ({reason})") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_address(address: str) -> None:
    """Raise InputError if nothing listens there: Ray itself waits for minutes."""
    place = urlsplit(address if "://" in address else f"//{address}")
    try:
        if place.port is not None:
            socket.create_connection((place.hostname or "", place.port), timeout=_PATIENCE).close()
    except (OSError, ValueError) as error:
        raise InputError(f"--cluster {address}: Ray cannot be reached there ({error})") from error


def _parts(work: Path, paths: Sequence[Path], patterns: Sequence[Sequence[str]], count: int) -> list[list[str]]:
    """Return the files of each shard, reusing the division of an interrupted run."""
    wanted = {"paths": [str(path.absolute()) for path in paths], "patterns": [list(each) for each in patterns]}
    if (work / _FILES).is_file():
        noted = read_json(work / _FILES)
        if {name: noted[name] for name in wanted} != wanted:
            raise IndexStateError(
                f"{work}: it holds the shards of an interrupted run over other files; delete it to begin anew"
            )
        return list(noted["parts"])
    include, exclude = patterns
    files = find_files(paths, include, exclude).files
    parts = [[str(file) for file in part] for part in split_evenly(files, [_size(file) for file in files], count)]
    work.mkdir(parents=True, exist_ok=True)
    write_json(work / _FILES, {**wanted, "parts": parts})
    return parts


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # its reader will report the error
        return 0


def split_evenly(files: Sequence[Path], sizes: Sequence[int], count: int) -> list[list[Path]]:
    """Divide files, in order, into at most ``count`` non-empty parts of about equal bytes.

    Examples:
        >>> [len(part) for part in split_evenly([Path("a"), Path("b"), Path("c"), Path("d")], [9, 1, 1, 1], 2)]
        [1, 3]
    """
    total = sum(sizes) + len(sizes)  # an empty file counts, too
    parts: dict[int, list[Path]] = {}
    for file, size, end in zip(files, sizes, accumulate(size + 1 for size in sizes), strict=True):
        middle = end - (size + 1) / 2
        parts.setdefault(int(middle * count / total), []).append(file)
    return list(parts.values())


def _index_parts(
    ray: Any,
    work: Path,
    parts: Sequence[Sequence[str]],
    settings: Settings | None,
    fields: Fields | None,
    progress: Progress,
) -> None:
    """Index every shard in a task and wait for all of them. Ray restarts a task whose process was killed."""
    task = ray.remote(num_cpus=1, max_retries=-1)(index_shard)
    places = [str((work / f"{number:05}").absolute()) for number in range(len(parts))]
    waiting = [
        task.remote(place, list(files), asdict(settings) if settings else None, asdict(fields) if fields else None)
        for place, files in zip(places, parts, strict=True)
    ]
    with show(progress, "indexing shards", len(waiting)) as advance:
        while waiting:
            done, waiting = ray.wait(waiting)
            for error in filter(None, ray.get(done)):
                raise OreqaError(error)
            advance(len(done))


def index_shard(place: str, files: list[str], settings: dict[str, Any] | None, fields: dict[str, Any] | None) -> str:
    """Index some files in a task. Returns an error line, or an empty string, also if no file can be read."""
    try:
        index_files(
            place,
            files,
            Settings(**settings) if settings else None,
            fields=Fields(**fields) if fields else None,
            on_problem=lambda line: None,
        )
    except OreqaError as error:
        return "" if type(error) is OreqaError else str(error)
    return ""
