"""What was fitted for an index. It is stored in a generation and overrides what comes with the models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from oreqa.core import Unit
from oreqa.errors import ModelError
from oreqa.models.fitted import Fitted, parse_fitted
from oreqa.models.names import read_json_file


@dataclass(frozen=True, slots=True)
class IndexFitted:
    """What was fitted for an index whose ``encoder`` has this fingerprint.

    ``fusion`` holds its search weights, unless they are the encoder's own. ``pipelines`` holds combination and
    calibration by the fingerprints of reader and re-ranker, "" for none. Without a reader, the answers are the retrieved
    sentences.
    """

    encoder: str = ""
    fusion: Mapping[Unit, Mapping[str, float]] = field(default_factory=dict)
    pipelines: Mapping[tuple[str, str], Fitted] = field(default_factory=dict)

    def over(self, model_fitted: Fitted) -> Fitted:
        """Return the parameters that apply if ``model_fitted`` comes with the encoder.

        Other search weights invalidate everything fitted with the model's own.
        """
        return Fitted(self.encoder, self.fusion) if self.fusion else model_fitted

    def row(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        pipelines = [
            {
                "reader": reader,
                "reranker": reranker,
                "combination": dict(fitted.combination),
                "calibration": fitted.calibration and asdict(fitted.calibration),
            }
            for (reader, reranker), fitted in self.pipelines.items()
        ]
        fusion = {"fusion": {unit: dict(weights) for unit, weights in self.fusion.items()}} if self.fusion else {}
        return {"encoder": self.encoder, **fusion, "pipelines": pipelines}


def read_index_fitted(path: Path) -> IndexFitted:
    """Read the file of a generation; empty if nothing was fitted. Raises ModelError for a damaged file.

    Examples:
        >>> read_index_fitted(Path("a generation that nothing was fitted for"))
        IndexFitted(encoder='', fusion={}, pipelines={})
    """
    if not path.is_file():
        return IndexFitted()
    settings = read_json_file(path)
    fitted = parse_fitted(settings, path)
    try:
        pipelines = {(str(row["reader"]), str(row["reranker"])): parse_fitted(row, path) for row in settings["pipelines"]}
    except (KeyError, TypeError) as error:
        raise ModelError(f"{path}: it is damaged ({type(error).__name__}: {error})") from error
    return IndexFitted(fitted.encoder, fitted.fusion, pipelines)
