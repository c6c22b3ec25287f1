"""The inputs of a result: hashes of its data and settings, the commit of its code, versions of its libraries."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def fingerprint(value: Any) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of a value's JSON; ``json.dumps`` must support it.

    The order of a mapping's keys matters.
    """
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def data_hash(paths: Iterable[Path]) -> str:
    """Return the SHA-256 over the contents of files in the given order, and over all files of folders by sorted path."""
    digest = hashlib.sha256()
    for path in paths:
        for file in sorted(f for f in path.rglob("*") if f.is_file()) if path.is_dir() else [path]:
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed libraries that results depend on."""
    installed = {"python": platform.python_version()}
    for name in ("oreqa", "openvino", "numpy", "faiss-cpu", "tokenizers", "torch", "sentence-transformers"):
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed


def commit(*folders: Path) -> str | None:
    """Return the short commit of the checkout that holds the folders, with "-dirty" if files in them differ from it.

    None if git is not installed or tracks none of their files, as for a package in an environment inside a checkout.
    """
    paths = [str(folder.resolve()) for folder in folders]

    def git(*arguments: str) -> str:
        command = ["git", "--no-optional-locks", "-C", str(folders[0]), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        if not git("ls-files", "--", *paths):
            return None
        name = git("rev-parse", "--short", "HEAD")
        return f"{name}-dirty" if git("status", "--porcelain", "--", *paths) else name
    except (OSError, subprocess.CalledProcessError):
        return None


def code_of_result() -> dict[str, Any]:
    """Return the versions that results depend on, and the commit of this code if it runs from a checkout."""
    name = commit(Path(__file__).parent)
    return {**({"commit": name} if name else {}), "versions": versions()}
