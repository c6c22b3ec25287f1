"""Names of models: finds the folder of a name, and reads the settings of a folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize
from safetensors.numpy import load_file

from oreqa.arguments import kind_of, with_article
from oreqa.defaults import BASE_ENCODER, SHIPPED
from oreqa.errors import ModelError
from oreqa.models.checksums import PACK, check_file
from oreqa.models.settings import MIN_TOKENS, TOKENIZERS, graph_files, has_graph, input_positions, whole_number

_PACKAGED = {name: PACK / name for name in (BASE_ENCODER, *SHIPPED)}
"""The folders of the models that come with oreqa."""

ENCODER, READER, RERANKER, CLASSIFIER = "encoder", "reader", "reranker", "classifier"
GENERATOR, EXTRACTOR = "generator", "extractor"
"""Values of ``kind`` in a folder's settings; encoders need not set it."""

_ARCHITECTURES = {
    "ForQuestionAnswering": READER,
    "Reader": READER,
    "ReaderModel": READER,
    "ForSequenceClassification": CLASSIFIER,
    "FirstTokenModel": RERANKER,
    "BertLMHeadModel": GENERATOR,
    "BartForConditionalGeneration": GENERATOR,
    "T5ForConditionalGeneration": GENERATOR,
    "ExtractorModel": EXTRACTOR,
    "BertExtractor": EXTRACTOR,
    "ForMaskedLM": ENCODER,
    "Model": ENCODER,
}
"""The kind of a folder without ``kind``, by the first suffix that matches the class in its ``architectures``."""

_OPTIONS = {
    ENCODER: "--model",
    READER: "--reader",
    CLASSIFIER: "--classifier or --reranker",
    RERANKER: "--reranker",
    GENERATOR: "--generator",
    EXTRACTOR: "--extractor",
}
"""The command-line options that take each kind."""

CROSS = "cross"
"""The subfolder of an encoder with the cross-encoder that taught it. It does not affect the model's output."""

FITTED = "fitted.json"
"""The file with the weights and calibration fitted for a model. It does not affect the model's output."""


def find_model(name: str | Path, *, download: bool = True) -> Path:
    """Return the folder of a model named by path, by the name of a packaged model, or by its name on the Hub.

    A folder in the working directory takes precedence over a packaged model of the same name only if it contains a
    config.json. A Hub model, ``owner/name`` or ``owner/name@revision``, is taken from the Hub's cache, or else downloaded
    unless ``download`` is False. Raises ModelError if there is no such model, or only an unfinished one.
    """
    if not isinstance(name, str | Path):
        raise ModelError(f"a model is named by a string or a path, not by {kind_of(name)}")
    # os.path, not Path: these raise nothing, whatever the name.
    path = Path(os.path.expanduser(name))  # noqa: PTH111
    is_folder, has_model = os.path.isdir(path), os.path.isfile(path / "config.json")  # noqa: PTH112, PTH113
    # Users of sentence-transformers write the Hub's name of the base encoder.
    packaged = _PACKAGED.get(str(name).lower().removeprefix("sentence-transformers/"))
    if name and (has_model or (is_folder and packaged is None)):
        if not has_model and (path / "checkpoints").is_dir():
            raise ModelError(f"{path}: its training was interrupted; finish it by the command that began it")
        return path.absolute()
    if packaged is not None:
        return packaged
    names, likely = list(_PACKAGED), list[str]()
    if isinstance(name, str) and not name.startswith((".", "/", "~")):
        from oreqa.models import stored

        if place := (stored.find_by_name if download else stored.find_here)(name):
            return place
        names = stored.names_here()
        likely = get_close_matches(name.lower(), names, 1)
    meant = f"did you mean {likely[0]}? G" if likely else "g"
    raise ModelError(f"there is no model {str(name)!r}: {meant}ive a folder, or one of {', '.join(names)}")


def shown_name(path: Path) -> str:
    """Return the name of a packaged or cached model's folder, or the last component of another path."""
    from oreqa.models.stored import name_of_snapshot

    names = (name for name, folder in _PACKAGED.items() if path == folder)
    return next(names, None) or (name_of_snapshot(path) or path.name).partition("@")[0]


