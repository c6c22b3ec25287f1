"""Parameters fitted for a model: the weights of its scores and the calibration of its confidence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from oreqa.core import UNITS, Unit
from oreqa.errors import ModelError
from oreqa.files import write_json
from oreqa.models.checksums import keep_checksum
from oreqa.models.names import FITTED, find_model, read_json_file

COSINES = ("sentence_cosine", "passage_cosine")
"""The calibration features that depend on the encoder."""

COMBINED = ("selection", "retrieval", "reranking", "rerank_spans", "aggregate")
"""The fields of ``oreqa.answering.combining.Combination``."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Logistic regression from scores to the probability that an answer is right.

    ``weights`` belong to the features; answers below ``threshold`` are refused. ``held_out`` has the probability of each
    first answer to labelled questions not used for fitting, and whether it is right.

    Examples:
        >>> Calibration({"margin": 2.0}, bias=-1.0, threshold=0.3).probability({"margin": 0.5})
        0.5
    """

    weights: Mapping[str, float]
    bias: float
    threshold: float
    held_out: tuple[tuple[float, bool], ...] = ()

    def probability(self, features: Mapping[str, float]) -> float:
        total = self.bias + sum(weight * features[name] for name, weight in self.weights.items())
        return 1 / (1 + math.exp(-total)) if total > -700 else 0.0

    def rescaled(self, scales: Mapping[str, float], offsets: Mapping[str, float]) -> Calibration:
        """Return the calibration for features ``x`` if this one was fitted to ``scale * x + offset``."""
        weights = {name: weight * scales.get(name, 1.0) for name, weight in self.weights.items()}
        moved = sum(weight * offsets.get(name, 0.0) for name, weight in self.weights.items())
        return Calibration(weights, self.bias + moved, self.threshold)


@dataclass(frozen=True, slots=True)
class ReplacedEncoder:
    """Maps this encoder's cosines to those of the encoder it replaced, so that the calibration still holds.

    ``encoder`` is the fingerprint of the replaced one. For each of ``COSINES``, a cosine ``x`` of this encoder corresponds
    to ``scales[name] * x + offsets[name]`` of the other.
    """

    encoder: str
    scales: Mapping[str, float]
    offsets: Mapping[str, float]

    def replacing(self, earlier: ReplacedEncoder | None) -> ReplacedEncoder:
        """Return the map to the ``earlier`` encoder if the replaced one had itself replaced one."""
        if earlier is None:
            return self
        scales = {name: earlier.scales[name] * self.scales[name] for name in COSINES}
        offsets = {name: earlier.scales[name] * self.offsets[name] + earlier.offsets[name] for name in COSINES}
        return ReplacedEncoder(earlier.encoder, scales, offsets)


@dataclass(frozen=True, slots=True)
class Fitted:
    """The parameters in a model's ``fitted.json``; all are empty for a model without the file.

    Attributes:
        encoder: The fingerprint of the encoder whose search they were fitted with.
        fusion: An encoder's weights of retrieval scores by name, for each unit.
        combination: The weights of answer scores of a reader or span re-ranker.
        calibration: For the sentences that an encoder finds, or the spans of a reader.
        rerank_weight: A classifier's weight against the retrieval score.
        replaced: Comes with an encoder trained by ``oreqa adapt``, and with the base encoder.
    """

    encoder: str = ""
    fusion: Mapping[Unit, Mapping[str, float]] = field(default_factory=dict)
    combination: Mapping[str, Any] = field(default_factory=dict)
    calibration: Calibration | None = None
    rerank_weight: float | None = None
    replaced: ReplacedEncoder | None = None


def read_fitted(folder: Path) -> Fitted:
    """Read the parameters of the model in ``folder``. Raises ModelError for a damaged file."""
    path = folder / FITTED
    return parse_fitted(read_json_file(path), path) if path.is_file() else Fitted()


def encoder_fitted(model: str, fingerprint: str) -> Fitted:
    """Return the parameters of the encoder with this fingerprint, named ``model``; none if the model is not present.

    The calibration is omitted if it was fitted for other vectors, such as those with fewer dimensions.
    """
    try:
        folder = find_model(model, download=False)
    except ModelError:  # a search by words alone works without the model
        return Fitted()
    fitted = read_fitted(folder)
    return fitted if fitted.encoder in ("", fingerprint) else replace(fitted, calibration=None, replaced=None)


def fitted_file(model: str | Path) -> Path:
    """Return a model's file of fitted parameters, by model name or folder."""
    return find_model(model) / FITTED


def write_fitted(path: Path, **changes: Any) -> None:
    """Change some parameters in a ``fitted.json``, creating it if needed."""
    settings = read_json_file(path) if path.is_file() else {}
    write_json(path, {**settings, **changes})
    keep_checksum(path)


def parse_fitted(settings: Any, path: Path) -> Fitted:
    """Parse the parameters from the JSON object of ``path``. Raises ModelError, naming the path, for anything else."""
    try:
        calibration = settings.get("calibration")
        weight = settings.get("rerank_weight")
        replaced = settings.get("replaced")
        return Fitted(
            encoder=str(settings.get("encoder", "")),
            fusion={unit: _numbers(settings["fusion"][unit]) for unit in UNITS} if "fusion" in settings else {},
            combination=_combination(settings.get("combination", {})),
            calibration=None
            if calibration is None
            else Calibration(
                _numbers(calibration["weights"]),
                _number(calibration["bias"]),
                _number(calibration["threshold"]),
                tuple((float(_number(p)), bool(_number(right))) for p, right in calibration.get("held_out", ())),
            ),
            rerank_weight=None if weight is None else _number(weight),
            replaced=None
            if replaced is None
            else ReplacedEncoder(
                str(replaced["encoder"]),
                *({name: _number(replaced[key][name]) for name in COSINES} for key in ("scales", "offsets")),
            ),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path}: it is damaged ({type(error).__name__}: {error})") from error


def _combination(values: Mapping[str, Any]) -> dict[str, float]:
    combination = _numbers(values, COMBINED)
    number = combination.get("rerank_spans", 1)
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ValueError(f"rerank_spans is {number}; it must be a whole number from 1")
    return combination


def _numbers(values: Mapping[str, Any], names: Sequence[str] = ()) -> dict[str, float]:
    if names and (unknown := sorted(values.keys() - set(names))):
        raise ValueError(f"there is no weight {unknown[0]}")
    return {name: _number(value) for name, value in values.items()}


def _number(value: Any) -> Any:
    """Return a finite number unchanged: integers and booleans keep their type."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return value
