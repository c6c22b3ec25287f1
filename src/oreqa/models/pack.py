"""Trained models made small enough to be shipped: as differences from their base."""

from __future__ import annotations

from pathlib import Path

from safetensors.numpy import save

from oreqa.datasets.files import read_json, write_bytes, write_json
from oreqa.models.differences import pack_difference
from oreqa.models.folders import find_model, read_json_file
from oreqa.models.heads import load_weights, read_head_folder


def pack_model(folder: Path, kind: str, base: str, out: Path, licence: str) -> int:
    """Write a trained reader or re-ranker to ``out`` as its difference from the model ``base``; returns its bytes.

    The folder has config.json, difference.safetensors and run.json; the tokenizer is the base's.
    """
    weights = load_weights(read_head_folder(folder, kind).path)
    weights = {name: value for name, value in weights.items() if not name.startswith("pooler.")}
    packed = pack_difference(weights, load_weights(find_model(base)))
    write_bytes(out / "difference.safetensors", save(packed))
    config = read_json_file(folder / "config.json")
    config["oreqa"] |= {"kind": kind, "difference_from": base, "base": base, "licence": licence}
    write_json(out / "config.json", config)
    if (folder / "run.json").is_file():
        write_json(out / "run.json", read_json(folder / "run.json"))
    return sum(file.stat().st_size for file in out.iterdir())
