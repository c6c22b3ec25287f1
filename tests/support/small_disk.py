"""A disk of a chosen size: a tmpfs. The process must be root in a mount namespace of its own (unshare --mount)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class SmallDisk:
    """An empty folder, in place of which a disk can be mounted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    @contextmanager
    def mounted(self, size: int) -> Iterator[None]:
        """An empty disk of so many bytes."""
        self._mount(f"size={size}")
        try:
            yield
        finally:
            subprocess.run(["umount", "--lazy", self.folder], check=True)

    def resize(self, size: int) -> None:
        self._mount(f"remount,size={size}")

    def used(self) -> int:
        """Its bytes that are in use."""
        status = os.statvfs(self.folder)
        return (status.f_blocks - status.f_bfree) * status.f_frsize

    def _mount(self, options: str) -> None:
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", self.folder], check=True)