def kind_of_model(config: Mapping[str, Any]) -> str | None:
    """Return the kind in a folder's settings, or that of its transformers class; None without either."""
    architectures = ", ".join(config.get("architectures") or ())
    by_class = (kind for ending, kind in _ARCHITECTURES.items() if architectures.endswith(ending))
    return (config.get("oreqa") or {}).get("kind") or next(by_class, None)


def check_kind(path: Path, config: Mapping[str, Any], *kinds: str) -> str:
    """Return the kind of model in a folder. Raises ModelError, naming the kind, if it is none of ``kinds``."""
    kind, architectures = kind_of_model(config), ", ".join(config.get("architectures") or ())
    if kind not in kinds:
        actual = with_article(str(kind)) if kind else f"a model of class {architectures or '(none)'}"
        if kind and architectures and "kind" not in (config.get("oreqa") or {}):
            actual += f"{' without a head' if kind == ENCODER else ''} ({architectures})"
        elif architectures.endswith("ForCausalLM"):
            actual = f"a language model ({architectures}), which generates its answers"
        takes = f"; {_OPTIONS[kind]} takes it" if kind in _OPTIONS else ""
        raise ModelError(f"{path}: it is {actual}, not {with_article(' or '.join(kinds))}{takes}")
    return str(kind)


def check_encoder(path: Path, config: Mapping[str, Any], has_modules: bool) -> None:
    """Raise ModelError, naming the kind, for a folder with another kind of model.

    A folder that ``has_modules`` of sentence-transformers is an encoder, whichever transformers class saved its weights.
    """
    names_kind = "kind" in (config.get("oreqa") or {})
    if kind_of_model(config) is not None and (names_kind or not has_modules):
        check_kind(path, config, ENCODER)


def read_json_file(path: Path) -> Any:
    """Read a JSON file. Raises ModelError if it is missing, invalid, or fails its checksum."""
    check_file(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path}: the file is missing") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ModelError(f"{path}: it cannot be read as JSON ({error})") from error


def read_config(path: Path) -> dict[str, Any]:
    """Read a folder's config.json; its key ``oreqa`` has our own settings. Raises ModelError if it is damaged."""
    config = read_json_file(path / "config.json")
    if not isinstance(config, dict) or not isinstance(config.get("oreqa") or {}, dict):
        raise ModelError(f"{path / 'config.json'}: it must be a JSON object with a model's settings")
    architectures = config.get("architectures") or []
    if not isinstance(architectures, list) or not all(isinstance(name, str) for name in architectures):
        raise ModelError(f"{path / 'config.json'}: its setting architectures is not a list of names")
    ours = config.get("oreqa") or {}
    if wrong := [name for name in ("kind", "licence") if not isinstance(ours.get(name) or "", str)]:
        raise ModelError(f"{path / 'config.json'}: its setting oreqa.{wrong[0]} is not a text")
    return config


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFolder:
    """The settings of a model's folder; the weights are not loaded.

    ``config`` is the content of config.json, ``tokenizer`` the result of ``find_tokenizer``, and ``max_tokens`` the
    longest input including special tokens.
    """

    path: Path
    config: dict[str, Any]
    tokenizer: Path
    max_tokens: int

    @property
    def needs_torch(self) -> bool:
        """Whether the model runs only on torch."""
        return False


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """The settings of a model's folder: ``config`` is its config.json, ``oreqa`` the value of that key in it."""

    path: Path
    kind: str
    config: dict[str, Any]
    oreqa: dict[str, Any]

    def number(self, name: str, default: int, minimum: int = 0) -> int:
        """Return an integer setting of ours. Raises ModelError for anything else, and for less than ``minimum``."""
        return whole_number(self.oreqa, name, self.path, default, minimum)

    def positions(self, minimum: int = MIN_TOKENS) -> int:
        """Return ``input_positions`` of the folder."""
        return input_positions(self.config, self.path, minimum)

    def folder(self, max_tokens: int) -> dict[str, Any]:
        """Return the fields of ModelFolder; ``max_tokens`` is the default of the longest input."""
        limit = min(self.number("max_tokens", max_tokens, MIN_TOKENS), self.positions())
        return {"path": self.path, "config": self.config, "tokenizer": find_tokenizer(self.path), "max_tokens": limit}


