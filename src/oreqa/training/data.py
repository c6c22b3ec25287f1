"""Pairs to train on, from whatever form the data has."""

from __future__ import annotations

from pathlib import Path

from oreqa.datasets.load import is_pair_file, load_task
from oreqa.datasets.pairs import Pair, gold_pairs, load_pairs


def load_training_pairs(path: Path, split: str = "train", held_out: bool = False) -> list[Pair]:
    """The pairs of a pair file, gold and silver, or the gold pairs of a task (``datasets.load.load_task``).

    Raises InputError that names what cannot be read.
    """
    if path.is_file() and is_pair_file(path):
        return list(load_pairs(path))
    return gold_pairs(load_task(path, split, held_out))
