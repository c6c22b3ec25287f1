"""Models of the Hugging Face Hub: their names, the files that oreqa reads, and how these are downloaded.

huggingface_hub is imported on first use. It obeys HF_HOME, HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE and the proxy settings of
the environment.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from oreqa.defaults import LARGE_ENCODER
from oreqa.errors import ModelError, describe
from oreqa.files import read_object
from oreqa.models.settings import GRAPHS, PICKLED, SHARDS, TOKENIZERS, is_built
from oreqa.progress import Advance, Progress, no_progress, show

REPOSITORIES = {LARGE_ENCODER: f"sentence-transformers/{LARGE_ENCODER}"}
"""Models without an owner in their names that ``oreqa models get`` downloads, and their repositories."""

WEIGHTS_SHA256 = {REPOSITORIES[LARGE_ENCODER]: "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"}
"""The SHA-256 of model.safetensors in repositories that oreqa knows."""

_NAME = re.compile(r"(?P<repo>[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95})(?:@(?P<revision>[\w./-]+))?", re.ASCII)

_PART = r"(?:(?:\w+_)?\d+_\w*/)?"  # the folder of a sentence-transformers module
_SETTINGS = re.compile(_PART + r"[\w.-]+\.(?:json|txt)|README\.md")
_UNREAD = re.compile(r"data_config\.json|trainer_state\.json|\w+_results\.(?:json|txt)|requirements\.txt")
_SHARD = re.compile(r"model-\d+-of-\d+\.safetensors")
_WITH_WEIGHTS = re.compile(r"\w*(?:Transformer|StaticEmbedding|Dense|AttentionPooling)")  # classes of modules


class HubUnreachableError(ModelError):
    """A model is not on this machine, and there is no network to download it."""


_OWNERS = (
    ("distilbert", r"distil(?:bert-base-(?:cased|uncased|german|multilingual)[\w.-]*|roberta-base)"),
    ("google-bert", r"bert-(?:base|large)-[\w.-]+"),
    ("FacebookAI", r"(?:xlm-)?roberta-(?:base|large)[\w.-]*"),
    ("albert", r"albert-x{0,2}(?:base|large)-v[12]"),
    ("google-t5", r"t5-(?:small|base|large|3b|11b)"),
    ("sentence-transformers", r"(?:all|multi-qa|paraphrase|msmarco)-(?:mini|mpnet|distil|albert|multilingual)[\w.-]*-v\d"),
    ("cross-encoder", r"ms-marco-(?:minilm|tinybert|electra)[\w.-]*"),
    ("intfloat", r"(?:multilingual-)?e5-(?:small|base|large)(?:-v2)?"),
    ("BAAI", r"bge-(?:small|base|large)-(?:en|zh)(?:-v1\.5)?"),
)
"""Owners of well-known models on the Hub that programs and people name without one."""


def with_owner(name: str) -> str | None:
    """Return the full Hub name of a well-known model named without its owner; None for any other name.

    Examples:
        >>> with_owner("distilbert-base-cased-distilled-squad")
        'distilbert/distilbert-base-cased-distilled-squad'
    """
    owners = (owner for owner, models in _OWNERS if re.fullmatch(models, name, re.IGNORECASE | re.ASCII))
    return next((f"{owner}/{name}" for owner in owners), None)


@dataclass(frozen=True, slots=True)
class HubName:
    """A repository and the branch, tag or commit that a name asks for; None for the newest commit."""

    repo: str
    revision: str | None = None

    def __str__(self) -> str:
        return self.repo if self.revision is None else f"{self.repo}@{self.revision}"


def parse_hub_name(name: str) -> HubName | None:
    """Parse ``owner/name`` or ``owner/name@revision``; return None if it is no name on the Hub."""
    match = _NAME.fullmatch(name)
    if match is None or ".." in name or "--" in match["repo"]:
        return None
    return HubName(match["repo"], match["revision"])


def hub_cache(repo: str = "*") -> Path:
    """Return the folder of a repository in the Hub's cache."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE) / f"models--{repo.replace('/', '--')}"


def read_modules(folder: Path) -> list[tuple[str, str]]:
    """Return the class and the folder of each module in modules.json; empty if it cannot be read.

    The folder ends in "/", and is "" for the model's own.
    """
    try:
        rows = json.loads((folder / "modules.json").read_bytes())
        return [(row["type"].rpartition(".")[2], _prefix(row["path"])) for row in rows]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return []