def folder_settings(path: Path, *kinds: str) -> FolderSettings:
    """Read a folder's settings. Raises ModelError if they are damaged, or of a model of none of the ``kinds``."""
    config = read_config(path)
    return FolderSettings(path, check_kind(path, config, *kinds), config, config.get("oreqa") or {})


@contextmanager
def valid_settings(path: Path) -> Iterator[None]:
    """Turn the errors that malformed settings cause in the block into ModelErrors."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path}: its settings are damaged ({type(error).__name__}: {error})") from error


def load_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Read the tensors of a .safetensors file, bfloat16 as float32. Raises ModelError if it is missing or damaged."""
    check_file(path)
    try:
        try:
            return dict(load_file(path))
        except TypeError:  # numpy has no bfloat16
            return {name: _array(**part) for name, part in deserialize(path.read_bytes())}  # type: ignore[no-untyped-call]
    except FileNotFoundError:
        raise ModelError(f"{path}: the file is missing") from None
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:  # the last three: other number types
        raise ModelError(f"{path}: it cannot be read as safetensors ({error}); copy or download it again") from error


def _array(dtype: str, shape: list[int], data: bytes) -> NDArray[Any]:
    """Return a tensor from its bytes."""
    if dtype == "BF16":  # the upper half of a float32
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)
    kind, size = {"F": "f", "I": "i", "U": "u"}[dtype[0]], int(dtype[1:]) // 8
    return np.frombuffer(data, f"{kind}{size}").reshape(shape)


def find_tokenizer(path: Path) -> Path:
    """Return the path of the folder's tokenizer, or of its base model's: tokenizer.json, or a vocabulary in older folders.

    Raises ModelError if there is none.
    """
    for name in TOKENIZERS:
        if (path / name).is_file():
            check_file(path / name)
            return path / name
    if base := (read_config(path).get("oreqa") or {}).get("base"):
        return find_tokenizer(_find_base(str(base)))
    raise ModelError(f"{path}: tokenizer.json is missing; save the model's fast tokenizer into the folder")


def tokenizer_limit(path: Path, default: int) -> int:
    """Return the longest input in the tokenizer's settings, as sentence-transformers uses it; else ``default``."""
    file = path / "tokenizer_config.json"
    longest = read_json_file(file).get("model_max_length") if file.is_file() else None
    return int(longest) if isinstance(longest, int | float) and longest >= MIN_TOKENS else default


def difference_base(path: Path) -> Path | None:
    """Return the base folder of the model in ``path`` if it is stored as a difference; None if it is whole."""
    config = read_config(path) if (path / "config.json").is_file() else {}
    base = (config.get("oreqa") or {}).get("difference_from")
    return _find_base(str(base)) if base else None


def _find_base(name: str) -> Path:
    """Return the folder of a base model: a packaged one takes precedence over the working directory."""
    return _PACKAGED.get(name) or find_model(name)


def model_fingerprint(path: Path) -> str:
    """Return a SHA-256 (hexadecimal) of all files that affect a model's output: weights or graph, tokenizer and settings.

    For a model stored as a difference, the base's files are included.
    """
    digest = hashlib.sha256()
    if base := difference_base(path):
        digest.update(model_fingerprint(base).encode())
    files = sorted(path.rglob("*"))
    folders = {file.parent for file in files if file.name == "config.json" and file.parent.name not in ("onnx", "openvino")}
    graphs = {graph for folder in folders if has_graph(folder) for graph in graph_files(folder, read_config(folder))}
    for file in files:
        parts = file.relative_to(path).parts
        if file.name == FITTED or parts[0] == CROSS or any(part.startswith(".") for part in parts):
            continue
        is_tokenizer = file.name in TOKENIZERS[1:] and not (file.parent / "tokenizer.json").is_file()
        is_read = is_tokenizer or file.suffix in (".safetensors", ".json") or file in graphs
        if is_read and file.is_file():
            digest.update(file.relative_to(path).as_posix().encode() + b"\0")
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
