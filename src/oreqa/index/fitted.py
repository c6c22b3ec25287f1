"""What was fitted for an index: it lies in the index's generation and wins over what comes with the models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from oreqa.core import Unit
from oreqa.errors import ModelError
from oreqa.models.fitted import Fitted, parse_fitted
from oreqa.models.names import read_json_file


@dataclass(frozen=True, slots=True)
class FittedPipeline:
    """The ``combination`` and ``calibration`` of one reader and re-ranker, which are named by their fingerprints.

    "" stands for none. Without a reader the answers are the sentences that the search finds.
    """

    reader: str
    reranker: str
    fitted: Fitted


@dataclass(frozen=True, slots=True)
class IndexFitted:
    """What was fitted for an index whose ``encoder`` has this fingerprint.

    ``fusion`` are the weights of its search, unless they are the encoder's own; ``pipelines`` answer from it.

    Examples:
        >>> fitted = IndexFitted("e", {}, (FittedPipeline("r", "", Fitted(combination={"retrieval": 2.0})),))
        >>> [len(fitted.over(encoder, Fitted()).pipelines) for encoder in ("e", "another")]
        [1, 0]
    """

    encoder: str = ""
    fusion: Mapping[Unit, Mapping[str, float]] = field(default_factory=dict)
    pipelines: tuple[FittedPipeline, ...] = ()

    def over(self, encoder: str, of_model: Fitted) -> Fitted:
        """What counts for the ``encoder`` of this fingerprint, if ``of_model`` comes with it.

        Other weights of the search leave nothing of what was fitted with the encoder's own.
        """
        if encoder != self.encoder:
            return of_model
        pipelines = {(pipeline.reader, pipeline.reranker): pipeline.fitted for pipeline in self.pipelines}
        fitted = Fitted(encoder, self.fusion, of_index=True) if self.fusion else of_model
        sentences = pipelines.get(("", ""), fitted).calibration
        return replace(fitted, calibration=sentences, pipelines=pipelines)

    def with_pipeline(self, pipeline: FittedPipeline) -> IndexFitted:
        """The same with another pipeline, which takes the place of one of the same models."""
        models = pipeline.reader, pipeline.reranker
        others = (p for p in self.pipelines if (p.reader, p.reranker) != models)
        return replace(self, pipelines=(*others, pipeline))

    def row(self) -> dict[str, Any]:
        """As a JSON object."""
        pipelines = [
            {
                "reader": pipeline.reader,
                "reranker": pipeline.reranker,
                "combination": dict(pipeline.fitted.combination),
                "calibration": pipeline.fitted.calibration and asdict(pipeline.fitted.calibration),
            }
            for pipeline in self.pipelines
        ]
        fusion = {"fusion": {unit: dict(weights) for unit, weights in self.fusion.items()}} if self.fusion else {}
        return {"encoder": self.encoder, **fusion, "pipelines": pipelines}


def read_index_fitted(path: Path) -> IndexFitted:
    """Read the file of a generation; nothing was fitted if there is none. Raises ModelError for a damaged one."""
    if not path.is_file():
        return IndexFitted()
    settings = read_json_file(path)
    of_search = parse_fitted(settings, path)
    try:
        pipelines = tuple(
            FittedPipeline(str(row["reader"]), str(row["reranker"]), parse_fitted(row, path))
            for row in settings["pipelines"]
        )
    except (KeyError, TypeError) as error:
        raise ModelError(f"{path}: it is damaged ({type(error).__name__}: {error})") from error
    return IndexFitted(of_search.encoder, of_search.fusion, pipelines)
