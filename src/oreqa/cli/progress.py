"""Progress on standard error: a bar on a terminal, an occasional line if redirected."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from oreqa.cli.output import one_line, say

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

SHOWN_AFTER = 2.0
"""Seconds before a bar appears: most commands are done by then."""

FIRST_LINE_AFTER = 10.0
"""Seconds before the first line without a terminal, so that a log soon shows a rate."""

LINE_EVERY = 30.0
"""Seconds between lines without a terminal."""


class ProgressBar:
    """Call it with the steps done. If their total is unknown, ``file`` reports how far the work has come."""

    def __init__(self, what: str, total: int | None) -> None:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        from oreqa.cli.console import Console

        self.what, self.total = what, total
        self.done = self._kept = 0
        self._share: float | None = None
        self._expected_end: float | None = None
        self._file = ""
        self._started = time.monotonic()
        self._last_step, self._kept_seconds = self._started, 0.0
        self._next_line = self._started + FIRST_LINE_AFTER
        console = Console(err=True)
        self._terminal = console.is_terminal
        self._bar: Bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[figures]}", markup=False),
            console=console,
            transient=True,
            redirect_stdout=False,  # it would print on standard error what is meant for a file
        )
        self._task = self._bar.add_task(what, total=None, figures="")

    def __call__(self, steps: int) -> None:
        """Report ``steps`` more steps."""
        self.done += steps
        self._last_step = time.monotonic()
        self._show()

    def kept(self, steps: int) -> None:
        """Report steps whose results an earlier run left: they and their time do not count for the rate."""
        if steps:
            self._kept += steps
            self._kept_seconds += time.monotonic() - self._last_step
            self(steps)

    def file(self, path: Path, done: int, total: int) -> None:
        """Report the file being read, and the bytes ``done`` of all files' ``total``.

        The remaining time is estimated here and then counts down: within a file, progress is unknown.
        """
        self._file, self._share = path.name, done / total if total else None
        new = done * (1 - self._kept / self.done) if self.done else done
        is_known = _tells(self._share) and _tells(new / total)
        self._expected_end = time.monotonic() + self._spent() * (total - done) / new if is_known else None
        self._show()

    def hide(self) -> None:
        """Take the bar off the terminal, until the next step: call it before printing."""
        if self._bar.live.is_started:  # stopping one that never showed prints an empty line
            self._bar.stop()

    def figures(self) -> str:
        """Return e.g. ``1,200 of 5,000, 96/s, 40 s left, manual.pdf``."""
        spent = self._spent()
        count = f"{self.done:,}" if self.total is None else f"{self.done:,} of {self.total:,}"
        rate = (self.done - self._kept) / max(spent, 1e-9)
        parts = [count, f"{1 / rate:,.0f} s each" if 0 < rate < 0.1 else f"{rate:,.{1 if 0 < rate < 9.5 else 0}f}/s"]
        left = 0.0  # seconds; 0 if unknown, or if an estimate has run out
        if self.total is not None:
            share = (self.done - self._kept) / max(1, self.total - self._kept)
            left = spent * (1 - share) / share if _tells(share) else 0
        elif self._share is not None:
            parts[0] += f" ({self._share:.0%} of the files)"
            left = self._expected_end - time.monotonic() if self._expected_end else 0
        if left > 0:
            parts.append(f"{duration(left)} left")
        return ", ".join([*parts, one_line(self._file, 40)] if self._file else parts)

    def _spent(self) -> float:
        """Return the seconds spent on steps of this run."""
        return time.monotonic() - self._started - self._kept_seconds

    def _show(self) -> None:
        now = time.monotonic()
        if self._terminal:
            share = self._share if self.total is None else self.done / max(1, self.total)
            self._bar.update(self._task, total=None if share is None else 1.0, completed=share or 0, figures=self.figures())
            if now - self._started > SHOWN_AFTER:
                self._bar.start()
        elif now > self._next_line:
            self._next_line = now + LINE_EVERY
            say(f"{self.what}: {self.figures()}", err=True)


def _tells(share: float | None) -> bool:
    """Return whether the share of work done allows an estimate of the remaining time."""
    return share is not None and 0.01 < share < 1


@contextmanager
def progress_bar(what: str, total: int | None = None) -> Iterator[ProgressBar]:
    """Show progress with steps of one kind, ``total`` of them if known."""
    bar = ProgressBar(what, total)
    try:
        yield bar
    finally:
        bar.hide()


def duration(seconds: float) -> str:
    """Format e.g. ``40 s``, ``12 min`` or ``1.6 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
