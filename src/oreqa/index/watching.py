"""Keeps an index in sync with its folders: one update for each burst of changes, once files stop changing."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from oreqa.corpus.files import IGNORE_FILE, find_files
from oreqa.errors import INSTALL_SERVE, InputError
from oreqa.paths import full_path

STILL, LONGEST_WAIT = 0.3, 5.0
"""Seconds without a change before an update begins, and seconds after which it begins anyway."""

SWEEP, POLL = 60.0, 1.0
"""Seconds between scans of all files even without a notification, as there is none on network drives and in new folders
beyond the system's limit; and seconds between scans without any notifications. Slow scans are rarer."""

RETRY, LONGEST_RETRY = 5.0, 60.0
"""Seconds after which a failed update is retried, doubling each time."""

_TICK, _GROUPED, _STEP = 300, 200, 100
_SWEEP_FACTOR, _POLL_FACTOR = 100, 20

States = Mapping[str, object]
"""What is known of each file without opening it, or why it is not read: its size, its times of change, and its mode, since
an unreadable file may have become readable."""


class Watch:
    """Watches folders and files, whose paths may be missing for a while.

    ``on_mode`` is called with an empty string if the system sends notifications, else with the reason; all files are then
    scanned repeatedly. Raises InputError if the serve extra is not installed.
    """

    def __init__(
        self,
        index: Path,
        paths: Sequence[Path],
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        *,
        on_mode: Callable[[str], None] = lambda reason: None,
    ) -> None:
        need_watchfiles()
        self._index, self._paths = str(full_path(index)), [full_path(path) for path in paths]
        self._patterns, self._on_mode = (include, exclude), on_mode
        self._mode: str | None = None
        self._look_seconds = self._opened_at = 0.0
        self._roots: States = {}
        self._events: Iterator[Any] | None = None

    def run(self, update: Callable[[], bool], stop: threading.Event) -> None:
        """Call ``update`` at once and after each burst of changes, until ``stop`` is set.

        ``update`` returns whether it succeeded; if not, it is called again after a while.
        """
        updated: States | None = None
        failures = 0
        self._open(stop)  # before the first scan, so that no change from now on is missed
        while not stop.is_set():
            states = self.look()
            if states != updated:
                states = self._settled(states, stop)
                if stop.is_set():
                    return
                succeeded = update()
                updated, failures = (states, 0) if succeeded else (None, failures + 1)
            self._wait(stop, min(LONGEST_RETRY, RETRY * 2 ** (failures - 1)) if failures else math.inf)

    def look(self) -> States:
        """Return the state of every file that an update would read or skip."""
        started = time.monotonic()
        try:
            files = find_files(self._paths, *self._patterns, may_be_missing=True)
        except InputError as error:
            return {"": str(error)}
        states: dict[str, object] = {str(path): reason for path, reason in files.skipped}
        for path in files.files:
            states[str(path)] = _state(path)
        self._look_seconds = time.monotonic() - started
        return states

    def _settled(self, states: States, stop: threading.Event) -> States:
        """Return the states once they stop changing, or have changed for ``LONGEST_WAIT``."""
        deadline = time.monotonic() + LONGEST_WAIT
        while not stop.wait(STILL):
            before, states = states, self.look()
            if states == before or time.monotonic() > deadline:
                break
        return states

    def _wait(self, stop: threading.Event, longest: float) -> None:
        """Wait until something may have changed, at most ``longest`` seconds."""
        if self._events is None:
            stop.wait(min(longest, max(POLL, _POLL_FACTOR * self._look_seconds)))
            if self._is_watchable():
                self._open(stop)
            return
        deadline = time.monotonic() + min(longest, max(SWEEP, _SWEEP_FACTOR * self._look_seconds))
        try:
            for changes in self._events:
                if changes or stop.is_set() or time.monotonic() > deadline:
                    return
                if self._roots != self._root_states():  # a folder, or a file named explicitly, was replaced
                    self._open(stop)
                    return
        except (OSError, RuntimeError):  # the system stopped sending notifications
            self._open(stop)

    def _is_watchable(self) -> bool:
        """Return whether to ask the system again: what it could not watch has appeared or changed, or time has passed."""
        is_due = time.monotonic() > self._opened_at + SWEEP
        return is_due or self._roots != self._root_states()

    def _open(self, stop: threading.Event) -> None:
        """Ask the system for notifications from now on."""
        self._roots, self._opened_at = self._root_states(), time.monotonic()
        self._events = None
        folders = [path for path in self._paths if path.is_dir()]
        missing = [path for path in self._paths if not path.exists()]
        if missing:
            self._tell(f"{missing[0]} is not there")
            return
        if not folders:
            self._tell("only folders can be watched, and files were named")
            return
        try:
            try:
                self._events = self._request_events(folders, stop)
            except PermissionError:
                # Not always: it ignores the system's limits, too.
                self._events = self._request_events(folders, stop, ignore_permission_denied=True)
        except (OSError, RuntimeError) as error:
            self._tell(_reason(error))
            return
        self._tell("")

    def _request_events(self, folders: Sequence[Path], stop: threading.Event, **options: bool) -> Iterator[Any]:
        """Yield sets of changes in folders, now and then an empty one. Raises OSError or RuntimeError if there are none."""
        from watchfiles import watch

        events: Iterator[Any] = watch(
            *folders,
            watch_filter=self._matters,
            debounce=_GROUPED,
            step=_STEP,
            stop_event=stop,
            rust_timeout=_TICK,
            yield_on_timeout=True,
            force_polling=False,
            **options,
        )
        next(events, None)  # now the system is asked
        return events

    def _tell(self, mode: str) -> None:
        if mode != self._mode:
            self._mode = mode
            self._on_mode(mode)

    def _matters(self, _: object, path: str) -> bool:
        """Return whether a change may affect a document: not if in the index or in hidden files."""
        if path == self._index or path.startswith(self._index + os.sep):
            return False
        root = next((str(root) for root in self._paths if path.startswith(f"{root}{os.sep}")), "")
        return all(part == IGNORE_FILE or not part.startswith(".") for part in Path(path[len(root) :]).parts)

    def _root_states(self) -> States:
        """Return the states by which replaced folders, and changes of files named explicitly, are detected."""
        return {str(path): _state(path, is_folder=path.is_dir()) for path in self._paths}


def _state(path: Path, is_folder: bool = False) -> object:
    try:
        status = path.stat()
    except OSError as error:
        return error.strerror
    if is_folder:
        return status.st_dev, status.st_ino
    return status.st_size, status.st_mtime_ns, status.st_mode, status.st_ctime_ns


def _reason(error: Exception) -> str:
    text = str(error)
    if "limit" in text or "os error 24" in text or "os error 28" in text:
        kind = "instances" if "os error 24" in text else "watches"
        return f"the system can watch no more files: raise fs.inotify.max_user_{kind} with sysctl"
    return f"the system cannot watch them ({text})"


def need_watchfiles() -> None:
    """Raise InputError if the serve extra is not installed."""
    try:
        import watchfiles  # noqa: F401
    except ModuleNotFoundError as error:
        raise InputError(f"watching needs the serve extra ({error.name} is not installed): {INSTALL_SERVE}") from error