def _prefix(path: str) -> str:
    return "" if PurePosixPath(path) == PurePosixPath() else f"{PurePosixPath(path)}/"


def needed_files(
    name: str, files: Iterable[str], config: Mapping[str, Any], modules: Sequence[tuple[str, str]] = ()
) -> list[str]:
    """Return the files of a repository that oreqa reads: settings, tokenizer, and weights or a graph.

    ``modules`` are those of ``read_modules``. A graph (OpenVINO or ONNX) replaces the main model's weights if oreqa does
    not build the architecture in ``config`` (config.json), or if there are no weights. Raises ModelError, naming what is
    refused, if the main model or a module with weights has neither, or if there is no tokenizer.
    """
    names = sorted(files)
    settings = [file for file in names if _SETTINGS.fullmatch(file) and not _UNREAD.fullmatch(file)]
    weights = {folder: _weights_in(folder, names) for folder in _folders_with_weights(names, modules)}
    main = next(iter(weights))
    first = next((graph for graph in GRAPHS if graph in names), None)
    graph = [file for file in names if first and file.startswith(first.removesuffix("xml"))]  # and the file of its weights
    if graph and not (weights[main] and is_built(config)):
        weights[main] = graph
    elif weights[main] and not is_built(config) and "auto_map" in config:
        raise ModelError(
            f"{name}: its architecture comes as code (auto_map in config.json), which oreqa does not run; "
            "take a model with an onnx or openvino folder, or of an architecture that transformers has"
        )
    for folder in weights:
        if not weights[folder]:
            inside = [file for file in names if file.startswith(folder) and PICKLED.fullmatch(file.removeprefix(folder))]
            reason = f"; {inside[0]} is pickled, which oreqa does not load, as it can run code" if inside else ""
            raise ModelError(
                f"{name}: it has no {folder}model.safetensors{reason}; take a model that has it, "
                "or load this one in transformers, save_pretrained() it and give the folder"
            )
    ours = config.get("oreqa") or {}
    if not any(main + file in names for file in TOKENIZERS) and not {"base", "difference_from"} & {*ours}:
        raise ModelError(
            f"{name}: it has no {main}tokenizer.json; take a model that has it, or load this one's fast tokenizer in "
            "transformers, save_pretrained() it beside the model and give the folder"
        )
    return settings + sorted(file for needed in weights.values() for file in needed)


def _folders_with_weights(names: Sequence[str], modules: Sequence[tuple[str, str]]) -> list[str]:
    """Return the folder of the main model, or those of a Router's routes, followed by those of other modules."""
    later = [folder for kind, folder in modules[1:] if _WITH_WEIGHTS.fullmatch(kind)]
    if not modules or modules[0][0] not in ("Router", "Asym"):
        return [modules[0][1] if modules else "", *later]
    folders = dict.fromkeys(file.partition("/")[0] for file in names if re.match(r"(?:query|document)_\d+_", file))
    return [*(f"{folder}/" for folder in folders if _WITH_WEIGHTS.fullmatch(folder)), *later] or [""]


def _weights_in(folder: str, names: Sequence[str]) -> list[str]:
    """Return the weight files of a folder: one file, or all shards in its index."""
    if whole := [folder + file for file in ("model.safetensors", "difference.safetensors") if folder + file in names]:
        return whole
    shards = [file for file in names if file.startswith(folder) and _SHARD.fullmatch(file.removeprefix(folder))]
    return shards if folder + SHARDS in names else []


