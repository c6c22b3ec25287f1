"""Lists the models on this machine: kind, architecture, size and licence, and whether oreqa can load each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from oreqa.defaults import BASE_ENCODER, SHIPPED
from oreqa.errors import INSTALL_TRAIN, ModelError
from oreqa.models.cross_encoder.inputs import read_cross_encoder_folder
from oreqa.models.encoder.folder import EncoderFolder, read_encoder_folder
from oreqa.models.encoder.prompts import Prompts
from oreqa.models.extractor.inputs import read_extractor_folder
from oreqa.models.fitted import read_fitted
from oreqa.models.generator.inputs import read_generator_folder
from oreqa.models.graph.cache import recorded_fingerprint
from oreqa.models.names import (
    CLASSIFIER,
    ENCODER,
    EXTRACTOR,
    GENERATOR,
    READER,
    RERANKER,
    ModelFolder,
    check_kind,
    find_model,
    read_config,
)
from oreqa.models.reader.inputs import read_reader_folder
from oreqa.models.settings import MODEL2VEC, graph_files, is_built, is_seq2seq
from oreqa.models.stored import cached_models, stored_models

Location = Literal["pack", "store", "hub"]
"""Where a model is: in a Python package, in oreqa's store, or in the Hub's cache."""

_READ: dict[str, Callable[[Path], ModelFolder]] = {
    ENCODER: read_encoder_folder,
    READER: read_reader_folder,
    CLASSIFIER: read_cross_encoder_folder,
    RERANKER: read_cross_encoder_folder,
    GENERATOR: read_generator_folder,
    EXTRACTOR: read_extractor_folder,
}

_LICENCE = re.compile(r"^license:\s*[\"']?([\w.-]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model on this machine.

    ``architecture`` is its config.json's ``model_type``, ``bytes`` the size of its files. ``fitted_with`` is the encoder
    with whose search its weights and calibration were fitted: its name if it was loaded here or has fitted weights, else its
    fingerprint; empty if there are none. ``problem`` says why it cannot be loaded; empty if it can. ``dimensions`` (of the
    vectors) and ``prompts`` are those of encoders.
    """

    name: str
    kind: str
    architecture: str
    place: Location
    path: Path
    bytes: int
    licence: str
    fitted_with: str = ""
    problem: str = ""
    dimensions: int | None = None
    prompts: Prompts | None = None


def list_models() -> list[ModelInfo]:
    """Return the models on this machine: packaged ones, those of the store and of the Hub's cache. None is hashed."""
    models = [describe_model(*place) for place in _places()]
    usable_encoders = [model for model in models if model.kind == ENCODER and not model.problem]
    # A model fitted for an encoder records its fingerprint, as the cache does once it was loaded.
    encoders = {recorded_fingerprint(model.path) or model.fitted_with: model.name for model in usable_encoders}
    encoders.pop("", None)
    return [replace(model, fitted_with=encoders.get(model.fitted_with, model.fitted_with)) for model in models]


def _places() -> Iterator[tuple[str, Location, Path]]:
    for name in (BASE_ENCODER, *SHIPPED):
        try:
            path = find_model(name)
        except ModelError:  # not installed
            continue
        if (path / "config.json").is_file():
            yield name, "pack", path
    yield from ((name, "store", path) for name, path in stored_models())
    yield from ((name, "hub", path) for name, path in cached_models())


def describe_model(name: str, place: Location, path: Path) -> ModelInfo:
    """Describe the model in a folder, loadable or not; ``fitted_with`` is a fingerprint."""
    kind, architecture, licence, fitted_with, problem = ENCODER, "", "", "", ""
    dimensions: int | None = None
    prompts: Prompts | None = None
    try:
        config = read_config(path) if (path / "config.json").is_file() else {}
        settings = config.get("oreqa") or {}
        kind, architecture = _kind(path), str(config.get("model_type", ""))
        licence = settings.get("licence") or _licence(path)
        for base in {settings.get("difference_from"), settings.get("base")} - {None}:
            _need_here(str(base))
        folder = _READ[kind](path)
        if place == "hub":
            _check_architecture(path, config, kind)
        if isinstance(folder, EncoderFolder):
            dimensions, prompts = folder.dim, folder.prompts
        fitted_with = read_fitted(path).encoder
    except ModelError as error:
        problem = str(error)
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return ModelInfo(name, kind, architecture, place, path, size, licence, fitted_with, problem, dimensions, prompts)


def _kind(path: Path) -> str:
    """Return the kind in a folder's settings, or that of its class; encoder by default."""
    if not (path / "config.json").is_file():
        return ENCODER
    try:
        return check_kind(path, read_config(path), *_READ)
    except ModelError:
        return ENCODER


def _need_here(base: str) -> None:
    """Raise ModelError unless the base model, which a difference or its tokenizer needs, is on this machine."""
    try:
        find_model(base, download=False)
    except ModelError:
        raise ModelError(f"its base is not here: oreqa models get {base}") from None


def _check_architecture(path: Path, config: Mapping[str, Any], kind: str) -> None:
    """Raise ModelError for an architecture that is not built here, has no graph, and cannot be converted."""
    if not config or config.get("model_type") == MODEL2VEC or is_seq2seq(config) or graph_files(path, config):
        return
    if not is_built(config):
        if find_spec("transformers") is None:
            model_type = config.get("model_type")
            raise ModelError(f"oreqa does not build the model type {model_type!r}; to convert it: {INSTALL_TRAIN}")
        return
    from oreqa.models.graph.architectures import check_architecture  # OpenVINO takes a while to import

    check_architecture(path, config, headed=kind != ENCODER, cached=kind == GENERATOR)


def _licence(path: Path) -> str:
    """Return the licence in the front matter of a model's card; empty if there is none."""
    card = path / "README.md"
    head = card.read_text(encoding="utf-8", errors="replace").partition("\n---")[0] if card.is_file() else ""
    match = _LICENCE.search(head)
    return match[1] if match else ""
