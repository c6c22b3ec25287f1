"""Keeps indexes in sync with their folders, each in a child process (follower.py) that is restarted if it dies."""

from __future__ import annotations

import json
import logging
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from oreqa.corpus.child import receive, send, start_child, stop_child
from oreqa.errors import InputError
from oreqa.paths import full_path
from oreqa.server.metrics import LOGGER

FIRST_DELAY, LONGEST_DELAY = 1.0, 60.0
"""Seconds until a dead child is restarted; doubled each time until an update succeeds."""

_FOLLOW = "from oreqa.server.follower import follow_folders; follow_folders(*map(int, sys.argv[2:]))"
_ANY_MEMORY = 1 << 60
_MOST_FAILED = 100


@dataclass(frozen=True, slots=True)
class FollowerState:
    """How an index follows its ``paths``.

    ``state`` is "starting", "updating", "watching", "polling", which means repeated scans of all files, for a ``reason``, or
    "restarting". ``failed`` has a line for each unreadable file, ``error`` why the last update failed, ``begun`` and
    ``updated`` when the last successful one began and ended.
    """

    paths: Sequence[str]
    state: str = "starting"
    reason: str = ""
    failed: Sequence[str] = ()
    failed_count: int = 0
    error: str = ""
    begun: float | None = None
    updated: float | None = None


class Follower:
    """Owns the child process of one index; call ``start``, and ``stop`` at the end."""

    def __init__(self, index: Path, paths: Sequence[Path], code: str = _FOLLOW) -> None:
        self._request = {"index": str(full_path(index)), "paths": [str(full_path(path)) for path in paths]}
        self._code, self._state = code, FollowerState(self._request["paths"])
        self._ending = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)

    @property
    def state(self) -> dict[str, Any]:
        """Return the ``FollowerState`` as JSON."""
        return asdict(self._state)

    def start(self) -> None:
        """Start the child, and read its messages."""
        self._thread.start()

    def stop(self) -> None:
        """End the child."""
        self._ending.set()
        if self._child is not None:
            self._child.kill()
        self._thread.join(10)

    def _run(self) -> None:
        delay = FIRST_DELAY
        while not self._ending.is_set():
            before = self._state.updated
            reason = self._follow()
            if self._ending.is_set():
                return
            delay = FIRST_DELAY if self._state.updated != before else delay
            message = f"the process that watches {reason}; it is started again in {delay:g} s"
            self._state = replace(self._state, state="restarting", reason=message)
            logging.getLogger(LOGGER).warning("the process that watches folders ended; it is started again in %g s", delay)
            self._ending.wait(delay)
            delay = min(LONGEST_DELAY, 2 * delay)

    def _follow(self) -> str:
        """Start a child and read its messages until it ends. Returns how it ended."""
        try:
            child = self._child = start_child(self._code, _ANY_MEMORY)
        except OSError as error:
            return f"cannot be started ({error.strerror})"
        if self._ending.is_set():
            child.kill()
        assert child.stdin
        assert child.stdout
        polling, is_updating = "", False
        with suppress(OSError):  # a broken pipe: the child is gone
            send(child.stdin, json.dumps(self._request).encode())
            while (message := receive(child.stdout)) is not None:
                update = json.loads(message)
                polling, is_updating = update.get("polling", polling), update.get("updating", is_updating)
                self._state = _after(self._state, update, polling, is_updating)
        code = stop_child(child, patience=5)
        return f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"


def _after(state: FollowerState, update: Mapping[str, Any], polling: str, is_updating: bool) -> FollowerState:
    kind = "updating" if is_updating else "polling" if polling else "watching"
    failed = update.get("failed")
    changes = {name: update[name] for name in ("error", "begun", "updated") if name in update}
    if failed is not None:
        changes |= {"failed": failed[:_MOST_FAILED], "failed_count": len(failed)}
    return replace(state, state=kind, reason=polling, **changes)


def watched_paths(texts: Sequence[str], folders: Mapping[str, Path]) -> dict[str, list[Path]]:
    """Return the paths to watch for each collection, from ``NAME=PATH``, or ``PATH`` with a single collection.

    Raises InputError for a missing path, or one without a collection's name among several.
    """
    watched: dict[str, list[Path]] = {}
    for text in texts:
        name, sign, rest = text.partition("=")
        if not sign or name not in folders or Path(text).exists():
            if len(folders) > 1:
                first = next(iter(folders))
                raise InputError(f"--watch {text}: name the collection that it belongs to, as in --watch {first}={text}")
            name, rest = next(iter(folders)), text
        if not rest or not Path(rest).exists():
            raise InputError(f"--watch {text}: there is no such file or folder")
        watched.setdefault(name, []).append(Path(rest))
    return watched


def status_of(followers: Mapping[str, Follower], collection: str) -> dict[str, Any] | None:
    """Return how a collection follows its folders; None if it follows none."""
    return followers[collection].state if collection in followers else None