def download(name: HubName, progress: Progress | None = None) -> Path:
    """Download a model into the Hub's cache unless it is there. Returns its folder.

    Without ``progress``, the library shows its own. Raises HubUnreachableError without a network, ModelError if there is
    no such model or revision, if access needs a token, if oreqa cannot use the model, or if its weights have the wrong
    checksum.
    """
    with _errors_in_one_line(name):
        from huggingface_hub import HfApi, hf_hub_download, snapshot_download

        info = HfApi().model_info(name.repo, revision=name.revision, files_metadata=True)
        files = {file.rfilename: file for file in info.siblings or ()}
        config = Path(hf_hub_download(name.repo, "config.json", revision=info.sha)) if "config.json" in files else Path()
        modules = "modules.json" in files and Path(hf_hub_download(name.repo, "modules.json", revision=info.sha)).parent
        names = needed_files(str(name), files, read_object(config), read_modules(modules) if modules else ())
        digests = {file: lfs.sha256 for file in names if (lfs := files[file].lfs)}
        if WEIGHTS_SHA256.get(name.repo, digests.get("model.safetensors")) != digests.get("model.safetensors"):
            raise ModelError(f"{name}: its model.safetensors is not the one that oreqa knows; nothing was downloaded")
        folder = hub_cache(name.repo) / "snapshots" / str(info.sha)
        missing = {file: files[file].size or 0 for file in names if not (folder / file).is_file()}
        small = [file for file in names if _SETTINGS.fullmatch(file)]
        with show(progress or no_progress, f"downloading {name}, MB", round(sum(missing.values()) / 1e6)) as advance:
            bar = _bar_that_calls(advance)
            snapshot_download(
                name.repo, revision=name.revision, allow_patterns=[glob.escape(file) for file in small], tqdm_class=bar
            )
            for file in sorted(set(names) - set(small)):  # not in the library's threads, which Ctrl-C would wait for
                hf_hub_download(name.repo, file, revision=info.sha, tqdm_class=bar if progress else None)
        for file in missing.keys() & digests.keys():
            _check_digest(name, folder / file, digests[file])
    return folder


def _check_digest(name: HubName, path: Path, digest: str) -> None:
    """Raise ModelError, and remove the file, if it does not have the checksum announced by the Hub."""
    with path.open("rb") as stream:
        actual = hashlib.file_digest(stream, "sha256").hexdigest()
    if actual != digest:
        path.resolve().unlink()
        path.unlink(missing_ok=True)
        raise ModelError(f"{name}: {path.name} was damaged on its way (its SHA-256 is not {digest}); download it again")


def _bar_that_calls(advance: Advance) -> Any:
    """Return a silent progress bar for the library that reports the megabytes of consecutive files to ``advance``."""
    from huggingface_hub.utils.tqdm import tqdm

    total = 0

    class Bar(tqdm):
        def __init__(self, *arguments: Any, name: str | None = None, **options: Any) -> None:
            self._counts = name in ("huggingface_hub.http_get", "huggingface_hub.xet_get")
            super().__init__(*arguments, **{**options, "disable": True})  # type: ignore[no-untyped-call]

        def update(self, n: float | None = 1) -> None:
            nonlocal total
            if self._counts:
                before, total = total, total + int(n or 0)
                if steps := total // 1_000_000 - before // 1_000_000:
                    advance(steps)

    return Bar


@contextmanager
def _errors_in_one_line(name: HubName) -> Iterator[None]:
    from huggingface_hub import constants, errors

    host = constants.ENDPOINT.partition("://")[2]
    # A name of two parts may be meant as a path.
    lacking = f"there is no {'model' if os.path.isdir(name.repo) else 'folder or model'} {name} here"  # noqa: PTH112
    try:
        yield
    except errors.GatedRepoError:
        raise ModelError(
            f"{name}: it is gated; accept its terms at {constants.ENDPOINT}/{name.repo}, and set HF_TOKEN to your token"
        ) from None
    except errors.RepositoryNotFoundError:
        raise ModelError(f"{lacking}, and no such model on {host}; if it is private, set HF_TOKEN") from None
    except errors.RevisionNotFoundError:
        raise ModelError(f"{name}: the model has no revision {name.revision}") from None
    except errors.HfHubHTTPError as error:
        raise ModelError(f"{lacking}, and {host} answered {error.response.status_code}; try again later") from error
    except errors.OfflineModeIsEnabled:
        raise HubUnreachableError(f"{lacking}, and HF_HUB_OFFLINE forbids to download it") from None
    except (errors.HTTPError, errors.LocalEntryNotFoundError) as error:  # type: ignore[attr-defined]
        raise HubUnreachableError(f"{lacking}, and {host} cannot be reached ({describe(error)})") from error
    except OSError as error:
        reason = "the disk is full" if error.errno == errno.ENOSPC else describe(error)
        raise ModelError(f"{name}: it cannot be downloaded ({reason})") from error
