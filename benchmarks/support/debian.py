"""Packages of the Debian archive, fetched and unpacked."""

from __future__ import annotations

import subprocess
from pathlib import Path


def fetch(package: str, work: Path) -> Path:
    """Fetch and unpack a package of the Debian archive, and return its folder."""
    folder = work / "packages" / package
    if not folder.exists():
        downloads = work / "downloads" / package
        downloads.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", "-q", package], cwd=downloads, check=True, capture_output=True)
        draft = folder.with_name(f"{package}.draft")
        draft.mkdir(parents=True, exist_ok=True)
        subprocess.run(["dpkg", "-x", str(next(downloads.glob("*.deb"))), str(draft)], check=True)
        draft.rename(folder)
    return folder


def fetch_source(package: str, work: Path) -> Path:
    """Fetch and unpack a source package, with package lists of its own, and return its folder: few machines list sources."""
    folder = work / "sources" / package
    if folder.exists():
        return folder
    work = work.absolute()  # apt resolves relative folders against its own root
    lists, downloads = work / "apt", work / "downloads" / f"{package}-source"
    for part in (lists / "state/lists/partial", lists / "cache/archives/partial", downloads):
        part.mkdir(parents=True, exist_ok=True)
    (lists / "sources.list").write_text("deb-src http://deb.debian.org/debian bookworm main\n")
    settings = {
        "Dir::State": lists / "state",
        "Dir::State::status": "/var/lib/dpkg/status",
        "Dir::Cache": lists / "cache",
        "Dir::Etc::sourcelist": lists / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
    }
    command = ["apt-get", "-q", *(option for key, value in settings.items() for option in ("-o", f"{key}={value}"))]
    subprocess.run([*command, "update"], check=True, capture_output=True)
    # The packaging beside the original archive is not needed, and does not exist for every version.
    subprocess.run([*command, "source", "--download-only", package], cwd=downloads, check=False, capture_output=True)
    draft = folder.with_suffix(".draft")
    draft.mkdir(parents=True, exist_ok=True)
    archive = next(file for file in downloads.glob("*.orig.tar.*") if file.suffix != ".asc")  # its signature
    subprocess.run(["tar", "-xf", str(archive), "-C", str(draft)], check=True)
    draft.rename(folder)
    return folder
