"""Packs trained models for shipping, as differences from their base model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from oreqa.errors import ModelError
from oreqa.files import read_json, write_bytes, write_json
from oreqa.models.checksums import keep_checksum
from oreqa.models.differences import DIFFERENCE, pack_difference
from oreqa.models.encoder.folder import read_encoder_folder
from oreqa.models.names import ENCODER, FITTED, check_kind, find_model, read_config, read_json_file
from oreqa.models.weights import Weights, load_weights


def pack_model(
    folders: Path | Sequence[Path], kind: str, base: str, out: Path, licence: str, rank: int | None = None
) -> int:
    """Write a trained model to ``out`` as its difference from ``base``; return its size in bytes.

    Matrices take four bits per value; with a ``rank``, two factors of that rank, which suit larger models and lose
    nothing of a model trained with ``[lora]`` of that rank. The weights of several ``folders``, trained from the same
    base, are averaged (model soups, Wortsman et al. 2022). ``out`` gets config.json, difference.safetensors and
    run.json; and fitted.json for a single folder, since values fitted for one model do not fit the average. The
    tokenizer, and an encoder's modules, are the base's: raises ModelError for an encoder that has others.
    """
    trained = [folders] if isinstance(folders, Path) else list(folders)
    if kind == ENCODER:
        for folder in trained:
            _check_modules(folder, base)
    mean = _mean([_weights(folder, kind) for folder in trained])
    write_bytes(out / DIFFERENCE, save(pack_difference(mean, load_weights(find_model(base)), rank)))
    config = read_json_file(trained[0] / "config.json")
    config["oreqa"] = config.get("oreqa", {}) | {"kind": kind, "difference_from": base, "base": base, "licence": licence}
    write_json(out / "config.json", config)
    (out / FITTED).unlink(missing_ok=True)
    if len(trained) == 1 and (trained[0] / FITTED).is_file():
        write_json(out / FITTED, read_json(trained[0] / FITTED))
    records = [portable(read_json(folder / "run.json")) for folder in trained if (folder / "run.json").is_file()]
    if records:
        write_json(out / "run.json", records[0] if len(trained) == 1 else {"mean_of": records})
    for file in (*out.glob("*.json"), *out.glob("*.safetensors")):
        keep_checksum(file)
    return sum(file.stat().st_size for file in out.iterdir())


def portable(record: Any, root: str = "") -> Any:
    """Return a run's record without this machine's folders: absolute paths become relative to ``root``, or bare names.

    ``root`` is the folder of the data of a training.
    """
    if isinstance(record, dict):
        root = record.get("recipe", {}).get("data_root", root)
        return {portable(key, root): portable(value, root) for key, value in record.items()}
    if isinstance(record, list):
        return [portable(value, root) for value in record]
    if not isinstance(record, str) or not record.startswith("/"):
        return record
    path = Path(record)
    return str(path.relative_to(root)) if root and path.is_relative_to(root) else path.name


def _check_modules(folder: Path, base: str) -> None:
    """Raise ModelError if a difference from ``base`` would lose settings of an encoder's folder."""
    trained, origin = read_encoder_folder(folder), read_encoder_folder(find_model(base))
    for name in (
        "pooling",
        "attention",
        "dense",
        "normalise",
        "query_token_type",
        "max_tokens",
        "lower_case",
        "questions",
        "prompts",
        "pool_prompt",
    ):
        if getattr(trained, name) != getattr(origin, name):
            raise ModelError(
                f"{folder}: its {name} is not that of {base}, which a packed encoder has: ship it as it is, unpacked"
            )


def _weights(folder: Path, kind: str) -> Weights:
    if kind != ENCODER:
        check_kind(folder, read_config(folder), kind)
    weights = load_weights(folder)
    return {name: value for name, value in weights.items() if not name.startswith("pooler.")}


def _mean(models: Sequence[Weights]) -> Weights:
    """Return the mean of the tensors that all models have, omitting heads of the base that a packed model also loads."""
    shared = [name for name in models[0] if all(name in weights for weights in models)]
    return {name: np.mean([weights[name] for weights in models], axis=0, dtype=np.float32) for name in shared}
