"""Weights of the combined score that an evaluation changes, checked before anything is loaded."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from oreqa.answering.combining import Combination
from oreqa.arguments import count, is_number, kind_of
from oreqa.errors import InputError


def weight_changes(combine: Mapping[str, float] | Iterable[tuple[str, float]]) -> dict[str, Any]:
    """Weights of the combination to change, each in its own type.

    Raises InputError for a weight that does not exist, or a value that its type does not take.
    """
    try:
        changes = dict(combine)
    except (TypeError, ValueError):
        raise InputError(
            f"combine is a mapping of weights to numbers, such as {{'reranking': 0.5}}, not {kind_of(combine)}"
        ) from None
    plain = asdict(Combination())
    return {name: _weight(name, value, plain) for name, value in changes.items()}


def _weight(name: str, value: object, plain: Mapping[str, Any]) -> float | int | bool:
    if name not in plain:
        raise InputError(f"combine: there is no weight {name!r}: the weights are {', '.join(plain)}")
    if not is_number(value):
        raise InputError(f"combine: {name} is {value!r}; write a number, as in {name}=0.5")
    number = float(value)
    if isinstance(plain[name], bool):
        if number not in (0, 1):
            raise InputError(f"combine: {name} is {value!r}; it is on or off: write 1 or 0")
        return bool(number)
    if isinstance(plain[name], int):
        return count(int(number) if number.is_integer() else value, f"combine: {name}")
    return number


def check_weights_are_used(changes: Collection[str], gold_passages: bool, without_reranker: bool) -> None:
    """Raise InputError for a weight of a score that there is none of."""
    if without_reranker and (unused := [name for name in ("reranking", "rerank_spans", "alone") if name in changes]):
        raise InputError(f"combine: {', '.join(unused)} would be ignored: there is no span re-ranker")
    if gold_passages and (unused := [name for name in ("selection", "retrieval") if name in changes]):
        raise InputError(f"combine: {', '.join(unused)} would be ignored: gold passages are one a question")
